/** What a group becomes in the store: packed values, blobs, side rows, snapshots. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { keys } from "../../src/journal/keys.ts";
import { decodePackedValue } from "../../src/journal/packed_value.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import {
  collect,
  digest,
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
import { digestNow } from "../support/world.ts";

const encoder = new TextEncoder();

Deno.test("writer keeps groups within entries, bytes and values, and never splits a unit (K1)", async () => {
  const { disk, store, journal: { writer } } = await openWorldJournal();
  const text = "x".repeat(3_000);
  let seq = 1;
  for (let n = 0; n < 60; n++) {
    writer.push(unitOf(entriesFrom(seq, 17, () => ({ text }))));
    seq += 17;
  }
  await writer.idle();
  let last = 0;
  for (const { sets } of store.commits.slice(1)) {
    const values = sets.filter(({ key }) => key[0] === "log");
    const sizes = values.map(({ value }) => (value as Uint8Array).length);
    assert.ok(sizes.every((size) => size <= limits.packedValueBytesMax), String(sizes));
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= limits.groupBytesMax);
    const first = Number(values[0]?.key[2]);
    assert.equal(first, last + 1);
    for (const { key, value } of values) {
      last = (await decodePackedValue(value, { root, first: Number(key[2]) }, digest)).header.last;
    }
    assert.equal(last % 17, 0, "a group ends with a whole unit");
    assert.ok(last - first < limits.groupEntriesMax);
  }
  assert.equal(last, 60 * 17);
  assert.equal((await entriesOn(disk)).length, last);
});

Deno.test("writer commits a unit of 1,000 entries whole", async () => {
  const { disk, store, journal: { writer } } = await openWorldJournal();
  writer.push(unitFrom(1, 1_000));
  writer.push(unitFrom(1_001));
  await writer.idle();
  assert.equal(store.commits.length, 3);
  assert.equal((await entriesOn(disk)).length, 1_001);
});

Deno.test("writer chains the streams of many roots in one commit, and sets every head", async () => {
  const { disk, store, journal } = await openWorldJournal();
  for (let seq = 1; seq <= 3; seq++) {
    for (let n = 1; n <= 30; n++) {
      journal.writer.push(unitFrom(seq, 1, { root: rootNamed(n) }));
      if (n === 30) await journal.writer.idle();
    }
  }
  assert.equal(store.commits.length, 4);
  for (let n = 1; n <= 30; n++) {
    assert.equal((await entriesOn(disk, rootNamed(n))).length, 3);
    assert.equal((await journal.readHead(rootNamed(n))).seq, 3);
  }
});

Deno.test("writer moves bodies over the limit to blobs of the same commit (K18)", async () => {
  const { disk, store, journal: { writer } } = await openWorldJournal();
  const fill = "é".repeat((limits.entryBodyBytesMax - 2) / 2);
  const entries = entriesFrom(1, 3, (seq) => seq === 2 ? `${fill}x` : fill);
  writer.push(unitOf(entries));
  await writer.idle();
  assert.equal(store.commits.length, 2);
  assert.equal(rowsOn(disk, "blob").length, 1, "one byte over the limit is over it, the limit is not");
  assert.deepEqual(await entriesOn(disk), entries);
});

Deno.test("writer commits large bodies before a unit that they do not fit in with (K18)", async () => {
  const { disk, store, journal: { writer } } = await openWorldJournal();
  const entries = entriesFrom(1, 3, (seq) => ({ text: String(seq).repeat(300_000) }));
  writer.push(unitOf(entries));
  writer.push(unitFrom(4));
  await writer.idle();
  assert.ok(store.commits.length > 3);
  const isUnit = store.commits.map(({ sets }) => sets.some(({ key }) => key[0] === "log"));
  assert.equal(isUnit.indexOf(true), isUnit.lastIndexOf(true), "one commit holds both units");
  assert.deepEqual(await entriesOn(disk), [...entries, entryAt(4)]);
});

Deno.test("writer keeps a row that is too large as a blob, and the journal puts it back", async () => {
  const { journal } = await openWorldJournal();
  const { writer } = journal;
  const value = { message: { type: "session.relay", text: "漢".repeat(60_000) } };
  writer.push(unitFrom(1, 1, { sets: [{ key: keys.inbox(rootNamed(2), root, 1, 0), value }] }));
  await writer.idle();
  const [row] = await collect(journal.listInbox(rootNamed(2)));
  assert.deepEqual(row?.value, value);
});

Deno.test("writer puts the hash of the state on the entry that asked for it (K25)", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  const stateText = JSON.stringify({ value: "idle", text: "é" });
  const entries = [entryAt(1), entryAt(2, { body: { text: "y".repeat(9_000) } }), entryAt(3)];
  writer.push(unitOf(entries.slice(0, 2), { stateText, stateSeq: 2 }));
  writer.push(unitOf(entries.slice(2), { stateText, stateSeq: 3 }));
  await writer.idle();
  const state = digestNow(encoder.encode(stateText));
  const [first, second, third] = await entriesOn(disk);
  assert.deepEqual([first?.state, second?.state, third?.state], [undefined, state, state]);
  assert.deepEqual(second?.body, entries[1]?.body);
});

Deno.test("writer sets the side rows of a unit in its commit, the last write of a key winning", async () => {
  const { disk, store, journal: { writer } } = await openWorldJournal();
  const open = keys.open(root);
  const due = keys.due(5, root, "1.0");
  const inbox = keys.inbox(rootNamed(2), root, 1, 0);
  writer.push(
    unitFrom(1, 1, { sets: [{ key: open, value: 1 }, { key: due, value: 1 }, { key: inbox, value: 1 }] }),
  );
  writer.push(unitFrom(2, 1, { sets: [{ key: open, value: 2 }], deletes: [due] }));
  writer.push(unitFrom(3, 1, { sets: [{ key: due, value: 3 }], deletes: [open] }));
  await writer.idle();
  assert.equal(store.commits.length, 2);
  assert.deepEqual([rowsOn(disk, "open").length, rowsOn(disk, "due")[0]?.value], [0, 3]);
  assert.equal(rowsOn(disk, "inbox").length, 1);
});

Deno.test("writer saves a small snapshot in the commit of its unit, with the hash of its value (K18)", async () => {
  const { store, journal } = await openWorldJournal();
  journal.writer.push(unitFrom(1));
  journal.writer.push(unitFrom(2, 1, { snapshot: snapshotAt(2) }));
  await journal.writer.idle();
  assert.equal(store.commits.length, 2);
  const saved = await journal.readSnapshot(root);
  assert.deepEqual([saved?.seq, saved?.text, saved?.chunks], [2, snapshotAt(2).text, 0]);
  assert.equal(saved?.hash, (await journal.readHead(root)).hash);
});

Deno.test("writer saves a large snapshot in chunks after its unit, the manifest last (K18)", async () => {
  const { disk, store, journal } = await openWorldJournal();
  const told: string[] = [];
  journal.writer.push(unitFrom(1, 1, { snapshot: snapshotAt(1, 2_000_000) }), () => {
    told.push(rowsOn(disk, "snap").length === 0 ? "durable before its snapshot" : "late");
  });
  await journal.writer.idle();
  assert.deepEqual(told, ["durable before its snapshot"]);
  const withManifest = store.commits.findIndex(({ sets }) => sets.some(({ key }) => key[0] === "snap"));
  assert.equal(withManifest, store.commits.length - 1);
  assert.equal((await journal.readSnapshot(root))?.text, snapshotAt(1, 2_000_000).text);
});

Deno.test("writer takes the manifest away before it overwrites the chunks that it names", async () => {
  const disk = new MemoryDisk();
  const { journal } = await openWorldJournal({ disk });
  journal.writer.push(unitFrom(1, 1, { snapshot: snapshotAt(1, 2_000_000) }));
  await journal.writer.idle();
  await journal.close();
  // The second snapshot is interrupted at each of its commits.
  for (let lost = 3; lost <= 6; lost++) {
    const copy = disk.copy();
    const { journal: again, world } = await openWorldJournal({
      disk: copy,
      faults: (n) => n >= lost ? "hang" : undefined,
    });
    again.writer.push(unitFrom(2, 1, { snapshot: snapshotAt(2, 2_000_000) }));
    await world.settle();
    const { journal: reader, world: later } = await openWorldJournal({ disk: copy });
    const text = (await reader.readSnapshot(root))?.text;
    const fits = text === snapshotAt(1, 2_000_000).text ? lost === 3 : text === undefined;
    assert.ok(fits, `interrupted at commit ${lost}`);
    assert.deepEqual(later.logs, [], "no mixed snapshot was even looked at");
  }
});

Deno.test("writer keeps the newer of two snapshots, also if the older is still being written", async () => {
  const { world, store, journal } = await openWorldJournal({ faults: (n) => n === 2 ? "hang" : undefined });
  journal.writer.push(unitFrom(1, 1, { snapshot: snapshotAt(1, 2_000_000) }));
  await world.settle();
  journal.writer.push(unitFrom(2, 1, { snapshot: snapshotAt(2) }));
  store.release(true);
  await journal.writer.idle();
  assert.equal((await journal.readSnapshot(root))?.seq, 2);
});

Deno.test("writer stores a blob once, and a large one over several commits with its manifest last", async () => {
  const { disk, store, journal } = await openWorldJournal();
  const bytes = new Uint8Array(1_500_000).map((_, i) => i % 251);
  const blob = { digest: digestNow(bytes), bytes };
  const told: string[] = [];
  journal.writer.putBlob(blob, () => told.push("blob"));
  journal.writer.push(unitFrom(1), () => told.push("unit"));
  await journal.writer.idle();
  assert.deepEqual(told, ["blob", "unit"]);
  assert.deepEqual(await journal.readBlob(blob.digest), bytes);
  assert.equal(rowsOn(disk, "blobc").length, 25);
  const commits = store.commits.length;
  journal.writer.putBlob(blob, () => told.push("again"));
  await journal.writer.idle();
  assert.deepEqual([told.at(-1), store.commits.length], ["again", commits]);
});
