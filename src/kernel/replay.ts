/** Replays a stream: machines are fed the journal, nothing is performed, every ask is compared (design.md section 1). */
import type { StateFormats } from "../../actors/migrate.ts";
import type { CreatedBody, Entry } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { isSameJson } from "../canonical.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import type { Seams } from "../seams.ts";
import { CrankDesk } from "./desk.ts";
import { CrankReader, type Divergence, feed, feedCheckpoint, type RecordedCrank } from "./feed.ts";
import { LiveRoot } from "./live_root.ts";
import { machinesOf, type Wiring } from "./machines.ts";

/** What a replay found. */
export interface ReplayReport {
  readonly address: RootAddress;
  readonly entries: number;
  readonly cranks: number;
  /** Entries that only their own release can replay: other code wrote them (K21). */
  readonly skipped: number;
  readonly intents: number;
  /** State hashes compared. */
  readonly states: number;
  /** States that were saved, restored and compared: with `strict` only. */
  readonly restored: number;
  readonly divergence: Divergence | undefined;
}

/** Options of {@linkcode replay}. */
export interface ReplayOptions {
  readonly address: RootAddress;
  readonly pages: AsyncIterable<readonly Entry[]>;
  readonly code: string;
  readonly digest: Seams["digest"];
  readonly loadShelved: (hash: string) => Promise<void>;
  /** Replays stretches of other code too: they may diverge where that code decided otherwise. */
  readonly anyCode?: boolean;
  /** Also saves and restores the state after every crank: what a restart there would have come to must be the same. */
  readonly strict?: boolean;
  /** The forms of states that are known; those of this release by default. */
  readonly stateFormats?: StateFormats;
  /** Stops before the first message that came after this entry: states are as they were then. */
  readonly until?: number;
  /** Says whether a state may be as it is, instead of the recorded hash. Told of all of one stream, in their order. */
  readonly acceptsState?: (state: ReplayedState) => boolean;
  /** Wires the machines; tests give machines that tell what they see. */
  readonly wire?: Wiring;
  /** Shown the root behind every message, with what was recorded of it. */
  readonly watch?: (crank: RecordedCrank, root: LiveRoot) => void;
  /** Shown the root as the replay left it, unless its last stretch was not replayed or something diverged. */
  readonly show?: (root: LiveRoot) => void;
}

/** The hash of a state, where one was recorded. */
export interface ReplayedState {
  readonly seq: number;
  readonly expected: string;
  readonly got: string;
  /** True if other code recorded it (K21). */
  readonly isForeign: boolean;
}

/** Replays one stream to its end or its first divergence. */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  return await new Replay(options).run();
}

class Replay {
  readonly #options: ReplayOptions;
  readonly #fresh: () => LiveRoot;
  readonly #root: LiveRoot;
  #entries = 0;
  #cranks = 0;
  #intents = 0;
  #states = 0;
  #restored = 0;
  #skipped = 0;
  #isForeign = false;
  #divergence: Divergence | undefined;
  /** State hashes under way: compared in order, so that the first divergence is named. */
  #hashes: { readonly crank: RecordedCrank; readonly hash: Promise<string>; readonly isForeign: boolean }[] =
    [];
  #code = "";

  constructor(options: ReplayOptions) {
    this.#options = options;
    const kind = rootKindOf(options.address);
    if (kind === undefined) {
      throw new Error(`Cannot replay "${options.address}": this release has no such kind of root`);
    }
    const desk = new CrankDesk();
    const machine = machinesOf(options.wire)[kind];
    this.#fresh = () => new LiveRoot(options.address, kind, machine, desk);
    this.#root = this.#fresh();
  }

  async run(): Promise<ReplayReport> {
    const reader = new CrankReader();
    const { until = Infinity } = this.#options;
    read: for await (const page of this.#options.pages) {
      for (const entry of page) {
        // A crank is whole or not at all: what it caused belongs to the message that came before `until`.
        if (entry.cause > until) break read;
        this.#entries += 1;
        const hash = shelvedHashIn(entry);
        if (hash !== undefined) await this.#options.loadShelved(hash);
        const crank = reader.take(entry);
        if (crank !== undefined && !this.#take(crank)) return await this.#report();
      }
      if (!await this.#compareStates()) return await this.#report();
    }
    const last = reader.rest();
    if (last !== undefined) this.#take(last);
    return await this.#report();
  }

  #take(crank: RecordedCrank): boolean {
    const { first, rest } = crank;
    if (first.kind === "created" || first.kind === "checkpoint") {
      this.#code = (first.body as unknown as CreatedBody).code;
      this.#isForeign = this.#code !== this.#options.code && this.#options.anyCode !== true;
    }
    if (this.#isForeign) {
      this.#skipped += 1 + rest.length;
      return true;
    }
    this.#cranks += 1;
    this.#divergence = first.kind === "checkpoint"
      ? feedCheckpoint(this.#root, first, this.#options.stateFormats)
      : feed(this.#root, crank);
    if (this.#divergence !== undefined) return false;
    this.#options.watch?.(crank, this.#root);
    for (const entry of rest) if (entry.kind === "intent") this.#intents += 1;
    if (first.state !== undefined) this.#hash(crank);
    if (this.#options.strict === true) this.#divergence = this.#compareRestored(first.seq);
    return this.#divergence === undefined;
  }

  /** K5, K20: a state survives being saved and restored. */
  #compareRestored(seq: number): Divergence | undefined {
    const expected = this.#root.persisted();
    const twin = this.#fresh();
    const { fault } = twin.restore(JSON.parse(JSON.stringify(expected)));
    const got = fault === undefined ? twin.persisted() : fault.message;
    this.#restored += 1;
    if (isSameJson(expected, got)) return undefined;
    const what = "the state after this entry survives a restart";
    return { address: this.#options.address, seq, what, expected, got };
  }

  #hash(crank: RecordedCrank): void {
    const bytes = new TextEncoder().encode(canonicalJson(this.#root.persisted()));
    const isForeign = this.#code !== this.#options.code;
    this.#hashes.push({ crank, hash: this.#options.digest(bytes), isForeign });
  }

  async #compareStates(): Promise<boolean> {
    const accepts = this.#options.acceptsState ?? (({ expected, got }) => expected === got);
    for (const { crank, hash, isForeign } of this.#hashes.splice(0)) {
      const got = await hash;
      const { seq, state: expected } = crank.first;
      if (expected === undefined) continue;
      this.#states += 1;
      if (accepts({ seq, expected, got, isForeign })) continue;
      const what = "the state after this entry is the recorded one";
      if (this.#divergence === undefined || seq < this.#divergence.seq) {
        this.#divergence = { address: this.#options.address, seq, what, expected, got };
      }
      return false;
    }
    return true;
  }

  async #report(): Promise<ReplayReport> {
    await this.#compareStates();
    if (this.#cranks > 0 && !this.#isForeign && this.#divergence === undefined) {
      this.#options.show?.(this.#root);
    }
    return {
      address: this.#options.address,
      entries: this.#entries,
      cranks: this.#cranks,
      skipped: this.#skipped,
      intents: this.#intents,
      states: this.#states,
      restored: this.#restored,
      divergence: this.#divergence,
    };
  }
}
