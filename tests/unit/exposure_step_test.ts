/** What the journal says of the tools that each step told its model of, and that a replay chooses the same. */
import assert from "node:assert/strict";
import { AgentDefinition, type ExposureBudget } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Entry } from "../../schemas/entry.ts";
import { ExposureReplay } from "../../src/effects/exposure_replay.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { machineCode } from "../../src/machine_code.ts";
import { toolsList } from "../../src/tools/tools_list.ts";
import { sourceOf, toolOf } from "../support/desk.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** The agent's own tools stand in for those of a server. */
const own = Array.from({ length: 60 }, (_, at) => `gadget_${String(at).padStart(2, "0")}`);
const named = ["refund_order", "search_pages"];

interface Exposed {
  readonly turn: number;
  readonly step: number;
  readonly exposed: number;
  readonly whole?: boolean;
  readonly names?: readonly string[];
}

async function sessionOn(stage: Stage, exposure: ExposureBudget = { tools_max: 5 }): Promise<string> {
  const tools = [...own, ...named].map((name) => toolOf(name));
  const made = stage.runtime.createSession({
    agent: AgentDefinition.parse({
      name: "test",
      model: "scripted/test",
      exposure,
      tools: ["tools_list"],
      capabilities: ["tool.call:*"],
    }),
    coreRevision: "core-1",
    home: "embedded:test",
    sources: [
      sourceOf("troupe", [toolsList.definition]),
      sourceOf("agent", tools),
    ],
    policy: HostPolicy.parse({}),
  });
  const session = await settled(stage.world, made);
  await stage.world.settle();
  return session;
}

function openWith(answers: readonly unknown[], options: StageOptions = {}): Promise<Stage> {
  return openStage({
    answers,
    tools: [...own, ...named, "tools_list"].map((name) => ({ name })),
    ...options,
  });
}

async function prompt(stage: Stage, session: string, text: string): Promise<void> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  const { outcome, failure } = await settled(stage.world, report);
  assert.equal(outcome, "completed", failure?.message);
}

async function notesIn(stage: Stage, session: string): Promise<readonly Exposed[]> {
  const entries = await stage.entries(session);
  return entries.filter(({ type }) => type === "turn.exposed").map(({ body }) => body as unknown as Exposed);
}

async function chosenAgain(stage: Stage, session: string, change = (entry: Entry) => entry) {
  const check = new ExposureReplay({
    address: session,
    code: machineCode,
    anyCode: false,
    loadShelved: (hash) => loadShelved(stage.runtime.journal, hash),
  });
  for (const entry of await stage.entries(session)) {
    await settled(stage.world, Promise.resolve(check.take(change(entry))));
  }
  return check.divergence;
}

const noCalls = { text: "Done" };

Deno.test("step that tells its model of other tools than the step before leaves a note of them (AR-14)", async () => {
  const stage = await openWith([noCalls, noCalls, { calls: [{ tool: "gadget_01" }] }, noCalls]);
  const session = await sessionOn(stage);
  await prompt(stage, session, "Refund it");
  await prompt(stage, session, "And refund that too");
  await prompt(stage, session, "Search the pages");
  const notes = await notesIn(stage, session);
  assert.deepEqual(notes.map(({ turn, step, exposed }) => [turn, step, exposed]), [[1, 0, 5], [3, 0, 5]]);
  assert.ok(notes[0]?.names?.includes("refund_order") && !notes[0].names.includes("search_pages"));
  assert.ok(notes[1]?.names?.includes("search_pages"));
  assert.equal(await chosenAgain(stage, session), undefined);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("step whose tools all fit says so once, without their names (AR-14)", async () => {
  const stage = await openWith([noCalls, noCalls]);
  const session = await sessionOn(stage, { tools_max: 100 });
  await prompt(stage, session, "Refund it");
  await prompt(stage, session, "Search the pages");
  const notes = await notesIn(stage, session);
  assert.deepEqual(notes.map(({ turn, exposed, whole, names }) => [turn, exposed, whole, names]), [[
    1,
    63,
    true,
    undefined,
  ]]);
});

Deno.test("step after tools_list tells of what it found (AR-12)", async () => {
  const stage = await openWith([
    { calls: [{ tool: "tools_list", arguments: { query: "search pages" } }] },
    { calls: [{ tool: "search_pages" }] },
    noCalls,
  ]);
  const session = await sessionOn(stage, { tools_max: 3 });
  await prompt(stage, session, "Go on");
  const notes = await notesIn(stage, session);
  assert.deepEqual(notes.map(({ step, names }) => [step, names?.includes("search_pages")]), [[0, false], [
    1,
    true,
  ]]);
  assert.equal(await chosenAgain(stage, session), undefined);
});

Deno.test("tool that is enabled and was not told of can be called: its gates decide, and it is told of then (AR-12)", async () => {
  const stage = await openWith([{ calls: [{ tool: "gadget_59" }] }, noCalls]);
  const session = await sessionOn(stage, { tools_max: 3 });
  await prompt(stage, session, "Go on");
  const called = (await stage.entries(session)).filter(({ type }) =>
    ["invocation.judged", "tool.call"].includes(type)
  ).map(({ kind, body }) =>
    kind === "note" ? `judged ${(body as { readonly verdict: string }).verdict}` : kind
  );
  assert.deepEqual(called.toSorted(), ["intent", "judged allow", "outcome"]);
  const notes = await notesIn(stage, session);
  assert.deepEqual(notes.map(({ step, names }) => [step, names?.includes("gadget_59")]), [[0, false], [
    1,
    true,
  ]]);
});

Deno.test("step that was cut off by a crash has told of the same tools when it is asked again (AR-14)", async () => {
  const first = await openWith([], {
    script: { answers: [{ error: { message: "later", retryable: true } }] },
  });
  const session = await sessionOn(first);
  const { accepted } = await settled(first.world, first.runtime.prompt(session, "Refund it", "key"));
  await settled(first.world, accepted());
  const before = await notesIn(first, session);
  assert.equal(before.length, 1);
  first.crash();
  const second = await openWith([noCalls], { disk: first.disk, world: first.world });
  await second.world.advance(60_000);
  const { report } = await settled(second.world, second.runtime.prompt(session, "Refund it", "key"));
  assert.equal((await settled(second.world, report)).outcome, "completed");
  assert.deepEqual((await notesIn(second, session))[0], before[0]);
  assert.equal(await chosenAgain(second, session), undefined);
});

Deno.test("replay names the step whose recorded tools are not those that are chosen (AR-14)", async () => {
  const stage = await openWith([noCalls]);
  const session = await sessionOn(stage);
  await prompt(stage, session, "Refund it");
  const forged = await chosenAgain(stage, session, (entry) => {
    if (entry.type !== "turn.exposed") return entry;
    const body = entry.body as unknown as Exposed;
    return { ...entry, body: { ...body, names: [...(body.names ?? []), "gadget_59"] } as never };
  });
  assert.equal(forged?.what, "the tools that the model is told of are the recorded ones");
});
