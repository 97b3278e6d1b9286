/** Finds the place where a session is forked: brings its machine there, and refuses what is no border of a crank (K24). */
import { shelvedHashIn } from "../journal/named_blobs.ts";
import type { CheckpointBody, CreatedBody, Entry } from "../../schemas/entry.ts";
import { comparePositions, type RootAddress } from "../../schemas/ids.ts";
import { OriginHash } from "../fork_origin.ts";
import { StoreError } from "../journal/store.ts";
import { CrankReader, type Divergence, feed, feedCheckpoint, type RecordedCrank } from "./feed.ts";
import { type PortRecord } from "./desk.ts";
import { type Kernel, KernelError } from "./kernel.ts";
import { LiveRoot } from "./live_root.ts";

/** A session as it was behind one of its entries. */
export interface ForkPoint {
  /** In memory only: it is the original's state under the fork's address. */
  readonly root: LiveRoot;
  /** Over all entries up to there. */
  readonly hash: string;
  /** When the last of them was written: nothing that is spent by time is spent after it. */
  readonly at: number;
  /** Intents that were open, in the order of their positions. */
  readonly open: readonly PortRecord[];
}

/** Where a session is to be forked. */
export interface ForkPlace {
  readonly from: RootAddress;
  readonly seq: number;
  /** The address of the fork. */
  readonly to: RootAddress;
}

/** Brings a machine to where the session was behind the entry `seq`. Nothing is performed, nothing is written. */
export async function readForkPoint(kernel: Kernel, place: ForkPlace): Promise<ForkPoint> {
  return await new ForkReader(kernel, place).read();
}

class ForkReader {
  readonly #kernel: Kernel;
  readonly #place: ForkPlace;
  readonly #root: LiveRoot;
  readonly #hash: OriginHash;
  readonly #cranks = new CrankReader();
  /** The first place where this code does something else, until a checkpoint says how it went on. */
  #divergence: Divergence | undefined;
  #code = "";
  /** The last entries of the crank before, and of the one that is being read. */
  #before = 0;
  #last = 0;
  #at = 0;

  constructor(kernel: Kernel, place: ForkPlace) {
    this.#kernel = kernel;
    this.#place = place;
    this.#root = new LiveRoot(place.to, "session", kernel.machines.session, kernel.desk);
    this.#hash = new OriginHash(kernel.seams.digest);
  }

  async read(): Promise<ForkPoint> {
    const { seq } = this.#place;
    let isBorder = true;
    read: for await (const page of this.#kernel.journal.readPages(this.#place.from)) {
      for (const entry of page) {
        const begins = entry.cause === entry.seq;
        if (entry.seq > seq && begins) break read;
        if (begins) this.#before = this.#last;
        this.#last = entry.seq;
        if (entry.seq > seq) {
          isBorder = false;
          continue;
        }
        await this.#take(entry);
      }
    }
    if (this.#last < seq) throw this.#beyondEnd();
    if (!isBorder) throw this.#noBorder();
    this.#feed(this.#cranks.rest());
    this.#refuseDivergence();
    const open = [...this.#root.ports.values()].sort((left, right) => comparePositions(left.id, right.id));
    return { root: this.#root, hash: this.#hash.hash, at: this.#at, open };
  }

  async #take(entry: Entry): Promise<void> {
    this.#at = entry.at;
    await this.#hash.take(entry);
    const hash = shelvedHashIn(entry);
    if (hash !== undefined) await this.#kernel.loadShelved(hash);
    this.#feed(this.#cranks.take(entry));
  }

  #feed(crank: RecordedCrank | undefined): void {
    if (crank === undefined) return;
    const { kind, body } = crank.first;
    if (kind === "created" || kind === "checkpoint") {
      this.#code = (body as unknown as CreatedBody | CheckpointBody).code;
    }
    if (kind === "checkpoint") {
      this.#divergence = feedCheckpoint(this.#root, crank.first, this.#kernel.stateFormats);
    } else this.#divergence ??= feed(this.#root, crank, this.#kernel.messageTypes?.session ?? null);
    this.#root.seq = (crank.rest.at(-1) ?? crank.first).seq;
  }

  #refuseDivergence(): void {
    if (this.#divergence === undefined) return;
    const { seq, what } = this.#divergence;
    const { from } = this.#place;
    if (this.#code === this.#kernel.code) {
      throw new StoreError("journal_corrupt", `Cannot fork "${from}": it does not replay at ${seq}: ${what}`);
    }
    throw new KernelError(
      "fork_other_code",
      `Cannot fork "${from}" at ${this.#place.seq}: other code wrote it, which decides otherwise from entry ${seq} on; ` +
        "fork it behind its next checkpoint, or with the release that wrote it",
    );
  }

  #beyondEnd(): KernelError {
    const { from, seq } = this.#place;
    return new KernelError(
      "entry_not_found",
      `Cannot fork "${from}" at ${seq}: ${
        this.#last === 0 ? "it has no entries" : `its last entry is ${this.#last}`
      }`,
    );
  }

  #noBorder(): KernelError {
    const { from, seq } = this.#place;
    const borders = [this.#before, this.#last].filter((border) => border > 0);
    return new KernelError(
      "fork_misplaced",
      `Cannot fork "${from}" at ${seq}: one message caused the entries around it, and they belong together; ` +
        `fork it at ${borders.join(" or ")}`,
    );
  }
}
