/** The world of the tests: the same seed gives the same run, time moves only when told, the driver decides the order. */
import assert from "node:assert/strict";
import { MemoryDisk, type PendingCall } from "../support/memory_store.ts";
import { createWorld } from "../support/world.ts";

Deno.test("world gives the same ids, numbers and times for the same seed", () => {
  const take = (seed: number) => {
    const { seams } = createWorld(seed);
    return [seams.nextId("ses"), seams.nextId("ses"), seams.random(), seams.random(), seams.clock.now()];
  };
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
  assert.match(String(take(7)[0]), /^ses_[0-9A-HJKMNP-TV-Z]{26}$/);
});

Deno.test("world wakes sleepers in the order of due times, then of falling asleep, at their time", async () => {
  const world = createWorld();
  const { clock } = world.seams;
  const start = clock.now();
  const seen: string[] = [];
  const sleep = async (name: string, ms: number) => {
    await clock.sleepUntil(start + ms);
    seen.push(`${name} ${clock.now() - start}`);
  };
  void sleep("late", 30);
  void sleep("early", 10);
  void sleep("also early", 10);
  await world.settle();
  assert.deepEqual(seen, []);
  assert.equal(await world.step(), true);
  assert.deepEqual(seen, ["early 10"]);
  await world.advance(100);
  assert.deepEqual(seen, ["early 10", "also early 10", "late 30"]);
  assert.deepEqual([clock.now() - start, world.sleepers], [110, 0]);
  assert.equal(await world.step(), false);
});

Deno.test("world settles deferred tasks and everything that follows from them", async () => {
  const world = createWorld();
  const seen: number[] = [];
  world.seams.clock.defer(() => {
    void Promise.resolve().then(() => world.seams.clock.defer(() => void seen.push(2)));
    seen.push(1);
  });
  assert.equal(world.deferred, 1);
  await world.settle();
  assert.deepEqual(seen, [1, 2]);
});

Deno.test("world forgets at a crash whatever slept or was deferred", async () => {
  const world = createWorld();
  const seen: string[] = [];
  world.seams.clock.defer(() => void seen.push("deferred"));
  void world.seams.clock.sleepUntil(world.now() + 5).then(() => seen.push("slept"));
  world.crash();
  await world.advance(100);
  assert.deepEqual(seen, []);
});

Deno.test("memory store completes calls in the order that its driver chooses", async () => {
  const calls: PendingCall[] = [];
  const store = new MemoryDisk().open({ gate: (call) => calls.push(call) });
  const set = (value: number) => store.commit({ checks: [], sets: [{ key: ["k"], value }], deletes: [] });
  const seen: string[] = [];
  void set(1).then(() => seen.push("first"));
  void set(2).then(() => seen.push("second"));
  const world = createWorld();
  await world.settle();
  assert.deepEqual([seen, calls.map(({ kind }) => kind)], [[], ["commit", "commit"]]);
  calls[1]?.settle();
  calls[0]?.settle();
  await world.settle();
  assert.deepEqual(seen, ["second", "first"]);
  const read = store.get(["k"]);
  calls[2]?.settle();
  assert.equal((await read)?.value, 1);
});

Deno.test("memory store that died answers nobody, and keeps what had taken hold", async () => {
  const disk = new MemoryDisk();
  const calls: PendingCall[] = [];
  const store = disk.open({ gate: (call) => calls.push(call) });
  const seen: string[] = [];
  for (const name of ["applied", "waiting"]) {
    const commit = { checks: [], sets: [{ key: [name], value: 1 }], deletes: [] };
    void store.commit(commit).then(() => seen.push(name), () => seen.push(name));
  }
  calls[0]?.apply();
  store.die();
  for (const call of calls) call.settle();
  void store.get(["applied"]).then(() => seen.push("read"));
  await createWorld().settle();
  assert.deepEqual(seen, []);
  assert.deepEqual(disk.rows().map(({ key }) => key), [["applied"]]);
  assert.equal((await disk.open().get(["applied"]))?.value, 1);
});
