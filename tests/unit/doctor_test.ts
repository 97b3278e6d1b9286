/** The doctor: names what is wrong, saves what is sound, and alters nothing. */
import assert from "node:assert/strict";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { examine, type Finding, salvage } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import type { StoreKey } from "../../src/journal/store.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import {
  collect,
  digest,
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

function intentAt(seq: number, cause: number, body: { readonly port: string } & JsonObject): Entry {
  return entryAt(seq, { kind: "intent", type: body.port, cause, body });
}

/** Two streams of nine entries in three values each; the first has blobs, side rows and a snapshot. */
async function writtenDisk(): Promise<MemoryDisk> {
  const { disk, journal: { writer } } = await openWorldJournal();
  for (let n = 0; n < 3; n++) {
    const first = 1 + 3 * n;
    const entries = [
      entryAt(first),
      intentAt(first + 1, first, { n: 1, port: "tool.call", args: { text: "t".repeat(70_001 + first) } }),
      intentAt(first + 2, first, { n: 0, port: "timer.set", args: { dueAtMs: 9, jitterMs: 0 } }),
    ];
    writer.push(unitOf(entries, {
      record: recordOf(root),
      snapshot: n === 1 ? snapshotAt(6) : undefined,
      sets: [
        { key: keys.command("p", `k${n}`), value: { root, seq: first } },
        { key: keys.reply("p", `k${n}`), value: "done" },
        { key: keys.due(9, root, `${first}.0`), value: { jitterMs: 0 } },
        { key: keys.inbox(other, root, first, 0), value: { text: "m".repeat(n === 0 ? 60_000 : 5) } },
        { key: keys.open(root), value: { v: 1 } },
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
  const letter = keys.inbox(other, root, 1, 0).join("/");
  const lost = [...[2, 5, 8].map((seq) => [root, seq, seq]), [letter, 0, 0]];
  assert.deepEqual(findings.map(short), lost.map((place) => [...place, "blob_damaged"]));
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

Deno.test("doctor salvages the valid prefix of a damaged stream, and has its root stop what it did (F10, R6)", async () => {
  const disk = await writtenDisk();
  const whole = await entriesOn(disk);
  disk.damage(keys.log(root, 4), cut);
  const before = versionsOf(disk);
  const target = new MemoryDisk();
  const saved = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual([saved.entries, saved.cut], [12, [{ root, kept: 3, lost: 9, becomes: "stopped" }]]);
  assert.equal(versionsOf(disk), before, "the damaged store is left as it is");
  assert.deepEqual(await entriesOn(target), whole.slice(0, 3));
  assert.equal((await entriesOn(target, other)).length, 9);
  const { journal } = await openWorldJournal({ disk: target });
  const records = await collect(journal.listRoots());
  assert.deepEqual(records.map(({ status, cut }) => [status, cut?.seq]), [["active", 3], [
    "active",
    undefined,
  ]]);
  assert.equal(await journal.readSnapshot(root), undefined);
  assert.deepEqual((await collect(journal.listDue())).map(({ id }) => id), ["1.0"]);
  assert.deepEqual((await collect(journal.listOpen())).map((row) => row.root), [root]);
  const letters = await collect(journal.listInbox());
  assert.deepEqual(letters.map(({ to, seq }) => [to, seq]), [[root, 0], [other, 1]]);
  const { findings } = await examine(target.open(), digest);
  assert.deepEqual(findings.map(short), [[root, 0, 0, "root_cut"]]);
});

Deno.test("salvage keeps commands whose entries are lost, so that a repeat is answered and does not act again (K14)", async () => {
  const disk = await writtenDisk();
  disk.damage(keys.log(root, 4), cut);
  disk.damage(keys.reply("p", "k2"), () => undefined);
  const target = new MemoryDisk();
  const { lost } = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual(lost, { commands: 1, letters: 2 });
  const { journal } = await openWorldJournal({ disk: target });
  assert.deepEqual([await journal.readReply("p", "k0"), await journal.readReply("p", "k1")], [
    "done",
    "done",
  ]);
  assert.equal((await journal.readReply("p", "k2") as { readonly status: string }).status, "failed");
  assert.deepEqual(await journal.readCommand("p", "k2"), { root, seq: 7 });
});

Deno.test("salvage leaves a crank behind that may have lost a part, and goes on before it", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  // One unit that is longer than a value, so that its second half lies in another one.
  const body = { text: "t".repeat(3_900) };
  const parts = Array.from({ length: 20 }, (_, n) => intentAt(5 + n, 4, { n, port: "tool.call", ...body }));
  writer.push(unitFrom(1, 3, { record: recordOf(root) }));
  writer.push(unitOf([entryAt(4), ...parts], { sets: [{ key: keys.open(root), value: { v: 1 } }] }));
  await writer.idle();
  const [, second] = rowsOn(disk, "log");
  assert.ok(Number(second?.key[2]) > 5, "its beginning is in the first value");
  disk.damage(second?.key ?? [], cut);
  const target = new MemoryDisk();
  const saved = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual(saved.cut, [{ root, kept: 3, lost: 24, becomes: "stopped" }]);
  assert.equal((await entriesOn(target)).length, 3);
  assert.deepEqual(rowsOn(target, "open"), []);
  assert.deepEqual((await examine(target.open(), digest)).findings.map(({ code }) => code), ["root_cut"]);
});

Deno.test("doctor salvages nothing behind a body that is lost", async () => {
  const disk = await writtenDisk();
  const { streams } = await examine(disk.open(), digest);
  disk.damage(keys.blob(String(streams[0]?.blobs[1])), () => undefined);
  const target = new MemoryDisk();
  const { cut: lost } = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual(lost.map((one) => one.root), [root]);
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
