/** Content-addressed blobs: small ones in one row, large ones in chunks with their manifest written last. */
import { limits } from "../../schemas/limits.ts";
import { keys } from "./keys.ts";
import type { Digest } from "./packed_value.ts";
import { type Store, StoreError, type StoreKey } from "./store.ts";

/** The row of a chunked blob: how many rows `blobc` hold its bytes. */
interface Manifest {
  readonly v: 1;
  readonly bytes: number;
  readonly chunks: number;
}

/** One row of a blob, in the order of writing. */
export interface BlobRow {
  readonly key: StoreKey;
  readonly value: Uint8Array | Manifest;
}

/** The rows of a blob: one if it fits in one, else its chunks and then the manifest that makes them a blob. */
export function blobRows(digest: string, bytes: Uint8Array): BlobRow[] {
  if (bytes.length <= limits.blobChunkBytes) return [{ key: keys.blob(digest), value: bytes }];
  const rows: BlobRow[] = [];
  for (let start = 0; start < bytes.length; start += limits.blobChunkBytes) {
    rows.push({
      key: keys.blobChunk(digest, rows.length),
      value: bytes.subarray(start, start + limits.blobChunkBytes),
    });
  }
  rows.push({ key: keys.blob(digest), value: { v: 1, bytes: bytes.length, chunks: rows.length } });
  return rows;
}

/** How many rows a blob of this size takes. */
export function blobRowCount(bytes: number): number {
  return bytes <= limits.blobChunkBytes ? 1 : Math.ceil(bytes / limits.blobChunkBytes) + 1;
}

function damaged(digest: string, found: string): StoreError {
  return new StoreError("journal_corrupt", `Cannot read blob ${digest}: ${found}; run troupe doctor`);
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== "object" || value === null) return false;
  const { bytes, chunks } = value as Partial<Manifest>;
  return Number.isSafeInteger(bytes) && Number.isSafeInteger(chunks);
}

async function readChunks(store: Store, digest: string, manifest: Manifest): Promise<Uint8Array> {
  const bytes = new Uint8Array(manifest.bytes);
  let offset = 0;
  for (let index = 0; index < manifest.chunks; index++) {
    const chunk = (await store.get(keys.blobChunk(digest, index)))?.value;
    if (!(chunk instanceof Uint8Array)) {
      throw damaged(digest, `chunk ${index} of ${manifest.chunks} is missing`);
    }
    if (offset + chunk.length > bytes.length) throw damaged(digest, `chunk ${index} is too long`);
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  if (offset !== bytes.length) throw damaged(digest, `${offset} bytes are there, not ${bytes.length}`);
  return bytes;
}

/** Reads a blob and verifies it. A missing or altered one throws `journal_corrupt`. */
export async function readBlob(store: Store, digest: string, hash: Digest): Promise<Uint8Array> {
  const value = (await store.get(keys.blob(digest)))?.value;
  if (value === undefined) throw damaged(digest, "it is missing");
  if (!(value instanceof Uint8Array) && !isManifest(value)) {
    throw damaged(digest, "its manifest cannot be read");
  }
  const bytes = value instanceof Uint8Array ? value : await readChunks(store, digest, value);
  if (await hash(bytes) !== digest) throw damaged(digest, "its bytes were altered");
  return bytes;
}
