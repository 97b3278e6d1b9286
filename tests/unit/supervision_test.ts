/** What becomes of a root that fails again and again, of one that runs away, and of one that is flooded (K15, K23). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { submit } from "../../src/kernel/command.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import { flush, openPuppet, type Puppet, reopen } from "../support/puppet.ts";
import { settled } from "../support/stage.ts";

const supervisor = "supervisor/main";
/** Longer than any wait of the supervisor before it lets a root go on. */
const soonMs = 5_000;

async function failureOf(puppet: Puppet, type: string): Promise<{ readonly code: string }> {
  const given = await puppet.tell({ type });
  const reply = await settled(puppet.stage.world, given.reply);
  assert.equal(reply.status, "failed");
  return (reply.value as unknown as { readonly failure: { readonly code: string } }).failure;
}

Deno.test("root that fails at every message is set right three times, then quarantined by name (F14)", async () => {
  const puppet = await openPuppet();
  const { world } = puppet.stage;
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  for (let crash = 1; crash <= 4; crash++) {
    assert.equal(puppet.kernel.records.get(puppet.root)?.status, "active", `before crash ${crash}`);
    await puppet.act({ do: "throw" });
    await world.advance(soonMs);
    if (crash < 4) assert.deepEqual(puppet.heard().map(({ n }) => n), [1], "from the state before it");
  }
  const record = puppet.kernel.records.get(puppet.root);
  assert.equal(record?.status, "quarantined");
  assert.match(record?.reason ?? "", /crashed more often than its supervisor allows/);
  const poisoned = (await puppet.entries()).filter(({ type }) => type === "poisoned");
  assert.equal(poisoned.length, 4, "each message is kept, marked");
  const notes = (await puppet.stage.entries(supervisor)).filter(({ kind }) => kind === "note");
  const [escalated, ...more] = notes.map(({ body }) => body as { readonly [key: string]: unknown });
  assert.deepEqual(more, []);
  assert.deepEqual([escalated?.["child"], escalated?.["restarts"]], [puppet.root, 3]);
  assert.equal((escalated?.["cause"] as { readonly code: string }).code, "crank_failed");
  // A restart tries it no more.
  const after = await reopen(puppet);
  await after.stage.world.advance(soonMs);
  assert.equal(after.kernel.records.get(puppet.root)?.status, "quarantined");
});

Deno.test("root that tells itself things for ever is broken off after 1,000 events (F15)", async () => {
  const puppet = await openPuppet();
  assert.equal((await failureOf(puppet, "puppet.talk")).code, "runaway_actor");
  await puppet.stage.world.advance(soonMs);
  // What it did meanwhile is discarded, and it goes on as it was.
  await puppet.tell({ type: "puppet.act", acts: [], n: 1 });
  assert.deepEqual(puppet.heard().map(({ type }) => type), ["puppet.act"]);
  for (let crash = 2; crash <= 4; crash++) {
    assert.equal((await failureOf(puppet, "puppet.talk")).code, "runaway_actor");
    await puppet.stage.world.advance(soonMs);
  }
  assert.equal(puppet.kernel.records.get(puppet.root)?.status, "quarantined");
});

Deno.test("root that moves by itself for ever is broken off after 1,000 steps (F15)", async () => {
  const puppet = await openPuppet();
  assert.equal((await failureOf(puppet, "puppet.spin")).code, "runaway_actor");
});

Deno.test("mailbox that 100,000 messages flood takes 1,000, refuses the others, and loses none that it took (F16)", async () => {
  const puppet = await openPuppet();
  const { kernel, root, stage } = puppet;
  const flood = 100_000;
  const given = Array.from({ length: flood }, (_, n) => {
    const ref = { principal: "operator:test", key: `flood${n}` };
    const message = { type: "puppet.act", acts: [], n };
    // Heard at once: looking for a hundred thousand refusals that nobody hears takes the process a minute.
    return Promise.allSettled([submit(kernel, { root, message, ref, isFresh: true })]);
  });
  assert.equal(kernel.roots.get(root)?.mailbox.length, limits.mailboxMessagesMax);
  const answers = await (await settled(stage.world, Promise.all(given))).flat();
  const refused = answers.flatMap((one) => one.status === "rejected" ? [one.reason as KernelError] : []);
  const taken = answers.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  assert.deepEqual([...new Set(refused.map(({ code }) => code))], ["mailbox_full"]);
  assert.deepEqual([taken.length, refused.length], [1_000, flood - 1_000]);
  await settled(stage.world, Promise.all(taken.map((one) => one.accepted())));
  await flush(stage);
  const inOrder = Array.from({ length: 1_000 }, (_, n) => n);
  assert.deepEqual(puppet.heard().map(({ n }) => n), inOrder);
  // Acknowledged means durable: a process that dies now has lost none of them.
  const after = await reopen(puppet);
  await after.tell({ type: "puppet.act", acts: [], n: 1_000 });
  assert.deepEqual(after.heard().map(({ n }) => n), [...inOrder, 1_000]);
});
