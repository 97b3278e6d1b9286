/** The store over Deno KV: a local file, memory, or a remote KV by its address. */
import type { LogEvent } from "../seams.ts";
import { checkedAddress, isAddress, refusalOf } from "./remote_address.ts";
import { prepareStoreFile } from "./store_file.ts";
import { type Commit, type CommitResult, type ListRange, type Row, type Store, StoreError } from "./store.ts";

/** Options of {@linkcode openKvStore}. */
export interface KvStoreOptions {
  /** Where warnings go, for example about a store file that others could read. */
  readonly log?: ((event: LogEvent) => void) | undefined;
  /** Opens a store on a network file system all the same. */
  readonly force?: boolean | undefined;
  /** Refuses with `store_not_found` instead of making a new store: for commands that only read. */
  readonly mustExist?: boolean | undefined;
}

/** What SQLite writes beside a file before it reads it. */
const openingBytes = 65_536;

/** Text in an error of Deno KV, and what it means. The first that fits counts. */
const meanings: readonly (readonly [RegExp, StoreError["code"], string])[] = [
  [/database is (locked|busy)|database table is locked/i, "store_busy", "another process holds its lock"],
  [/database or disk is full|no space left/i, "store_full", "the disk is full; free some space"],
  [/malformed|not a database|corrupt/i, "store_corrupt", "the file is damaged; run troupe doctor"],
  [
    /value too large|mutation size too large|too many|key size too large/i,
    "value_too_large",
    "too much at once",
  ],
  [/key too large/i, "id_too_long", "a key is too long"],
  [/bad resource|closed/i, "store_unusable", "it is closed"],
  [/disk I\/O error/i, "store_busy", "the disk did not answer"],
  [/unable to open|readonly|read-only|permission/i, "store_unusable", "it cannot be opened or written"],
];

/** An error of the store's file, or of a remote one, as a {@linkcode StoreError}, where its meaning is known. */
export function refine(error: unknown, doing: string, isRemote = false): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const refusal = isRemote ? refusalOf(error) : undefined;
  if (refusal !== undefined) {
    const [code, what] = refusal;
    return new StoreError(code, `Cannot ${doing} store: ${what} (${error.message})`, { cause: error });
  }
  const meaning = meanings.find(([pattern]) => pattern.test(`${error.name} ${error.message}`));
  if (meaning === undefined) return error;
  return new StoreError(meaning[1], `Cannot ${doing} store: ${meaning[2]} (${error.message})`, {
    cause: error,
  });
}

function selectorOf(range: ListRange): Deno.KvListSelector {
  const { prefix, start, end } = range;
  // KV takes a prefix with one bound, or two bounds without a prefix.
  if (start !== undefined && end !== undefined) return { start: [...start], end: [...end] };
  if (start !== undefined) return { prefix: [...prefix], start: [...start] };
  if (end !== undefined) return { prefix: [...prefix], end: [...end] };
  return { prefix: [...prefix] };
}

/** A {@linkcode Store} over an open Deno KV. Errors become {@linkcode StoreError}s where their meaning is known. */
class KvStore implements Store {
  readonly #kv: Deno.Kv;
  readonly #isRemote: boolean;

  constructor(kv: Deno.Kv, isRemote: boolean) {
    this.#kv = kv;
    this.#isRemote = isRemote;
  }

  async get(key: Row["key"]): Promise<Row | null> {
    try {
      const found = await this.#kv.get([...key]);
      if (found.versionstamp === null) return null;
      return { key, value: found.value, versionstamp: found.versionstamp };
    } catch (error) {
      throw refine(error, "read", this.#isRemote);
    }
  }

  async *list(range: ListRange): AsyncIterable<Row> {
    const options: Deno.KvListOptions = {
      ...(range.limit === undefined ? {} : { limit: range.limit }),
      ...(range.reverse === undefined ? {} : { reverse: range.reverse }),
    };
    try {
      for await (const { key, value, versionstamp } of this.#kv.list(selectorOf(range), options)) {
        yield { key: key as (string | number)[], value, versionstamp };
      }
    } catch (error) {
      throw refine(error, "read", this.#isRemote);
    }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    try {
      let atomic = this.#kv.atomic();
      for (const { key, versionstamp } of commit.checks) {
        atomic = atomic.check({ key: [...key], versionstamp });
      }
      for (const { key, value } of commit.sets) atomic = atomic.set([...key], value);
      for (const key of commit.deletes) atomic = atomic.delete([...key]);
      const result = await atomic.commit();
      return result.ok ? { ok: true, versionstamp: result.versionstamp } : { ok: false };
    } catch (error) {
      throw refine(error, "write", this.#isRemote);
    }
  }

  close(): void {
    try {
      this.#kv.close();
    } catch {
      // Closed twice: nothing is left to do.
    }
  }
}

/**
 * Opens a store: the path of a file (made with mode 0600 if absent), `:memory:`, or the `https://` address of a
 * remote KV (`http://` on loopback), whose token is in `DENO_KV_ACCESS_TOKEN`. Refuses what is not a store of ours and
 * never overwrites it (B132, B133).
 */
export async function openKvStore(location: string, options: KvStoreOptions = {}): Promise<Store> {
  if (typeof Deno.openKv !== "function") {
    throw new StoreError("store_unusable", "Cannot open store: start Deno with --unstable-kv");
  }
  const isRemote = isAddress(location);
  const address = isRemote ? checkedAddress(location) : location;
  const prepared = isRemote || location === ":memory:"
    ? undefined
    : await prepareStoreFile(location, options);
  try {
    const store = new KvStore(await Deno.openKv(prepared?.path ?? address), isRemote);
    // A damaged file shows at the first read, not always when it is opened.
    await store.get(["meta", "store"]);
    await prepared?.protect();
    return store;
  } catch (error) {
    await prepared?.discard();
    throw await ofFullDisk(prepared?.path, refine(error, "open", isRemote));
  }
}

/** SQLite needs a page of its own before it can read: without room for it, it only speaks of its disk. */
async function ofFullDisk(path: string | undefined, error: unknown): Promise<unknown> {
  if (path === undefined || !(error instanceof StoreError) || error.code !== "store_busy") return error;
  const { statfs } = await import("node:fs/promises");
  const { bavail, bsize } = await statfs(path).catch(() => ({ bavail: 1, bsize: openingBytes }));
  if (bavail * bsize >= openingBytes) return error;
  return new StoreError("store_full", "Cannot open store: the disk is full; free some space", {
    cause: error,
  });
}
