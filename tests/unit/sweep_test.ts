/** Whether a sweep takes away what nothing names, a day after it was first seen so, and nothing else (R12). */
import assert from "node:assert/strict";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { examine } from "../../src/journal/doctor.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import type { Store } from "../../src/journal/store.ts";
import { sweep } from "../../src/journal/sweep.ts";
import { collect, digest, entryAt, openWorldJournal, root, unitOf } from "../support/units.ts";
import { createWorld, type World } from "../support/world.ts";

const dayMs = 24 * 3_600_000;
const small = new TextEncoder().encode("left behind by a crash");
const large = new Uint8Array(3 * limits.blobChunkBytes).fill(65);

/** What an entry says whose body is kept in a blob. */
function longBody(text: string): JsonObject {
  return { message: { type: "session.prompt", text: text.repeat(2_000) } };
}

/** The unit by which a session begins, with its record. */
function firstUnit(body: JsonObject) {
  const record = {
    v: 1 as const,
    address: root,
    kind: "session" as const,
    createdAt: 5,
    status: "active" as const,
    title: "",
  };
  return { ...unitOf([entryAt(1, { body })]), record };
}

async function blobOf(store: Store, name: string): Promise<boolean> {
  return await store.get(keys.blob(name)) !== null;
}

async function countOf(store: Store, prefix: readonly string[]): Promise<number> {
  return (await collect(store.list({ prefix }))).length;
}

/** One life of a runtime on a store: what it does is durable when it ends. */
async function live(
  store: Store,
  world: World,
  act: (journal: Awaited<ReturnType<typeof openJournal>>) => void,
): Promise<void> {
  const journal = await openJournal({
    store,
    seams: world.seams,
    lingerMs: 0,
    onFatal: (error) => {
      throw error;
    },
  });
  act(journal);
  journal.writer.urge();
  let isIdle = false;
  const idle = journal.writer.idle().then(() => isIdle = true);
  while (!isIdle) {
    await world.settle();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await idle;
  journal.writer.abandon();
}

async function orphans(store: Store, world: World): Promise<void> {
  await live(store, world, ({ writer }) => {
    writer.push(firstUnit(longBody("named ")));
  });
  await live(store, world, ({ writer }) => {
    writer.putBlob({ digest: smallDigest, bytes: small });
    writer.putBlob({ digest: largeDigest, bytes: large });
  });
}

const smallDigest = await digest(small);
const largeDigest = await digest(large);

for (const kind of ["memory", "file"] as const) {
  Deno.test(`sweep frees a blob that nothing named at two looks a day apart, and keeps all that has a name: ${kind} (R12)`, async () => {
    const folder = await Deno.makeTempDir();
    const world = createWorld();
    const store = kind === "file"
      ? await openKvStore(`${folder}/store.db`)
      : (await openWorldJournal({ world })).store;
    try {
      await orphans(store, world);
      const before = (await examine(store, digest)).counts;
      assert.deepEqual([await blobOf(store, smallDigest), await blobOf(store, largeDigest)], [true, true]);
      assert.deepEqual(await sweep(store, 1_000), { freed: 0, bytes: 0, waiting: 2 });
      assert.deepEqual(await sweep(store, 999 + dayMs), { freed: 0, bytes: 0, waiting: 2 });
      const { freed, bytes, waiting } = await sweep(store, 1_000 + dayMs);
      assert.deepEqual([freed, waiting, bytes > small.length + large.length], [2, 0, true]);
      assert.deepEqual([await blobOf(store, smallDigest), await blobOf(store, largeDigest)], [false, false]);
      assert.deepEqual([await countOf(store, prefixes.blobChunks), await countOf(store, prefixes.orphans)], [
        0,
        0,
      ]);
      const after = await examine(store, digest);
      assert.deepEqual([after.findings, after.counts], [[], before]);
    } finally {
      store.close();
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("sweep begins anew with a blob that was named, or written again, between its looks (R12)", async () => {
  const world = createWorld();
  const { store } = await openWorldJournal({ world });
  await orphans(store, world);
  await sweep(store, 0);
  await live(store, world, ({ writer }) => {
    const value = {
      isError: false,
      full: { name: "result", mediaType: "text/plain", bytes: 3, digest: smallDigest },
    };
    const body = { id: "1.0", status: "ok", value };
    writer.push(unitOf([entryAt(2, { kind: "outcome", type: "tool.call", cause: 2, body: body as never })]));
    writer.putBlob({ digest: largeDigest, bytes: large });
  });
  assert.deepEqual(await sweep(store, 2 * dayMs), { freed: 0, bytes: 0, waiting: 1 });
  assert.deepEqual([await blobOf(store, smallDigest), await blobOf(store, largeDigest)], [true, true]);
  assert.equal((await sweep(store, 3 * dayMs)).freed, 1);
  assert.deepEqual([await blobOf(store, smallDigest), await blobOf(store, largeDigest)], [true, false]);
});

Deno.test("sweep does not keep the next unit from writing a blob that was freed (R12)", async () => {
  const world = createWorld();
  const { store } = await openWorldJournal({ world });
  const body = longBody("again ");
  await live(store, world, ({ writer }) => writer.push(firstUnit(body)));
  // The unit is gone, its blob was left: as a crash between the two would have it.
  const [{ key } = { key: [] }] = await collect(store.list({ prefix: prefixes.log(root) }));
  await store.commit({ checks: [], sets: [], deletes: [key, keys.head(root)] });
  await sweep(store, 0);
  assert.equal((await sweep(store, dayMs)).freed, 1);
  assert.equal(await countOf(store, prefixes.blobs), 0);
  await live(store, world, ({ writer }) => writer.push(firstUnit(body)));
  const { findings, counts } = await examine(store, digest);
  assert.deepEqual([findings, counts.entries, counts.blobs], [[], 1, 1]);
});

Deno.test("sweep takes nothing away once another process writes to the store (R12, K16)", async () => {
  const world = createWorld();
  const { store } = await openWorldJournal({ world });
  await orphans(store, world);
  await sweep(store, 0);
  const late: Store = {
    get: (key) => store.get(key),
    list: (range) => store.list(range),
    commit: async (commit) => {
      await live(store, world, ({ writer }) => writer.push(unitOf([entryAt(2)])));
      return await store.commit(commit);
    },
    close: () => {},
  };
  await assert.rejects(sweep(late, 2 * dayMs), { code: "store_in_use" });
  assert.deepEqual([await blobOf(store, smallDigest), await blobOf(store, largeDigest)], [true, true]);
});
