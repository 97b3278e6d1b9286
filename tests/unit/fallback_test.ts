/** Whether another model answers only while the agent's own is not to be had, and never gets round a refusal (AR-22..24). */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { FailureCode } from "../../schemas/failure.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { ModelChanged } from "../../schemas/retry.ts";
import { Script } from "../../schemas/script.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { performersWith } from "../support/model_performers.ts";
import { type LedgerLine, openStage, settled, type Stage, type ToolSketch } from "../support/stage.ts";

const tools: readonly ToolSketch[] = [
  { name: "pay", effect: "non_idempotent", approval: "prompt" },
  { name: "look" },
  { name: "never", effect: "non_idempotent", approval: "deny" },
];

/** Prepared answers by model. */
type Scripts = { readonly [model: string]: readonly unknown[] };

/** A stage on which each model plays a script of its own. */
async function open(scripts: Scripts, from?: Stage): Promise<Stage> {
  const ledger: LedgerLine[] = from?.ledger ?? [];
  const providers = new Map(
    Object.entries(scripts).map(([model, answers]) => [
      model,
      createScriptedProvider(Script.parse({ answers })),
    ]),
  );
  const performers = performersWith({ tools, ledger, providerOf: (model) => providers.get(model) });
  return await openStage({
    tools,
    ledger,
    hasAnswerer: () => true,
    agent: { model: "scripted/a", model_fallbacks: ["scripted/b", "scripted/c"] },
    runtime: { performers },
    ...(from === undefined ? {} : { world: from.world, disk: from.disk }),
  });
}

/** Lets time pass until something holds. */
async function until(stage: Stage, holds: () => boolean): Promise<void> {
  for (let seconds = 0; !holds(); seconds++) {
    assert.ok(seconds < 600, "did not come to hold");
    await stage.world.advance(1_000);
  }
}

async function decide(stage: Stage, decision: Decision): Promise<void> {
  const { questions } = stage.runtime;
  await until(stage, () => questions.list().length > 0);
  const [question] = questions.list();
  assert.ok(question);
  questions.answer(question.id, { decision, by: localOperator, shown: question.shown });
  await stage.world.settle();
}

/** Plays one turn; answers its questions in order. Gives how it ended, and the journal. */
async function play(scripts: Scripts, ...decisions: readonly Decision[]) {
  const stage = await open(scripts);
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told = "";
  report.then(({ outcome, failure }) => told = [outcome, failure?.code].join(" ").trim());
  for (const decision of decisions) await decide(stage, decision);
  await until(stage, () => told !== "");
  assert.equal(stage.runtime.questions.list().length, 0);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  return { told, ledger: stage.ledger, entries: await stage.entries(session) };
}

/** The models that were asked, in order, without repeats of the same one. */
function modelsOf(entries: readonly Entry[]): readonly string[] {
  const asked = entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .map(({ body }) => (body as unknown as { args: { model: string } }).args.model);
  return asked.filter((model, at) => model !== asked[at - 1]);
}

function changesOf(entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(({ kind, type }) => kind === "note" && type === "model.changed");
}

/** What was judged of the calls, in order: tool, verdict, and the check that denied. */
function verdictsOf(entries: readonly Entry[]): readonly string[] {
  return entries.filter(({ type }) => type === "invocation.judged").map(({ body }) => {
    const { tool, verdict, checks = [] } = body as unknown as {
      readonly tool: string;
      readonly verdict: string;
      readonly checks?: readonly { readonly check: string; readonly verdict?: string }[];
    };
    const denied = checks.find((check) => check.verdict === "deny")?.check;
    return [tool, verdict, denied].join(" ").trim();
  });
}

const pay = { calls: [{ tool: "pay", arguments: { text: "all" } }] };
const down = { fail: { code: "model_server_failed" } };

Deno.test("another model answers if the one before is not to be had, and the journal says which and why (AR-24)", async () => {
  const codes: readonly (readonly [FailureCode, string])[] = [
    ["model_rate_limited", "rate_limit"],
    ["model_unreachable", "transient_network"],
    ["model_server_failed", "server_error"],
    ["model_login_failed", "authentication_or_quota"],
    ["model_quota_exceeded", "authentication_or_quota"],
  ];
  for (const [code, kind] of codes) {
    const { told, entries } = await play({
      "scripted/a": [{ fail: { code } }],
      "scripted/b": [{ text: "b" }],
    });
    assert.deepEqual([told, modelsOf(entries)], ["completed", ["scripted/a", "scripted/b"]]);
    const [note, ...more] = changesOf(entries);
    assert.ok(note !== undefined && more.length === 0);
    const expected = { turn: 1, step: 0, from: "scripted/a", to: "scripted/b", lastErrorCode: code, kind };
    assert.deepEqual(ModelChanged.parse(note.body), expected);
    assert.equal(entryText(note), `from scripted/a to scripted/b after ${code}`);
  }
});

Deno.test("other models are taken in their order, each as often as the first, and then the turn has failed (AR-24)", async () => {
  const { told, entries } = await play({ "scripted/a": [down], "scripted/b": [down], "scripted/c": [down] });
  assert.deepEqual([told, modelsOf(entries)], [
    "failed model_server_failed",
    ["scripted/a", "scripted/b", "scripted/c"],
  ]);
  const asked = entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate");
  assert.equal(asked.length, 15);
});

Deno.test("no other model answers what one refused, or what is wrong with the request (AR-22, AR-24)", async () => {
  for (
    const code of [
      "model_refused",
      "model_context_exceeded",
      "model_schema_unsupported",
      "model_failed",
    ] as const
  ) {
    const { told, entries } = await play({
      "scripted/a": [{ fail: { code } }],
      "scripted/b": [{ text: "b" }],
    });
    assert.deepEqual([told, modelsOf(entries), changesOf(entries)], [`failed ${code}`, ["scripted/a"], []]);
  }
});

Deno.test("policy denies a call whatever model makes it (AR-22)", async () => {
  const never = { calls: [{ tool: "never", arguments: { text: "x" } }] };
  const { told, entries, ledger } = await play({
    "scripted/a": [never, down],
    "scripted/b": [{}, never, { text: "b" }],
  });
  assert.deepEqual([told, modelsOf(entries)], ["completed", ["scripted/a", "scripted/b"]]);
  assert.deepEqual(verdictsOf(entries), ["never deny approval", "never deny approval"]);
  assert.deepEqual(ledger, []);
});

Deno.test("refused call is not asked about again, though the model fails right after and another one repeats it (AR-22, AR-23)", async () => {
  const { told, entries, ledger } = await play({
    "scripted/a": [pay, down],
    "scripted/b": [{}, { expect: "Do not repeat it", ...pay }, { expect: "refused before", text: "b" }],
  }, "deny");
  assert.deepEqual([told, modelsOf(entries)], ["completed", ["scripted/a", "scripted/b"]]);
  assert.deepEqual(verdictsOf(entries), ["pay ask", "pay deny refusal"]);
  assert.deepEqual(ledger, []);
});

Deno.test("refused call stays refused over a crash and a restart (AR-23)", async () => {
  const scripts = {
    "scripted/a": [pay, down],
    "scripted/b": [{}, { ...pay }, { expect: "refused before", text: "b" }],
  };
  const first = await open(scripts);
  const session = await first.session();
  await settled(first.world, first.runtime.prompt(session, "Go"));
  await decide(first, "deny");
  await first.runtime.journal.writer.idle();
  first.crash();
  const second = await open(scripts, first);
  await until(second, () => second.runtime.kernel.roots.get(session)?.state === "idle");
  const entries = await second.entries(session);
  assert.deepEqual(modelsOf(entries), ["scripted/a", "scripted/b"]);
  assert.deepEqual(verdictsOf(entries), ["pay ask", "pay deny refusal"]);
  assert.deepEqual([second.ledger, second.runtime.questions.list()], [[], []]);
  assert.equal((await second.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("refusal is of one call: other arguments are asked about, and so is the same call in the next turn (AR-23)", async () => {
  const other = { calls: [{ tool: "pay", arguments: { text: "half" } }] };
  const asked = await play({ "scripted/a": [pay, other, pay, { text: "a" }] }, "deny", "allow");
  assert.deepEqual([asked.told, asked.ledger.length], ["completed", 1]);
  assert.deepEqual(verdictsOf(asked.entries), ["pay ask", "pay ask", "pay deny refusal"]);

  const stage = await open({ "scripted/a": [pay, { text: "a" }, pay, { text: "a" }] });
  const session = await stage.session();
  for (const decision of ["deny", "allow"] as const) {
    const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
    await decide(stage, decision);
    await settled(stage.world, report);
  }
  assert.equal(stage.ledger.length, 1);
});

Deno.test("refused call is refused again within the same answer of the model (AR-23)", async () => {
  const twice = { calls: [...pay.calls, ...pay.calls] };
  const { told, entries, ledger } = await play({ "scripted/a": [twice, { text: "a" }] }, "deny");
  assert.deepEqual([told, ledger], ["completed", []]);
  assert.deepEqual(verdictsOf(entries), ["pay ask", "pay deny refusal"]);
});
