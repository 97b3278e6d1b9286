/** Where a stream that lost its end can go on from: behind the last crank that is certainly whole. */
import type { StreamHead } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys } from "./keys.ts";
import { movesPorts, type OpenPort, OpenPorts } from "./open_ports.ts";
import {
  type Decoded,
  decodePackedValue,
  type Digest,
  encodePackedValue,
  genesisHash,
} from "./packed_value.ts";
import type { Store } from "./store.ts";
import { restoreBody } from "./stream_reader.ts";
import type { StreamReport } from "./stream_walk.ts";

/** What of a stream is kept. */
export interface KeptStream {
  readonly head: StreamHead;
  /** Packed values in order, as they are or, for the last one, as it was cut. */
  readonly values: readonly { readonly first: number; readonly bytes: Uint8Array }[];
  /** What waits at its end. */
  readonly open: readonly OpenPort[];
}

/** A value shorter than this by the longest line did not end because it was full: then it ends where a unit ends. */
const lineBytesMax = 2 * limits.entryBodyBytesMax;
const newline = 10;

interface Source {
  readonly store: Store;
  readonly digest: Digest;
  readonly report: StreamReport;
}

/** All of a whole stream; of any other what is sound, but for a crank of which a part may be lost. */
export async function keepStream(source: Source): Promise<KeptStream> {
  const { store, digest, report: { root, values, sound, open, whole } } = source;
  const kept: { first: number; bytes: Uint8Array }[] = [];
  for (const first of values) {
    const bytes = (await store.get(keys.log(root, first)))?.value;
    if (bytes instanceof Uint8Array) kept.push({ first, bytes });
  }
  const last = kept.at(-1);
  if (whole || last === undefined || last.bytes.length <= limits.packedValueBytesMax - lineBytesMax) {
    return { head: sound, values: kept, open };
  }
  const end = await lastBorder(source, kept);
  const complete = kept.filter(({ first }) => first <= end);
  const cut = complete.pop();
  if (cut === undefined) return { head: { seq: 0, hash: genesisHash }, values: [], open: [] };
  const { bytes, hash } = await shorten({ ...cut, root, end }, digest);
  const shortened = [...complete, { first: cut.first, bytes }];
  return { head: { seq: end, hash }, values: shortened, open: await openAt(source, shortened) };
}

/** The last entry before the last crank. */
async function lastBorder(
  { digest, report: { root } }: Source,
  kept: readonly { readonly first: number; readonly bytes: Uint8Array }[],
): Promise<number> {
  for (const { first, bytes } of [...kept].reverse()) {
    const { entries } = await decodePackedValue(bytes, { root, first }, digest);
    const begin = entries.findLast(({ seq, cause }) => seq === cause);
    if (begin !== undefined) return begin.seq - 1;
  }
  return 0;
}

/** A packed value up to entry `end`, hashed anew. */
async function shorten(
  { root, first, bytes, end }: {
    readonly root: string;
    readonly first: number;
    readonly bytes: Uint8Array;
    readonly end: number;
  },
  digest: Digest,
): Promise<{ readonly bytes: Uint8Array; readonly hash: string }> {
  const { header }: Decoded = await decodePackedValue(bytes, { root, first }, digest);
  const start = bytes.indexOf(newline) + 1;
  let stop = start;
  for (let seq = first; seq <= end; seq++) stop = bytes.indexOf(newline, stop) + 1;
  return await encodePackedValue(
    { root, first, last: end, prev: header.prev },
    [bytes.subarray(start, stop)],
    digest,
  );
}

async function openAt(
  { store, digest, report: { root } }: Source,
  values: KeptStream["values"],
): Promise<readonly OpenPort[]> {
  const ports = new OpenPorts();
  for (const { first, bytes } of values) {
    const { entries } = await decodePackedValue(bytes, { root, first }, digest);
    for (const entry of entries) {
      if (movesPorts(entry)) ports.take(await restoreBody(entry, { store, root, digest }));
    }
  }
  return ports.list();
}
