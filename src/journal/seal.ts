/** Sealing a group: what waits for a hash gets it, streams are chained and packed, rows put together. */
import { limits } from "../../schemas/limits.ts";
import { blobRows } from "./blobs.ts";
import type { Group, LongRows } from "./group.ts";
import { keys } from "./keys.ts";
import { type Digest, encodePackedValue, packedHeaderBytesMax } from "./packed_value.ts";
import type { Hashed, PreparedUnit, RowBlob, SideRow } from "./prepared_unit.ts";
import { snapshotRows } from "./snapshots.ts";
import { type Commit, type Store, StoreError, type StoreKey } from "./store.ts";
import type { Stream, Streams } from "./streams.ts";

const encoder = new TextEncoder();
const newline = 10;

/** What sealing needs to know. */
export interface SealOptions {
  readonly store: Store;
  readonly streams: Streams;
  readonly digest: Digest;
  /** True for a blob that is in the store already. */
  readonly isStored: (digest: string) => boolean;
}

/** A group ready to be committed; the writer adds its own row. */
export interface SealedGroup {
  readonly sets: Commit["sets"];
  readonly deletes: Commit["deletes"];
  /** Every root that has a unit in it. */
  readonly roots: readonly string[];
  /** Streams that must not exist before this commit. */
  readonly fresh: readonly string[];
  /** Blobs that are in the store after this commit. */
  readonly blobs: readonly string[];
  /** Snapshots that are too large for this commit: they may follow (K18). */
  readonly later: readonly LongRows[];
  readonly entries: number;
  readonly bytes: number;
}

/** The rows of a commit under way: a later row of the same key replaces an earlier one, whether set or deleted. */
class Rows {
  readonly #rows = new Map<string, { readonly key: StoreKey; readonly value: unknown }>();
  readonly blobs: string[] = [];
  readonly later: LongRows[] = [];
  bytes = 0;

  put(key: StoreKey, value: unknown): void {
    this.#rows.set(JSON.stringify(key), { key, value });
    if (value instanceof Uint8Array) this.bytes += value.length;
  }

  commit(): Pick<SealedGroup, "sets" | "deletes"> {
    const rows = [...this.#rows.values()];
    return {
      sets: rows.filter(({ value }) => value !== undefined),
      deletes: rows.filter(({ value }) => value === undefined).map(({ key }) => key),
    };
  }
}

/** Hashes, chains and packs a group. Throws if a stream in the store does not stand where its unit expects it. */
export async function sealGroup(group: Group, options: SealOptions): Promise<SealedGroup> {
  const byRoot = new Map<string, PreparedUnit[]>();
  for (const prepared of group.units) {
    const units = byRoot.get(prepared.unit.root);
    if (units === undefined) byRoot.set(prepared.unit.root, [prepared]);
    else units.push(prepared);
  }
  await Promise.all([hashSources(group, options.digest), readHeads(byRoot, options)]);
  const rows = new Rows();
  for (const { long, from, to } of group.parts) putPart(rows, long, from, to);
  let entries = 0;
  const fresh: string[] = [];
  await Promise.all([...byRoot].map(([root, units]) => sealStream(root, units, rows, options)));
  for (const { unit, blobs, rows: sideRows } of group.units) {
    entries += unit.entries.length;
    for (const blob of blobs) putBlob(rows, blob, options);
    for (const row of sideRows) rows.put(row.key, valueOf(row));
    for (const key of unit.deletes) rows.put(key, undefined);
  }
  for (const root of byRoot.keys()) if (options.streams.of(root).fresh) fresh.push(root);
  const roots = [...byRoot.keys()];
  return { ...rows.commit(), roots, fresh, blobs: rows.blobs, later: rows.later, entries, bytes: rows.bytes };
}

function valueOf({ value, blob }: SideRow): unknown {
  if (blob?.digest === undefined) return value;
  return { $blob: blob.digest, bytes: blob.bytes.length } satisfies RowBlob;
}

function putPart(rows: Rows, long: LongRows, from: number, to: number): void {
  if (from === 0 && to < long.count && long.stale !== undefined) rows.put(long.stale, undefined);
  for (const { key, value } of long.rows().slice(from, to)) rows.put(key, value);
  if (to === long.count && long.source?.digest !== undefined) rows.blobs.push(long.source.digest);
}

function putBlob(rows: Rows, { digest, bytes }: Hashed, { isStored }: SealOptions): void {
  if (digest === undefined || isStored(digest)) return;
  for (const { key, value } of blobRows(digest, bytes)) rows.put(key, value);
  rows.blobs.push(digest);
}

/** Works out every digest that the lines and rows of this group wait for. */
async function hashSources(group: Group, digest: Digest): Promise<void> {
  const waiting = new Set<Hashed>();
  for (const { long } of group.parts) if (long.source !== undefined) waiting.add(long.source);
  for (const { holes, blobs, snapshot } of group.units) {
    for (const { source } of holes) waiting.add(source);
    for (const blob of blobs) waiting.add(blob);
    if (snapshot !== undefined) waiting.add(snapshot);
  }
  if (waiting.size > 0) {
    await Promise.all([...waiting].map(async (source) => {
      source.digest ??= await digest(source.bytes);
    }));
  }
  for (const { holes } of group.units) {
    for (const { line, offset, source } of holes) {
      encoder.encodeInto(source.digest ?? "", line.subarray(offset));
    }
  }
}

async function readHeads(
  byRoot: ReadonlyMap<string, readonly PreparedUnit[]>,
  { store, streams }: SealOptions,
): Promise<void> {
  const unknown = [...byRoot].filter(([root, units]) =>
    !streams.of(root).known &&
    units.some(({ unit, snapshot }) => unit.entries.length > 0 || snapshot !== undefined)
  );
  if (unknown.length === 0) return;
  await Promise.all(unknown.map(async ([root]) => {
    const stream = streams.of(root);
    const head = (await store.get(keys.head(root)))?.value as { seq?: unknown; hash?: unknown } | undefined;
    if (typeof head?.seq === "number" && typeof head.hash === "string") {
      stream.seq = head.seq;
      stream.hash = head.hash;
    }
    stream.known = true;
  }));
}

async function sealStream(
  root: string,
  units: readonly PreparedUnit[],
  rows: Rows,
  { streams, digest }: SealOptions,
): Promise<void> {
  const stream = streams.of(root);
  const ends: { readonly last: number; readonly hash: string }[] = [{ last: stream.seq, hash: stream.hash }];
  for (const { first, last, lines } of packLines(root, units)) {
    if (first !== stream.seq + 1) {
      throw new StoreError(
        "journal_corrupt",
        `Cannot append entry ${first} to ${root}: its stream ends at ${stream.seq}`,
      );
    }
    const { bytes, hash } = await encodePackedValue({ root, first, last, prev: stream.hash }, lines, digest);
    rows.put(keys.log(root, first), bytes);
    stream.seq = last;
    stream.hash = hash;
    ends.push({ last, hash });
  }
  if (ends.length > 1) rows.put(keys.head(root), { seq: stream.seq, hash: stream.hash });
  const saved = units.findLast(({ snapshot }) => snapshot !== undefined);
  if (saved !== undefined) putSnapshot(rows, saved, ends, stream);
}

/** Cuts the lines of a stream into values that fit (K18). Whole units where they fit, else whole lines. */
function* packLines(root: string, units: readonly PreparedUnit[]) {
  const bytesMax = limits.packedValueBytesMax - packedHeaderBytesMax(root);
  let lines: Uint8Array[] = [];
  let bytes = 0;
  let first = 0;
  let next = 0;
  for (const { unit, lines: parts } of units) {
    const start = unit.entries[0]?.seq;
    if (start === undefined) continue;
    if (lines.length === 0) first = next = start;
    const whole = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes + whole <= bytesMax) {
      lines.push(...parts);
      bytes += whole;
      next += unit.entries.length;
      continue;
    }
    for (const line of parts.flatMap(splitLines)) {
      if (lines.length > 0 && bytes + line.length > bytesMax) {
        yield { first, last: next - 1, lines };
        lines = [];
        bytes = 0;
        first = next;
      }
      lines.push(line);
      bytes += line.length;
      next += 1;
    }
  }
  if (lines.length > 0) yield { first, last: next - 1, lines };
}

function splitLines(part: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < part.length;) {
    const end = part.indexOf(newline, start) + 1;
    lines.push(part.subarray(start, end));
    start = end;
  }
  return lines;
}

function putSnapshot(
  rows: Rows,
  { unit, snapshot }: PreparedUnit,
  ends: readonly { readonly last: number; readonly hash: string }[],
  stream: Stream,
): void {
  const draft = unit.snapshot;
  if (draft === undefined || snapshot?.digest === undefined || draft.seq < stream.snapshotSeq) return;
  const hash = ends.find(({ last }) => last >= draft.seq)?.hash;
  if (hash === undefined || draft.seq < (ends[0]?.last ?? 0)) return;
  const { root } = unit;
  const made = snapshotRows({ root, draft, text: snapshot.bytes, digest: snapshot.digest, hash });
  if (made === undefined) return;
  stream.snapshotSeq = draft.seq;
  if (!made.chunked) {
    for (const { key, value } of made.rows) rows.put(key, value);
    return;
  }
  rows.later.push({
    count: made.rows.length,
    rowBytes: limits.blobChunkBytes + 300,
    stale: keys.snapshot(root),
    isVoid: () => stream.snapshotSeq > draft.seq,
    rows: () => made.rows,
    next: 0,
  });
}
