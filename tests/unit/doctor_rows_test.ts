/** The doctor's look at the rows beside the streams, at what nothing names, and at SQLite's own file. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { examine, type FindingCode, findingKinds } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { openSqliteFile } from "../../src/journal/sqlite_file.ts";
import type { ListRange, Store, StoreKey } from "../../src/journal/store.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { createRandom } from "../support/world.ts";
import {
  collect,
  digest,
  entryAt,
  openWorldJournal,
  root,
  rootNamed,
  rowsOn,
  unitFrom,
  unitOf,
} from "../support/units.ts";

const dayMs = 24 * 3_600_000;
const gone = rootNamed(7);

function recordOf(address: string) {
  return {
    v: 1 as const,
    address,
    kind: "session" as const,
    createdAt: 5,
    status: "active" as const,
    title: "",
  };
}

function intentAt(seq: number, cause: number, port: string, body: JsonObject): Entry {
  return entryAt(seq, { kind: "intent", type: port, cause, body });
}

/** A session that waits for a tool, a timer and an answer, with every row that belongs to that. */
async function waitingDisk(): Promise<MemoryDisk> {
  const { disk, journal: { writer } } = await openWorldJournal();
  writer.push(unitOf([
    entryAt(1),
    intentAt(2, 1, "tool.call", { n: 0, port: "tool.call", args: {} }),
    intentAt(3, 1, "timer.set", { n: 1, port: "timer.set", args: { dueAtMs: 9, jitterMs: 0 } }),
    intentAt(4, 1, "question.ask", { n: 2, port: "question.ask", args: { subject: { tool: "x" } } }),
    intentAt(5, 1, "timer.set", { n: 3, port: "timer.set", args: { dueAtMs: 8, jitterMs: 0 } }),
    entryAt(6, {
      kind: "outcome",
      type: "timer.set",
      body: { id: "1.3", attempt: 1, status: "ok", value: null },
    }),
  ], {
    record: recordOf(root),
    sets: [
      { key: keys.open(root), value: { v: 1 } },
      { key: keys.due(9, root, "1.1"), value: { jitterMs: 0 } },
      { key: keys.question(`${root}#1.2`), value: { tool: "x" } },
      { key: keys.command("p", "k"), value: { root, seq: 1 } },
      { key: keys.reply("p", "k"), value: { status: "ok" } },
    ],
  }));
  writer.push(unitFrom(1, 1, { root: rootNamed(2), record: recordOf(rootNamed(2)) }));
  await writer.idle();
  return disk;
}

/** What is found once a row was set, or taken away. */
async function foundWith(
  changes: { readonly set?: readonly (readonly [StoreKey, Json])[]; readonly take?: StoreKey },
): Promise<unknown[]> {
  const disk = (await waitingDisk()).copy();
  const { set = [], take } = changes;
  const deletes = take === undefined ? [] : [take];
  disk.commit({ checks: [], sets: set.map(([key, value]) => ({ key, value })), deletes });
  const { findings } = await examine(disk.open(), digest, { now: 1_000 });
  return findings.map(({ code, root: of }) => [code, of]);
}

Deno.test("doctor holds every row against the streams, and says of each that does not fit what it is", async () => {
  assert.deepEqual(await foundWith({}), []);
  const task = { v: 1 };
  const cases: readonly (readonly [FindingCode, string, Parameters<typeof foundWith>[0]])[] = [
    ["open_row_missing", root, { take: keys.open(root) }],
    ["open_row_idle", rootNamed(2), { set: [[keys.open(rootNamed(2)), { v: 1 }]] }],
    ["open_row_idle", gone, { set: [[keys.open(gone), { v: 1 }]] }],
    ["due_row_missing", root, { take: keys.due(9, root, "1.1") }],
    ["due_row_idle", root, { set: [[keys.due(8, root, "1.3"), { jitterMs: 0 }]] }],
    ["question_missing", root, { take: keys.question(`${root}#1.2`) }],
    ["question_orphaned", gone, { set: [[keys.question(`${gone}#1.2`), { tool: "x" }]] }],
    ["record_damaged", "task t", { set: [[keys.task(root, "t"), task]] }],
    ["scope_orphaned", "scope s", { set: [[keys.scope("s"), { task: "task/x" }]] }],
    ["letter_lost", gone, { set: [[keys.inbox(gone, root, 1, 0), { message: {} }]] }],
    ["command_orphaned", "command p/z", { set: [[keys.command("p", "z"), { root, seq: 7 }]] }],
    ["command_orphaned", "command p/y", { set: [[keys.command("p", "y"), { root: gone, seq: 1 }]] }],
    ["reply_orphaned", "reply p/x", { set: [[keys.reply("p", "x"), { status: "ok" }]] }],
    ["name_orphaned", "name p/n", { set: [[keys.named("p", "n"), { root: gone }]] }],
    ["recovery_repeated", root, { set: [[keys.recover(root), { attempts: 2 }]] }],
    ["record_damaged", root, { set: [[keys.root(root), { v: 9 }]] }],
    ["lease_lapsed", root, {
      set: [[["owner", root], { runtime: "run_1" }], [["lease", root], { expiresAt: 999 }]],
    }],
    ["lease_held", root, {
      set: [[["owner", root], { runtime: "run_1" }], [["lease", root], { expiresAt: 1_001 }]],
    }],
    ["child_orphaned", rootNamed(2), {
      set: [[keys.root(rootNamed(2)), { ...recordOf(rootNamed(2)), parent: "task/t@ses_1" }]],
    }],
    ["root_quarantined", rootNamed(2), {
      set: [[keys.root(rootNamed(2)), { ...recordOf(rootNamed(2)), status: "quarantined", reason: "why" }]],
    }],
  ];
  for (const [code, of, changes] of cases) assert.deepEqual(await foundWith(changes), [[code, of]], code);
});

Deno.test("doctor says in one line what each finding means, how much it weighs, and what to do", () => {
  for (const [code, { weight, advice }] of Object.entries(findingKinds)) {
    assert.match(weight, /^(damage|attention|note)$/, code);
    assert.ok(advice.length > 5 && advice.length <= 100 && !advice.includes("\n"), code);
  }
});

Deno.test("doctor counts the blobs that nothing names, their bytes, and those of yesterday (R12)", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  const blobs = ["old", "new"].map((text) => new TextEncoder().encode(text.repeat(30_000)));
  const put = async (bytes: Uint8Array | undefined) => {
    if (bytes !== undefined) writer.putBlob({ digest: await digest(bytes), bytes });
    await writer.idle();
  };
  await put(blobs[0]);
  writer.push(unitOf([entryAt(1)], { record: recordOf(root) }));
  await writer.idle();
  await put(blobs[1]);
  const { at } = entryAt(1);
  for (const [now, old] of [[at + dayMs - 1, 0], [at + dayMs, 1]] as const) {
    const { findings } = await examine(disk.open(), digest, { now });
    assert.deepEqual(findings.map(({ code }) => code), ["blobs_orphaned"]);
    assert.match(
      findings[0]?.message ?? "",
      new RegExp(`^2 blobs of \\d{6} bytes .*, ${old} of them older than 24 h$`),
    );
  }
});

Deno.test("doctor finds a flipped bit in each of 200 entries, and names the value that holds it (F10)", async () => {
  const { disk, journal: { writer } } = await openWorldJournal();
  for (let first = 1; first <= 200; first += 4) {
    const entries = Array.from(
      { length: 4 },
      (_, n) => entryAt(first + n, { body: { text: `entry ${first + n};` } }),
    );
    writer.push(unitOf(entries, first === 1 ? { record: recordOf(root) } : {}));
    await writer.idle();
  }
  const before = disk.rows().length;
  const random = createRandom(200);
  const values = rowsOn(disk, "log").map(({ key, value }) => ({ key, bytes: value as Uint8Array }));
  assert.ok(values.length >= 40);
  for (let seq = 1; seq <= 200; seq++) {
    const holder = values.findLast(({ key }) => Number(key[2]) <= seq);
    assert.ok(holder !== undefined);
    const first = Number(holder.key[2]);
    const lines = new TextDecoder("latin1").decode(holder.bytes).split("\n");
    const start = lines.slice(0, seq - first + 1).join("\n").length + 1;
    const at = start + Math.floor(random() * (lines[seq - first + 1]?.length ?? 1));
    const damaged = disk.copy();
    damaged.damage(holder.key, (value) => {
      const bytes = value as Uint8Array;
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 7));
      return bytes;
    });
    const { findings, streams } = await examine(damaged.open(), digest);
    const [found] = findings;
    assert.deepEqual([findings.length, found?.code, found?.root, found?.first], [
      1,
      "value_damaged",
      root,
      first,
    ]);
    assert.ok(seq <= (found?.last ?? 0), `entry ${seq} is in the range that is named`);
    assert.equal(streams[0]?.sound.seq, first - 1);
    assert.equal(damaged.rows().length, before, "nothing was repaired");
  }
});

async function listed(store: Store, range: ListRange): Promise<unknown[]> {
  return (await collect(store.list(range))).map(({ key, value, versionstamp }) => [key, value, versionstamp]);
}

Deno.test("file of a store gives the same rows when it is read without being opened as a store, beside its owner or alone", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a #% store.db`;
    const store = await openKvStore(path);
    const sets = [
      ...[["a", 1], ["a", -2.5], ["a", 300], ["a\0b", "é"], ["ab"], ["b"]].map((key) => ({
        key,
        value: { key, of: null },
      })),
      ...Array.from({ length: 150 }, (_, n) => ({ key: ["m", n], value: new Uint8Array([n, 0, 255]) })),
    ];
    await store.commit({ checks: [], sets, deletes: [] });
    const ranges: readonly ListRange[] = [
      { prefix: [] },
      { prefix: ["a"] },
      { prefix: ["m"], reverse: true, limit: 70 },
      { prefix: ["m"], start: ["m", 3], limit: 5 },
      { prefix: ["m"], end: ["m", 100], reverse: true, limit: 1 },
    ];
    const expected = await Promise.all(ranges.map((range) => listed(store, range)));
    const compare = async (isOurs: boolean) => {
      const file = await openSqliteFile(path, { isOurs });
      for (const [index, range] of ranges.entries()) {
        assert.deepEqual(await listed(file, range), expected[index]);
      }
      assert.deepEqual((await file.get(["a", 300]))?.value, { key: ["a", 300], of: null });
      assert.equal(await file.get(["a", 301]), null);
      assert.deepEqual(file.problems(), []);
      await assert.rejects(file.commit(), { code: "store_unusable" });
      return file;
    };
    const beside = await compare(false);
    await store.commit({ checks: [], sets: [{ key: ["late"], value: 1 }], deletes: [] });
    assert.equal(await beside.get(["late"]), null, "it reads what was there when it came");
    beside.close();
    await store.commit({ checks: [], sets: [], deletes: [["late"]] });
    store.close();
    const names = () => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    const before = [names(), await Deno.readFile(path)];
    (await compare(true)).close();
    assert.deepEqual([names(), await Deno.readFile(path)], before, "nothing is written, not even beside it");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("file of which a page is damaged is named as such, and gives what stands on the others", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/store.db`;
    const store = await openKvStore(path);
    const fill = "f".repeat(300);
    const sets = Array.from({ length: 400 }, (_, n) => ({ key: ["m", n], value: { n, fill } }));
    await store.commit({ checks: [], sets, deletes: [] });
    store.close();
    const bytes = await Deno.readFile(path);
    const text = new TextDecoder("latin1").decode(bytes);
    const place = text.indexOf(fill, Math.floor(bytes.length / 2));
    const page = place - place % 4_096;
    bytes.fill(0, page, page + 100);
    await Deno.writeFile(path, bytes);
    const file = await openSqliteFile(path, { isOurs: true });
    assert.ok(file.problems().length > 0);
    const found: unknown[] = [];
    await assert.rejects(async () => {
      for await (const { key } of file.list({ prefix: ["m"] })) found.push(key[1]);
    }, { code: "store_corrupt" });
    assert.ok(found.length > 5, `${found.length} rows before the damage`);
    const { findings } = await examine(file, digest);
    assert.ok(findings.every(({ code }) => code === "rows_unreadable"));
    file.close();
    assert.deepEqual(await Deno.readFile(path), bytes, "the file is left as it is");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
