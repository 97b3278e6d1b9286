/** What every store promises: one suite, run against Deno KV in a file, in memory and over KV Connect, and against the test's own store. */
import assert from "node:assert/strict";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { storeLimits } from "../../src/journal/row_size.ts";
import {
  type Commit,
  type ListRange,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StoreKey,
} from "../../src/journal/store.ts";
import { startKvConnect } from "../support/kv_connect/server.ts";
import { MemoryDisk } from "../support/memory_store.ts";

/** A kind of store; `reopen` is left out where a store does not outlive its handle. */
interface Kind {
  readonly name: string;
  /** Opens a new, empty store, and says how to open the same data again. */
  open(): Promise<
    { readonly store: Store; readonly reopen?: () => Promise<Store>; readonly clean?: () => Promise<void> }
  >;
}

const kinds: readonly Kind[] = [
  {
    name: "KV file",
    open: async () => {
      const folder = await Deno.makeTempDir();
      const path = `${folder}/store.db`;
      return {
        store: await openKvStore(path),
        reopen: () => openKvStore(path),
        clean: () => Deno.remove(folder, { recursive: true }),
      };
    },
  },
  { name: "KV memory", open: async () => ({ store: await openKvStore(":memory:") }) },
  {
    name: "KV Connect",
    open: async () => {
      const server = startKvConnect();
      Deno.env.set("DENO_KV_ACCESS_TOKEN", server.token);
      return {
        store: await openKvStore(server.url),
        reopen: () => openKvStore(server.url),
        clean: async () => await server[Symbol.asyncDispose](),
      };
    },
  },
  {
    name: "memory store",
    open: () => {
      const disk = new MemoryDisk();
      return Promise.resolve({ store: disk.open(), reopen: () => Promise.resolve(disk.open()) });
    },
  },
];

function promise(claim: string, prove: (store: Store, reopen?: () => Promise<Store>) => Promise<void>): void {
  for (const kind of kinds) {
    Deno.test(`store (${kind.name}) ${claim}`, async () => {
      const { store, reopen, clean } = await kind.open();
      try {
        await prove(store, reopen);
      } finally {
        store.close();
        await clean?.();
      }
    });
  }
}

function write(store: Store, commit: Partial<Commit>) {
  return store.commit({ checks: [], sets: [], deletes: [], ...commit });
}

function setAll(store: Store, keys: readonly StoreKey[]) {
  return write(store, { sets: keys.map((key) => ({ key, value: key.join("/") })) });
}

async function keysOf(store: Store, range: ListRange): Promise<StoreKey[]> {
  const keys: StoreKey[] = [];
  for await (const { key } of store.list(range)) keys.push(key);
  return keys;
}

async function refuses(commit: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  await assert.rejects(commit, (error) => {
    assert.ok(error instanceof StoreError);
    assert.equal(error.code, code);
    return true;
  });
}

// In order: text by its bytes, then numbers by their value; a shorter key before those that it begins.
const ordered: readonly StoreKey[] = [
  ["a"],
  ["a", ""],
  ["a", "\0"],
  ["a", "A"],
  ["a", "a"],
  ["a", "a", 1],
  ["a", "aa"],
  ["a", "é"],
  ["a", "\uffff"],
  ["a", "\u{1f600}"],
  ["a", -3],
  ["a", 0],
  ["a", 0.5],
  ["a", 2],
  ["a", 10],
  ["a", Number.MAX_SAFE_INTEGER],
  ["a-", "b"],
  ["aa"],
  ["b", 1],
];

promise("keeps keys of text and numbers in one order", async (store) => {
  await setAll(store, ordered.toReversed());
  assert.deepEqual(await keysOf(store, { prefix: [] }), ordered);
  const under = ordered.filter((key) => key[0] === "a" && key.length > 1);
  assert.deepEqual(await keysOf(store, { prefix: ["a"] }), under);
  assert.deepEqual(await keysOf(store, { prefix: ["a"], reverse: true }), under.toReversed());
});

promise("lists from the start and up to the end of a range", async (store) => {
  await setAll(store, [1, 2, 3, 4, 5].map((n) => ["log", "x", n]));
  await setAll(store, [["log", "w", 9], ["log", "y", 0], ["lof", 1]]);
  const prefix = ["log", "x"];
  const numbers = async (range: Omit<ListRange, "prefix">) =>
    (await keysOf(store, { prefix, ...range })).map((key) => key[2]);
  assert.deepEqual(await numbers({}), [1, 2, 3, 4, 5]);
  assert.deepEqual(await numbers({ start: ["log", "x", 3] }), [3, 4, 5]);
  assert.deepEqual(await numbers({ end: ["log", "x", 3] }), [1, 2]);
  assert.deepEqual(await numbers({ start: ["log", "x", 2], end: ["log", "x", 4] }), [2, 3]);
  assert.deepEqual(await numbers({ end: ["log", "x", 4], reverse: true, limit: 1 }), [3]);
  assert.deepEqual(await numbers({ limit: 2 }), [1, 2]);
  assert.deepEqual(await numbers({ start: ["log", "x", 6] }), []);
});

promise("lists more rows than one batch holds", async (store) => {
  const all = Array.from({ length: 1_500 }, (_, n): StoreKey => ["many", n]);
  await setAll(store, all.slice(0, 800));
  await setAll(store, all.slice(800));
  assert.deepEqual(await keysOf(store, { prefix: ["many"] }), all);
});

promise("answers null for a key that is not there", async (store) => {
  assert.equal(await store.get(["nothing"]), null);
  await write(store, { deletes: [["nothing"]] });
  assert.equal(await store.get(["nothing"]), null);
});

promise("commits only if every check holds", async (store) => {
  const first = await write(store, {
    checks: [{ key: ["k"], versionstamp: null }],
    sets: [{ key: ["k"], value: 1 }],
  });
  assert.ok(first.ok);
  assert.equal((await store.get(["k"]))?.versionstamp, first.versionstamp);
  const again = await write(store, {
    checks: [{ key: ["k"], versionstamp: null }],
    sets: [{ key: ["k"], value: 2 }],
  });
  assert.deepEqual(again, { ok: false });
  const second = await write(store, {
    checks: [{ key: ["k"], versionstamp: first.versionstamp }, { key: ["other"], versionstamp: null }],
    sets: [{ key: ["k"], value: 3 }],
  });
  assert.ok(second.ok);
  assert.ok(second.versionstamp > first.versionstamp);
  assert.equal((await store.get(["k"]))?.value, 3);
});

promise(
  "gives a new versionstamp to a key that is set to the same value, and to no other key",
  async (store) => {
    await write(store, { sets: [{ key: ["same"], value: 1 }, { key: ["still"], value: 1 }] });
    const before = [await store.get(["same"]), await store.get(["still"])];
    await write(store, { sets: [{ key: ["same"], value: 1 }] });
    assert.notEqual((await store.get(["same"]))?.versionstamp, before[0]?.versionstamp);
    assert.equal((await store.get(["still"]))?.versionstamp, before[1]?.versionstamp);
  },
);

promise("gives all rows of a commit one versionstamp", async (store) => {
  const result = await write(store, { sets: [{ key: ["p"], value: 1 }, { key: ["q"], value: 2 }] });
  assert.ok(result.ok);
  for (const key of ["p", "q"]) assert.equal((await store.get([key]))?.versionstamp, result.versionstamp);
});

promise("writes nothing of a commit whose check fails", async (store) => {
  await write(store, { sets: [{ key: ["kept"], value: "old" }] });
  const refused = await write(store, {
    checks: [{ key: ["kept"], versionstamp: null }],
    sets: [{ key: ["kept"], value: "new" }, { key: ["added"], value: 1 }],
    deletes: [["kept"]],
  });
  assert.deepEqual(refused, { ok: false });
  assert.equal((await store.get(["kept"]))?.value, "old");
  assert.equal(await store.get(["added"]), null);
});

promise("writes nothing of a commit that is too large", async (store) => {
  const value = new Uint8Array(60_000);
  const sets = Array.from({ length: 14 }, (_, n) => ({ key: ["part", n], value }));
  await refuses(write(store, { sets }), "value_too_large");
  assert.deepEqual(await keysOf(store, { prefix: ["part"] }), []);
  assert.ok((await write(store, { sets: sets.slice(1) })).ok);
});

promise("deletes and sets in one commit", async (store) => {
  await write(store, { sets: [{ key: ["from"], value: 1 }] });
  await write(store, { sets: [{ key: ["to"], value: 1 }], deletes: [["from"]] });
  assert.equal(await store.get(["from"]), null);
  assert.equal((await store.get(["to"]))?.value, 1);
});

promise("gives values back as they were, and never a reference to what was given", async (store) => {
  const bytes = new Uint8Array([0, 10, 255, 128]);
  const object = { text: "é\u{1f600}\n", list: [1, null, true, 0.5], deep: { empty: {} } };
  await write(store, {
    sets: [{ key: ["bytes"], value: bytes }, { key: ["object"], value: object }, {
      key: ["text"],
      value: "",
    }],
  });
  bytes[0] = 1;
  object.list.push(2);
  assert.deepEqual((await store.get(["bytes"]))?.value, new Uint8Array([0, 10, 255, 128]));
  assert.deepEqual((await store.get(["object"]))?.value, { ...object, list: [1, null, true, 0.5] });
  assert.equal((await store.get(["text"]))?.value, "");
  const read = (await store.get(["bytes"]))?.value as Uint8Array;
  read[1] = 0;
  assert.deepEqual((await store.get(["bytes"]))?.value, new Uint8Array([0, 10, 255, 128]));
});

promise("takes the largest value and refuses one byte more (B131)", async (store) => {
  const largest = new Uint8Array(storeLimits.valueBytesMax);
  assert.ok((await write(store, { sets: [{ key: ["large"], value: largest }] })).ok);
  assert.equal(((await store.get(["large"]))?.value as Uint8Array).length, largest.length);
  const larger = new Uint8Array(storeLimits.valueBytesMax + 1);
  await refuses(write(store, { sets: [{ key: ["larger"], value: larger }] }), "value_too_large");
});

promise("takes the longest key and refuses one byte more (B131)", async (store) => {
  const longest = ["k".repeat(2_046)];
  assert.ok((await write(store, { sets: [{ key: longest, value: 1 }] })).ok);
  assert.equal((await store.get(longest))?.value, 1);
  await refuses(write(store, { sets: [{ key: ["k".repeat(2_047)], value: 1 }] }), "id_too_long");
});

promise("takes 1,000 mutations and 100 checks, not more", async (store) => {
  const sets = Array.from({ length: 1_001 }, (_, n) => ({ key: ["m", n], value: n }));
  await refuses(write(store, { sets }), "value_too_large");
  assert.ok((await write(store, { sets: sets.slice(1) })).ok);
  const checks = Array.from({ length: 101 }, (_, n) => ({ key: ["c", n], versionstamp: null }));
  await refuses(write(store, { checks }), "value_too_large");
  assert.ok((await write(store, { checks: checks.slice(1) })).ok);
});

promise("refuses keys that are too large together", async (store) => {
  const sets = Array.from({ length: 90 }, (_, n) => ({ key: ["k".repeat(1_000), n], value: n }));
  await refuses(write(store, { sets }), "value_too_large");
});

promise("keeps its data when it is opened again", async (store, reopen) => {
  if (reopen === undefined) return;
  await setAll(store, [["kept", 1], ["kept", 2]]);
  const stamp = (await store.get(["kept", 1]))?.versionstamp;
  store.close();
  const again = await reopen();
  try {
    assert.deepEqual(await keysOf(again, { prefix: ["kept"] }), [["kept", 1], ["kept", 2]]);
    assert.equal((await again.get(["kept", 1]))?.versionstamp, stamp);
    const next = await write(again, { sets: [{ key: ["kept", 1], value: 1 }] });
    assert.ok(next.ok && stamp !== undefined && next.versionstamp > stamp);
  } finally {
    again.close();
  }
});

promise("refuses every call once it is closed, and may be closed twice", async (store) => {
  store.close();
  store.close();
  await refuses(store.get(["k"]), "store_unusable");
  await refuses(setAll(store, [["k"]]), "store_unusable");
});
