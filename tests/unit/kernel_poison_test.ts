/** What happens to a message that breaks a machine, to the root behind it, and to a root that breaks too often (K23). */
import assert from "node:assert/strict";
import type { PortOutcome } from "../../schemas/effect.ts";
import { create } from "../../src/kernel/create.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import { callOf, modelCall, ok, openPuppet, type Puppet, reopen } from "../support/puppet.ts";
import { settled } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";

const supervisor = "supervisor/main";
const breaking = { do: "throw" } as const;
/** Longer than any wait of the supervisor before it lets a root go on. */
const soonMs = 5_000;

interface Failed {
  readonly status: string;
  readonly value: { readonly failure: { readonly code: string; readonly message: string } };
}

async function replyTo(puppet: Puppet, given: { readonly reply: Promise<unknown> }): Promise<Failed> {
  return await settled(puppet.stage.world, given.reply) as Failed;
}

async function linesOf(puppet: Puppet, root: string): Promise<string[]> {
  return (await puppet.stage.entries(root)).map((entry) => `${entry.kind} ${entry.type}`);
}

function statusOf(puppet: Puppet): string | undefined {
  return puppet.kernel.records.get(puppet.root)?.status;
}

Deno.test("kernel sets a message aside that breaks the machine, and tells its sender (K23)", async () => {
  const puppet = await openPuppet();
  await puppet.tell({ type: "puppet.nothing" });
  // What it did before it broke is discarded with it.
  const given = await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") }, breaking);
  const { status, value } = await replyTo(puppet, given);
  assert.deepEqual([status, value.failure.code], ["failed", "crank_failed"]);
  assert.match(value.failure.message, /The puppet broke/);
  await settled(puppet.stage.world, given.accepted());
  const entries = await puppet.entries();
  assert.deepEqual(entries.map(({ kind, type }) => `${kind} ${type}`), [
    "created session",
    "input puppet.nothing",
    "note poisoned",
    "reply failed",
  ]);
  const body = entries[2]?.body as { input: { message: { type: string } }; failure: { code: string } };
  assert.deepEqual([body.input.message.type, body.failure.code], ["puppet.act", "crank_failed"]);
  assert.deepEqual([puppet.hands.length, puppet.rows()], [0, []]);
});

Deno.test("kernel goes on with a root as it was before the message that broke it (K23)", async () => {
  const puppet = await openPuppet();
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  await puppet.act(breaking);
  await puppet.stage.world.advance(soonMs);
  await puppet.tell({ type: "puppet.act", acts: [], n: 2 });
  assert.deepEqual(puppet.heard().map((one) => one["n"]), [1, 2]);
  // A restart finds the note, skips it, and comes to the same state.
  const after = await reopen(puppet);
  await after.tell({ type: "puppet.act", acts: [], n: 3 });
  assert.deepEqual(after.heard().map((one) => one["n"]), [1, 2, 3]);
});

Deno.test("kernel does nothing of what a machine asked for before it broke, not even with the next message (K23, R2)", async () => {
  const puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") }, { do: "throw" });
  await puppet.stage.world.advance(soonMs);
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  assert.deepEqual((await puppet.lines()).filter((line) => line.startsWith("intent")), []);
  assert.equal(puppet.hands.length, 0);
});

Deno.test("kernel answers the repeat of a command that broke the machine with the stored failure (K14, K23)", async () => {
  const puppet = await openPuppet();
  const message = { type: "puppet.act", acts: [breaking] as never };
  const first = await replyTo(puppet, await puppet.tell(message, "k"));
  await puppet.stage.world.advance(soonMs);
  assert.deepEqual(await replyTo(puppet, await puppet.tell(message, "k")), first);
  assert.equal((await puppet.lines()).filter((line) => line === "note poisoned").length, 1);
});

Deno.test("kernel keeps the mail and the running effects of a root that broke (K23)", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  await puppet.act({ do: "ask", id: "a", request: callOf("non_idempotent") });
  const broken = puppet.act(breaking);
  const behind = puppet.tell({ type: "puppet.act", acts: [{ do: "reply", value: "served" }] as never });
  await broken;
  await puppet.hands[0]?.end(ok("kept"));
  await world.advance(soonMs);
  const served = await settled(world, (await behind).reply);
  assert.equal(served.value, "served");
  assert.deepEqual((await puppet.lines()).slice(-5), [
    "note poisoned",
    "reply failed",
    "input puppet.act",
    "reply ok",
    "outcome tool.call",
  ]);
  const { value, intent } = puppet.heard().at(-1)?.["output"] as { value: string; intent: string };
  assert.deepEqual([value, intent], ["kept", "2.0"]);
});

Deno.test("kernel holds a broken root until its supervisor lets it go on, after a wait (K23)", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  await puppet.act(breaking);
  const given = await puppet.tell({ type: "puppet.act", acts: [{ do: "reply", value: "served" }] as never });
  let isServed = false;
  given.reply.then(() => isServed = true);
  await world.advance(199);
  assert.equal(isServed, false);
  await world.advance(200);
  assert.equal(isServed, true);
  assert.deepEqual((await linesOf(puppet, supervisor)).slice(1), [
    "input child.crashed",
    "intent timer.set",
    "outcome timer.set",
    "intent child.start",
    "outcome child.start",
  ]);
});

Deno.test("kernel rebuilds a broken root only when all that it wrote before is durable (K23)", async () => {
  const state = { isHanging: false };
  const puppet = await openPuppet({ store: { faults: () => state.isHanging ? "hang" : undefined } });
  const { world, handle } = puppet.stage;
  state.isHanging = true;
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  const given = await puppet.act(breaking);
  state.isHanging = false;
  handle.release(true);
  assert.equal((await replyTo(puppet, given)).status, "failed");
  await world.advance(soonMs);
  assert.deepEqual(await puppet.lines(), [
    "created session",
    "input puppet.act",
    "note poisoned",
    "reply failed",
  ]);
  assert.deepEqual(puppet.heard().map((one) => one["n"]), [1]);
});

Deno.test("kernel takes a message of another root that breaks the machine off its row, for good (K13, K23)", async () => {
  const puppet = await openPuppet();
  const { kernel, stage } = puppet;
  const receiver = rootNamed(2);
  await settled(
    stage.world,
    create(kernel, { address: receiver, kind: "session", input: {}, title: "second" }),
  );
  const message = { type: "puppet.act", acts: [breaking] as never };
  await puppet.act({ do: "post", outgoing: { kind: "message", to: receiver, message } });
  await stage.world.advance(soonMs);
  const lines = ["created session", "note poisoned"];
  assert.deepEqual([await linesOf(puppet, receiver), puppet.rows()], [lines, []]);
  const after = await reopen(puppet);
  await after.stage.world.advance(soonMs);
  assert.deepEqual(await linesOf(after, receiver), lines);
});

// Proves K18.
Deno.test("kernel fails a crank whose unit no commit could hold (K18, K23)", async () => {
  const puppet = await openPuppet();
  const outgoing = { kind: "note", type: "test.note", body: "x".repeat(3_000) } as const;
  const { status, value } = await replyTo(puppet, await puppet.act({ do: "post", outgoing, times: 500 }));
  assert.deepEqual([status, value.failure.code], ["failed", "too_large"]);
  await puppet.stage.world.advance(soonMs);
  await puppet.act({ do: "post", outgoing, times: 5 });
  assert.equal((await puppet.lines()).filter((line) => line === "note test.note").length, 5);
});

Deno.test("kernel breaks off a machine that goes round without end (K8)", async () => {
  const puppet = await openPuppet();
  const { status, value } = await replyTo(puppet, await puppet.tell({ type: "puppet.spin" }));
  assert.deepEqual([status, value.failure.code], ["failed", "runaway_actor"]);
  await puppet.stage.world.advance(soonMs);
  await puppet.tell({ type: "puppet.nothing" });
  assert.equal((await puppet.lines()).at(-1), "input puppet.nothing");
});

Deno.test("kernel tells a machine of an outcome that it could not take as a failure, with the original as evidence (K23)", async () => {
  const statuses = { idempotent: "failed", conditional: "unknown", non_idempotent: "unknown" } as const;
  for (const [effect, status] of Object.entries(statuses)) {
    const puppet = await openPuppet();
    await puppet.act({ do: "ask", id: "a", request: callOf(effect as never) });
    await puppet.hands[0]?.end(ok({ text: "poison", calls: [] }));
    await puppet.stage.world.advance(soonMs);
    const last = (await puppet.entries()).at(-1);
    const outcome = last?.body as unknown as PortOutcome;
    assert.deepEqual([last?.kind, outcome.id, outcome.status, outcome.failure?.code], [
      "outcome",
      "2.0",
      status,
      "poisoned",
    ]);
    assert.match(outcome.failure?.message ?? "", /"text":"poison"/);
    assert.equal(puppet.heard().at(-1)?.type, "xstate.error.actor.a");
    assert.deepEqual([statusOf(puppet), puppet.rows()], ["active", []]);
  }
});

Deno.test("kernel quarantines a root that breaks on an outcome twice, and performs nothing more for it (K23)", async () => {
  const puppet = await openPuppet();
  const { world, runtime } = puppet.stage;
  const told: string[] = [];
  runtime.watch((event) => void (event.type === "quarantined" && told.push(event.root)));
  await puppet.act({ do: "ask", id: "a", request: callOf("idempotent") });
  await puppet.act({ do: "ask", id: "b", request: modelCall });
  const other = puppet.hands[1];
  await puppet.hands[0]?.end(ok("stubborn poison"));
  await world.advance(soonMs);
  assert.deepEqual([statusOf(puppet), told], ["quarantined", [puppet.root]]);
  assert.match(puppet.kernel.records.get(puppet.root)?.reason ?? "", /failed on an outcome twice/);
  const lines = await puppet.lines();
  await other?.end(ok());
  await world.advance(soonMs);
  assert.deepEqual(await puppet.lines(), lines);
  const after = await reopen(puppet);
  await after.stage.world.advance(soonMs);
  assert.deepEqual([statusOf(after), after.hands.length, await after.lines()], ["quarantined", 0, lines]);
});

Deno.test("kernel quarantines a root at its fourth crash within a minute: its supervisor escalates (K23)", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  for (let crash = 1; crash <= 3; crash++) {
    await puppet.act(breaking);
    await world.advance(soonMs);
    assert.equal(statusOf(puppet), "active");
  }
  await puppet.act(breaking);
  await world.advance(soonMs);
  assert.equal(statusOf(puppet), "quarantined");
  const lines = await linesOf(puppet, supervisor);
  assert.ok(lines.includes("note supervisor.escalated"));
  assert.equal(lines.filter((line) => line === "intent timer.set").length, 3);
  const late = puppet.tell({ type: "puppet.nothing" });
  await assert.rejects(late, (error: KernelError) => error.code === "root_quarantined");
});

Deno.test("kernel forgives crashes that are more than a minute apart (K23)", async () => {
  const puppet = await openPuppet();
  for (let crash = 1; crash <= 5; crash++) {
    await puppet.act(breaking);
    await puppet.stage.world.advance(61_000);
  }
  assert.equal(statusOf(puppet), "active");
});

Deno.test("kernel refuses the birth of a root whose first crank fails, and leaves no trace of it (K23)", async () => {
  const puppet = await openPuppet();
  const { kernel, stage } = puppet;
  const address = rootNamed(7).replace("session/", "catalog/");
  // A catalog without sources is none: its machine fails as it starts.
  const birth = create(kernel, { address, kind: "catalog", input: {}, title: "stillborn" });
  await assert.rejects(settled(stage.world, birth));
  assert.deepEqual(await stage.entries(address), []);
  assert.equal(kernel.records.get(address), undefined);
});
