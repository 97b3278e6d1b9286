/** The journal: what was written is read back whole, damage is found and placed, foreign stores are refused. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { openJournal, openJournalReader } from "../../src/journal/journal.ts";
import { keys } from "../../src/journal/keys.ts";
import { JournalDamage } from "../../src/journal/packed_value.ts";
import { storeFormat } from "../../src/journal/store_format.ts";
import type { StoreKey } from "../../src/journal/store.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import {
  collect,
  entriesFrom,
  entriesOn,
  entryAt,
  openWorldJournal,
  root,
  rootNamed,
  rowsOn,
  snapshotAt,
  unitFrom,
  unitOf,
} from "../support/units.ts";
import { createRandom, createWorld, digestNow } from "../support/world.ts";

/** A disk with a stream of nine entries in three values, one body in a blob, and a snapshot. */
async function writtenDisk(): Promise<MemoryDisk> {
  const { disk, journal } = await openWorldJournal();
  for (let n = 0; n < 3; n++) {
    const entries = entriesFrom(1 + 3 * n, 3, (seq) => ({ text: "t".repeat(seq === 5 ? 150_000 : 50) }));
    journal.writer.push(unitOf(entries, n === 2 ? { snapshot: snapshotAt(9) } : {}));
    await journal.writer.idle();
  }
  return disk;
}

async function damageOf(disk: MemoryDisk): Promise<JournalDamage> {
  try {
    await entriesOn(disk);
  } catch (error) {
    assert.ok(error instanceof JournalDamage, String(error));
    return error;
  }
  throw new Error("The damage was not found");
}

function flipBit(at: number) {
  return (value: unknown) => {
    const bytes = value as Uint8Array;
    const place = at % bytes.length;
    bytes[place] = (bytes[place] ?? 0) ^ (1 << (at % 8));
    return bytes;
  };
}

const record = {
  v: 1,
  address: root,
  kind: "session",
  createdAt: 5,
  status: "active",
  title: "A session",
} as const;

Deno.test("journal gives back what was written, from any entry on", async () => {
  const disk = await writtenDisk();
  const { journal } = await openWorldJournal({ disk });
  const all = await collect(journal.readEntries(root));
  assert.deepEqual(all.map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(all[4]?.body, { text: "t".repeat(150_000) });
  assert.equal(all[4]?.blob, undefined);
  for (let from = 1; from <= 10; from++) {
    assert.deepEqual(await collect(journal.readEntries(root, from)), all.slice(from - 1));
  }
  assert.equal((await journal.readHead(root)).seq, 9);
  assert.equal((await journal.readSnapshot(root))?.seq, 9);
});

Deno.test("journal has no entries, head or record of a root that was never written", async () => {
  const { journal } = await openWorldJournal();
  assert.deepEqual(await collect(journal.readEntries(root)), []);
  assert.equal((await journal.readHead(root)).seq, 0);
  assert.equal(await journal.readRoot(root), undefined);
  assert.equal(await journal.readSnapshot(root), undefined);
  assert.equal(await journal.readCommand("local", "k"), undefined);
});

Deno.test("journal lists roots, open roots, due timers in order, messages by sender and commands", async () => {
  const { journal } = await openWorldJournal();
  const [second, third] = [rootNamed(2), rootNamed(3)];
  journal.writer.push(unitFrom(1, 1, {
    record,
    sets: [
      { key: keys.open(root), value: { since: 1 } },
      { key: keys.due(200, root, "1.0"), value: {} },
      { key: keys.due(1_000, root, "1.1"), value: {} },
      { key: keys.due(30, second, "4.0"), value: {} },
      { key: keys.inbox(second, root, 10, 0), value: "c" },
      { key: keys.inbox(second, root, 9, 1), value: "b" },
      { key: keys.inbox(second, root, 9, 0), value: "a" },
      { key: keys.inbox(third, root, 2, 0), value: "d" },
      { key: keys.command("local", "key 1"), value: { root, seq: 1 } },
      { key: keys.reply("local", "key 1"), value: { status: "ok" } },
      { key: keys.recover(root), value: 2 },
    ],
  }));
  await journal.writer.idle();
  assert.deepEqual(await collect(journal.listRoots()), [record]);
  assert.deepEqual(await journal.readRoot(root), record);
  assert.deepEqual((await collect(journal.listOpen())).map((row) => row.root), [root]);
  assert.deepEqual((await collect(journal.listDue())).map(({ dueAtMs, id }) => [dueAtMs, id]), [
    [30, "4.0"],
    [200, "1.0"],
    [1_000, "1.1"],
  ]);
  assert.equal((await collect(journal.listDue(200))).length, 2);
  assert.deepEqual((await collect(journal.listInbox(second))).map(({ value }) => value), ["a", "b", "c"]);
  assert.deepEqual((await collect(journal.listInbox())).at(-1)?.to, third);
  assert.deepEqual(await journal.readCommand("local", "key 1"), { root, seq: 1 });
  assert.deepEqual(await journal.readReply("local", "key 1"), { status: "ok" });
  assert.equal(await journal.readRow(keys.recover(root)), 2);
});

Deno.test("journal finds a flipped bit at each of 50 places and names its range (F10)", async () => {
  const disk = await writtenDisk();
  const places = rowsOn(disk, "log").map(({ key, value }) => ({ key, first: Number(key[2]), value }));
  const random = createRandom(50);
  for (let n = 0; n < 50; n++) {
    const place = places[n % places.length];
    assert.ok(place);
    const damaged = disk.copy();
    damaged.damage(place.key, flipBit(Math.floor(random() * (place.value as Uint8Array).length)));
    const { root: of, first, last, code } = await damageOf(damaged);
    assert.deepEqual([of, first, code], [root, place.first, "journal_corrupt"]);
    assert.ok(last >= first);
  }
});

Deno.test("journal finds a missing value, a missing or altered head, and a lost tail (F10)", async () => {
  const disk = await writtenDisk();
  const cases: readonly [StoreKey, (value: unknown) => unknown, number][] = [
    [keys.log(root, 1), () => undefined, 1],
    [keys.log(root, 4), () => undefined, 4],
    [keys.log(root, 7), () => undefined, 7],
    [keys.head(root), () => undefined, 1],
    [keys.head(root), () => "x", 1],
    [keys.head(root), (head) => ({ ...head as object, seq: 8 }), 7],
    [keys.head(root), (head) => ({ ...head as object, seq: 12 }), 10],
    [keys.head(root), (head) => ({ ...head as object, hash: digestNow(new Uint8Array()) }), 7],
  ];
  for (const [key, change, first] of cases) {
    const damaged = disk.copy();
    damaged.damage(key, change);
    assert.equal((await damageOf(damaged)).first, first, JSON.stringify(key));
  }
});

Deno.test("journal names the entry whose body is missing or altered (F10)", async () => {
  const disk = await writtenDisk();
  const rows = [...rowsOn(disk, "blobc"), ...rowsOn(disk, "blob")];
  assert.equal(rows.length, 4);
  for (const { key, value } of rows) {
    const changes = [() => undefined, () => "x", ...value instanceof Uint8Array ? [flipBit(5)] : []];
    for (const change of changes) {
      const damaged = disk.copy();
      damaged.damage(key, change);
      const { first, last } = await damageOf(damaged);
      assert.deepEqual([first, last], [5, 5]);
    }
  }
});

Deno.test("journal leaves an unfit snapshot aside, says so, and gives the entries all the same (K20)", async () => {
  const disk = await writtenDisk();
  const changes = [flipBit(3), flipBit(60), flipBit(400), () => "x", () => new Uint8Array()];
  for (const change of changes) {
    const damaged = disk.copy();
    damaged.damage(keys.snapshot(root), change);
    const { journal, world } = await openWorldJournal({ disk: damaged });
    assert.equal(await journal.readSnapshot(root), undefined);
    assert.equal(world.logs.at(-1)?.event, "snapshot.unfit");
    assert.equal((await collect(journal.readEntries(root))).length, 9);
  }
});

Deno.test("journal leaves a snapshot aside whose stream is another (K20)", async () => {
  const disk = await writtenDisk();
  const { journal } = await openWorldJournal({ disk });
  journal.writer.push(unitFrom(1, 9, { root: rootNamed(2), snapshot: snapshotAt(9) }));
  await journal.writer.idle();
  const other = rowsOn(disk, "snap").find(({ key }) => key[1] === rootNamed(2));
  disk.damage(keys.snapshot(root), () => other?.value);
  assert.equal(await journal.readSnapshot(root), undefined);
});

Deno.test("journal reads up to the head while the writer goes on", async () => {
  const { journal } = await openWorldJournal();
  journal.writer.push(unitFrom(1, 3));
  await journal.writer.idle();
  const reading = journal.readPages(root)[Symbol.asyncIterator]();
  const first = await reading.next();
  journal.writer.push(unitFrom(4, 3));
  await journal.writer.idle();
  assert.equal(first.value?.length, 3);
  assert.equal((await reading.next()).done, true);
});

Deno.test("journal takes the next epoch at every opening, once, and the header with the first (K16)", async () => {
  const disk = new MemoryDisk();
  for (let epoch = 1; epoch <= 3; epoch++) {
    assert.equal((await openWorldJournal({ disk })).journal.epoch, epoch);
  }
  const [first] = rowsOn(disk, "meta");
  assert.deepEqual(first?.value, {
    format: storeFormat,
    minReader: storeFormat,
    createdAt: createWorld().now(),
    installation: "ins_00000000000000000000000001",
  });
  const fresh = new MemoryDisk();
  const { store } = await openWorldJournal({ disk: fresh });
  assert.equal(store.commits.length, 1);
});

Deno.test("journal that could not tell whether its epoch was taken reads it back (K16)", async () => {
  const taken = await openWorldJournal({ faults: (n) => n === 1 ? "throw_after" : undefined });
  assert.equal(taken.journal.epoch, 1);
  taken.journal.writer.push(unitFrom(1));
  await taken.journal.writer.idle();
  const lost = openWorldJournal({ faults: (n) => n === 1 ? "throw_before" : undefined });
  await assert.rejects(lost, /before the commit/);
  const raced = openWorldJournal({ faults: (n) => n === 1 ? "refuse" : undefined });
  await assert.rejects(raced, { code: "store_in_use" });
});

Deno.test("journal refuses a newer format, unwritten, and reads it if its header allows (B127)", async () => {
  const disk = await writtenDisk();
  disk.damage(keys.store(), () => ({ format: 2, minReader: 1, createdAt: 5 }));
  const before = JSON.stringify(disk.rows().map(({ key, versionstamp }) => [key, versionstamp]));
  const seams = createWorld().seams;
  await assert.rejects(openJournal({ store: disk.open(), seams }), { code: "store_from_newer_version" });
  const reader = await openJournalReader({ store: disk.open(), seams });
  assert.equal((await collect(reader.readEntries(root))).length, 9);
  disk.damage(keys.store(), () => ({ format: 3, minReader: 2, createdAt: 5 }));
  await assert.rejects(openJournal({ store: disk.open(), seams }), { code: "store_from_newer_version" });
  await assert.rejects(openJournalReader({ store: disk.open(), seams }), {
    code: "store_from_newer_version",
  });
  assert.equal(JSON.stringify(disk.rows().map(({ key, versionstamp }) => [key, versionstamp])), before);
});

Deno.test("journal refuses rows of another program, a header that cannot be read, and reads no empty store", async () => {
  const seams = createWorld().seams;
  const foreign = new MemoryDisk();
  foreign.commit({ checks: [], sets: [{ key: ["users", "ada"], value: 1 }], deletes: [] });
  await assert.rejects(openJournal({ store: foreign.open(), seams }), { code: "store_unusable" });
  assert.equal(foreign.rows().length, 1);
  const damaged = await writtenDisk();
  damaged.damage(keys.store(), () => ({ format: "x" }));
  await assert.rejects(openJournal({ store: damaged.open(), seams }), { code: "store_corrupt" });
  await assert.rejects(openJournalReader({ store: new MemoryDisk().open(), seams }), {
    code: "store_not_found",
  });
});

Deno.test("journal opened for reading writes nothing", async () => {
  const disk = await writtenDisk();
  const store = disk.open();
  const reader = await openJournalReader({ store, seams: createWorld().seams });
  await collect(reader.readEntries(root));
  await reader.readSnapshot(root);
  assert.equal(store.commits.length, 0);
});

Deno.test("journal refuses ids and keys that are too long, and spills a body of 64 KiB and one byte (B131)", async () => {
  const refused = { code: "id_too_long" };
  assert.throws(() => keys.log("session/" + "x".repeat(121), 1), refused);
  assert.throws(() => keys.open("é".repeat(65)), refused);
  assert.throws(() => keys.due(1, root, "x".repeat(2_049)), refused);
  assert.throws(() => keys.command("p", "k".repeat(limits.commandKeyBytesMax + 1)), refused);
  assert.equal(keys.open("é".repeat(64)).length, 2);
  assert.equal(keys.command("p", "k".repeat(limits.commandKeyBytesMax)).length, 3);
  const { disk, journal } = await openWorldJournal();
  const entry = entryAt(1, { body: "x".repeat(65_537 - 2) });
  journal.writer.push(unitOf([entry]));
  await journal.writer.idle();
  assert.deepEqual(await entriesOn(disk), [entry]);
});
