/** One group: what goes into one commit, taken from the front of the queue in order. */
import { limits } from "../../schemas/limits.ts";
import { blobRowCount, blobRows } from "./blobs.ts";
import type { Hashed, PreparedUnit, Size } from "./prepared_unit.ts";
import type { StoreKey } from "./store.ts";
import type { Streams } from "./streams.ts";

/** Rows that may be spread over several groups: the chunks of a blob or snapshot, then the row that makes them valid. */
export interface LongRows {
  readonly count: number;
  /** Upper bound of one row, key included. */
  readonly rowBytes: number;
  /** Bytes that must have their digest before the rows are made. */
  readonly source?: Hashed | undefined;
  /** Deleted with the first rows if the rest comes in a later group: a manifest never names chunks of another. */
  readonly stale?: StoreKey | undefined;
  /** True if nobody needs these rows any more. */
  readonly isVoid?: (() => boolean) | undefined;
  readonly rows: () => readonly { readonly key: StoreKey; readonly value: unknown }[];
  next: number;
}

/** One thing in the writer's queue. */
export interface QueueItem {
  readonly prepared?: PreparedUnit | undefined;
  readonly long?: LongRows | undefined;
  readonly onDurable?: (() => void) | undefined;
}

/** What one commit will hold. */
export interface Group {
  readonly units: PreparedUnit[];
  readonly parts: { readonly long: LongRows; readonly from: number; readonly to: number }[];
  /** Items that are complete once this group is durable, in the order of the pushes. */
  readonly done: QueueItem[];
}

/** Encoded keys of one commit: below KV's own limit by the room for keys that are not counted. */
const groupKeyBytesMax = 70_000;
/** New streams of one commit: each costs one of KV's 100 checks. */
const freshStreamsMax = 90;

/** Rows of a blob. */
export function longBlob(source: Hashed): LongRows {
  return {
    count: blobRowCount(source.bytes.length),
    rowBytes: Math.min(source.bytes.length, limits.blobChunkBytes) + 200,
    source,
    rows: () => blobRows(source.digest ?? "", source.bytes),
    next: 0,
  };
}

/**
 * Takes from the front of the queue what fits into one commit: at least one thing, never a part of a unit (K1).
 * `checksMax` bounds the checks of its roots, where each has one (K17).
 */
export function gatherGroup(queue: QueueItem[], streams: Streams, checksMax = Infinity): Group {
  const group: Group = { units: [], parts: [], done: [] };
  const room: Size = {
    entries: limits.groupEntriesMax,
    bytes: limits.groupBytesMax,
    mutations: limits.groupMutationsMax,
    keyBytes: groupKeyBytesMax,
  };
  const fresh = new Set<string>();
  const checked = { roots: new Set<string>(), max: checksMax };
  let taken = 0;
  for (const item of queue) {
    const complete = item.prepared === undefined
      ? takeRows(group, room, item.long)
      : takeUnit(group, room, { prepared: item.prepared, fresh, streams, checked });
    if (!complete) break;
    group.done.push(item);
    taken += 1;
  }
  queue.splice(0, taken);
  return group;
}

interface Candidate {
  readonly prepared: PreparedUnit;
  readonly fresh: Set<string>;
  readonly streams: Streams;
  readonly checked: { readonly roots: Set<string>; readonly max: number };
}

function takeUnit(group: Group, room: Size, { prepared, fresh, streams, checked }: Candidate): boolean {
  const { size, unit } = prepared;
  const fits = size.entries <= room.entries && size.bytes <= room.bytes && size.mutations <= room.mutations &&
    size.keyBytes <= room.keyBytes;
  if (!fits && (group.units.length > 0 || group.parts.length > 0)) return false;
  const isFresh = streams.of(unit.root).fresh && !fresh.has(unit.root);
  if (isFresh && fresh.size >= freshStreamsMax) return false;
  if (checked.max < Infinity) {
    const more = (checked.roots.has(unit.root) ? 0 : 1) + (isFresh ? 1 : 0);
    if (checked.roots.size + fresh.size + more > checked.max) return false;
    checked.roots.add(unit.root);
  }
  if (isFresh) fresh.add(unit.root);
  room.entries -= size.entries;
  room.bytes -= size.bytes;
  room.mutations -= size.mutations;
  room.keyBytes -= size.keyBytes;
  group.units.push(prepared);
  return true;
}

function takeRows(group: Group, room: Size, long: LongRows | undefined): boolean {
  if (long === undefined || long.isVoid?.()) return true;
  const most = Math.min(Math.floor(room.bytes / long.rowBytes), room.mutations - 1);
  const count = Math.min(long.count - long.next, most);
  if (count <= 0) return false;
  group.parts.push({ long, from: long.next, to: long.next + count });
  long.next += count;
  room.bytes -= count * long.rowBytes;
  room.mutations -= count + 1;
  room.keyBytes -= count * 150;
  return long.next === long.count;
}
