/** Builders for tests of the journal: entries, units, and a journal on a disk in memory. */
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { type Journal, openJournal } from "../../src/journal/journal.ts";
import type { Row, StoreError } from "../../src/journal/store.ts";
import type { SnapshotDraft, Unit } from "../../src/journal/unit.ts";
import { MemoryDisk, type MemoryStore, type MemoryStoreOptions } from "./memory_store.ts";
import { createWorld, digestNow, type World } from "./world.ts";

/** Address of the `n`-th root of a test. */
export function rootNamed(n: number): string {
  return `session/ses_${String(n).padStart(26, "0")}`;
}

/** The root that most tests write to. */
export const root = rootNamed(1);

/** Hash of no code in particular. */
export const code = `sha256:${"c".repeat(64)}`;

/** The seam that hashes, as the journal's functions take it. */
export function digest(bytes: Uint8Array): Promise<string> {
  return Promise.resolve(digestNow(bytes));
}

/** One entry; `changes` shows the one fact that matters. */
export function entryAt(seq: number, changes: Partial<Entry> = {}): Entry {
  return {
    v: 1,
    seq,
    at: 1_800_000_000_000 + seq,
    kind: seq === 1 ? "created" : "input",
    type: "session.prompt",
    cause: seq,
    epoch: 1,
    body: { n: seq },
    ...changes,
  };
}

/** `count` entries from `first`. */
export function entriesFrom(first: number, count: number, body?: (seq: number) => Json): Entry[] {
  return Array.from({ length: count }, (_, i) => {
    const seq = first + i;
    return body === undefined ? entryAt(seq) : entryAt(seq, { body: body(seq) });
  });
}

/** A unit of these entries; `changes` shows what else it does. */
export function unitOf(entries: readonly Entry[], changes: Partial<Unit> = {}): Unit {
  return { root, entries, sets: [], deletes: [], ...changes };
}

/** A unit of `count` small entries from `first`. */
export function unitFrom(first: number, count = 1, changes: Partial<Unit> = {}): Unit {
  return unitOf(entriesFrom(first, count), changes);
}

/** A snapshot after `seq` whose text has this many characters. */
export function snapshotAt(seq: number, characters = 20): SnapshotDraft {
  const text = JSON.stringify({ seq, fill: "s".repeat(characters) });
  return { machine: "session", code, seq, text, status: "active", children: 0, open: [], attempts: {} };
}

/** A journal in a world of its own, on a disk in memory. */
export interface JournalWorld {
  readonly world: World;
  readonly disk: MemoryDisk;
  readonly store: MemoryStore;
  readonly journal: Journal;
  /** What `onFatal` was told. */
  readonly fatal: StoreError[];
}

/** Opens a journal; on `disk` if one is given. */
export async function openWorldJournal(
  options: MemoryStoreOptions & {
    readonly disk?: MemoryDisk;
    readonly world?: World;
    readonly lingerMs?: number;
  } = {},
): Promise<JournalWorld> {
  const { disk = new MemoryDisk(), world = createWorld(), lingerMs = 0, ...storeOptions } = options;
  const store = disk.open(storeOptions);
  const fatal: StoreError[] = [];
  const journal = await openJournal({
    store,
    seams: world.seams,
    lingerMs,
    onFatal: (error) => fatal.push(error),
  });
  return { world, disk, store, journal, fatal };
}

/** Every entry of a root, as a new reader of the disk finds them; verified. */
export async function entriesOn(disk: MemoryDisk, of = root): Promise<Entry[]> {
  const { journal } = await openWorldJournal({ disk: disk.copy() });
  return await collect(journal.readEntries(of));
}

/** Rows of one kind (`log`, `blob`, `snap`, …) on a disk. */
export function rowsOn(disk: MemoryDisk, kind: string): Row[] {
  return disk.rows().filter(({ key }) => key[0] === kind);
}

/** All that an iterable gives. */
export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
