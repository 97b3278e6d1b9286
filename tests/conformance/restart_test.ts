/** What waits over a restart: approvals of what has changed since, timers when the clock was set, turns that were stopped. */
import assert from "node:assert/strict";
import { InvocationFold } from "../../src/records/invocation_fold.ts";
import { cutAt } from "../support/cutting_store.ts";
import { flush, openPuppet, type Puppet, timerAt } from "../support/puppet.ts";
import type { CrashScene } from "../support/crash_scene.ts";
import { calls, sceneOf, unknown } from "./crash/cells.ts";

Deno.test("dangerous step that was cut off between effect and confirmation is unknown after every restart, and never replayed silently (DM-134)", async () => {
  const scene = await sceneOf("non_idempotent");
  scene.target.conduct = "swallow";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  scene.target.conduct = "answer";
  for (let life = 2; life <= 4; life++) {
    scene.crash();
    await scene.start();
    await scene.world.advance(60_000);
    assert.equal((await scene.question()).subject.kind, "uncertain");
    const [said = "", again] = await scene.bodies("outcome", "tool.call");
    assert.deepEqual([/"status":"unknown"/.test(said), again], [true, undefined]);
    assert.equal(scene.target.received.length, 1);
  }
  await scene.answer("abandon", await scene.question(), "nobody knows");
  assert.equal((await scene.report()).outcome, "completed");
  assert.match(scene.told.join(), unknown);
  assert.equal(scene.target.received.length, 1);
  const fold = new InvocationFold();
  for (const entry of await scene.entries()) fold.take(entry);
  assert.deepEqual(fold.rows.map(({ outcome }) => outcome), ["unknown"], "what every reader is told");
  await scene.end();
});

for (
  const [what, changes] of [
    ["its definition", { riskLevel: "high" }],
    ["its pinned description", { description: "Charges twice" }],
    ["its policy", { approvalPolicy: "deny" }],
  ] as const
) {
  Deno.test(`approval that is open over a restart is stale once ${what} changed: nobody can give it, and nothing is sent (P2, B23)`, async () => {
    const scene = await sceneOf("non_idempotent", { approval: "prompt" });
    await scene.give();
    const question = await scene.question();
    scene.crash();
    await scene.start();
    assert.deepEqual(await scene.question(), question);
    await scene.changeTool(changes);
    await scene.until("the withdrawal", () => scene.runtime.questions.list().length === 0);
    await assert.rejects(scene.answer("allow", question), { code: "approval_stale" });
    assert.equal((await scene.report()).outcome, "completed");
    assert.match(scene.told.join(), /^denied: The tool was changed while a person was asked about it/);
    assert.deepEqual([scene.target.received, (await calls(scene)).all], [[], []]);
    await scene.end();
  });
}

Deno.test("approval that expired while nothing ran is denied once, whatever the clock says later (P2, F13)", async () => {
  const scene = await sceneOf("non_idempotent", { approval: "prompt" });
  await scene.give();
  const question = await scene.question();
  scene.crash();
  const tenYears = 10 * 365 * 86_400_000;
  scene.world.setClock(scene.world.now() + tenYears);
  await scene.start();
  assert.equal((await scene.report()).outcome, "needs_user");
  assert.match(scene.told.join(), /^denied: Nobody answered in time/);
  scene.crash();
  scene.world.setClock(scene.world.now() - tenYears);
  await scene.start();
  await assert.rejects(scene.answer("allow", question), { code: "approval_expired" });
  assert.deepEqual([scene.target.received, (await scene.bodies("outcome", "question.ask")).length], [[], 1]);
  await scene.end();
});

Deno.test("approval waits for its own time when the clock is set back by an hour over a restart (F13)", async () => {
  const scene = await sceneOf("non_idempotent", { approval: "prompt" });
  await scene.give();
  const question = await scene.question();
  scene.crash();
  scene.world.setClock(scene.world.now() - 3_600_000);
  await scene.start();
  assert.deepEqual(await scene.question(), question);
  await scene.world.advance(3_600_000);
  assert.equal(scene.runtime.questions.list().length, 1, "the hour comes twice");
  await scene.world.advance(3_600_000);
  assert.equal((await scene.report()).outcome, "needs_user");
  assert.deepEqual(scene.target.received, []);
  await scene.end();
});

/** Labels of the timers that a puppet heard, in their order. */
function fired(puppet: Puppet): string[] {
  return puppet.heard().flatMap(({ type }) => type.startsWith("xstate.done.actor.t") ? [type.slice(18)] : []);
}

/** A puppet with timers that are due after so many milliseconds, killed before any is. */
async function killedWith(dueAfterMs: readonly number[]): Promise<Puppet> {
  const puppet = await openPuppet();
  const now = puppet.stage.world.now();
  for (const [index, ms] of dueAfterMs.entries()) {
    await puppet.act({ do: "ask", id: `t${index}`, request: timerAt(now + ms) });
  }
  await flush(puppet.stage);
  puppet.stage.crash();
  return puppet;
}

async function reopenedAt(before: Puppet, ms: number): Promise<Puppet> {
  const { world, disk } = before.stage;
  world.setClock(world.now() + ms);
  const after = await openPuppet({ world, disk, isNew: false });
  await flush(after.stage);
  return after;
}

Deno.test("timers that fell due while nothing ran fire once each at the next start, in due order (F13)", async () => {
  const before = await killedWith([7_000, 1_000, 9_000, 3_000, 5_000, 2_000, 8_000, 4_000, 10_000, 6_000]);
  const after = await reopenedAt(before, 10 * 365 * 86_400_000);
  await after.stage.world.advance(1_000);
  assert.deepEqual(
    fired(after),
    ["t1", "t5", "t3", "t7", "t4", "t9", "t0", "t6", "t2", "t8"],
  );
  assert.deepEqual(after.rows(), []);
});

Deno.test("timer waits for its own time when the clock is set back by an hour, and fires once (F13)", async () => {
  const before = await killedWith([1_000]);
  const after = await reopenedAt(before, -3_600_000);
  await after.stage.world.advance(3_600_000);
  assert.equal(after.kernel.roots.has(after.root), false, "it sleeps");
  await after.stage.world.advance(1_000);
  assert.deepEqual(fired(after), ["t0"]);
  const entries = await after.entries();
  assert.deepEqual(entries.map(({ seq }) => seq), entries.map((_, index) => index + 1), "order is by seq");
});

/** Asks to stop the turn, and lets time pass until it has ended. */
async function interrupt(scene: CrashScene): Promise<void> {
  const { reply } = await scene.through(
    scene.runtime.send(scene.session, { type: "session.cancel", reason: "enough" }, "cancel"),
  );
  await scene.through(reply);
}

Deno.test("turn that is interrupted between two attempts makes no further one, also after a restart, and cannot be made to (CM-115)", async () => {
  const scene = await sceneOf("idempotent", {
    answers: [{ fail: { code: "model_unreachable", message: "away" } }],
  });
  await scene.give();
  await scene.until("the back-off", () => scene.asked === 1 && scene.runtime.kernel.running.size === 1);
  await interrupt(scene);
  await scene.world.advance(120_000);
  assert.equal(scene.asked, 1, "the queued retry was given up");
  scene.crash();
  await scene.start();
  await scene.world.advance(120_000);
  assert.equal((await scene.report()).outcome, "canceled", "the same prompt again is that turn");
  assert.deepEqual([scene.asked, await scene.rows("due"), await scene.rows("open")], [1, 0, 0]);
  await scene.end();
});

Deno.test("result that comes after its turn was interrupted is kept as evidence and changes nothing (CM-115, R7)", async () => {
  const scene = await sceneOf("idempotent");
  scene.target.conduct = "mute";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  await interrupt(scene);
  const before = await scene.bodies("outcome", "tool.call");
  assert.match(before.join(), /"status":"canceled"/);
  scene.target.speak();
  await scene.world.advance(1_000);
  await scene.through(scene.runtime.journal.writer.idle());
  assert.equal((await scene.bodies("note", "late_outcome")).length, 1, "it is evidence");
  assert.deepEqual(await scene.bodies("outcome", "tool.call"), before);
  assert.equal((await scene.report()).outcome, "canceled");
  assert.deepEqual([scene.asked, scene.told], [1, []]);
  await scene.end();
});

Deno.test("result that comes after a look-up settled its call is evidence, and the settlement stands (R7)", async () => {
  const scene = await sceneOf("conditional by verify");
  scene.target.conduct = "mute";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  await interrupt(scene);
  assert.equal(scene.target.looks, 1);
  scene.target.speak();
  await scene.world.advance(1_000);
  await scene.through(scene.runtime.journal.writer.idle());
  assert.equal((await scene.bodies("note", "late_outcome")).length, 1);
  const [first = "", second] = await scene.bodies("outcome", "tool.call");
  assert.deepEqual([/"status":"unknown"/.test(first), second], [true, undefined]);
  assert.equal(scene.target.received.length, 1);
  await scene.end();
});

Deno.test("tool's own no is a known outcome: it is told after a restart as it was recorded, and nobody is asked (R4)", async () => {
  const scene = await sceneOf("non_idempotent");
  scene.target.conduct = "refuse";
  await scene.giveUntil(cutAt("outcome", "tool.call", "after"));
  scene.crash();
  await scene.start();
  assert.equal((await scene.report()).outcome, "completed");
  assert.match(scene.told.join(), /There is no such card/);
  const fold = new InvocationFold();
  for (const entry of await scene.entries()) fold.take(entry);
  assert.deepEqual(fold.rows.map(({ outcome }) => outcome), ["completed_with_error"]);
  assert.deepEqual([await scene.bodies("intent", "question.ask"), scene.target.received.length], [[], 1]);
  await scene.end();
});
