/**
 * A store's file, read and never written: as SQLite sees it, beside a living owner, damaged or not. The one importer of
 * `node:sqlite`; whoever only runs a store never loads it.
 */
import { DatabaseSync } from "node:sqlite";
import { decodeKey, decodeValue, encodeKey } from "./kv_codec.ts";
import { refine } from "./kv_store.ts";
import { type CommitResult, type ListRange, type Row, type Store, StoreError } from "./store.ts";
import { checkStoreContent } from "./store_file.ts";

/** How a file is read. */
export interface SqliteFileOptions {
  /** True if nobody can write to it meanwhile: then not even the companions of the file are made. */
  readonly isOurs: boolean;
}

/** Rows that are read at once: 60 KB each at most. */
const pageRowsMax = 64;
/** Damages that SQLite is asked to name. */
const problemsMax = 20;

interface KvRow {
  readonly k: Uint8Array;
  readonly v: Uint8Array;
  readonly v_encoding: number;
  readonly version: number;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).size;
  } catch {
    return 0;
  }
}

/** Opens the file, and refuses what is no store: `store_not_found`, `store_unusable`, `store_corrupt` (B133). */
async function openDatabase(path: string, { isOurs }: SqliteFileOptions): Promise<DatabaseSync> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (info === undefined) {
    throw new StoreError("store_not_found", `Cannot find store "${path}": no such file`);
  }
  if (!info.isFile) {
    throw new StoreError("store_unusable", `Cannot use "${path}" as store: it is not an ordinary file`);
  }
  await checkStoreContent(path, info.size);
  // What is still in the write-ahead log would be passed over by a reader that looks at the file alone.
  const isWhole = isOurs && await sizeOf(`${path}-wal`) === 0;
  const url = `file:${path.split("/").map(encodeURIComponent).join("/")}${isWhole ? "?immutable=1" : ""}`;
  try {
    return new DatabaseSync(url, { readOnly: true, timeout: 5_000 });
  } catch (error) {
    throw refine(error, "open");
  }
}

/** The rows of a store's file as they were when it was opened, whatever its owner writes meanwhile. */
export async function openSqliteFile(path: string, options: SqliteFileOptions): Promise<SqliteFile> {
  const database = await openDatabase(path, options);
  try {
    database.exec("BEGIN");
    database.prepare("SELECT count(*) FROM migration_state").get();
    return new SqliteFile(database);
  } catch (error) {
    database.close();
    throw refine(error, "open");
  }
}

/** Writes all of a store to a new file, with SQLite's own means: the owner may write meanwhile. */
export async function vacuumInto(path: string, target: string, options: SqliteFileOptions): Promise<void> {
  const database = await openDatabase(path, options);
  try {
    database.prepare("VACUUM INTO ?").run(target);
  } catch (error) {
    throw refine(error, "copy");
  } finally {
    database.close();
  }
}

/** A {@linkcode Store} that cannot be written. */
export class SqliteFile implements Store {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** What SQLite finds wrong with its own structure, a line each; empty if it is whole. */
  problems(): readonly string[] {
    try {
      const rows = this.#database.prepare(`PRAGMA integrity_check(${problemsMax})`).all();
      const lines = rows.flatMap((row) => String(Object.values(row)[0]).split("\n"));
      return lines.filter((line) => line !== "ok" && !line.startsWith("***"));
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  }

  get(key: Row["key"]): Promise<Row | null> {
    const sql = "SELECT k, v, v_encoding, version FROM kv WHERE k = ?";
    const [row] = this.#read(sql, encodeKey(key));
    return Promise.resolve(row === undefined ? null : rowOf(row) ?? null);
  }

  async *list({ prefix, start, end, limit, reverse }: ListRange): AsyncIterable<Row> {
    const bytes = encodeKey(prefix);
    let low = start === undefined ? new Uint8Array([...bytes, 0]) : encodeKey(start);
    let high = end === undefined ? new Uint8Array([...bytes, 0xff]) : encodeKey(end);
    const isDown = reverse === true;
    let size = pageRowsMax;
    for (let left = limit ?? Infinity; left > 0;) {
      const count = Math.min(size, left);
      const sql = `SELECT k, v, v_encoding, version FROM kv WHERE k >= ? AND k < ? ORDER BY k ${
        isDown ? "DESC" : "ASC"
      } LIMIT ${count}`;
      let page: readonly KvRow[];
      try {
        page = this.#read(sql, low, high);
      } catch (error) {
        if (count === 1) throw error;
        size = 1; // What stands before the damage is given all the same.
        continue;
      }
      for (const row of page) {
        const whole = rowOf(row);
        if (whole !== undefined) yield whole;
        if (isDown) high = row.k;
        else low = new Uint8Array([...row.k, 0]);
      }
      left -= page.length;
      if (page.length < count) return;
    }
  }

  commit(): Promise<CommitResult> {
    return Promise.reject(new StoreError("store_unusable", "Cannot write store: it was opened for reading"));
  }

  close(): void {
    this.#database.close();
  }

  #read(sql: string, ...values: readonly Uint8Array[]): readonly KvRow[] {
    try {
      return this.#database.prepare(sql).all(...values) as unknown as KvRow[];
    } catch (error) {
      throw refine(error, "read");
    }
  }
}

/** A row as the store gives it. A value that cannot be read is no value: whoever needs it finds it damaged. */
function rowOf({ k, v, v_encoding: encoding, version }: KvRow): Row | undefined {
  const key = decodeKey(k);
  if (key === undefined) return undefined;
  let value: unknown;
  try {
    value = decodeValue(v, encoding);
  } catch {
    value = undefined;
  }
  return { key, value, versionstamp: `${version.toString(16).padStart(16, "0")}0000` };
}
