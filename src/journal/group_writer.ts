/** The one writer of a runtime: units in, group commits out, first in first out (K10, K15, K16, K18, K19). */
import { limits } from "../../schemas/limits.ts";
import type { Seams } from "../seams.ts";
import { CommitLine, type WriterPosition } from "./commit_line.ts";
import { gatherGroup, type Group, longBlob, type QueueItem } from "./group.ts";
import type { Ownership } from "./ownership.ts";
import { prepareUnit } from "./prepared_unit.ts";
import { type SealedGroup, sealGroup } from "./seal.ts";
import { type Store, StoreError } from "./store.ts";
import { StoredBlobs } from "./stored_blobs.ts";
import { Streams } from "./streams.ts";
import { Tenure } from "./tenure.ts";
import type { BlobDraft, Unit } from "./unit.ts";

/** What the writer has done so far: for benches and for `inspect`. */
export interface WriterCounters {
  /** Commits that took hold: one disk flush each. */
  readonly commits: number;
  readonly entries: number;
  /** Bytes of packed values, blobs and snapshots written. */
  readonly bytes: number;
  readonly mutations: number;
}

/** How the writer is: `failing` while the store refuses and the group is sent again, `stopped` after `onFatal`. */
export type WriterState = "ok" | "failing" | "stopped";

/** Options of {@linkcode createGroupWriter}. */
export interface GroupWriterOptions {
  readonly store: Store;
  readonly seams: Seams;
  readonly position: WriterPosition;
  readonly ownership: Ownership;
  /** How long a unit that nobody waits for may wait for company. Default `limits.writerLingerMs`; 0: until the event loop is free. */
  readonly lingerMs?: number | undefined;
  /** Called once, when nothing more will ever be written: fenced by another epoch, or the store is broken for good. */
  readonly onFatal?: ((error: StoreError) => void) | undefined;
}

/** The writer. All calls are synchronous but `idle` and `close`; no promise per unit. */
export interface GroupWriter {
  readonly epoch: number;
  readonly state: WriterState;
  /** Why the state is `stopped`. */
  readonly fatal: StoreError | undefined;
  /** What the store says while the state is `failing`, if it says anything. */
  readonly trouble: StoreError | undefined;
  /** Units that are not durable yet. The kernel stops its cranks at `limits.unitsUnwrittenMax` (K15). */
  readonly unwritten: number;
  readonly counters: WriterCounters;
  /** When the commit under way was begun, by the clock; undefined if there is none. Old means that the store hangs. */
  readonly committingSince: number | undefined;
  /**
   * Takes a unit. `onDurable` runs once it is committed, in the order of the pushes, synchronously after the commit is
   * known. Throws a StoreError `value_too_large` if no commit could hold it (then nothing was taken), and the fatal
   * error once the writer is stopped. Entries must not change after this call.
   */
  push(unit: Unit, onDurable?: () => void): void;
  /** Takes a blob: durable before every unit pushed later. */
  putBlob(blob: BlobDraft, onDurable?: () => void): void;
  /** Bytes of a blob that was put and is not durable yet. */
  pendingBlob(digest: string): Uint8Array | undefined;
  /** Somebody waits: start a commit in a microtask rather than after `limits.writerLingerMs`. */
  urge(): void;
  /** Resolves when all that was pushed is durable; rejects with the fatal error if that will never be. */
  idle(): Promise<void>;
  /** Tells the writer where a stream stands, as read from the store: saves it a read at the stream's next unit. */
  adopt(root: string, head: { readonly seq: number; readonly hash: string }): void;
  /** Another runtime writes these roots, or did until now: units that wait from before are dropped, and tell nobody. */
  forsake(roots: readonly string[]): void;
  /** Writes what was pushed, then takes no more. Does not close the store. */
  close(): Promise<void>;
  /** Stops at once and forgets what is not durable: for a shutdown that may not wait, and for simulated crashes. */
  abandon(): void;
}

class Writer implements GroupWriter {
  readonly epoch: number;
  readonly counters = { commits: 0, entries: 0, bytes: 0, mutations: 0 };
  unwritten = 0;
  committingSince: number | undefined;
  fatal: StoreError | undefined;
  readonly #options: GroupWriterOptions;
  readonly #line: CommitLine;
  readonly #tenure: Tenure;
  readonly #streams = new Streams();
  readonly #storedBlobs = new StoredBlobs();
  readonly #pendingBlobs = new Map<string, Uint8Array>();
  readonly #queue: QueueItem[] = [];
  readonly #stop = new AbortController();
  /** Ends the wait for company once nobody will come any more. */
  readonly #hurry = new AbortController();
  #waiting: { readonly resolve: () => void; readonly reject: (error: StoreError) => void }[] = [];
  #running = false;
  #lingers = false;
  #urged = false;
  #closed = false;

  constructor(options: GroupWriterOptions) {
    this.#options = options;
    this.epoch = options.position.epoch;
    const { store, seams, position, ownership } = options;
    this.#tenure = new Tenure(ownership);
    this.#line = new CommitLine({ store, seams, position, ownership, signal: this.#stop.signal });
  }

  get state(): WriterState {
    if (this.#stop.signal.aborted) return "stopped";
    return this.#line.isFailing ? "failing" : "ok";
  }

  get trouble(): StoreError | undefined {
    return this.#line.trouble;
  }

  push(unit: Unit, onDurable?: () => void): void {
    this.#checkOpen();
    // Taken over by another runtime: what is still told of it here has no place any more.
    if (!this.#tenure.admits(unit)) return;
    // Everything that can be refused is refused here, before anything is taken.
    const prepared = prepareUnit(unit);
    this.#tenure.note(unit);
    const first = unit.entries[0]?.seq;
    if (first !== undefined) this.#streams.book(unit.root, first, first + unit.entries.length - 1);
    for (const source of prepared.blobsBefore) this.#queue.push({ long: longBlob(source) });
    this.#queue.push({ prepared, onDurable });
    this.unwritten += 1;
    this.#schedule();
  }

  putBlob({ digest, bytes }: BlobDraft, onDurable?: () => void): void {
    this.#checkOpen();
    const long = { ...longBlob({ bytes, digest }), isVoid: () => this.#storedBlobs.has(digest) };
    this.#queue.push({ long, onDurable });
    this.#pendingBlobs.set(digest, bytes);
    this.#schedule();
  }

  pendingBlob(digest: string): Uint8Array | undefined {
    return this.#pendingBlobs.get(digest);
  }

  urge(): void {
    if (this.#queue.length === 0 || this.#urged) return;
    this.#urged = true;
    // A microtask: whatever the caller still pushes in this turn rides along.
    if (!this.#running) queueMicrotask(() => this.#start());
  }

  idle(): Promise<void> {
    if (this.fatal !== undefined) return Promise.reject(this.fatal);
    if (this.#queue.length === 0 && !this.#running) return Promise.resolve();
    this.urge();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  adopt(root: string, head: { readonly seq: number; readonly hash: string }): void {
    this.#streams.adopt(root, head);
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#hurry.abort();
    return this.idle();
  }

  abandon(): void {
    this.#closed = true;
    this.#hurry.abort();
    this.#stop.abort();
    this.#queue.length = 0;
  }

  #checkOpen(): void {
    if (this.fatal !== undefined) throw this.fatal;
    if (this.#closed) throw new StoreError("store_unusable", "Cannot write: the journal is closed");
  }

  #schedule(): void {
    if (this.#running || this.#lingers) return;
    // Nobody waits: what the next moments bring rides along, so that a quick turn costs one flush and not many.
    this.#lingers = true;
    const { seams: { clock }, lingerMs = limits.writerLingerMs } = this.#options;
    const begin = () => {
      this.#lingers = false;
      this.#start();
    };
    if (lingerMs === 0) clock.defer(begin);
    else clock.sleepUntil(clock.now() + lingerMs, this.#hurry.signal).then(begin);
  }

  #start(): void {
    if (this.#running || this.#queue.length === 0 || this.#stop.signal.aborted) return;
    this.#running = true;
    void this.#run();
  }

  /** Commits groups until the queue is empty, or until nobody waits for what is left. Never rejects. */
  async #run(): Promise<void> {
    try {
      do {
        const group = gatherGroup(this.#queue, this.#streams, this.#options.ownership.checksMax);
        if (this.#queue.length === 0) this.#urged = false;
        await this.#commit(group);
        if (this.#stop.signal.aborted) return;
        this.#settle(group);
      } while (this.#queue.length > 0 && (this.#urged || this.#waiting.length > 0));
    } catch (error) {
      return this.#fail(error);
    }
    this.#running = false;
    if (this.#queue.length > 0) this.#schedule();
    else for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  async #commit(group: Group): Promise<void> {
    const sealed = await this.#write(group);
    if (this.#stop.signal.aborted) return;
    this.#count(sealed);
    for (const root of sealed.fresh) this.#streams.of(root).fresh = false;
    this.#storedBlobs.note(sealed.blobs);
    for (const long of sealed.later) this.#queue.push({ long });
    this.#streams.trim();
  }

  /** Seals and commits a group; without the roots that turn out to be another runtime's. */
  async #write(group: Group): Promise<SealedGroup> {
    for (;;) {
      this.unwritten -= this.#tenure.leaveOut(this.#queue, group);
      const saved = this.#tenure.isKept
        ? this.#streams.save(group.units.map(({ unit }) => unit.root))
        : undefined;
      try {
        const sealed = await this.#seal(group);
        if (this.#tenure.staleIn(group).size === 0) {
          if (sealed.sets.length + sealed.deletes.length === 0) return sealed;
          this.committingSince = this.#options.seams.clock.now();
          await this.#line.commit(sealed);
          return sealed;
        }
      } catch (error) {
        if (this.#tenure.staleIn(group).size === 0) throw error;
      } finally {
        this.committingSince = undefined;
      }
      // What is left is sealed once more, from where its streams stood.
      if (saved !== undefined) this.#streams.restore(saved, this.#tenure.staleIn(group));
    }
  }

  #seal(group: Group): Promise<SealedGroup> {
    const { store, seams: { digest } } = this.#options;
    const isStored = (name: string) => this.#storedBlobs.has(name);
    return sealGroup(group, { store, streams: this.#streams, digest, isStored });
  }

  forsake(roots: readonly string[]): void {
    this.unwritten -= this.#tenure.leaveOut(this.#queue);
    for (const root of roots) this.#streams.forget(root);
  }

  #count({ entries, bytes, sets, deletes }: SealedGroup): void {
    this.counters.commits += 1;
    this.counters.entries += entries;
    this.counters.bytes += bytes;
    this.counters.mutations += sets.length + deletes.length + 1;
  }

  /** Tells everybody in the order of the pushes (K10). What they push now goes into the next group. */
  #settle(group: Group): void {
    this.unwritten -= group.units.length;
    for (const { onDurable, long } of group.done) {
      if (long?.source?.digest !== undefined) this.#pendingBlobs.delete(long.source.digest);
      try {
        onDurable?.();
      } catch (error) {
        // One listener's bug must not keep the others, or the journal, from going on.
        const message = error instanceof Error ? error.message : String(error);
        this.#options.seams.log({ level: "error", event: "writer.listener_failed", detail: { message } });
      }
    }
  }

  #fail(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.fatal = error instanceof StoreError
      ? error
      : new StoreError("store_unusable", `Cannot write: ${why}`, { cause: error });
    this.abandon();
    const detail = { code: this.fatal.code, message: this.fatal.message };
    this.#options.seams.log({ level: "error", event: "writer.stopped", detail });
    for (const { reject } of this.#waiting.splice(0)) reject(this.fatal);
    this.#options.onFatal?.(this.fatal);
  }
}

/** Makes the writer at the position that `openJournal` took. */
export function createGroupWriter(options: GroupWriterOptions): GroupWriter {
  return new Writer(options);
}
