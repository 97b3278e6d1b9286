/** The doctor: says what is wrong with a store, and copies what is sound to a new one. Never repairs in place. */
import type { RootRecord } from "../../schemas/entry.ts";
import { rootKindOf } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { blobRows, readBlob } from "./blobs.ts";
import type { WriterRow } from "./commit_line.ts";
import { keepStream } from "./crank_border.ts";
import { type Examination, type ExaminationOptions, examine } from "./examination.ts";
import { keyBytes, keys } from "./keys.ts";
import type { Digest } from "./packed_value.ts";
import { valueBytes } from "./row_size.ts";
import { lostLetters } from "./salvage_letters.ts";
import { copyRows, type LostRows, type RowsCopy, type SavedRoot } from "./salvage_rows.ts";
import { readSnapshot, snapshotRows } from "./snapshots.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";
import { newStoreFormat, readStoreFormat } from "./store_format.ts";
import type { StreamReport } from "./stream_walk.ts";

export { type Examination, examine } from "./examination.ts";
export { type Finding, type FindingCode, findingKinds } from "./finding.ts";

/** A root that lost something in a salvage. */
export interface CutRoot {
  readonly root: string;
  /** Last entry that was saved; 0 if none was. */
  readonly kept: number;
  /** Last entry that was there. */
  readonly lost: number;
  /** `stopped`: it can be used, and what it was doing has been told to end. `quarantined`: it can only be looked at. */
  readonly becomes: "stopped" | "quarantined";
}

/** What a salvage saved. */
export interface Salvage {
  readonly examination: Examination;
  readonly streams: number;
  readonly entries: number;
  /** Roots of which something was lost. */
  readonly cut: readonly CutRoot[];
  readonly lost: LostRows;
}

/**
 * Copies the sound prefix of every stream, with what belongs to it, into an empty store. Refuses a target that is not
 * empty. A root that lost its end is marked and told to stop: what it did after the cut is not known any more, so it
 * must not be done again. What was open in it is settled at the next start, by its effect class.
 */
export async function salvage(
  source: Store,
  target: Store,
  digest: Digest,
  options: ExaminationOptions = {},
): Promise<Salvage> {
  if (await readStoreFormat(target) !== undefined) {
    throw new StoreError(
      "store_unusable",
      "Cannot salvage into this store: it is not empty; name a new file",
    );
  }
  const { tell = () => {} } = options;
  const examination = await examine(source, digest, options);
  const copy = new Copy(source, target, digest);
  const epoch = await copy.copyHeader(examination.epoch);
  const roots = new Map<string, SavedRoot>();
  const cut: CutRoot[] = [];
  let entries = 0;
  for (const [index, report] of examination.streams.entries()) {
    tell(`copying ${index} of ${examination.streams.length} streams`);
    const saved = await copy.copyStream(report, epoch);
    roots.set(report.root, saved);
    entries += saved.kept.head.seq;
    if (report.whole) continue;
    const becomes = saved.record.status === "active" ? "stopped" : "quarantined";
    cut.push({ root: report.root, kept: saved.kept.head.seq, lost: report.end, becomes });
  }
  const lost = await copyRows(copy.rows(roots));
  await copy.flush();
  return { examination, streams: roots.size, entries, cut, lost };
}

/** Kinds that can go on from an earlier entry. A schedule would be due again at times that have passed. */
const resumable: ReadonlySet<string | undefined> = new Set([
  "session",
  "catalog",
  "connection",
  "supervisor",
  "task",
]);

/** What the new store keeps of a root. */
function recordOf({ root, record, whole, end }: StreamReport, seq: number, epoch: number): RootRecord {
  const kind = rootKindOf(root);
  if (record === undefined) {
    return {
      v: 1,
      address: root,
      kind: kind ?? "session",
      createdAt: 0,
      status: "quarantined",
      reason: "Salvaged: what the store kept beside its stream was lost",
      title: "",
    };
  }
  if (whole || record.status === "quarantined") return record;
  if (seq > 0 && resumable.has(kind)) return { ...record, cut: { seq, lost: Math.max(end, seq), epoch } };
  const reason = `Salvaged: what came after entry ${seq} was lost`;
  return { ...record, status: "quarantined", reason };
}

class Copy {
  readonly #source: Store;
  readonly #target: Store;
  readonly #digest: Digest;
  #sets: { key: StoreKey; value: unknown }[] = [];
  #bytes = 0;

  constructor(source: Store, target: Store, digest: Digest) {
    this.#source = source;
    this.#target = target;
    this.#digest = digest;
  }

  /** The header, and the writer's row so that epochs go on rising (K16). Returns the epoch that comes next. */
  async copyHeader(epoch: number): Promise<number> {
    const header = await this.#read(keys.store());
    const format = Number.isSafeInteger((header as { readonly format?: unknown } | undefined)?.format);
    await this.#put(keys.store(), format ? header : newStoreFormat(0));
    const writer = await this.#read(keys.writer()) as Partial<WriterRow> | undefined;
    const last = Number.isSafeInteger(writer?.epoch) ? Number(writer?.epoch) : 0;
    const row: WriterRow = { epoch: Math.max(last, epoch), group: 0, runtime: "salvage" };
    await this.#put(keys.writer(), row);
    return row.epoch + 1;
  }

  async copyStream(report: StreamReport, epoch: number): Promise<SavedRoot> {
    const { root, blobs } = report;
    const kept = await keepStream({ store: this.#source, digest: this.#digest, report });
    for (const digest of blobs) await this.#copyBlob(digest);
    for (const { first, bytes } of kept.values) await this.#put(keys.log(root, first), bytes);
    if (kept.head.seq > 0) await this.#put(keys.head(root), kept.head);
    const record = recordOf(report, kept.head.seq, epoch);
    await this.#put(keys.root(root), record);
    // The value that holds the last entry may have been cut: a snapshot of before fits in any case.
    const isShortened = kept.head.hash !== report.sound.hash;
    await this.#copySnapshot(root, isShortened ? (kept.values.at(-1)?.first ?? 1) - 1 : kept.head.seq);
    return { record, kept: { head: kept.head, open: kept.open } };
  }

  /** What the rows are copied with. */
  rows(roots: ReadonlyMap<string, SavedRoot>): RowsCopy {
    return {
      source: this.#source,
      roots,
      put: (key, value) => this.#put(key, value),
      tryCopy: (row) => this.#tryCopyRow(row),
      findLost: async () => {
        await this.flush();
        return await lostLetters({ target: this.#target, digest: this.#digest, roots });
      },
      wholeOf: (value) => this.#wholeOf(value),
    };
  }

  async flush(): Promise<void> {
    if (this.#sets.length === 0) return;
    await this.#target.commit({ checks: [], sets: this.#sets, deletes: [] });
    this.#sets = [];
    this.#bytes = 0;
  }

  /** False for a row whose blob is damaged: it is left behind. */
  async #tryCopyRow({ key, value }: Row): Promise<boolean> {
    const blob = blobOf(value);
    if (blob !== undefined && !await this.#tryCopyBlob(blob)) return false;
    await this.#put(key, value);
    return true;
  }

  async #wholeOf(value: unknown): Promise<unknown> {
    const blob = blobOf(value);
    if (blob === undefined) return value;
    try {
      return JSON.parse(new TextDecoder().decode(await readBlob(this.#source, blob, this.#digest)));
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  async #copyBlob(digest: string): Promise<void> {
    const bytes = await readBlob(this.#source, digest, this.#digest);
    for (const { key, value } of blobRows(digest, bytes)) await this.#put(key, value);
  }

  async #tryCopyBlob(digest: string): Promise<boolean> {
    try {
      await this.#copyBlob(digest);
      return true;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  }

  /** A snapshot is a cache: one that cannot be read is left behind. */
  async #copySnapshot(root: string, seq: number): Promise<void> {
    const reading = await readSnapshot(this.#source, root, this.#digest).catch((error) => {
      if (isDamage(error)) return undefined;
      throw error;
    });
    if (reading === undefined || !("snapshot" in reading) || reading.snapshot.seq > seq) return;
    const { v: _v, hash, chunks: _chunks, ...draft } = reading.snapshot;
    const text = new TextEncoder().encode(draft.text);
    const made = snapshotRows({ root, draft, text, digest: await this.#digest(text), hash });
    for (const { key, value } of made?.rows ?? []) await this.#put(key, value);
  }

  async #read(key: StoreKey): Promise<unknown> {
    try {
      return (await this.#source.get(key))?.value;
    } catch (error) {
      if (isDamage(error)) return undefined;
      throw error;
    }
  }

  async #put(key: StoreKey, value: unknown): Promise<void> {
    const bytes = valueBytes(value) + keyBytes(key);
    const isFull = this.#bytes + bytes > limits.groupBytesMax || this.#sets.length >= limits.groupEntriesMax;
    if (isFull) await this.flush();
    this.#sets.push({ key, value });
    this.#bytes += bytes;
  }
}

function blobOf(value: unknown): string | undefined {
  const blob = (value as { readonly $blob?: unknown } | null | undefined)?.$blob;
  return typeof blob === "string" ? blob : undefined;
}

function isDamage(error: unknown): boolean {
  return error instanceof StoreError && (error.code === "journal_corrupt" || error.code === "store_corrupt");
}
