/** Reads one stream: packed value after packed value, each verified against the one before and the last against the head. */
import { type Entry, StreamHead } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { readBlob } from "./blobs.ts";
import { keys, prefixes } from "./keys.ts";
import {
  brokenChain,
  type Decoded,
  decodePackedValue,
  type Digest,
  genesisHash,
  JournalDamage,
  wrongField,
} from "./packed_value.ts";
import { type AnyEntry, type EntryFormat, entryFormat, upcastEntry } from "./upcast.ts";
import { type Store, StoreError } from "./store.ts";

/** Values that are decoded before they are used: 60 KB each at most. */
const valuesAheadMax = 32;

/** What {@linkcode readStream} reads. */
export interface StreamReading {
  readonly store: Store;
  readonly root: string;
  readonly fromSeq: number;
  readonly digest: Digest;
  /** Formats of entries that are read; those of this release by default. */
  readonly format?: EntryFormat | undefined;
}

/** Head of a stream, or undefined if there is no such stream. Throws {@linkcode JournalDamage} if it cannot be read. */
export async function readStreamHead(store: Store, root: string): Promise<StreamHead | undefined> {
  const row = await store.get(keys.head(root));
  if (row === null) return undefined;
  const head = StreamHead.safeParse(row.value);
  if (head.success) return head.data;
  throw new JournalDamage({ root, first: 1, last: 1 }, "its head cannot be read");
}

/** First sequence of the packed value that holds `fromSeq`. */
async function firstOfValue({ store, root, fromSeq }: StreamReading): Promise<number> {
  if (fromSeq <= 1) return 1;
  const range = { prefix: prefixes.log(root), end: keys.log(root, fromSeq + 1), reverse: true, limit: 1 };
  for await (const { key } of store.list(range)) return Number(key[2]);
  return 1;
}

/**
 * Entries from `fromSeq` to the head as it is now, a packed value at a time, bodies put back from blobs. The chain is
 * followed from the value that holds `fromSeq`; the last value must be the head's. Throws {@linkcode JournalDamage}.
 */
export async function* readStream(reading: StreamReading): AsyncIterable<readonly Entry[]> {
  const { store, root, fromSeq, format = entryFormat } = reading;
  const { version } = format;
  const head = await readStreamHead(store, root);
  let next = await firstOfValue(reading);
  let prev = next === 1 ? genesisHash : undefined;
  const end = head?.seq ?? 0;
  // One past the end, so that entries behind the head, or without any head, are found.
  for await (const { first, decoded } of decodeAhead(reading, next)) {
    if (head !== undefined && next > end) return;
    if (head === undefined) throw new JournalDamage({ root, first, last: first }, "the stream has no head");
    if (first !== next) {
      throw new JournalDamage(
        { root, first: next, last: first - 1 },
        "the entries are missing",
      );
    }
    const { header, entries } = await decoded;
    if (prev !== undefined && header.prev !== prev) throw brokenChain(header);
    prev = header.hash;
    next = header.last + 1;
    if (header.last === end && header.hash !== head.hash) {
      throw new JournalDamage(header, "the head of the stream names another hash");
    }
    if (header.last > end) {
      throw new JournalDamage(
        header,
        `the head of the stream ends before it, at ${end}`,
      );
    }
    if (header.last < fromSeq) continue;
    const wanted = first < fromSeq ? entries.slice(fromSeq - first) : entries;
    const whole = wanted.some(({ blob }) => blob !== undefined)
      ? await Promise.all(wanted.map(restore))
      : wanted;
    yield whole.some(({ v }) => v !== version) ? whole.map(upcast) : whole;
  }
  if (next <= end) throw new JournalDamage({ root, first: next, last: end }, "the entries are missing");

  function upcast(entry: Entry): Entry {
    const current = upcastEntry(entry as unknown as AnyEntry, format);
    const wrong = wrongField(current, entry.seq);
    if (wrong === undefined) return current;
    throw new JournalDamage({ root, first: entry.seq, last: entry.seq }, wrong);
  }

  async function restore(entry: Entry): Promise<Entry> {
    return entry.blob === undefined ? entry : await restoreBody(entry, reading);
  }
}

interface AheadValue {
  readonly first: number;
  readonly decoded: Promise<Decoded>;
}

/** Values of a stream in order, several of them being hashed while one is used: hashing is a trip to another thread. */
async function* decodeAhead(
  { store, root, digest, format }: StreamReading,
  from: number,
): AsyncIterable<AheadValue> {
  const ahead: AheadValue[] = [];
  for await (
    const { key, value } of store.list({ prefix: prefixes.log(root), start: keys.log(root, from) })
  ) {
    const first = Number(key[2]);
    const decoded = decodePackedValue(value, { root, first, format }, digest);
    decoded.catch(() => {}); // Whoever takes it hears of the damage; who stops before need not.
    ahead.push({ first, decoded });
    if (ahead.length >= valuesAheadMax) yield ahead.shift() as AheadValue;
  }
  yield* ahead;
}

/** Puts an entry's body back from its blob. A missing or altered blob throws {@linkcode JournalDamage} with its seq. */
export async function restoreBody(
  entry: Entry,
  { store, root, digest }: Pick<StreamReading, "store" | "root" | "digest">,
): Promise<Entry> {
  const { blob, ...rest } = entry;
  if (blob === undefined) return entry;
  try {
    const bytes = await readBlob(store, blob.digest, digest);
    const body: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return { ...rest, body };
  } catch (error) {
    if (error instanceof StoreError && error.code !== "journal_corrupt") throw error;
    const found = error instanceof Error ? error.message : String(error);
    throw new JournalDamage(
      { root, first: entry.seq, last: entry.seq },
      `its body cannot be read (${found})`,
    );
  }
}
