/** Commits that fail at any point: nothing is lost, nothing is doubled, and a foreign epoch ends it (F05, F06, F08, F11). */
import assert from "node:assert/strict";
import { StoreError } from "../../src/journal/store.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import {
  entriesOn,
  entryAt,
  openWorldJournal,
  rowsOn,
  snapshotAt,
  unitFrom,
  unitOf,
} from "../support/units.ts";

// K16: whatever happens to one commit, before or after it took hold, nothing is lost and nothing doubled (F05, F06).
for (const fault of ["throw_before", "throw_after", "refuse"] as const) {
  Deno.test(`writer loses and doubles nothing when the nth commit fails, for every n: ${fault} (K16)`, async () => {
    for (let lost = 2;; lost++) {
      let isReached = false;
      const { world, disk, journal: { writer } } = await openWorldJournal({
        faults: (n) => {
          if (n === lost) isReached = true;
          return n === lost ? fault : undefined;
        },
      });
      const told: number[] = [];
      for (let seq = 1; seq <= 6; seq++) {
        const large = { body: { text: "z".repeat(seq === 4 ? 100_000 : 10) } };
        writer.push(
          unitOf([entryAt(seq, large)], { snapshot: snapshotAt(seq, seq === 3 ? 70_000 : 5) }),
          () => {
            told.push(seq);
          },
        );
        if (seq % 2 === 0) {
          await world.advance(3_000);
          assert.equal(writer.state, "ok");
        }
      }
      assert.deepEqual(told, [1, 2, 3, 4, 5, 6]);
      assert.equal((await entriesOn(disk)).length, 6);
      if (!isReached) break;
    }
  });
}

Deno.test("writer sends a group again until the store takes it, says so, and keeps all units (K15)", async () => {
  const full = new StoreError("store_full", "full");
  const { world, disk, journal: { writer } } = await openWorldJournal({
    faults: (n) => n > 1 && n < 12 ? full : undefined,
  });
  for (let seq = 1; seq <= 5; seq++) writer.push(unitFrom(seq));
  await world.settle();
  assert.deepEqual([writer.state, writer.unwritten], ["failing", 5]);
  writer.push(unitFrom(6));
  await world.advance(60_000);
  assert.deepEqual([writer.state, writer.unwritten], ["ok", 0]);
  assert.deepEqual(world.logs.map(({ event }) => event), ["writer.failing", "writer.recovered"]);
  assert.equal((await entriesOn(disk)).length, 6);
});

Deno.test("writer does not send a group again before it could read back what became of it (K16)", async () => {
  const disk = new MemoryDisk();
  let failing = true;
  const { world, store, journal: { writer } } = await openWorldJournal({
    disk,
    faults: (n) => n === 2 ? "throw_after" : undefined,
  });
  const get = store.get.bind(store);
  store.get = (key) => failing ? Promise.reject(new StoreError("store_busy", "busy")) : get(key);
  writer.push(unitFrom(1));
  await world.advance(10_000);
  assert.deepEqual([store.commits.length, writer.unwritten], [2, 1]);
  failing = false;
  await world.advance(10_000);
  assert.deepEqual([store.commits.length, writer.unwritten], [2, 0]);
});

Deno.test("writer fenced by another epoch stops for good and writes nothing after it (K16)", async () => {
  for (const fault of [undefined, "throw_before"] as const) {
    const disk = new MemoryDisk();
    const old = await openWorldJournal({ disk, faults: (n) => n === 3 ? fault : undefined });
    old.journal.writer.push(unitFrom(1));
    await old.journal.writer.idle();
    const next = await openWorldJournal({ disk });
    next.journal.writer.push(unitFrom(2, 1));
    await next.journal.writer.idle();
    const told: number[] = [];
    old.journal.writer.push(unitFrom(2, 3), () => told.push(2));
    const ended = assert.rejects(old.journal.writer.idle(), { code: "store_fenced" });
    await old.world.settle();
    await ended;
    assert.deepEqual(told, []);
    assert.deepEqual([old.journal.writer.state, old.fatal[0]?.code], ["stopped", "store_fenced"]);
    assert.throws(() => old.journal.writer.push(unitFrom(5)), { code: "store_fenced" });
    await assert.rejects(old.journal.writer.idle(), { code: "store_fenced" });
    assert.equal((await entriesOn(disk)).length, 2);
  }
});

Deno.test("writer fenced while its commit hangs never acknowledges it (K16)", async () => {
  const disk = new MemoryDisk();
  const old = await openWorldJournal({ disk, faults: (n) => n === 2 ? "hang" : undefined });
  const told: number[] = [];
  old.journal.writer.push(unitFrom(1), () => told.push(1));
  await old.world.settle();
  await openWorldJournal({ disk });
  old.store.release(true);
  await old.world.settle();
  assert.deepEqual([told, old.journal.writer.state], [[], "stopped"]);
  assert.equal(rowsOn(disk, "log").length, 0);
});

Deno.test("writer stops for good when the store is broken for good", async () => {
  const broken = new StoreError("store_corrupt", "malformed");
  const { world, journal: { writer }, fatal } = await openWorldJournal({
    faults: (n) => n > 1 ? broken : undefined,
  });
  writer.push(unitFrom(1));
  await world.settle();
  assert.deepEqual([writer.state, fatal], ["stopped", [broken]]);
});
