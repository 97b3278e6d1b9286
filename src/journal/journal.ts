/** The journal: opens a store as its next epoch, reads streams back verified, and owns the one writer. */
import { type Entry, RootRecord, type SnapshotRecord, type StreamHead } from "../../schemas/entry.ts";
import type { IntentId, RootAddress } from "../../schemas/ids.ts";
import type { Seams } from "../seams.ts";
import { readBlob } from "./blobs.ts";
import { createGroupWriter, type GroupWriter } from "./group_writer.ts";
import { keys, prefixes } from "./keys.ts";
import { joinStore, takeStore } from "./opening.ts";
import { type Ownership, WholeStore } from "./ownership.ts";
import { type Digest, genesisHash } from "./packed_value.ts";
import type { RowBlob } from "./prepared_unit.ts";
import { RootOwnership, type Sharing } from "./root_ownership.ts";
import { readSnapshot } from "./snapshots.ts";
import { type ListRange, type Store, StoreError, type StoreKey } from "./store.ts";
import { checkReadable, readStoreFormat, type StoreFormat } from "./store_format.ts";
import { readStream, readStreamHead } from "./stream_reader.ts";

/** A row `open/<root>`: this root has open intents (K19). */
export interface OpenRow {
  readonly root: RootAddress;
  readonly key: StoreKey;
  readonly value: unknown;
}

/** A row `due/<time>/<root>/<id>`: a timer, in the order of due times (K19). */
export interface DueRow {
  readonly dueAtMs: number;
  readonly root: RootAddress;
  readonly id: IntentId;
  readonly key: StoreKey;
  readonly value: unknown;
}

/** A row `inbox/<to>/<from>/<seq>/<n>`: a message on its way (K13). */
export interface InboxRow {
  readonly to: RootAddress;
  readonly from: RootAddress;
  readonly seq: number;
  readonly n: number;
  readonly key: StoreKey;
  readonly value: unknown;
}

/** What can be read from a store without writing to it. Every read is verified; damage throws `journal_corrupt`. */
export interface JournalReader {
  readonly format: StoreFormat;
  /** Head of a stream; seq 0 and the genesis hash if it has no entries. */
  readHead(root: RootAddress): Promise<StreamHead>;
  /** Entries from `fromSeq` (default 1) to the head: gapless, chain and head verified, bodies put back from blobs. */
  readEntries(root: RootAddress, fromSeq?: number): AsyncIterable<Entry>;
  /** The same, one packed value at a time: for replay, which needs no promise per entry. */
  readPages(root: RootAddress, fromSeq?: number): AsyncIterable<readonly Entry[]>;
  /** The root's saved state with its text assembled, or undefined if there is none that fits its stream (K20). */
  readSnapshot(root: RootAddress): Promise<SnapshotRecord | undefined>;
  readRoot(root: RootAddress): Promise<RootRecord | undefined>;
  listRoots(): AsyncIterable<RootRecord>;
  listOpen(): AsyncIterable<OpenRow>;
  /** Timers in due order; only those due at or before `untilMs` if given. */
  listDue(untilMs?: number): AsyncIterable<DueRow>;
  /** Messages on their way, all or to one root; per sender in the order of sending. */
  listInbox(to?: RootAddress): AsyncIterable<InboxRow>;
  readCommand(principal: string, key: string): Promise<unknown>;
  readReply(principal: string, key: string): Promise<unknown>;
  /** Any other row of the kernel (`recover`, `question`), as it was set; undefined if absent. */
  readRow(key: StoreKey): Promise<unknown>;
  /** Rows of the kernel under a prefix, in order; a part of them from `start` on, at most `limit`. */
  listRows(
    prefix: StoreKey,
    part?: Pick<ListRange, "start" | "limit">,
  ): AsyncIterable<{ readonly key: StoreKey; readonly value: unknown }>;
  /** Bytes of a blob, verified. */
  readBlob(digest: string): Promise<Uint8Array>;
}

/** An open journal: the reader, and the writer of this epoch. */
export interface Journal extends JournalReader {
  readonly epoch: number;
  readonly writer: GroupWriter;
  /** Which roots this runtime may write, and under which epoch. */
  readonly ownership: Ownership;
  /** Writes what was pushed, then closes the store. */
  close(): Promise<void>;
}

/** Options of {@linkcode openJournal}. */
export interface JournalOptions {
  readonly store: Store;
  readonly seams: Seams;
  readonly onFatal?: ((error: StoreError) => void) | undefined;
  /** See {@linkcode createGroupWriter}. */
  readonly lingerMs?: number | undefined;
  /** Set where several runtimes share the store: then each root has an owner (K17). */
  readonly sharing?: Sharing | undefined;
}

/** Options of {@linkcode openJournalReader}. */
export type JournalReaderOptions = Pick<JournalOptions, "store"> & {
  readonly seams: Pick<Seams, "digest" | "log">;
};

/** Reads a store. Every method of {@linkcode JournalReader} but the opening. */
class Reader implements JournalReader {
  readonly format: StoreFormat;
  readonly #store: Store;
  readonly #digest: Digest;
  readonly #log: Seams["log"];

  constructor({ store, seams }: JournalReaderOptions, format: StoreFormat) {
    this.format = format;
    this.#store = store;
    this.#digest = seams.digest;
    this.#log = seams.log;
  }

  async readHead(root: RootAddress): Promise<StreamHead> {
    return await readStreamHead(this.#store, root) ?? { seq: 0, hash: genesisHash };
  }

  readPages(root: RootAddress, fromSeq = 1): AsyncIterable<readonly Entry[]> {
    return readStream({ store: this.#store, root, fromSeq, digest: this.#digest });
  }

  async *readEntries(root: RootAddress, fromSeq = 1): AsyncIterable<Entry> {
    for await (const page of this.readPages(root, fromSeq)) yield* page;
  }

  async readSnapshot(root: RootAddress): Promise<SnapshotRecord | undefined> {
    const reading = await readSnapshot(this.#store, root, this.#digest);
    if ("snapshot" in reading) return reading.snapshot;
    // A cache: left aside, never repaired, and the stream tells the same (K20).
    if ("unfit" in reading) {
      this.#log({ level: "warning", event: "snapshot.unfit", detail: { root, reason: reading.unfit } });
    }
    return undefined;
  }

  async readRoot(root: RootAddress): Promise<RootRecord | undefined> {
    const value = await this.readRow(keys.root(root));
    return value === undefined ? undefined : parseRoot(root, value);
  }

  async *listRoots(): AsyncIterable<RootRecord> {
    for await (const { key, value } of this.#list({ prefix: prefixes.roots })) {
      yield parseRoot(String(key[1]), value);
    }
  }

  async *listOpen(): AsyncIterable<OpenRow> {
    for await (const { key, value } of this.#list({ prefix: prefixes.opens })) {
      yield { root: String(key[1]), key, value };
    }
  }

  async *listDue(untilMs?: number): AsyncIterable<DueRow> {
    for await (const { key, value } of this.#list({ prefix: prefixes.dues })) {
      const dueAtMs = Number(key[1]);
      if (untilMs !== undefined && dueAtMs > untilMs) return;
      yield { dueAtMs, root: String(key[2]), id: String(key[3]), key, value };
    }
  }

  async *listInbox(to?: RootAddress): AsyncIterable<InboxRow> {
    const prefix = to === undefined ? prefixes.inboxes : prefixes.inbox(to);
    for await (const { key, value } of this.#list({ prefix })) {
      yield { to: String(key[1]), from: String(key[2]), seq: Number(key[3]), n: Number(key[4]), key, value };
    }
  }

  readCommand(principal: string, key: string): Promise<unknown> {
    return this.readRow(keys.command(principal, key));
  }

  readReply(principal: string, key: string): Promise<unknown> {
    return this.readRow(keys.reply(principal, key));
  }

  async readRow(key: StoreKey): Promise<unknown> {
    return this.#whole((await this.#store.get(key))?.value);
  }

  async *listRows(
    prefix: StoreKey,
    part: Pick<ListRange, "start" | "limit"> = {},
  ): AsyncIterable<{ readonly key: StoreKey; readonly value: unknown }> {
    yield* this.#list({ prefix, ...part });
  }

  readBlob(digest: string): Promise<Uint8Array> {
    return readBlob(this.#store, digest, this.#digest);
  }

  async *#list(range: ListRange): AsyncIterable<{ readonly key: StoreKey; readonly value: unknown }> {
    for await (const { key, value } of this.#store.list(range)) {
      yield { key, value: await this.#whole(value) };
    }
  }

  /** Puts back a row's value that the writer moved to a blob because of its size. */
  async #whole(value: unknown): Promise<unknown> {
    if (typeof value !== "object" || value === null || !("$blob" in value)) return value;
    return JSON.parse(new TextDecoder().decode(await this.readBlob((value as RowBlob).$blob)));
  }
}

function parseRoot(root: string, value: unknown): RootRecord {
  const record = RootRecord.safeParse(value);
  if (record.success) return record.data;
  throw new StoreError(
    "journal_corrupt",
    `Cannot read the record of ${root}: ${record.error.issues[0]?.message}`,
  );
}

class OpenJournal extends Reader implements Journal {
  readonly epoch: number;
  readonly writer: GroupWriter;
  readonly ownership: Ownership;
  readonly #store: Store;

  constructor(options: JournalOptions, format: StoreFormat, writer: GroupWriter, ownership: Ownership) {
    super(options, format);
    this.#store = options.store;
    this.epoch = writer.epoch;
    this.writer = writer;
    this.ownership = ownership;
  }

  override async readHead(root: RootAddress): Promise<StreamHead> {
    // What was not ours when it was read may have been written since.
    const isOurs = this.ownership.isOurs(root);
    const head = await super.readHead(root);
    // Spares the writer a read at the root's next unit.
    if (isOurs) this.writer.adopt(root, head);
    return head;
  }

  override readBlob(digest: string): Promise<Uint8Array> {
    const pending = this.writer.pendingBlob(digest);
    return pending === undefined ? super.readBlob(digest) : Promise.resolve(pending);
  }

  async close(): Promise<void> {
    try {
      await this.writer.close();
      await this.ownership.release();
    } finally {
      this.#store.close();
    }
  }
}

/** Opens a store for reading only: nothing is written, not even an epoch. Refuses a store that it cannot read. */
export async function openJournalReader(options: JournalReaderOptions): Promise<JournalReader> {
  const format = await readStoreFormat(options.store);
  if (format === undefined) throw new StoreError("store_not_found", "Cannot read store: it is empty");
  checkReadable(format);
  return new Reader(options, format);
}

/**
 * Opens a store for writing: checks its format and takes the next epoch, in one commit with the header if it is new or
 * does not name the store yet. With `sharing` it takes a line of its own instead, beside those of other runtimes.
 * Refuses a newer format (B127) and a store that another runtime took at the same moment.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { store, seams, onFatal, lingerMs, sharing } = options;
  const { format, position } = sharing === undefined ? await takeStore(options) : await joinStore(options);
  const ownership = sharing === undefined
    ? new WholeStore(store, position.epoch)
    : new RootOwnership({ store, seams, runtime: position.runtime, sharing });
  const writer = createGroupWriter({ store, seams, position, ownership, lingerMs, onFatal });
  if (ownership instanceof RootOwnership) ownership.onLost = (roots) => writer.forsake(roots);
  return new OpenJournal(options, format, writer, ownership);
}
