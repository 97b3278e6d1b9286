/** Whether a command is done once, however often it comes, and its reply can be had at any time (K14). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { submit } from "../../src/kernel/command.ts";
import type { KernelError, StoredReply } from "../../src/kernel/kernel.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import type { PendingCall } from "../support/memory_store.ts";
import { callOf, flush, modelCall, ok, openPuppet, type Puppet, reopen } from "../support/puppet.ts";
import { openStage, settled } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";

const acts = [{ do: "reply", value: "said" }] as const;
const message = { type: "puppet.act", acts: acts as never };

function refused(code: string) {
  return (error: KernelError) => error.code === code;
}

async function replyOf(puppet: Puppet, key: string): Promise<StoredReply> {
  const given = await puppet.tell(message, key);
  return await settled(puppet.stage.world, given.reply);
}

Deno.test("kernel gives a repeated command the reply of the first and does nothing again (K14)", async () => {
  const puppet = await openPuppet();
  const first = await replyOf(puppet, "k");
  const { at, ...rest } = first;
  assert.equal(at, puppet.stage.world.now());
  assert.deepEqual(rest, { status: "ok", value: "said", root: puppet.root, seq: 2 });
  assert.deepEqual(await replyOf(puppet, "k"), first);
  assert.deepEqual(await puppet.lines(), ["created session", "input puppet.act", "reply ok"]);
});

Deno.test("kernel gives a command's reply after a restart, to whoever repeats it (K14)", async () => {
  const before = await openPuppet();
  const first = await replyOf(before, "k");
  const after = await reopen(before);
  assert.deepEqual(await replyOf(after, "k"), first);
  assert.equal((await after.lines()).length, 3);
});

Deno.test("kernel refuses a key that was used for another command or another root (K14)", async () => {
  const puppet = await openPuppet();
  await replyOf(puppet, "k");
  const other = puppet.tell({ ...message, more: 1 }, "k");
  await assert.rejects(other, refused("idempotency_key_reuse"));
  const ref = { principal: "operator:test", key: "k" };
  const elsewhere = settled(puppet.stage.world, submit(puppet.kernel, { root: rootNamed(2), message, ref }));
  await assert.rejects(elsewhere, refused("idempotency_key_reuse"));
  const again = await reopen(puppet);
  await assert.rejects(again.tell({ ...message, more: 1 }, "k"), refused("idempotency_key_reuse"));
});

Deno.test("kernel tells the same content by its meaning, not by the order of its keys (K14)", async () => {
  const puppet = await openPuppet();
  await puppet.tell({ type: "puppet.nothing", a: 1, b: 2 }, "k");
  await puppet.tell({ b: 2, a: 1, type: "puppet.nothing" }, "k");
  assert.equal((await puppet.lines()).length, 2);
});

Deno.test("kernel keeps the keys of different principals apart (K14)", async () => {
  const puppet = await openPuppet();
  for (const principal of ["operator:a", "operator:b"]) {
    const given = submit(puppet.kernel, { root: puppet.root, message, ref: { principal, key: "k" } });
    await settled(puppet.stage.world, given);
  }
  await puppet.stage.world.settle();
  assert.equal((await puppet.lines()).filter((line) => line === "input puppet.act").length, 2);
});

Deno.test("kernel takes commands that come at the same moment under one key as one (K14)", async () => {
  const puppet = await openPuppet();
  const given = await Promise.all(Array.from({ length: 5 }, () => puppet.tell(message, "k")));
  for (const one of given) {
    await settled(puppet.stage.world, one.accepted());
    assert.equal((await settled(puppet.stage.world, one.reply)).seq, 2);
  }
  assert.equal((await puppet.lines()).length, 3);
});

// The second look-up is answered before the first command is written, and heard of after.
Deno.test("kernel does not do a command twice because the store was slow to say that it has none (K14)", async () => {
  const held: PendingCall[] = [];
  const state = { isSlow: false };
  const gate = (call: PendingCall) => {
    if (state.isSlow && call.kind === "get") held.push(call);
    else call.settle();
  };
  const puppet = await openPuppet({ store: { gate } });
  const { world } = puppet.stage;
  const ref = { principal: "operator:test", key: "k" };
  const give = () => submit(puppet.kernel, { root: puppet.root, message, ref });
  state.isSlow = true;
  const both = [give(), give()];
  await world.settle();
  for (const call of held) call.apply();
  held.shift()?.settle();
  await world.settle();
  state.isSlow = false;
  for (const call of held.splice(0)) call.settle();
  for (const one of both) await settled(world, (await settled(world, one)).reply);
  assert.deepEqual(await puppet.lines(), ["created session", "input puppet.act", "reply ok"]);
});

Deno.test("kernel accepts a command once it is durable, and replies when it is done (K14)", async () => {
  const state = { isHanging: false };
  const puppet = await openPuppet({ store: { faults: () => state.isHanging ? "hang" : undefined } });
  const { world, handle } = puppet.stage;
  const heard: string[] = [];
  state.isHanging = true;
  const given = await puppet.tell(message, "k");
  given.accepted().then(() => heard.push("accepted"));
  given.reply.then(() => heard.push("reply"));
  await world.settle();
  assert.equal(heard.length, 0);
  state.isHanging = false;
  handle.release(true);
  await world.settle();
  assert.deepEqual(heard.sort(), ["accepted", "reply"]);
  // Accepted long before it is replied to: the machine has not said anything yet.
  const silent = await puppet.tell({ type: "puppet.nothing" }, "silent");
  await settled(world, silent.accepted());
  silent.reply.then(() => heard.push("too early"));
  await world.settle();
  assert.equal(heard.length, 2);
});

Deno.test("kernel loses a command that was not accepted, and its repeat is the first (K14)", async () => {
  const state = { isHanging: false };
  const before = await openPuppet({ store: { faults: () => state.isHanging ? "hang" : undefined } });
  state.isHanging = true;
  await before.tell(message, "k");
  const after = await reopen(before, { store: {} });
  assert.deepEqual(await after.lines(), ["created session"]);
  assert.equal((await replyOf(after, "k")).status, "ok");
  assert.deepEqual(await after.lines(), ["created session", "input puppet.act", "reply ok"]);
});

Deno.test("kernel lets many wait for one reply that comes cranks later", async () => {
  const stage = await openStage({ answers: [{ text: "Done." }] });
  const session = await stage.session();
  const first = await settled(stage.world, stage.runtime.prompt(session, "Hello", "k"));
  const second = await settled(stage.world, stage.runtime.prompt(session, "Hello", "k"));
  const reports = [await settled(stage.world, first.report), await settled(stage.world, second.report)];
  assert.deepEqual(reports.map(({ text, turn }) => [text, turn]), [["Done.", 1], ["Done.", 1]]);
});

Deno.test("kernel refuses a command to a root that it does not have, or that is quarantined", async () => {
  const puppet = await openPuppet();
  const ref = { principal: "operator:test", key: "k" };
  const nowhere = submit(puppet.kernel, { root: rootNamed(9), message, ref });
  await assert.rejects(settled(puppet.stage.world, nowhere), refused("root_not_found"));
  const said = await replyOf(puppet, "before");
  quarantine(puppet.kernel, puppet.root, "An operator said so");
  assert.deepEqual(await replyOf(puppet, "before"), said);
  await assert.rejects(puppet.tell(message), (error: KernelError) => {
    return error.code === "root_quarantined" && error.message.includes("An operator said so");
  });
  assert.equal((await puppet.lines()).length, 3);
});

Deno.test("kernel does not leave those waiting whose command a quarantine takes away", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  const live = puppet.kernel.roots.get(puppet.root);
  assert.ok(live);
  const asked = await puppet.tell({ type: "puppet.nothing" }, "asked");
  live.held = true;
  const waiting = await puppet.tell(message, "waiting");
  quarantine(puppet.kernel, puppet.root, "An operator said so");
  await assert.rejects(settled(world, waiting.accepted()), refused("root_quarantined"));
  await assert.rejects(settled(world, waiting.reply), refused("root_quarantined"));
  await assert.rejects(settled(world, asked.reply), refused("root_quarantined"));
  const again = await puppet.tell({ type: "puppet.nothing" }, "asked");
  await assert.rejects(settled(world, again.reply), refused("root_quarantined"));
});

Deno.test("kernel tells those who wait for a reply that it has stopped", async () => {
  const puppet = await openPuppet();
  const { world, runtime } = puppet.stage;
  const given = await puppet.act({ do: "ask", id: "a", request: modelCall });
  await settled(world, runtime.stop());
  await assert.rejects(settled(world, given.reply), refused("runtime_stopped"));
  await assert.rejects(puppet.tell(message, "late"));
});

Deno.test("kernel stops only when a harmful effect has ended, or has had its time", async () => {
  for (const endsAfterMs of [1_000, Infinity]) {
    const puppet = await openPuppet();
    const { world, runtime } = puppet.stage;
    await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
    let isStopped = false;
    const stopping = runtime.stop().then(() => isStopped = true);
    await world.advance(Math.min(endsAfterMs, limits.stopGraceMs) - 100);
    assert.equal(isStopped, false);
    if (endsAfterMs < limits.stopGraceMs) await puppet.hands[0]?.end(ok());
    await world.advance(200);
    await settled(world, stopping);
    const after = await reopen(puppet);
    await flush(after.stage);
    const outcome = (await after.entries()).find(({ kind }) => kind === "outcome");
    const { status } = outcome?.body as unknown as { status: string };
    assert.equal(status, endsAfterMs < limits.stopGraceMs ? "ok" : "unknown");
  }
});

Deno.test("kernel looks nothing up for a command whose key was minted for it, and still enters it once (K14)", async () => {
  const stage = await openStage({ answers: [{ text: "one" }, { text: "two" }] });
  const session = await stage.session();
  const given = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await settled(stage.world, given.report);
  const command = (await stage.entries(session)).find((entry) => entry.type === "session.prompt")?.body as {
    command: { key: string };
  };
  // Whoever learns the key and gives another command under it is refused, whatever it says.
  await assert.rejects(settled(stage.world, stage.runtime.prompt(session, "Go", command.command.key)), {
    code: "idempotency_key_reuse",
  });
});
