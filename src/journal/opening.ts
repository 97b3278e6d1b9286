/** How a runtime takes a store: alone, as its next epoch, or with a line of its own beside other runtimes (K16, K17). */
import type { Seams } from "../seams.ts";
import { isSameWrite, type WriterPosition, type WriterRow } from "./commit_line.ts";
import { keys } from "./keys.ts";
import { type Store, StoreError, type StoreKey } from "./store.ts";
import { checkWritable, newStoreFormat, readStoreFormat, type StoreFormat } from "./store_format.ts";

/** What is opened. */
export interface Opening {
  readonly store: Store;
  readonly seams: Pick<Seams, "clock" | "nextId">;
}

/** A store that was taken: its format, and where this runtime's commits begin. */
export interface TakenStore {
  readonly format: StoreFormat;
  readonly position: WriterPosition;
}

/** Tries to write the header of a shared store that another runtime makes at the same moment. */
const joinTriesMax = 5;

interface Header {
  readonly format: StoreFormat;
  /** Set if the header is to be written. */
  readonly fresh: StoreFormat | undefined;
}

async function readHeader({ store, seams }: Opening): Promise<Header> {
  const found = await readStoreFormat(store);
  if (found !== undefined) checkWritable(found);
  if (found?.installation !== undefined) return { format: found, fresh: undefined };
  const format = { ...found ?? newStoreFormat(seams.clock.now()), installation: seams.nextId("ins") };
  return { format, fresh: format };
}

/** Takes a store for this runtime alone, as its next epoch. */
export async function takeStore(opening: Opening): Promise<TakenStore> {
  const { store, seams } = opening;
  const { format, fresh } = await readHeader(opening);
  const before = await store.get(keys.writer());
  const row: WriterRow = { epoch: epochOf(before?.value) + 1, group: 0, runtime: seams.nextId("run") };
  const taken = await take(store, keys.writer(), row, {
    versionstamp: before?.versionstamp ?? null,
    header: fresh,
  });
  if (typeof taken === "string") return { format, position: { ...row, versionstamp: taken } };
  throw taken ?? new StoreError("store_in_use", "Cannot open store: another runtime is taking it just now");
}

/** Takes a line of its own in a store that runtimes share. */
export async function joinStore(opening: Opening): Promise<TakenStore> {
  const { store, seams } = opening;
  for (let tries = 1;; tries++) {
    const { format, fresh } = await readHeader(opening);
    const row: WriterRow = { epoch: 1, group: 0, runtime: seams.nextId("run"), at: seams.clock.now() };
    const taken = await take(store, keys.writerOf(row.runtime), row, { versionstamp: null, header: fresh });
    if (typeof taken === "string") return { format, position: { ...row, versionstamp: taken } };
    // Another runtime wrote the header at the same moment: it is read, and this one joins.
    if (taken !== undefined || tries === joinTriesMax) {
      throw taken ?? new StoreError("store_busy", "Cannot open store: it is being made just now");
    }
  }
}

function epochOf(row: unknown): number {
  const epoch = (row as Partial<WriterRow> | undefined)?.epoch ?? 0;
  if (Number.isSafeInteger(epoch)) return epoch;
  throw new StoreError(
    "store_corrupt",
    "Cannot open store: its row writer cannot be read; run troupe doctor",
  );
}

/** The versionstamp of the commit; an error, or undefined, if nothing was taken. */
async function take(
  store: Store,
  line: StoreKey,
  row: WriterRow,
  before: { readonly versionstamp: string | null; readonly header: StoreFormat | undefined },
): Promise<unknown> {
  const shared = line.length > 1 && before.header !== undefined;
  const commit = {
    checks: [
      { key: line, versionstamp: before.versionstamp },
      // Only one of those that join writes the header, so all have the same installation.
      ...shared ? [{ key: keys.store(), versionstamp: null }] : [],
    ],
    sets: [
      ...before.header === undefined ? [] : [{ key: keys.store(), value: before.header }],
      { key: line, value: row },
    ],
    deletes: [],
  };
  let failure: unknown;
  try {
    const result = await store.commit(commit);
    if (result.ok) return result.versionstamp;
  } catch (error) {
    failure = error;
  }
  // Unknown until it is read back, as any commit (K16).
  const now = await store.get(line);
  return now !== null && isSameWrite(now.value, row) ? now.versionstamp : failure;
}
