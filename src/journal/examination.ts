/** Examination of a store: every chain, head, blob and snapshot, and how far each stream is sound. Reads only. */
import { type Entry, StreamHead } from "../../schemas/entry.ts";
import { attachmentIn, attachmentsOf, mayNameBlobs, shelvedHashIn } from "./named_blobs.ts";
import { restoreBody } from "./stream_reader.ts";
import { readBlob } from "./blobs.ts";
import { keys, prefixes } from "./keys.ts";
import {
  decodePackedValue,
  type Digest,
  genesisHash,
  JournalDamage,
  type PackedHeader,
} from "./packed_value.ts";
import { readSnapshot } from "./snapshots.ts";
import { type Row, type Store, StoreError } from "./store.ts";

/** What can be wrong. The first three break a stream; `snapshot_unfit` costs only time, a snapshot is a cache (K20). */
export type FindingCode = "value_damaged" | "blob_damaged" | "head_damaged" | "snapshot_unfit";

/** One thing that is wrong: in which root, at which entries. */
export interface Finding {
  readonly root: string;
  readonly first: number;
  readonly last: number;
  readonly code: FindingCode;
  readonly message: string;
}

/** What was looked at. */
export interface DoctorCounts {
  readonly streams: number;
  readonly values: number;
  readonly entries: number;
  readonly blobs: number;
  readonly snapshots: number;
}

/** One stream as it was found. */
export interface StreamReport {
  readonly root: string;
  /** End of the longest prefix that is sound: seq 0 if there is none. */
  readonly sound: StreamHead;
  /** First sequences of the packed values of that prefix. */
  readonly values: readonly number[];
  /** Blobs that the prefix refers to. */
  readonly blobs: readonly string[];
  /** True if nothing lies behind the sound prefix and the head agrees. */
  readonly whole: boolean;
}

/** What was found in a store. */
export interface Examination {
  readonly findings: readonly Finding[];
  readonly counts: DoctorCounts;
  readonly streams: readonly StreamReport[];
  /** Highest epoch of any entry; 0 if there is none. */
  readonly epoch: number;
}

/** Walks every stream: chains, heads, blobs, snapshots. Reads only. */
export async function examine(store: Store, digest: Digest): Promise<Examination> {
  const round = new Round(store, digest);
  for (const root of await rootsOf(store)) await round.examineStream(root);
  return { findings: round.findings, counts: round.counts, streams: round.streams, epoch: round.epoch };
}

/** Every root that has a record, a head, a snapshot or a packed value, in order. */
async function rootsOf(store: Store): Promise<string[]> {
  const roots = new Set<string>();
  for (const prefix of [prefixes.roots, prefixes.heads, prefixes.snapshots]) {
    for await (const { key } of store.list({ prefix })) roots.add(String(key[1]));
  }
  // From root to root, without reading the values between.
  for (let root = await rootFrom(store, ""); root !== undefined; root = await rootFrom(store, `${root}\0`)) {
    roots.add(root);
  }
  return [...roots].sort();
}

async function rootFrom(store: Store, name: string): Promise<string | undefined> {
  for await (const { key } of store.list({ prefix: prefixes.logs, start: ["log", name], limit: 1 })) {
    return String(key[1]);
  }
  return undefined;
}

/** How far one stream is sound, and where the next value must begin. */
class StreamWalk {
  readonly root: string;
  next = 1;
  /** Hash of the value before; undefined behind damage, where the chain cannot be followed. */
  prev: string | undefined = genesisHash;
  isSound = true;
  /** Index of the last finding, while it is not known where its damage ends. */
  damageAt: number | undefined;
  sound: StreamHead = { seq: 0, hash: genesisHash };
  readonly values: number[] = [];
  readonly blobs = new Set<string>();

  constructor(root: string) {
    this.root = root;
  }

  take({ first, last, hash }: PackedHeader, names: readonly string[], isReadable: boolean): void {
    this.prev = hash;
    this.next = last + 1;
    // A value with an unreadable body ends the sound prefix, but not the chain.
    if (!isReadable) this.isSound = false;
    if (!this.isSound) return;
    this.sound = { seq: last, hash };
    this.values.push(first);
    for (const name of names) this.blobs.add(name);
  }

  break(damageAt: number | undefined): void {
    this.isSound = false;
    this.prev = undefined;
    this.damageAt = damageAt;
  }
}

class Round {
  readonly findings: Finding[] = [];
  readonly streams: StreamReport[] = [];
  readonly counts = { streams: 0, values: 0, entries: 0, blobs: 0, snapshots: 0 };
  epoch = 0;
  readonly #store: Store;
  readonly #digest: Digest;
  /** Blobs that were read already, and what is wrong with them. */
  readonly #blobs = new Map<string, string | undefined>();

  constructor(store: Store, digest: Digest) {
    this.#store = store;
    this.#digest = digest;
  }

  async examineStream(root: string): Promise<void> {
    this.counts.streams += 1;
    const walk = new StreamWalk(root);
    await this.#examineValues(walk);
    const agrees = await this.#examineHead(walk);
    await this.#examineSnapshot(root);
    const { sound, values, blobs, isSound } = walk;
    this.streams.push({ root, sound, values, blobs: [...blobs], whole: isSound && agrees });
  }

  async #examineValues(walk: StreamWalk): Promise<void> {
    const { root } = walk;
    try {
      for await (const row of this.#store.list({ prefix: prefixes.log(root) })) {
        await this.#examineValue(walk, row);
      }
    } catch (error) {
      // A damaged page of the file: this stream ends here, others may be whole.
      if (!(error instanceof StoreError) || error.code !== "store_corrupt") throw error;
      const { next: first } = walk;
      const message = `Cannot read the journal of ${root} from entry ${first}: ${error.message}`;
      walk.break(this.findings.push({ root, first, last: first, code: "value_damaged", message }) - 1);
    }
  }

  async #examineValue(walk: StreamWalk, { key, value }: Row): Promise<void> {
    const { root } = walk;
    const first = Number(key[2]);
    this.counts.values += 1;
    this.#closeGap(walk, first);
    try {
      const { header, entries } = await decodePackedValue(
        value,
        { root, first, prev: walk.prev },
        this.#digest,
      );
      this.counts.entries += entries.length;
      const names: string[] = [];
      let isReadable = true;
      for (const entry of entries) {
        this.epoch = Math.max(this.epoch, entry.epoch);
        isReadable = await this.#examineEntry(root, entry, names) && isReadable;
      }
      walk.take(header, names, isReadable);
    } catch (error) {
      if (!(error instanceof JournalDamage)) throw error;
      const { message, last } = error;
      walk.break(this.findings.push({ root, first, last, code: "value_damaged", message }) - 1);
    }
  }

  /** Before a value at `first`: tells what is missing, or where the damage before it ends. */
  #closeGap(walk: StreamWalk, first: number): void {
    const { root, next, damageAt } = walk;
    const damage = damageAt === undefined ? undefined : this.findings[damageAt];
    walk.damageAt = undefined;
    walk.next = first;
    if (damage !== undefined && damageAt !== undefined) {
      this.findings[damageAt] = { ...damage, last: Math.max(first - 1, damage.first) };
    } else if (first !== next) {
      const { message } = new JournalDamage(
        { root, first: next, last: first - 1 },
        "the entries are missing",
      );
      this.findings.push({ root, first: next, last: first - 1, code: "value_damaged", message });
      walk.break(undefined);
    }
  }

  /** Adds the blobs that an entry names to `names`; false if it cannot be used without one that is damaged. */
  async #examineEntry(root: string, entry: Entry, names: string[]): Promise<boolean> {
    const { seq, blob } = entry;
    if (blob !== undefined) {
      names.push(blob.digest);
      if (!await this.#examineBlob({ root, seq, name: blob.digest })) return false;
    }
    if (!mayNameBlobs(entry)) return true;
    const whole = await restoreBody(entry, { store: this.#store, root, digest: this.#digest });
    const attachment = attachmentIn(whole);
    // A lost attachment is told, but the stream goes on without it: nothing is decided by it.
    if (attachment !== undefined && await this.#examineBlob({ root, seq, name: attachment })) {
      names.push(attachment);
      for (const name of attachmentsOf(await readBlob(this.#store, attachment, this.#digest))) {
        if (await this.#examineBlob({ root, seq, name })) names.push(name);
      }
    }
    const catalog = shelvedHashIn(whole);
    if (catalog === undefined) return true;
    names.push(catalog);
    return await this.#examineBlob({ root, seq, name: catalog });
  }

  async #examineBlob({ root, seq, name }: { root: string; seq: number; name: string }): Promise<boolean> {
    if (!this.#blobs.has(name)) {
      this.counts.blobs += 1;
      this.#blobs.set(name, await this.#whatIsWrong(name));
    }
    const wrong = this.#blobs.get(name);
    if (wrong === undefined) return true;
    const message = `Cannot read what entry ${seq} of ${root} holds: ${wrong}`;
    this.findings.push({ root, first: seq, last: seq, code: "blob_damaged", message });
    return false;
  }

  async #whatIsWrong(name: string): Promise<string | undefined> {
    try {
      await readBlob(this.#store, name, this.#digest);
      return undefined;
    } catch (error) {
      if (error instanceof StoreError && error.code === "journal_corrupt") return error.message;
      throw error;
    }
  }

  /** True if the head agrees with the entries. */
  async #examineHead(walk: StreamWalk): Promise<boolean> {
    const { root } = walk;
    const row = await this.#store.get(keys.head(root));
    const head = StreamHead.safeParse(row?.value);
    const end = head.success ? head.data.seq : walk.next - 1;
    if (walk.damageAt !== undefined) this.#closeGap(walk, end + 1);
    if (row === null && walk.values.length === 0 && walk.isSound) return true;
    const { sound, isSound } = walk;
    const tell = (first: number, last: number, message: string) => {
      this.findings.push({ root, first, last, code: "head_damaged", message });
      return false;
    };
    if (!head.success) return tell(end, end, `The head of ${root} is missing or cannot be read`);
    if (!isSound) return false;
    if (end === sound.seq && head.data.hash === sound.hash) return true;
    if (end === sound.seq) return tell(end, end, `The head of ${root} names another hash at entry ${end}`);
    const message = `The head of ${root} names entry ${end}, its entries end at ${sound.seq}`;
    return tell(Math.min(end, sound.seq) + 1, Math.max(end, sound.seq), message);
  }

  async #examineSnapshot(root: string): Promise<void> {
    const reading = await readSnapshot(this.#store, root, this.#digest);
    if ("missing" in reading) return;
    this.counts.snapshots += 1;
    if (!("unfit" in reading)) return;
    const message = `The snapshot of ${root} will not be used: ${reading.unfit}`;
    this.findings.push({ root, first: 0, last: 0, code: "snapshot_unfit", message });
  }
}
