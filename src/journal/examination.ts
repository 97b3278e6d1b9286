/** Examination of a store: every chain, head, blob, snapshot and row, and how far each stream is sound. Reads only. */
import { type Entry, RootRecord, StreamHead } from "../../schemas/entry.ts";
import { attachmentIn, attachmentsOf, imagesIn, mayNameBlobs, shelvedHashIn } from "./named_blobs.ts";
import { restoreBody } from "./stream_reader.ts";
import { readBlob } from "./blobs.ts";
import { type Finding, findingAt } from "./finding.ts";
import { keys, prefixes } from "./keys.ts";
import { movesPorts } from "./open_ports.ts";
import { findOrphans } from "./orphans.ts";
import { decodePackedValue, type Digest, JournalDamage } from "./packed_value.ts";
import { unreadable } from "./readable_rows.ts";
import { examineRows } from "./side_rows.ts";
import { readSnapshot } from "./snapshots.ts";
import { type Row, type Store, StoreError, type StoreKey } from "./store.ts";
import { rootsOf } from "./store_roots.ts";
import { type StreamReport, StreamWalk } from "./stream_walk.ts";

/** What was looked at. */
export interface DoctorCounts {
  readonly streams: number;
  readonly values: number;
  readonly entries: number;
  readonly blobs: number;
  readonly snapshots: number;
}

/** What was found in a store. */
export interface Examination {
  readonly findings: readonly Finding[];
  readonly counts: DoctorCounts;
  readonly streams: readonly StreamReport[];
  /** Highest epoch of any entry; 0 if there is none. */
  readonly epoch: number;
}

/** What an examination is told besides the store. */
export interface ExaminationOptions {
  /** Time in milliseconds since the epoch: tells old blobs that nobody names from those just written. */
  readonly now?: number | undefined;
  /** Hears how far it is. */
  readonly tell?: ((news: string) => void) | undefined;
}

/** Walks every stream: chains, heads, blobs, snapshots; then all rows beside the streams. Reads only. */
export async function examine(
  store: Store,
  digest: Digest,
  { now, tell = () => {} }: ExaminationOptions = {},
): Promise<Examination> {
  const round = new Round(store, digest);
  const roots = await rootsOf(store, round.findings);
  for (const [index, root] of roots.entries()) {
    tell(`${index} of ${roots.length} streams`);
    await round.examineStream(root);
  }
  const { findings, counts, streams, epoch, named, oldUntil } = round;
  tell("rows");
  const rows = await examineRows({ store, digest, streams, now });
  for (const name of rows.blobs) named.add(name);
  tell("blobs");
  // What a value names that cannot be read is not known, so then nothing is said to have no name.
  const isAllKnown = streams.every(({ whole }) => whole);
  const search = { store, named, oldUntil: now === undefined ? "" : oldUntil(now) };
  const orphans = isAllKnown ? await findOrphans(search) : [];
  return { findings: [...findings, ...rows.findings, ...orphans], counts, streams, epoch };
}

/** What a value's entries tell besides themselves. */
interface Gathered {
  readonly names: string[];
  /** Those that open or close ports. */
  readonly moves: Entry[];
}

const dayMs = 24 * 3_600_000;

class Round {
  readonly findings: Finding[] = [];
  readonly streams: StreamReport[] = [];
  readonly counts = { streams: 0, values: 0, entries: 0, blobs: 0, snapshots: 0 };
  epoch = 0;
  /** Every blob that an entry names, in a sound stream or not. */
  readonly named = new Set<string>();
  /** When values were written: their last entry's time, and their versionstamp. */
  readonly #written: { readonly at: number; readonly versionstamp: string }[] = [];
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
    const head = await this.#examineHead(walk);
    await this.#examineSnapshot(root);
    this.streams.push(walk.report({ record: await this.#readRecord(walk), ...head }));
  }

  /** Newest versionstamp that was certainly written a day before `now`. */
  readonly oldUntil = (now: number): string => {
    let newest = "";
    for (const { at, versionstamp } of this.#written) {
      if (at <= now - dayMs && versionstamp > newest) newest = versionstamp;
    }
    return newest;
  };

  async #readRecord({ root, end }: StreamWalk): Promise<RootRecord | undefined> {
    const value = (await this.#get(keys.root(root)))?.value;
    const record = RootRecord.safeParse(value);
    if (!record.success && (value !== undefined || end > 0)) {
      const what = value === undefined ? "is missing" : "cannot be read";
      this.findings.push(findingAt(root, "record_damaged", `The record of ${root} ${what}`));
    }
    return record.data;
  }

  /** A row, or null where the file cannot be read. */
  async #get(key: StoreKey): Promise<Row | null> {
    try {
      return await this.#store.get(key);
    } catch (error) {
      this.findings.push(unreadable(key, error));
      return null;
    }
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

  async #examineValue(walk: StreamWalk, { key, value, versionstamp }: Row): Promise<void> {
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
      const [names, moves]: [string[], Entry[]] = [[], []];
      let isReadable = true;
      for (const entry of entries) {
        this.epoch = Math.max(this.epoch, entry.epoch);
        isReadable = await this.#examineEntry(root, entry, { names, moves }) && isReadable;
      }
      for (const name of names) this.named.add(name);
      this.#written.push({ at: entries.at(-1)?.at ?? 0, versionstamp });
      walk.take({ header, names, moves, isReadable });
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
  async #examineEntry(root: string, entry: Entry, { names, moves }: Gathered): Promise<boolean> {
    const { seq, blob } = entry;
    if (blob !== undefined) {
      names.push(blob.digest);
      if (!await this.#examineBlob({ root, seq, name: blob.digest })) return false;
    }
    const doesMove = movesPorts(entry);
    if (!mayNameBlobs(entry) && !doesMove) return true;
    const whole = await restoreBody(entry, { store: this.#store, root, digest: this.#digest });
    if (doesMove) moves.push(whole);
    if (!mayNameBlobs(entry)) return true;
    const attachment = attachmentIn(whole);
    // A lost attachment is told, but the stream goes on without it: nothing is decided by it.
    if (attachment !== undefined && await this.#examineBlob({ root, seq, name: attachment })) {
      names.push(attachment);
      for (const name of attachmentsOf(await readBlob(this.#store, attachment, this.#digest))) {
        if (await this.#examineBlob({ root, seq, name })) names.push(name);
      }
    }
    for (const name of imagesIn(whole)) {
      if (await this.#examineBlob({ root, seq, name })) names.push(name);
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
      const isDamage = error instanceof StoreError && /_corrupt$/.test(error.code);
      if (isDamage) return error.message;
      throw error;
    }
  }

  /** Whether the head agrees with the entries, and where it says that they end. */
  async #examineHead(walk: StreamWalk): Promise<{ readonly agrees: boolean; readonly headSeq: number }> {
    const { root } = walk;
    const row = await this.#get(keys.head(root));
    const head = StreamHead.safeParse(row?.value);
    const end = head.success ? head.data.seq : walk.next - 1;
    if (walk.damageAt !== undefined) this.#closeGap(walk, end + 1);
    const { sound, isSound } = walk;
    const told = (agrees: boolean) => ({ agrees, headSeq: end });
    if (row === null && walk.values.length === 0 && isSound) return told(true);
    const tell = (first: number, last: number, message: string) => {
      this.findings.push({ root, first, last, code: "head_damaged", message });
      return told(false);
    };
    if (!head.success) return tell(end, end, `The head of ${root} is missing or cannot be read`);
    if (!isSound) return told(false);
    if (end === sound.seq && head.data.hash === sound.hash) return told(true);
    if (end === sound.seq) return tell(end, end, `The head of ${root} names another hash at entry ${end}`);
    const message = `The head of ${root} names entry ${end}, its entries end at ${sound.seq}`;
    return tell(Math.min(end, sound.seq) + 1, Math.max(end, sound.seq), message);
  }

  async #examineSnapshot(root: string): Promise<void> {
    const reading = await readSnapshot(this.#store, root, this.#digest).catch((error) => {
      return { unfit: unreadable(keys.snapshot(root), error).message };
    });
    if ("missing" in reading) return;
    this.counts.snapshots += 1;
    if (!("unfit" in reading)) return;
    const message = `The snapshot of ${root} will not be used: ${reading.unfit}`;
    this.findings.push({ root, first: 0, last: 0, code: "snapshot_unfit", message });
  }
}
