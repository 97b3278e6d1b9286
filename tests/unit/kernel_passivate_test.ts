/** Whether a root that sleeps loses nothing: not its effects, not its mail, not its state (K22). */
import assert from "node:assert/strict";
import { passivate, passivateIdle } from "../../src/kernel/passivate.ts";
import { callOf, flush, modelCall, ok, openPuppet, questionUntil, timerAt } from "../support/puppet.ts";
import { openStage, settled } from "../support/stage.ts";

Deno.test("kernel lets a root sleep while its effects run, and wakes it with their outcomes (K22)", async () => {
  const puppet = await openPuppet();
  const { kernel, root, stage } = puppet;
  await puppet.act(
    { do: "ask", id: "a", request: callOf("non_idempotent") },
    { do: "ask", id: "m", request: modelCall },
    { do: "ask", id: "t", request: timerAt(stage.world.now() + 1_000) },
    { do: "ask", id: "q", request: questionUntil(stage.world.now() + 60_000) },
  );
  const lines = await puppet.lines();
  const signals = puppet.hands.map(({ performance }) => performance.signal);
  assert.equal(passivate(kernel, root), true);
  assert.equal(kernel.roots.has(root), false);
  // Nothing was stopped, nothing was written, nothing was dropped.
  await flush(stage);
  assert.deepEqual([await puppet.lines(), signals.map((signal) => signal.aborted)], [lines, [false, false]]);
  assert.equal(stage.runtime.questions.list().length, 1);
  await puppet.hands.find(({ performance }) => performance.request.port === "tool.call")?.end(ok("woke it"));
  assert.equal((puppet.heard().at(-1)?.["output"] as { value: string }).value, "woke it");
  // Awake again, it asks nothing anew: the others run on as they were.
  assert.deepEqual([puppet.hands.length, stage.runtime.questions.list().length], [1, 1]);
  assert.deepEqual((await puppet.lines()).slice(lines.length), ["outcome tool.call"]);
  assert.equal(passivate(kernel, root), true);
  await stage.world.advance(1_000);
  assert.equal(puppet.heard().at(-1)?.type, "xstate.done.actor.t");
  assert.equal(passivate(kernel, root), false);
  await flush(stage);
  assert.equal(passivate(kernel, root), true);
  await puppet.tell({ type: "puppet.nothing" });
  assert.equal(kernel.roots.get(root)?.shape().open.length, 2);
});

Deno.test("kernel lets no root sleep that works, has mail, is held, or has written what is not durable (K22)", async () => {
  const state = { isHanging: false };
  const puppet = await openPuppet({ store: { faults: () => state.isHanging ? "hang" : undefined } });
  const { kernel, root } = puppet;
  const live = kernel.roots.get(root);
  assert.ok(live);
  live.held = true;
  assert.equal(passivate(kernel, root), false);
  await puppet.tell({ type: "puppet.nothing" });
  live.held = false;
  assert.equal(live.mailbox.length, 1);
  assert.equal(passivate(kernel, root), false);
  await puppet.tell({ type: "puppet.busy" });
  assert.equal(passivate(kernel, root), false);
  await puppet.tell({ type: "puppet.rest" });
  state.isHanging = true;
  await puppet.tell({ type: "puppet.nothing" });
  assert.equal(passivate(kernel, root), false);
  state.isHanging = false;
  puppet.stage.handle.release(true);
  await flush(puppet.stage);
  assert.equal(passivate(kernel, root), true);
  assert.equal(passivate(kernel, root), false);
});

Deno.test("kernel puts the longest idle roots to sleep, down to its bound", async () => {
  const stage = await openStage({ answers: [{ text: "One." }] });
  const { kernel } = stage.runtime;
  const sessions = [];
  for (let n = 0; n < 3; n++) {
    sessions.push(await stage.session());
    await stage.world.advance(1_000);
  }
  const first = sessions[0] ?? "";
  const given = await settled(stage.world, stage.runtime.prompt(first, "Hello"));
  await settled(stage.world, given.report);
  await stage.world.advance(1_000);
  const awake = kernel.roots.size;
  assert.equal(passivateIdle(kernel, awake - 2), 2);
  assert.equal(kernel.roots.size, awake - 2);
  assert.ok(kernel.roots.has(first));
  assert.equal(passivateIdle(kernel, 100), 0);
});

Deno.test("session goes on with its whole conversation after it slept", async () => {
  const stage = await openStage({
    answers: [{ text: "One." }, { text: "Two." }],
    agent: { instructions: "Be brief." },
    runtime: { awakeMax: 0 },
  });
  const session = await stage.session();
  for (const [prompt, text] of [["First", "One."], ["Second", "Two."]] as const) {
    const given = await settled(stage.world, stage.runtime.prompt(session, prompt));
    assert.equal((await settled(stage.world, given.report)).text, text);
    await settled(stage.world, stage.runtime.rest());
    assert.equal(stage.runtime.kernel.roots.has(session), false);
  }
  const messages = await settled(stage.world, stage.runtime.conversations.transcript(session, "1.0"));
  assert.deepEqual(messages.map(({ role }) => role), ["system", "user", "assistant", "user", "assistant"]);
  const report = await stage.replay(session, { strict: true });
  assert.deepEqual([report.divergence, report.entries], [undefined, report.cranks + 6]);
});
