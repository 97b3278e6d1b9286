/** Whether two runs are told apart by what they did, and not by when and under which names they did it. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { differencesBetween, type RunDifference } from "../../src/records/run_difference.ts";
import { type RunEvent, RunFold } from "../../src/records/run_fold.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const tools = [{ name: "look", parallelSafe: true }, { name: "send", effect: "non_idempotent" as const }];
const answers = [
  { calls: [{ tool: "look", arguments: { text: "a" } }, { tool: "send", arguments: { text: "b" } }] },
  { text: "Done" },
];

async function foldOf(stage: Stage, entries: readonly Entry[]): Promise<readonly RunEvent[]> {
  const fold = new RunFold(async (hash) =>
    JSON.parse(new TextDecoder().decode(await stage.runtime.journal.readBlob(hash)))
  );
  await settled(
    stage.world,
    (async () => {
      for (const entry of entries) await fold.take(entry);
    })(),
  );
  return fold.events;
}

interface Run {
  readonly stage: Stage;
  readonly entries: readonly Entry[];
  readonly events: readonly RunEvent[];
}

/** Plays a turn in a runtime of its own, at another time and with other ids for each seed. */
async function play(
  options: StageOptions & { readonly seed: number; readonly prompt?: string },
): Promise<Run> {
  const stage = await openStage({ tools, answers, ...options });
  for (let count = 0; count < options.seed; count++) await stage.session();
  await stage.world.advance(options.seed * 1_000);
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, options.prompt ?? "Go on"));
  await settled(stage.world, report);
  const entries = await stage.entries(session);
  return { stage, entries, events: await foldOf(stage, entries) };
}

function told(differences: readonly RunDifference[]): readonly string[] {
  return differences.flatMap(({ what, fields, left, right }) =>
    fields.length === 0
      ? [`${what} only ${left === undefined ? "right" : "left"}${right === undefined ? "" : ""}`]
      : fields.map(({ path, before, after }) =>
        `${what} ${path}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`
      )
  );
}

Deno.test("runs that did the same at other times and under other ids are alike", async () => {
  const [left, right] = [await play({ seed: 1 }), await play({ seed: 2 })];
  const texts = (run: Run) => JSON.stringify(run.entries);
  assert.notEqual(texts(left), texts(right));
  assert.deepEqual(told(differencesBetween(left.events, right.events)), []);
});

Deno.test("runs differ in asks, outcomes and decisions, field by field, the first one first", async () => {
  const left = await play({ seed: 1 });
  const other = [{
    calls: [{ tool: "look", arguments: { text: "a" } }, { tool: "send", arguments: { text: "c" } }],
  }, { text: "Done" }];
  const right = await play({ seed: 2, answers: other });
  assert.deepEqual(told(differencesBetween(left.events, right.events)), [
    'outcome of model.generate turn/1/step/0 value.calls.1.arguments.text: "b" -> "c"',
    'intent tool.call turn/1/call/0.1 args.arguments.text: "b" -> "c"',
  ]);
  const denied = await play({ seed: 3, policy: { tools: { send: "deny" } } });
  const shown = told(differencesBetween(left.events, denied.events));
  assert.match(
    shown[0] ?? "",
    /^input catalog\.issued tools\.send\.definition\.approvalPolicy: "auto" -> "deny"$/,
  );
  assert.ok(
    shown.includes('note invocation.judged turn/1/call/0.1 verdict: "allow" -> "deny"'),
    shown.join("\n"),
  );
  assert.ok(shown.includes("intent tool.call turn/1/call/0.1 only left"), shown.join("\n"));
  const asked = await play({ seed: 4, prompt: "Stop" });
  assert.deepEqual(told(differencesBetween(left.events, asked.events)), [
    'input session.prompt message.text: "Go on" -> "Stop"',
  ]);
});

Deno.test("runs in which calls end in another order are alike; fields of tools count whatever they are called", async () => {
  const { events } = await play({ seed: 1 });
  const swapped = events.toSorted((a, b) => a.label.length - b.label.length);
  assert.deepEqual(told(differencesBetween(events, swapped)), []);
  const { stage, entries } = await play({ seed: 1 });
  // Names that mean times and places with us mean something else in a tool's arguments.
  for (const name of ["at", "seq", "cwd", "home", "code", "epoch", "n"]) {
    const change = (value: Json) =>
      entries.map((entry): Entry => {
        if (entry.kind !== "intent" || entry.type !== "tool.call") return entry;
        const body = entry.body as { readonly args: object };
        return { ...entry, body: { ...body, args: { ...body.args, arguments: { [name]: value } } } as Json };
      });
    const sides = [await foldOf(stage, change(1)), await foldOf(stage, change(2))] as const;
    const [first] = told(differencesBetween(...sides));
    assert.equal(first, `intent tool.call turn/1/call/0.0 args.arguments.${name}: 1 -> 2`);
  }
});
