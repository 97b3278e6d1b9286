/** The store's header: which format it has, and which releases may read it (B127). */
import { keys } from "./keys.ts";
import { type Store, StoreError } from "./store.ts";

/** The format that this release writes. */
export const storeFormat = 1;

/** The header row of a store. */
export interface StoreFormat {
  readonly format: number;
  /** Oldest format whose releases can read this store. */
  readonly minReader: number;
  readonly createdAt: number;
  /** Names the store for good. Stores of earlier releases get theirs when they are next opened to be written. */
  readonly installation?: string | undefined;
}

/** The header of a new store. */
export function newStoreFormat(createdAt: number): StoreFormat {
  return { format: storeFormat, minReader: storeFormat, createdAt };
}

async function firstKey(store: Store): Promise<string | undefined> {
  for await (const { key } of store.list({ prefix: [], limit: 1 })) return String(key[0]);
  return undefined;
}

/** Reads the header; undefined if the store is new, that is empty. Refuses a store that is not ours. Writes nothing. */
export async function readStoreFormat(store: Store): Promise<StoreFormat | undefined> {
  let row = await store.get(keys.store());
  if (row === null) {
    const first = await firstKey(store);
    if (first === undefined) return undefined;
    // Another runtime may have made the store between the two looks.
    row = await store.get(keys.store());
    if (row === null) {
      throw new StoreError(
        "store_unusable",
        `Cannot use store: it holds rows of another program ("${first}")`,
      );
    }
  }
  const { format, minReader, createdAt, installation } = (row.value ?? {}) as Partial<StoreFormat>;
  if (!Number.isSafeInteger(format) || !Number.isSafeInteger(minReader)) {
    throw new StoreError("store_corrupt", "Cannot use store: its header cannot be read; run troupe doctor");
  }
  const header = { format: Number(format), minReader: Number(minReader), createdAt: Number(createdAt) };
  return typeof installation === "string" ? { ...header, installation } : header;
}

function newer(format: number, verb: string): StoreError {
  return new StoreError(
    "store_from_newer_version",
    `Cannot ${verb} store: it has format ${format}, this release knows ${storeFormat}; use the newer release`,
  );
}

/** Refuses to write to a store of a newer format (B127). */
export function checkWritable({ format }: StoreFormat): void {
  if (format > storeFormat) throw newer(format, "write");
}

/** Refuses to read a store whose header says that this release cannot (B127). */
export function checkReadable({ format, minReader }: StoreFormat): void {
  if (minReader > storeFormat) throw newer(format, "read");
}
