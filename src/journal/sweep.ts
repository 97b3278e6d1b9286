/**
 * Takes away blobs that nothing names: what a crash left between a large result and the entry that would have named it
 * (R12). Only what two looks found without a name, at least a day apart, and what nobody wrote again between them.
 *
 * A name is any place where the digest stands: in a row, in an entry, in another blob. That keeps too much rather than
 * too little. Nothing may run the store meanwhile; every commit checks that no writer began. A runtime that starts later
 * knows of no blob, so that one that it needs again is written again.
 */
import { doctorBounds } from "../../schemas/doctor_limits.ts";
import { keys, prefixes } from "./keys.ts";
import { valueBytes } from "./row_size.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";

/** What a sweep did. */
export interface Sweep {
  /** Blobs that were taken away, and their bytes. */
  readonly freed: number;
  readonly bytes: number;
  /** Blobs that have no name since less than a day, as far as anybody looked. */
  readonly waiting: number;
}

/** What was seen at an earlier look: since when a blob has no name, and when it was written last. */
interface Seen {
  readonly v: 1;
  readonly since: number;
  readonly versionstamp: string;
}

/** A blob that nothing names. */
interface Orphan {
  /** Its rows; the one that makes it a blob first. */
  readonly rows: StoreKey[];
  bytes: number;
  versionstamp: string;
}

const digestPattern = /sha256:[0-9a-f]{64}/g;
const digestLength = "sha256:".length + 64;
/** Rows that one commit changes: a whole commit's keys must fit too. */
const batchMax = 400;

/** Sweeps a store that nobody runs. `now`: milliseconds since the epoch. */
export async function sweep(store: Store, now: number): Promise<Sweep> {
  const writer = await store.get(keys.writer());
  const orphans = await orphansOf(store, await mentioned(store));
  const seen = new Map<string, Row>();
  for await (const row of store.list({ prefix: prefixes.orphans })) seen.set(String(row.key[1]), row);
  const sets: { readonly key: StoreKey; readonly value: unknown }[] = [];
  // What has a name again, or is gone, is no orphan: a later look begins anew.
  const deletes = [...seen].flatMap(([digest, { key }]) => orphans.has(digest) ? [] : [key]);
  const told = { freed: 0, bytes: 0, waiting: 0 };
  for (const [digest, { rows, bytes, versionstamp }] of orphans) {
    const before = seen.get(digest)?.value as Seen | undefined;
    const isSame = before?.versionstamp === versionstamp;
    if (isSame && now - before.since >= doctorBounds.orphanKeptMs) {
      deletes.push(...rows, keys.orphan(digest));
      told.freed += 1;
      told.bytes += bytes;
    } else {
      told.waiting += 1;
      const value: Seen = { v: 1, since: now, versionstamp };
      if (!isSame) sets.push({ key: keys.orphan(digest), value });
    }
  }
  await commitAll(store, { writer, sets, deletes });
  return told;
}

/** Every digest that stands anywhere in the store, but in the keys of blobs. */
async function mentioned(store: Store): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const decoder = new TextDecoder("latin1");
  let last: { readonly of: string; readonly tail: string } | undefined;
  for await (const { key, value } of store.list({ prefix: [] })) {
    const text = value instanceof Uint8Array ? decoder.decode(value) : JSON.stringify(value) ?? "";
    // Chunks of one value follow each other, and a digest may stand across two.
    const of = key.slice(0, -1).join("/");
    const whole = last?.of === of ? last.tail + text : text;
    for (const [digest] of whole.matchAll(digestPattern)) found.add(digest);
    last = { of, tail: whole.slice(-digestLength) };
  }
  return found;
}

async function orphansOf(store: Store, named: ReadonlySet<string>): Promise<Map<string, Orphan>> {
  const orphans = new Map<string, Orphan>();
  for (const prefix of [prefixes.blobs, prefixes.blobChunks]) {
    for await (const { key, value, versionstamp } of store.list({ prefix })) {
      const digest = String(key[1]);
      if (named.has(digest)) continue;
      const orphan = orphans.get(digest) ?? { rows: [], bytes: 0, versionstamp: "" };
      orphan.rows.push(key);
      orphan.bytes += valueBytes(value);
      if (versionstamp > orphan.versionstamp) orphan.versionstamp = versionstamp;
      orphans.set(digest, orphan);
    }
  }
  return orphans;
}

async function commitAll(
  store: Store,
  { writer, sets, deletes }: {
    readonly writer: Row | null;
    readonly sets: readonly { readonly key: StoreKey; readonly value: unknown }[];
    readonly deletes: readonly StoreKey[];
  },
): Promise<void> {
  const checks = [{ key: keys.writer(), versionstamp: writer?.versionstamp ?? null }];
  const steps = Math.max(sets.length, deletes.length);
  for (let from = 0; from < steps; from += batchMax) {
    const until = from + batchMax;
    const commit = { checks, sets: sets.slice(from, until), deletes: deletes.slice(from, until) };
    if ((await store.commit(commit)).ok) continue;
    throw new StoreError(
      "store_in_use",
      "Cannot sweep: a process began to write to the store; stop it, then sweep again",
    );
  }
}
