/** How a root moves to other code: at rest, over a checkpoint, or not at all (K21). */
import assert from "node:assert/strict";
import type { CheckpointBody } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys } from "../../src/journal/keys.ts";
import type { PortDesk } from "../../src/kernel/machines.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import {
  callOf,
  flush,
  modelCall,
  ok,
  openPuppet,
  type Puppet,
  reopen,
  wirePuppets,
} from "../support/puppet.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const [one, two, three] = ["1", "2", "3"].map((digit) => `sha256:${digit.repeat(64)}`) as [
  string,
  string,
  string,
];

function checkpoints(lines: readonly string[]): number {
  return lines.filter((line) => line.startsWith("checkpoint")).length;
}

async function prompt(stage: Stage, session: string, text: string): Promise<string> {
  const given = await settled(stage.world, stage.runtime.prompt(session, text));
  return (await settled(stage.world, given.report)).text;
}

/** The same session under other code, after a crash. */
async function moved(stage: Stage, options: StageOptions): Promise<Stage> {
  await flush(stage);
  stage.crash();
  return await openStage({ world: stage.world, disk: stage.disk, ...options });
}

Deno.test("kernel writes a checkpoint before a root does anything under other code (K21)", async () => {
  const before = await openPuppet({ code: one });
  await before.tell({ type: "puppet.act", acts: [], n: 1 });
  const after = await reopen(before, { code: two });
  await after.tell({ type: "puppet.act", acts: [], n: 2 });
  const entries = await after.entries();
  assert.deepEqual(entries.map(({ kind, type }) => `${kind} ${type}`), [
    "created session",
    "input puppet.act",
    "checkpoint session",
    "input puppet.act",
  ]);
  const { machine, code, state, open } = entries[2]?.body as unknown as CheckpointBody;
  assert.deepEqual([machine, code, open], ["session", two, []]);
  const { context } = state as unknown as { context: { heard: { n: number }[] } };
  assert.deepEqual(context.heard.map(({ n }) => n), [1]);
  assert.deepEqual(after.heard().map((heard) => heard["n"]), [1, 2]);
});

Deno.test("kernel writes no checkpoint where the code is the same, and one only where it is not (K21)", async () => {
  let puppet = await openPuppet({ code: one });
  // Open work wakes the root at every start.
  await puppet.act({ do: "ask", id: "a", request: callOf("idempotent") });
  for (const [code, expected] of [[one, 0], [two, 1], [two, 1], [three, 2]] as const) {
    puppet = await reopen(puppet, { code });
    await flush(puppet.stage);
    assert.equal(checkpoints(await puppet.lines()), expected, `${code} ${await puppet.lines()}`);
  }
  assert.deepEqual(puppet.heard().map(({ type }) => type), ["puppet.act"]);
});

Deno.test("kernel moves a root with open work that harms nobody, and asks for it again (K21)", async () => {
  const before = await openPuppet({ code: one });
  await before.act({ do: "ask", id: "m", request: modelCall }, {
    do: "ask",
    id: "a",
    request: callOf("idempotent"),
  });
  const after = await reopen(before, { code: two });
  await after.stage.world.advance(limits.reaskJitterMs);
  assert.deepEqual(after.hands.map(({ performance }) => [performance.id, performance.attempt]).sort(), [
    ["2.0", 2],
    ["2.1", 2],
  ]);
  const checkpoint = (await after.entries()).find(({ kind }) => kind === "checkpoint");
  assert.deepEqual((checkpoint?.body as unknown as CheckpointBody).open, ["2.0", "2.1"]);
  await after.hands[0]?.end(ok());
  assert.match(after.heard().at(-1)?.type ?? "", /xstate.done.actor/);
});

// Proves K7 over an upgrade: the count goes on.
Deno.test("kernel counts attempts over a checkpoint (K7, K21)", async () => {
  let puppet = await openPuppet({ code: one });
  await puppet.act({ do: "ask", id: "a", request: callOf("idempotent") });
  for (const [code, attempt] of [[one, 2], [two, 3], [two, 4], [two, 5]] as const) {
    puppet = await reopen(puppet, { code });
    await puppet.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual(puppet.hands.map(({ performance }) => performance.attempt), [attempt]);
  }
});

Deno.test("kernel leaves a root alone that other code left with a harmful effect open (K21)", async () => {
  for (const effect of ["conditional", "non_idempotent"] as const) {
    const before = await openPuppet({ code: one });
    await before.act({ do: "ask", id: "a", request: callOf(effect, "key") });
    const lines = await before.lines();
    const other = await reopen(before, { code: two });
    await other.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual([await other.lines(), other.hands.length], [lines, 0], effect);
    const refused = other.tell({ type: "puppet.nothing" });
    await assert.rejects(refused, (error: KernelError) => {
      return error.code === "root_quarantined" && /start the release that wrote it/.test(error.message);
    });
    // The release that began it can still finish it; then the other one takes over.
    const again = await reopen(other, { code: one });
    await again.stage.world.advance(limits.reaskJitterMs);
    await again.hands[0]?.end(ok());
    assert.match((await again.lines()).at(-1) ?? "", /outcome tool.call/);
    const after = await reopen(again, { code: two });
    await after.tell({ type: "puppet.nothing" });
    assert.equal(checkpoints(await after.lines()), 1, effect);
  }
});

/** Puppets that say something on every message: other code, which decides otherwise. */
function chatty(desk: PortDesk): ReturnType<typeof wirePuppets> {
  const { session, ...rest } = wirePuppets(desk);
  const hear = () => desk.post({ kind: "note", type: "test.extra", body: null });
  return { ...rest, session: session.provide({ actions: { hear } } as never) };
}

async function busyPuppet(): Promise<Puppet> {
  const puppet = await openPuppet({ code: one });
  await puppet.tell({ type: "puppet.busy" });
  await puppet.act({ do: "ask", id: "m", request: modelCall });
  await flush(puppet.stage);
  return puppet;
}

// A stretch is replayed only by the code that wrote it, or by code that does the very same.
Deno.test("kernel leaves a root alone that it cannot bring to rest by other code's entries (K21)", async () => {
  const before = await busyPuppet();
  const lines = await before.lines();
  const other = await reopen(before, { code: two, runtime: { wire: chatty } });
  assert.deepEqual([await other.lines(), other.hands.length], [lines, 0]);
  await assert.rejects(other.tell({ type: "puppet.nothing" }), (error: KernelError) => {
    return /start the release that wrote it/.test(error.message);
  });
  const again = await reopen(other, { code: one });
  await again.stage.world.advance(limits.reaskJitterMs);
  assert.equal(again.hands.length, 1);
});

Deno.test("kernel takes a checkpoint for the truth, whatever older snapshot there is (K20, K21)", async () => {
  const before = await openPuppet({ code: one });
  await before.tell({ type: "puppet.act", acts: [], n: 1 });
  const { disk } = before.stage;
  const old = disk.rows().find(({ key }) => key[0] === "snap" && key[1] === before.root)?.value;
  const after = await reopen(before, { code: two });
  await after.tell({ type: "puppet.act", acts: [], n: 2 });
  // As if the newer snapshot, which is a cache, had never been written.
  disk.damage(keys.snapshot(after.root), () => old);
  const again = await reopen(after, { code: two });
  await again.tell({ type: "puppet.act", acts: [], n: 3 });
  assert.deepEqual(again.heard().map((heard) => heard["n"]), [1, 2, 3]);
  assert.equal(checkpoints(await again.lines()), 1);
});

Deno.test("replay starts at the last checkpoint of its own code and says what it skipped (K21)", async () => {
  const answers = [{ text: "One." }, { text: "Two." }, { text: "Three." }];
  const first = await openStage({ code: one, answers });
  const session = await first.session();
  assert.equal(await prompt(first, session, "First"), "One.");
  const second = await moved(first, { code: two, answers });
  assert.equal(await prompt(second, session, "Second"), "Two.");
  const entries = await second.entries(session);
  const place = entries.findIndex(({ kind }) => kind === "checkpoint");
  assert.ok(place > 0);
  const newer = await second.replay(session, { strict: true });
  assert.deepEqual([newer.divergence, newer.skipped, newer.entries], [undefined, place, entries.length]);
  assert.ok(newer.states > 0 && newer.intents === 1);
  // The release that wrote the older stretch replays that one, and skips the newer.
  const older = await moved(second, { code: one, answers });
  const report = await older.replay(session, { strict: true });
  assert.deepEqual([report.divergence, report.skipped], [undefined, entries.length - place]);
  assert.equal(report.intents, 1);
});
