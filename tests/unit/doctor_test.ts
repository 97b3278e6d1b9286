/** The doctor: names what is wrong, saves what is sound, and alters nothing. */
import assert from "node:assert/strict";
import type { RootRecord } from "../../schemas/entry.ts";
import { examine, type Finding, salvage } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import type { StoreKey } from "../../src/journal/store.ts";
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

const other = rootNamed(2);

function recordOf(address: string): RootRecord {
  return { v: 1, address, kind: "session", createdAt: 5, status: "active", title: "" };
}

/** Two streams of nine entries in three values each; the first has blobs, side rows and a snapshot. */
async function writtenDisk(): Promise<MemoryDisk> {
  const { disk, journal: { writer } } = await openWorldJournal();
  for (let n = 0; n < 3; n++) {
    const first = 1 + 3 * n;
    const entries = entriesFrom(first, 3, (seq) => ({ text: "t".repeat(seq % 3 === 2 ? 70_000 + seq : 50) }));
    writer.push(unitOf(entries, {
      record: recordOf(root),
      snapshot: n === 1 ? snapshotAt(6) : undefined,
      sets: [
        { key: keys.command("p", `k${n}`), value: { root, seq: first } },
        { key: keys.reply("p", `k${n}`), value: "done" },
        { key: keys.due(9, root, `${first}.0`), value: {} },
        { key: keys.inbox(other, root, first, 0), value: { text: "m".repeat(n === 0 ? 60_000 : 5) } },
        { key: keys.open(root), value: first },
      ],
    }));
    writer.push(unitFrom(first, 3, { root: other, record: recordOf(other) }));
    await writer.idle();
  }
  return disk;
}

function versionsOf(disk: MemoryDisk): string {
  return JSON.stringify(disk.rows().map(({ key, versionstamp }) => [key, versionstamp]));
}

function cut(value: unknown): unknown {
  const bytes = value as Uint8Array;
  return bytes.slice(0, bytes.length - 20);
}

function short({ root: of, first, last, code }: Finding) {
  return [of, first, last, code];
}

Deno.test("doctor finds nothing in a sound store, and counts what it saw", async () => {
  const disk = await writtenDisk();
  const { findings, counts, streams, epoch } = await examine(disk.open(), digest);
  assert.deepEqual(findings, []);
  assert.deepEqual(counts, { streams: 2, values: 6, entries: 18, blobs: 3, snapshots: 1 });
  assert.deepEqual(streams.map(({ sound, whole }) => [sound.seq, whole]), [[9, true], [9, true]]);
  assert.equal(epoch, 1);
});

Deno.test("doctor names root, range and kind of each damage, and goes on behind it", async () => {
  const disk = await writtenDisk();
  const bodies = rowsOn(disk, "blobc").map(({ key }) => key);
  const cases: readonly [StoreKey, (value: unknown) => unknown, unknown[][]][] = [
    [keys.log(root, 4), cut, [[root, 4, 6, "value_damaged"]]],
    [keys.log(root, 4), () => undefined, [[root, 4, 6, "value_damaged"], [root, 0, 0, "snapshot_unfit"]]],
    [keys.log(root, 7), () => undefined, [[root, 7, 9, "head_damaged"]]],
    [keys.log(root, 7), () => "x", [[root, 7, 9, "value_damaged"]]],
    [keys.log(other, 1), () => "x", [[other, 1, 3, "value_damaged"]]],
    [keys.head(other), () => undefined, [[other, 9, 9, "head_damaged"]]],
    [keys.head(other), (head) => ({ ...head as object, seq: 8 }), [[other, 9, 9, "head_damaged"]]],
    [keys.snapshot(root), cut, [[root, 0, 0, "snapshot_unfit"]]],
  ];
  for (const [key, change, expected] of cases) {
    const damaged = disk.copy();
    damaged.damage(key, change);
    const before = versionsOf(damaged);
    const { findings } = await examine(damaged.open(), digest);
    assert.deepEqual(findings.map(short), expected, JSON.stringify(key));
    assert.equal(versionsOf(damaged), before, "nothing was altered");
  }
  const damaged = disk.copy();
  for (const key of bodies) damaged.damage(key, () => undefined);
  const { findings } = await examine(damaged.open(), digest);
  assert.deepEqual(findings.map(short), [2, 5, 8].map((seq) => [root, seq, seq, "blob_damaged"]));
});

Deno.test("doctor finds several damages of one stream", async () => {
  const disk = await writtenDisk();
  disk.damage(keys.log(other, 1), () => "x");
  disk.damage(keys.log(other, 7), cut);
  const { findings, counts } = await examine(disk.open(), digest);
  assert.deepEqual(findings.map(short), [[other, 1, 3, "value_damaged"], [other, 7, 9, "value_damaged"]]);
  assert.equal(counts.values, 6);
});

Deno.test("doctor salvages a sound store whole", async () => {
  const disk = await writtenDisk();
  const target = new MemoryDisk();
  const saved = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual([saved.streams, saved.entries, saved.cut], [2, 18, []]);
  const content = (of: MemoryDisk) =>
    of.rows().filter(({ key }) => key[0] !== "writer").map((r) => [r.key, r.value]);
  assert.deepEqual(content(target), content(disk));
  const { journal } = await openWorldJournal({ disk: target });
  assert.equal(journal.epoch, 2, "epochs go on rising (K16)");
  journal.writer.push(unitFrom(10, 1));
  await journal.writer.idle();
  assert.equal((await journal.readSnapshot(root))?.seq, 6);
  assert.equal((await collect(journal.listInbox(other)))[0]?.seq, 1);
});

Deno.test("doctor salvages the valid prefix of a damaged stream and quarantines its root", async () => {
  const disk = await writtenDisk();
  const whole = await entriesOn(disk);
  disk.damage(keys.log(root, 4), cut);
  const before = versionsOf(disk);
  const target = new MemoryDisk();
  const saved = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual([saved.entries, saved.cut], [12, [root]]);
  assert.equal(versionsOf(disk), before, "the damaged store is left as it is");
  assert.deepEqual(await entriesOn(target), whole.slice(0, 3));
  assert.equal((await entriesOn(target, other)).length, 9);
  const { journal } = await openWorldJournal({ disk: target });
  const statuses = (await collect(journal.listRoots())).map(({ status }) => status);
  assert.deepEqual(statuses, ["quarantined", "active"]);
  assert.equal(await journal.readSnapshot(root), undefined);
  assert.deepEqual(await journal.readReply("p", "k0"), "done");
  assert.equal(await journal.readReply("p", "k1"), undefined);
  assert.deepEqual((await collect(journal.listDue())).map(({ id }) => id), ["1.0"]);
  assert.deepEqual((await collect(journal.listInbox())).map(({ seq }) => seq), [1]);
  assert.deepEqual((await examine(target.open(), digest)).findings, []);
});

Deno.test("doctor salvages nothing behind a body that is lost", async () => {
  const disk = await writtenDisk();
  const { streams } = await examine(disk.open(), digest);
  disk.damage(keys.blob(String(streams[0]?.blobs[1])), () => undefined);
  const target = new MemoryDisk();
  const { cut: lost } = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual(lost, [root]);
  assert.equal((await entriesOn(target)).length, 3);
});

Deno.test("doctor salvages into an empty store only", async () => {
  const disk = await writtenDisk();
  const { disk: taken } = await openWorldJournal();
  const before = versionsOf(taken);
  await assert.rejects(salvage(disk.open(), taken.open(), digest), { code: "store_unusable" });
  assert.equal(versionsOf(taken), before);
});

/** A stream whose entries name a sealed catalog and the whole result of a tool, both blobs of their own. */
async function namingDisk(): Promise<
  { readonly disk: MemoryDisk; readonly catalog: string; readonly full: string }
> {
  const { disk, journal: { writer } } = await openWorldJournal();
  const [catalogBytes, fullBytes] = [new TextEncoder().encode("catalog"), new TextEncoder().encode("full")];
  const [catalog, full] = [await digest(catalogBytes), await digest(fullBytes)];
  writer.putBlob({ digest: catalog, bytes: catalogBytes });
  writer.putBlob({ digest: full, bytes: fullBytes });
  writer.push(unitOf([
    entryAt(1),
    entryAt(2, {
      kind: "input",
      type: "catalog.issued",
      body: { message: { type: "catalog.issued", catalog: { hash: catalog, epoch: 1 } } },
    }),
    entryAt(3, {
      kind: "outcome",
      type: "tool.call",
      body: {
        id: "2.0",
        attempt: 1,
        status: "ok",
        value: { model: "m".repeat(5_000), full: { digest: full } },
      },
    }),
  ], { record: recordOf(root) }));
  await writer.idle();
  return { disk, catalog, full };
}

Deno.test("doctor salvages the blobs that entries name in their bodies: catalogs and whole results", async () => {
  const { disk, catalog, full } = await namingDisk();
  assert.deepEqual((await examine(disk.open(), digest)).findings, []);
  const copy = new MemoryDisk();
  await salvage(disk.open(), copy.open(), digest);
  const names = rowsOn(copy, "blob").map(({ key }) => key[1]);
  assert.ok(names.includes(catalog) && names.includes(full), names.join());
});

Deno.test("doctor tells of a catalog and of a whole result that are lost", async () => {
  const { disk, catalog, full } = await namingDisk();
  disk.damage(keys.blob(catalog), () => undefined);
  disk.damage(keys.blob(full), () => undefined);
  const { findings } = await examine(disk.open(), digest);
  assert.deepEqual(findings.map(short), [[root, 2, 2, "blob_damaged"], [root, 3, 3, "blob_damaged"]]);
});
