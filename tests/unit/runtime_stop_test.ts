/** How a runtime stops. */
import assert from "node:assert/strict";
import { openStage, settled } from "../support/stage.ts";

/** A stage whose harmful tool ends when `finish` is called. */
async function harmfulStage() {
  const gate = Promise.withResolvers<string>();
  const stage = await openStage({
    answers: [{ calls: [{ tool: "charge" }] }, { text: "done" }],
    tools: [{ name: "charge", effect: "non_idempotent", work: () => gate.promise }],
  });
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.settle();
  assert.equal(stage.ledger.length, 1);
  return { stage, session, finish: () => gate.resolve("charged") };
}

// Proves I1, R3: a graceful stop does not turn a call that ends well into one of which nobody knows.
Deno.test("runtime that stops waits for a harmful effect and records what became of it", async () => {
  const { stage, session, finish } = await harmfulStage();
  const stopping = stage.runtime.stop();
  await stage.world.advance(100);
  finish();
  await stage.world.advance(100);
  await settled(stage.world, stopping);
  const next = await openStage({ world: stage.world, disk: stage.disk });
  const outcomes = (await next.entries(session)).filter((entry) =>
    entry.kind === "outcome" && entry.type === "tool.call"
  );
  assert.deepEqual(outcomes.map((entry) => (entry.body as { status: string }).status), ["ok"]);
});

Deno.test("runtime that stops waits no longer than its grace", async () => {
  const { stage } = await harmfulStage();
  const stopping = stage.runtime.stop();
  await stage.world.advance(6_000);
  await settled(stage.world, stopping);
});

/** A stage whose disk takes nothing from the moment that `freeze` is called. */
async function frozenStage() {
  let isFrozen = false;
  const faults = () => isFrozen ? "hang" as const : undefined;
  const stage = await openStage({ answers: [{ text: "hello" }], store: { faults } });
  const session = await stage.session();
  isFrozen = true;
  const given = await settled(stage.world, stage.runtime.prompt(session, "go"));
  return { stage, given };
}

// F09: a disk that takes nothing must not keep a process from ending.
Deno.test("runtime stops although its disk takes nothing, and answers whoever waits for what was not written", async () => {
  const { stage, given } = await frozenStage();
  const waiting = Promise.allSettled([given.accepted(), given.report]);
  await stage.world.advance(100);
  const stopping = stage.runtime.stop();
  await stage.world.advance(20_000);
  await settled(stage.world, stopping);
  const codes = (await waiting).map((one) => one.status === "rejected" ? one.reason.code : one.status);
  // Who waits for the disk was told before that it takes nothing (F07).
  assert.deepEqual(codes, ["store_busy", "runtime_stopped"]);
});
