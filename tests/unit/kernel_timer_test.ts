/** Whether timers and questions keep their time over crashes, sleep and silence (K7, K19). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { flush, openPuppet, type Puppet, questionUntil, reopen, timerAt } from "../support/puppet.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Asks for a timer in `ms`; gives the time at which it is due. */
async function setTimer(puppet: Puppet, ms: number, jitterMs = 0): Promise<number> {
  const due = puppet.stage.world.now() + ms;
  await puppet.act({ do: "ask", id: "t", request: timerAt(due, jitterMs) });
  return due;
}

/** When the puppet heard of its timer, if it did. */
function firedAt(puppet: Puppet): number | undefined {
  const fired = puppet.heard().find(({ type }) => type === "xstate.done.actor.t");
  return (fired?.["output"] as { at: number } | undefined)?.at;
}

Deno.test("kernel lets a timer fire when it is due and not before", async () => {
  const puppet = await openPuppet();
  const due = await setTimer(puppet, 5_000);
  await puppet.stage.world.advance(4_999);
  assert.equal(firedAt(puppet), undefined);
  await puppet.stage.world.advance(1);
  assert.equal(firedAt(puppet), due);
});

// Proves K7: the performer draws, so the machine's request and the journal hold no chance.
Deno.test("kernel spreads timers over the jitter that their machines allow (K7)", async () => {
  const late: number[] = [];
  for (let seed = 1; seed <= 20; seed++) {
    const puppet = await openPuppet({ seed });
    const due = await setTimer(puppet, 1_000, 400);
    await puppet.stage.world.advance(1_400);
    late.push((firedAt(puppet) ?? 0) - due);
    const request = (await puppet.entries())[2]?.body as { args: { jitterMs: number; dueAtMs: number } };
    assert.deepEqual([request.args.dueAtMs, request.args.jitterMs], [due, 400]);
  }
  assert.ok(late.every((ms) => ms >= 0 && ms <= 400), late.join());
  assert.ok(Math.min(...late) < 100 && Math.max(...late) > 300, late.join());
});

Deno.test("kernel keeps a timer over a crash, and wakes its root only when it fires (K19)", async () => {
  const before = await openPuppet();
  const due = await setTimer(before, 60_000);
  const after = await reopen(before);
  assert.deepEqual(after.stage.runtime.recovery, { open: 0, letters: 0, timers: 1, quarantined: 0 });
  await after.stage.world.advance(59_999);
  assert.equal(after.kernel.roots.has(after.root), false);
  await after.stage.world.advance(1);
  assert.equal(firedAt(after), due);
  await flush(after.stage);
  assert.deepEqual(after.rows(), []);
});

Deno.test("kernel lets a timer that fell due while nothing ran fire at once, and once", async () => {
  const before = await openPuppet();
  await setTimer(before, 1_000);
  before.stage.crash();
  const { world, disk } = before.stage;
  await world.advance(3_600_000);
  const after = await openPuppet({ world, disk, isNew: false });
  await flush(after.stage);
  assert.equal(firedAt(after), world.now());
  const again = await reopen(after);
  await again.tell({ type: "puppet.nothing" });
  assert.equal((await again.lines()).filter((line) => line === "outcome timer.set").length, 1);
});

Deno.test("kernel does not start a timer twice when its root wakes before it fires (K22)", async () => {
  const before = await openPuppet();
  await setTimer(before, 1_000);
  const after = await reopen(before);
  await after.tell({ type: "puppet.nothing" });
  await after.stage.world.advance(1_000);
  assert.equal((await after.lines()).filter((line) => line.endsWith(" timer.set")).length, 2);
});

Deno.test("kernel ends a timer that its machine cancels, and forgets its row", async () => {
  const puppet = await openPuppet();
  await setTimer(puppet, 60_000);
  await puppet.act({ do: "cancel", id: "t" });
  await flush(puppet.stage);
  assert.deepEqual([puppet.heard().at(-1)?.type, puppet.rows()], ["xstate.error.actor.t", []]);
});

Deno.test("kernel lets a question expire at its deadline, also when nothing ran then", async () => {
  const expired = (puppet: Puppet) => {
    const error = puppet.heard().at(-1)?.["error"] as
      | { status: string; failure: { code: string } }
      | undefined;
    return [error?.status, error?.failure.code];
  };
  const puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "q", request: questionUntil(puppet.stage.world.now() + 1_000) });
  await puppet.stage.world.advance(999);
  assert.equal(puppet.stage.runtime.questions.list().length, 1);
  await puppet.stage.world.advance(1);
  assert.deepEqual(expired(puppet), ["timed_out", "approval_expired"]);
  assert.deepEqual(puppet.stage.runtime.questions.list(), []);

  const before = await openPuppet();
  await before.act({ do: "ask", id: "q", request: questionUntil(before.stage.world.now() + 1_000) });
  before.stage.crash();
  await before.stage.world.advance(5_000);
  const after = await openPuppet({ world: before.stage.world, disk: before.stage.disk, isNew: false });
  await flush(after.stage);
  assert.deepEqual(expired(after), ["timed_out", "approval_expired"]);
});

/** A session whose model wants a tool that needs approval, and then says what it was told. */
async function askingStage(options: StageOptions = {}): Promise<{ stage: Stage; report: Promise<string> }> {
  const stage = await openStage({
    answers: [{ calls: [{ tool: "pay" }] }, { expect: "denied", text: "It was denied." }],
    tools: [{ name: "pay", effect: "non_idempotent", approval: "prompt" }],
    ...options,
  });
  const session = await stage.session();
  const given = await settled(stage.world, stage.runtime.prompt(session, "Pay."));
  return { stage, report: given.report.then(({ text }) => text) };
}

// Proves DM-34.
Deno.test("kernel denies what nobody approved within the hour, and the turn goes on", async () => {
  const { stage, report } = await askingStage();
  await stage.world.advance(limits.questionOpenMs - 1_000);
  assert.equal(stage.runtime.questions.list().length, 1);
  await stage.world.advance(2_000);
  assert.equal(await settled(stage.world, report), "It was denied.");
  assert.deepEqual(stage.ledger, []);
});

// Proves DM-34: silence never permits, and no interactive operator means denial.
Deno.test("kernel denies at once what nobody is there to approve", async () => {
  const { stage, report } = await askingStage({ hasAnswerer: () => false });
  await stage.world.advance(1_000);
  assert.equal(await settled(stage.world, report), "It was denied.");
  assert.deepEqual([stage.ledger, stage.runtime.questions.list()], [[], []]);
});
