/** Snapshot rows: a header line and the state's text in bytes, in one row or in chunks. A cache, never the truth (K20). */
import { SnapshotRecord } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys } from "./keys.ts";
import { type Digest, readPackedHeader } from "./packed_value.ts";
import type { Store, StoreKey } from "./store.ts";
import type { SnapshotDraft } from "./unit.ts";

/** The first line of a snapshot row: the record without its text, and the digest of the text. */
interface Header extends Omit<SnapshotRecord, "text"> {
  readonly digest: string;
}

/** A snapshot as rows. `rows` holds the chunks, if there are any, and the row `snap` last. */
export interface SnapshotRows {
  readonly rows: readonly { readonly key: StoreKey; readonly value: Uint8Array }[];
  readonly chunked: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const newline = 10;

/** What {@linkcode snapshotRows} makes rows of. `hash` is the chain hash of the value that holds `draft.seq`. */
export interface SnapshotSource {
  readonly root: string;
  readonly draft: SnapshotDraft;
  readonly text: Uint8Array;
  readonly digest: string;
  readonly hash: string;
}

/** Rows of a snapshot, or undefined if not even its header fits: a cache may be left out (K20). */
export function snapshotRows({ root, draft, text, digest, hash }: SnapshotSource): SnapshotRows | undefined {
  const { text: _text, ...rest } = draft;
  const chunked = text.length > limits.inlineValueBytesMax;
  const chunks = chunked ? Math.ceil(text.length / limits.blobChunkBytes) : 0;
  const header = { v: 1, ...rest, hash, chunks, digest };
  const line = encoder.encode(`${JSON.stringify(header)}\n`);
  if (line.length + (chunked ? 0 : text.length) > limits.packedValueBytesMax) {
    if (chunked || line.length > limits.inlineValueBytesMax) return undefined;
    return { ...chunk(root, { ...header, chunks: 1 }, text), chunked: true };
  }
  if (chunked) return { ...chunk(root, header, text), chunked };
  const value = new Uint8Array(line.length + text.length);
  value.set(line);
  value.set(text, line.length);
  return { rows: [{ key: keys.snapshot(root), value }], chunked };
}

function chunk(
  root: string,
  header: { readonly chunks: number },
  text: Uint8Array,
): Pick<SnapshotRows, "rows"> {
  const rows: { key: StoreKey; value: Uint8Array }[] = [];
  for (let index = 0; index < header.chunks; index++) {
    const start = index * limits.blobChunkBytes;
    rows.push({
      key: keys.snapshotChunk(root, index),
      value: text.subarray(start, start + limits.blobChunkBytes),
    });
  }
  rows.push({ key: keys.snapshot(root), value: encoder.encode(`${JSON.stringify(header)}\n`) });
  return { rows };
}

/** A snapshot that was read, or the reason why there is none that fits. */
export type SnapshotReading =
  | { readonly snapshot: SnapshotRecord }
  | { readonly missing: true }
  | { readonly unfit: string };

/** Reads a root's snapshot and verifies its text and that it belongs to the stream as it is. Never throws for damage. */
export async function readSnapshot(store: Store, root: string, digest: Digest): Promise<SnapshotReading> {
  const value = (await store.get(keys.snapshot(root)))?.value;
  if (value === undefined) return { missing: true };
  const parsed = parseHeader(value);
  if (parsed === undefined) return { unfit: "its header cannot be read" };
  const { header, rest } = parsed;
  const text = header.chunks === 0 ? rest : await readChunks(store, root, header.chunks);
  if (text === undefined) return { unfit: "a chunk is missing" };
  if (await digest(text) !== header.digest) return { unfit: "its bytes were altered" };
  if (await hashAt(store, root, header.seq) !== header.hash) {
    return { unfit: "it does not belong to this stream" };
  }
  const { digest: _digest, ...record } = header;
  const snapshot = SnapshotRecord.safeParse({ ...record, chunks: 0, text: decoder.decode(text) });
  return snapshot.success
    ? { snapshot: snapshot.data }
    : { unfit: "it is no snapshot that this release knows" };
}

function parseHeader(value: unknown): { readonly header: Header; readonly rest: Uint8Array } | undefined {
  if (!(value instanceof Uint8Array)) return undefined;
  const end = value.indexOf(newline);
  try {
    const header = JSON.parse(decoder.decode(value.subarray(0, Math.max(end, 0))));
    if (!Number.isSafeInteger(header.chunks) || !Number.isSafeInteger(header.seq)) return undefined;
    return { header, rest: value.subarray(end + 1) };
  } catch {
    return undefined;
  }
}

async function readChunks(store: Store, root: string, count: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let index = 0; index < count; index++) {
    const value = (await store.get(keys.snapshotChunk(root, index)))?.value;
    if (!(value instanceof Uint8Array)) return undefined;
    chunks.push(value);
    length += value.length;
  }
  const text = new Uint8Array(length);
  let offset = 0;
  for (const part of chunks) {
    text.set(part, offset);
    offset += part.length;
  }
  return text;
}

/** Chain hash of the packed value that holds entry `seq`, by its header; undefined if there is none. */
async function hashAt(store: Store, root: string, seq: number): Promise<string | undefined> {
  const range = { prefix: ["log", root], end: keys.log(root, seq + 1), reverse: true, limit: 1 };
  for await (const { key, value } of store.list(range)) {
    try {
      const header = readPackedHeader(value, { root, first: Number(key[2]) });
      return header.last >= seq ? header.hash : undefined;
    } catch {
      return undefined;
    }
  }
  return undefined;
}
