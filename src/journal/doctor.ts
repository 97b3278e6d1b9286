/** The doctor: says what is wrong with a store, and copies what is sound to a new one. Never repairs in place. */
import { RootRecord } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { blobRows, readBlob } from "./blobs.ts";
import type { WriterRow } from "./commit_line.ts";
import { type Examination, examine, type StreamReport } from "./examination.ts";
import { keyBytes, keys, prefixes } from "./keys.ts";
import type { Digest } from "./packed_value.ts";
import { valueBytes } from "./row_size.ts";
import { readSnapshot, snapshotRows } from "./snapshots.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";
import { newStoreFormat, readStoreFormat } from "./store_format.ts";

export { type Examination, examine, type Finding, type FindingCode } from "./examination.ts";

/** What a salvage saved. */
export interface Salvage {
  readonly examination: Examination;
  readonly streams: number;
  readonly entries: number;
  /** Roots of which something was lost; each is quarantined in the new store. */
  readonly cut: readonly string[];
}

/**
 * Copies the sound prefix of every stream, with what belongs to it, into an empty store. Refuses a target that is not
 * empty. A stream that lost its tail is quarantined there: what it did after the cut is not known any more.
 */
export async function salvage(source: Store, target: Store, digest: Digest): Promise<Salvage> {
  if (await readStoreFormat(target) !== undefined) {
    throw new StoreError(
      "store_unusable",
      "Cannot salvage into this store: it is not empty; name a new file",
    );
  }
  const examination = await examine(source, digest);
  const copy = new Copy(source, target, digest);
  await copy.copyHeader(examination.epoch);
  const reports = new Map<string, StreamReport>();
  const cut: string[] = [];
  let entries = 0;
  for (const report of examination.streams) {
    reports.set(report.root, report);
    if (!report.whole) cut.push(report.root);
    entries += report.sound.seq;
    await copy.copyStream(report);
  }
  await copy.copyRows(reports);
  await copy.flush();
  return { examination, streams: reports.size, entries, cut };
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

  /** The header, and the writer's row so that epochs go on rising (K16). */
  async copyHeader(epoch: number): Promise<void> {
    const header = (await this.#source.get(keys.store()))?.value ?? newStoreFormat(0);
    await this.#put(keys.store(), header);
    const writer = (await this.#source.get(keys.writer()))?.value as Partial<WriterRow> | undefined;
    const last = Number.isSafeInteger(writer?.epoch) ? Number(writer?.epoch) : 0;
    const row: WriterRow = { epoch: Math.max(last, epoch), group: 0, runtime: "salvage" };
    await this.#put(keys.writer(), row);
  }

  async copyStream(report: StreamReport): Promise<void> {
    const { root, sound, values, blobs, whole } = report;
    for (const digest of blobs) await this.#copyBlob(digest);
    for (const first of values) await this.#copyRow(keys.log(root, first));
    if (sound.seq > 0) await this.#put(keys.head(root), sound);
    const record = RootRecord.safeParse((await this.#source.get(keys.root(root)))?.value);
    if (record.success) {
      const reason = `Salvaged: what came after entry ${sound.seq} was lost`;
      await this.#put(
        keys.root(root),
        whole ? record.data : { ...record.data, status: "quarantined", reason },
      );
    }
    await this.#copySnapshot(root, sound.seq);
  }

  /** Side rows, as far as the entries that they belong to were saved. */
  async copyRows(reports: ReadonlyMap<string, StreamReport>): Promise<void> {
    const has = (root: unknown, seq: unknown) => (reports.get(String(root))?.sound.seq ?? 0) >= Number(seq);
    await this.#copyAll(prefixes.opens, ({ key }) => has(key[1], 1));
    await this.#copyAll(prefixes.dues, ({ key }) => has(key[2], String(key[3]).split(".")[0]));
    // K13: the row and the sender's `message` entry were one commit.
    await this.#copyAll(prefixes.inboxes, ({ key }) => has(key[2], key[3]));
    await this.#copyAll(prefixes.questions, () => true);
    const kept = new Set<string>();
    await this.#copyAll(prefixes.commands, ({ key, value }) => {
      const { root, seq } = (value ?? {}) as { readonly root?: unknown; readonly seq?: unknown };
      const isKept = root === undefined || has(root, seq);
      if (isKept) kept.add(JSON.stringify(key.slice(1)));
      return isKept;
    });
    // K14: a reply without its command would answer a request that never was.
    await this.#copyAll(prefixes.replies, ({ key }) => kept.has(JSON.stringify(key.slice(1))));
  }

  async flush(): Promise<void> {
    if (this.#sets.length === 0) return;
    await this.#target.commit({ checks: [], sets: this.#sets, deletes: [] });
    this.#sets = [];
    this.#bytes = 0;
  }

  async #copyAll(prefix: StoreKey, isKept: (row: Row) => boolean): Promise<void> {
    for await (const row of this.#source.list({ prefix })) {
      if (!isKept(row)) continue;
      const blob = (row.value as { readonly $blob?: unknown } | null)?.$blob;
      if (typeof blob === "string" && !await this.#tryCopyBlob(blob)) continue;
      await this.#put(row.key, row.value);
    }
  }

  async #copyBlob(digest: string): Promise<void> {
    const bytes = await readBlob(this.#source, digest, this.#digest);
    for (const { key, value } of blobRows(digest, bytes)) await this.#put(key, value);
  }

  /** False for a blob that is damaged: its row is left behind. */
  async #tryCopyBlob(digest: string): Promise<boolean> {
    try {
      await this.#copyBlob(digest);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === "journal_corrupt") return false;
      throw error;
    }
  }

  async #copySnapshot(root: string, seq: number): Promise<void> {
    const reading = await readSnapshot(this.#source, root, this.#digest);
    if (!("snapshot" in reading) || reading.snapshot.seq > seq) return;
    const { v: _v, hash, chunks: _chunks, ...draft } = reading.snapshot;
    const text = new TextEncoder().encode(draft.text);
    const made = snapshotRows({ root, draft, text, digest: await this.#digest(text), hash });
    for (const { key, value } of made?.rows ?? []) await this.#put(key, value);
  }

  async #copyRow(key: StoreKey): Promise<void> {
    const row = await this.#source.get(key);
    if (row !== null) await this.#put(key, row.value);
  }

  async #put(key: StoreKey, value: unknown): Promise<void> {
    const bytes = valueBytes(value) + keyBytes(key);
    const isFull = this.#bytes + bytes > limits.groupBytesMax || this.#sets.length >= limits.groupEntriesMax;
    if (isFull) await this.flush();
    this.#sets.push({ key, value });
    this.#bytes += bytes;
  }
}
