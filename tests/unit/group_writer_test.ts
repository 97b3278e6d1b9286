/** The one writer: order, groups, refusals, and its end. */
import assert from "node:assert/strict";
import { StoreError } from "../../src/journal/store.ts";
import { type Fault, MemoryDisk } from "../support/memory_store.ts";
import type { Unit } from "../../src/journal/unit.ts";
import {
  entriesFrom,
  entriesOn,
  entryAt,
  openWorldJournal,
  root,
  rowsOn,
  unitFrom,
} from "../support/units.ts";
import { digestNow } from "../support/world.ts";

const encoder = new TextEncoder();

Deno.test("writer commits units pushed together in one flush and packs them into one value (K10)", async () => {
  const { world, disk, journal: { writer } } = await openWorldJournal();
  const told: number[] = [];
  for (let seq = 1; seq <= 20; seq++) writer.push(unitFrom(seq), () => told.push(seq));
  assert.equal(writer.unwritten, 20);
  await world.settle();
  assert.equal(writer.counters.commits, 1);
  assert.equal(writer.unwritten, 0);
  assert.deepEqual(told, Array.from({ length: 20 }, (_, i) => i + 1));
  assert.equal(rowsOn(disk, "log").length, 1);
  assert.deepEqual(await entriesOn(disk), entriesFrom(1, 20));
});

Deno.test("writer starts nothing before the event loop is free, unless it is urged", async () => {
  const { world, store, journal: { writer } } = await openWorldJournal();
  writer.push(unitFrom(1));
  await Promise.resolve();
  assert.equal(world.deferred, 1);
  assert.equal(store.commits.length, 1, "only the epoch was committed");
  writer.urge();
  writer.push(unitFrom(2));
  await writer.idle();
  assert.equal(store.commits.length, 2, "what was pushed in the turn of the urging rode along");
  assert.equal(world.deferred, 1);
  await world.settle();
  assert.equal(store.commits.length, 2, "the deferred start found nothing to do");
});

Deno.test("writer puts what arrives during a commit into the next group", async () => {
  const faults = (n: number): Fault | undefined => n === 2 ? "hang" : undefined;
  const { world, store, journal: { writer } } = await openWorldJournal({ faults });
  writer.push(unitFrom(1));
  await world.settle();
  for (let seq = 2; seq <= 10; seq++) writer.push(unitFrom(seq));
  await world.settle();
  assert.equal(store.commits.length, 2);
  assert.equal(writer.unwritten, 10);
  store.release(true);
  await world.settle();
  assert.equal(store.commits.length, 3);
  assert.equal(writer.unwritten, 0);
});

Deno.test("writer tells nobody before the commit, and everybody in the order of the pushes", async () => {
  const faults = (n: number): Fault | undefined => n === 2 ? "hang_after" : undefined;
  const { world, store, journal: { writer } } = await openWorldJournal({ faults });
  const told: string[] = [];
  const blob = { digest: digestNow(encoder.encode("b")), bytes: encoder.encode("b") };
  writer.push(unitFrom(1), () => told.push("unit 1"));
  writer.putBlob(blob, () => told.push("blob"));
  writer.push(unitFrom(2), () => told.push("unit 2"));
  await world.settle();
  assert.deepEqual(told, []);
  store.release(true);
  await world.settle();
  assert.deepEqual(told, ["unit 1", "blob", "unit 2"]);
});

Deno.test("writer goes on when a listener throws, and logs it", async () => {
  const { world, journal: { writer } } = await openWorldJournal();
  const told: number[] = [];
  writer.push(unitFrom(1), () => {
    throw new Error("listener");
  });
  writer.push(unitFrom(2), () => told.push(2));
  await world.settle();
  assert.deepEqual(told, [2]);
  assert.equal(writer.state, "ok");
  assert.equal(world.logs.at(-1)?.event, "writer.listener_failed");
});

Deno.test("writer takes units pushed by a listener", async () => {
  const { world, disk, journal: { writer } } = await openWorldJournal();
  writer.push(unitFrom(1), () => writer.push(unitFrom(2), () => writer.push(unitFrom(3))));
  await writer.idle();
  assert.equal((await entriesOn(disk)).length, 3);
  await world.settle();
});

Deno.test("writer refuses a unit that no commit holds, and takes nothing of it", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  const sets = Array.from({ length: 1_000 }, (_, n) => ({ key: ["question", String(n)], value: n }));
  const tooLarge = (error: unknown) => error instanceof StoreError && error.code === "value_too_large";
  assert.throws(() => writer.push(unitFrom(1, 1, { sets })), tooLarge);
  const row = { key: ["question", "large"], value: new Uint8Array(70_000) };
  assert.throws(() => writer.push(unitFrom(1, 1, { sets: [row] })), tooLarge);
  assert.throws(() => writer.push(unitFrom(1, 8_000)), tooLarge);
  assert.equal(writer.unwritten, 0);
  writer.push(unitFrom(1));
  await writer.idle();
  assert.equal((await entriesOn(disk)).length, 1);
});

Deno.test("writer refuses entries that do not follow the unit before", async () => {
  const { journal } = await openWorldJournal();
  journal.writer.push(unitFrom(1, 2));
  assert.throws(() => journal.writer.push(unitFrom(4)), RangeError);
  assert.throws(() => journal.writer.push(unitFrom(2)), RangeError);
  journal.writer.push(unitFrom(3));
  await journal.writer.idle();
  assert.equal((await journal.readHead(root)).seq, 3);
});

Deno.test("writer refuses what could be written and never be read", async () => {
  const { journal } = await openWorldJournal();
  const { writer } = journal;
  const refused: [Partial<Unit>, RegExp][] = [
    [{ entries: [entryAt(1, { at: NaN })] }, /at/],
    [{ entries: [entryAt(1), entryAt(3)] }, /number/],
    [{ entries: [entryAt(1, { epoch: 0 })] }, /epoch/],
    [{ stateText: "{}", stateSeq: 2 }, /state/],
    [{ sets: [{ key: ["open", root], value: { run: () => 1 } }] }, /function/],
  ];
  for (const [changes, message] of refused) {
    assert.throws(() => writer.push(unitFrom(1, 1, changes)), message);
  }
  const long = { key: ["question", ..."x".repeat(1_100)], value: 1 };
  assert.throws(() => writer.push(unitFrom(1, 1, { sets: [long] })), { code: "id_too_long" });
  assert.throws(() => writer.push(unitFrom(1, 1, { deletes: [long.key] })), { code: "id_too_long" });
  writer.push(unitFrom(1));
  await writer.idle();
  assert.equal((await journal.readHead(root)).seq, 1);
});

Deno.test("writer shows blobs that are not durable yet, and since when a commit has been under way (F07)", async () => {
  const { world, store, journal } = await openWorldJournal({ faults: (n) => n === 2 ? "hang" : undefined });
  const { writer } = journal;
  const blob = { digest: digestNow(encoder.encode("b")), bytes: encoder.encode("b") };
  writer.putBlob(blob);
  const began = world.now();
  await world.settle();
  await world.advance(30_000);
  assert.equal(writer.committingSince, began);
  assert.equal(await journal.readBlob(blob.digest), blob.bytes);
  store.release(true);
  await world.settle();
  assert.deepEqual([writer.committingSince, writer.pendingBlob(blob.digest)], [undefined, undefined]);
  assert.deepEqual(await journal.readBlob(blob.digest), blob.bytes);
});

Deno.test("writer continues a stream of an earlier epoch, whether or not its head was read before", async () => {
  const disk = new MemoryDisk();
  for (let epoch = 1; epoch <= 4; epoch++) {
    const { journal } = await openWorldJournal({ disk });
    assert.equal(journal.epoch, epoch);
    if (epoch % 2 === 0) assert.equal((await journal.readHead(root)).seq, epoch - 1);
    journal.writer.push(unitFrom(epoch));
    await journal.close();
  }
  assert.equal((await entriesOn(disk)).length, 4);
});

Deno.test("writer stops for good rather than create a stream that exists, or leave a gap", async () => {
  for (const first of [1, 5]) {
    const disk = new MemoryDisk();
    const before = await openWorldJournal({ disk });
    before.journal.writer.push(unitFrom(1, 2));
    await before.journal.close();
    const { world, journal: { writer }, fatal } = await openWorldJournal({ disk });
    writer.push(unitFrom(first));
    await world.settle();
    assert.deepEqual([writer.state, fatal[0]?.code], ["stopped", "journal_corrupt"]);
    assert.equal((await entriesOn(disk)).length, 2);
  }
});

Deno.test("writer that was closed writes what it has and takes no more", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  writer.push(unitFrom(1));
  await writer.close();
  assert.equal((await entriesOn(disk)).length, 1);
  assert.throws(() => writer.push(unitFrom(2)), { code: "store_unusable" });
});

Deno.test("writer that was abandoned tells nobody any more, whatever its commit does", async () => {
  const { world, store, journal: { writer } } = await openWorldJournal({
    faults: (n) => n === 2 ? "hang" : undefined,
  });
  const told: number[] = [];
  writer.push(unitFrom(1), () => told.push(1));
  await world.settle();
  writer.push(unitFrom(2), () => told.push(2));
  writer.abandon();
  store.release(true);
  await world.advance(10_000);
  assert.deepEqual([told, store.commits.length], [[], 2]);
});

// K10: every unit is with the writer at once; only its flush waits, and only while nobody else does.
Deno.test("writer lets units that nobody waits for gather, so that a quick turn costs one flush", async () => {
  const { world, journal: { writer } } = await openWorldJournal({ lingerMs: 10 });
  for (let seq = 1; seq <= 5; seq++) {
    writer.push(unitFrom(seq));
    await world.advance(1);
  }
  assert.equal(writer.counters.commits, 0);
  await world.advance(10);
  assert.deepEqual([writer.counters.commits, writer.unwritten], [1, 0]);
  writer.push(unitFrom(6));
  writer.urge();
  await world.settle();
  assert.equal(writer.counters.commits, 2, "an urged unit does not wait for time to pass");
});
