/** What a machine's cancel does to an effect that waits, runs, or is forgotten, and what may not be forgotten (K11). */
import assert from "node:assert/strict";
import type { PortOutcome } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { noLongerWanted } from "../../src/effects/deadline.ts";
import type { FaultPlan } from "../support/memory_store.ts";
import { callOf, modelCall, ok, openPuppet, type Puppet, reopen, timerAt } from "../support/puppet.ts";

const classes = ["idempotent", "conditional", "non_idempotent"] as const;
const canceled = { status: "canceled", failure: failure("tool_canceled", "stopped in time") } as const;

async function cancel(puppet: Puppet): Promise<void> {
  await puppet.act({ do: "cancel", id: "a" });
}

/** Status, failure code and attempt of the last outcome. */
async function lastOutcome(puppet: Puppet): Promise<readonly unknown[]> {
  const entry = (await puppet.entries()).findLast((one) => one.kind === "outcome");
  const { status, failure: why, attempt } = entry?.body as unknown as PortOutcome;
  return [status, why?.code, attempt];
}

Deno.test("kernel cancels for certain what was never started (K11)", async () => {
  for (const effect of classes) {
    const state = { isHanging: false };
    const puppet = await openPuppet({ store: { faults: () => state.isHanging ? "hang" : undefined } });
    state.isHanging = true;
    await puppet.act({ do: "ask", id: "a", request: callOf(effect) });
    await cancel(puppet);
    assert.equal(puppet.heard().at(-1)?.type, "xstate.error.actor.a");
    state.isHanging = false;
    puppet.stage.handle.release(true);
    await puppet.stage.world.settle();
    assert.deepEqual(await lastOutcome(puppet), ["canceled", "tool_canceled", 1], effect);
    assert.deepEqual([puppet.hands.length, puppet.rows()], [0, []], effect);
    assert.ok((await puppet.lines()).includes("note cancel_asked"));
  }
});

Deno.test("kernel asks a running effect to stop, and takes its real outcome (K11)", async () => {
  for (const effect of classes) {
    for (const result of [canceled, ok("done all the same")]) {
      const puppet = await openPuppet();
      await puppet.act({ do: "ask", id: "a", request: callOf(effect) });
      const hand = puppet.hands[0];
      assert.equal(hand?.performance.signal.aborted, false);
      await cancel(puppet);
      assert.equal(hand?.performance.signal.aborted, true);
      // A runtime that stops gives no reason: what goes on elsewhere is told to stop by a cancel alone.
      assert.equal(hand?.performance.signal.reason, noLongerWanted);
      assert.equal((await puppet.lines()).at(-1), "note cancel_asked");
      await hand?.end(result);
      assert.equal((await lastOutcome(puppet))[0], result.status);
      await puppet.stage.world.advance(limits.cancelGraceMs);
      assert.equal((await puppet.lines()).filter((line) => line.startsWith("outcome")).length, 1);
    }
  }
});

Deno.test("kernel knows nothing of a harmful effect that does not stop within its grace (K11, K12)", async () => {
  const expected = {
    idempotent: ["canceled", "tool_canceled", 1],
    conditional: ["unknown", "tool_outcome_unknown", 1],
    non_idempotent: ["unknown", "tool_outcome_unknown", 1],
  };
  for (const effect of classes) {
    const puppet = await openPuppet();
    await puppet.act({ do: "ask", id: "a", request: callOf(effect) });
    await cancel(puppet);
    await puppet.stage.world.advance(limits.cancelGraceMs - 1);
    assert.equal((await puppet.lines()).at(-1), "note cancel_asked");
    await puppet.stage.world.advance(1);
    assert.deepEqual(await lastOutcome(puppet), expected[effect]);
    // What it says later is evidence.
    await puppet.hands[0]?.end(ok("late"));
    assert.equal((await puppet.lines()).at(-1), "note late_outcome");
  }
});

Deno.test("kernel hears of a cancel once, however often the machine asks (K11)", async () => {
  const puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  await cancel(puppet);
  await cancel(puppet);
  assert.equal((await puppet.lines()).filter((line) => line === "note cancel_asked").length, 1);
});

Deno.test("kernel lets idempotent effects be dropped: they are stopped, and the unit says so (K11)", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  await puppet.act(
    { do: "ask", id: "a", request: callOf("idempotent") },
    { do: "ask", id: "b", request: modelCall },
    { do: "ask", id: "t", request: timerAt(world.now() + 60_000) },
  );
  const signals = puppet.hands.map(({ performance }) => performance.signal);
  await puppet.act({ do: "stop", id: "a" }, { do: "stop", id: "b" }, { do: "stop", id: "t" });
  assert.deepEqual(signals.map((signal) => signal.aborted), [true, true]);
  const dropped = (await puppet.entries()).filter((entry) => entry.type === "dropped").map(({ body }) =>
    body
  );
  assert.deepEqual(dropped, [{ id: "2.0" }, { id: "2.1" }, { id: "2.2" }]);
  await world.advance(limits.writerLingerMs);
  assert.deepEqual([puppet.rows(), world.sleepers], [[], 0]);
  const after = await reopen(puppet);
  await after.stage.world.advance(60_000);
  assert.equal(after.hands.length, 0);
});

Deno.test("kernel quarantines a root whose machine forgets an effect that could hurt (K11, I14)", async () => {
  for (const effect of ["conditional", "non_idempotent"] as const) {
    const puppet = await openPuppet();
    await puppet.act({ do: "ask", id: "a", request: callOf(effect) });
    const lines = await puppet.lines();
    await puppet.act({ do: "stop", id: "a" }, { do: "reply", value: "never said" });
    const record = puppet.kernel.records.get(puppet.root);
    assert.deepEqual([record?.status, await puppet.lines()], ["quarantined", lines]);
    assert.match(record?.reason ?? "", /dropped the pending tool.call 2.0/);
  }
});

Deno.test("kernel does not take a restarted effect for one that never started (K11)", async () => {
  const expected = {
    idempotent: ["canceled", "tool_canceled", 2],
    conditional: ["unknown", "tool_outcome_unknown", 2],
  };
  for (const effect of ["idempotent", "conditional"] as const) {
    const before = await openPuppet();
    await before.act({ do: "ask", id: "a", request: callOf(effect, "key") });
    assert.equal(before.hands.length, 1);
    // It waits at the gate for its second attempt; the first may have been applied.
    const after = await reopen(before);
    await cancel(after);
    await after.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual([after.hands.length, await lastOutcome(after)], [0, expected[effect]]);
  }
});

Deno.test("kernel does not start an effect again that is canceled before its new attempt is durable (K11)", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "a", request: callOf("conditional", "key") });
  const { world, disk } = before.stage;
  before.stage.crash();
  // The first commit of entries is the note of the second attempt.
  let hung = 0;
  const faults: FaultPlan = (_, { sets }) =>
    sets.some(({ key }) => key[0] === "log") && hung++ === 0 ? "hang" : undefined;
  const after = await openPuppet({ world, disk, isNew: false, store: { faults } });
  await cancel(after);
  assert.equal(hung, 1);
  after.stage.handle.release(true);
  await world.advance(limits.reaskJitterMs);
  assert.deepEqual([after.hands.length, await lastOutcome(after)], [0, [
    "unknown",
    "tool_outcome_unknown",
    2,
  ]]);
});

Deno.test("kernel concludes a cancel that a crash cut off (K11)", async () => {
  const expected = { idempotent: "canceled", conditional: "unknown", non_idempotent: "unknown" } as const;
  for (const effect of classes) {
    const before = await openPuppet();
    await before.act({
      do: "ask",
      id: "a",
      request: callOf(effect, effect === "conditional" ? "key" : undefined),
    });
    await cancel(before);
    const after = await reopen(before);
    await after.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual([after.hands.length, (await lastOutcome(after))[0]], [0, expected[effect]], effect);
  }
});
