/** A root as its journal tells of it: rebuilt from the entries, with nothing performed and nothing written. */
import type { AnyActorLogic } from "xstate";
import { compileMachine } from "../../actors/compiled.ts";
import { type WiredMachines, wireMachines } from "../../actors/wiring.ts";
import type { Entry } from "../../schemas/entry.ts";
import { Failure } from "../../schemas/failure.ts";
import { type RootAddress, type RootKind, rootKindOf } from "../../schemas/ids.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import { CrankDesk } from "../kernel/desk.ts";
import { CrankReader, type Divergence, feed, feedCheckpoint, type RecordedCrank } from "../kernel/feed.ts";
import { LiveRoot } from "../kernel/live_root.ts";
import { peek, peekText } from "../peek.ts";
import { BudgetFold, type BudgetView } from "../records/budget_fold.ts";
import type { ActorState } from "./actor_state.ts";
import { actorsOf, readActors, stateOf } from "./read_actors.ts";

/** A state, and when an actor came into it. */
export interface Since {
  readonly state: string;
  readonly atMs: number;
}

/** A message that broke its root's machine, and how (K23). */
export interface Poisoned {
  readonly message: string;
  readonly atMs: number;
  readonly failure: Failure;
}

/** A root that its supervisor took out of service, and what it suffered last. */
export interface Escalated {
  readonly atMs: number;
  readonly restarts: number;
  readonly periodMs: number;
  readonly cause: Failure | undefined;
}

/** What a journal tells of its root. */
export interface RootHistory {
  /** The actors as the last entry left them; empty if the journal does not replay under this release. */
  readonly actors: readonly ActorState[];
  /** Since when each of them is in its state, by its address. */
  readonly since: ReadonlyMap<string, Since>;
  readonly entries: number;
  readonly lastAtMs: number | undefined;
  /** The input of its creation. */
  readonly input: unknown;
  /** The last message that broke it. */
  readonly poisoned: Poisoned | undefined;
  /** Of a task: its status, as its owner is told. */
  readonly status: string | undefined;
  /** Of a session: what it may spend, and what it spent. */
  readonly budget: BudgetView;
  /** Of a supervisor: the roots that it took out of service. */
  readonly escalated: ReadonlyMap<RootAddress, Escalated>;
  /** Why there are no actors. */
  readonly unreadable: string | undefined;
}

/** Where a journal is read from. */
export interface HistorySource {
  readonly address: RootAddress;
  readonly pages: AsyncIterable<readonly Entry[]>;
  /** Loads what the journal names by hash before a machine may look it up. */
  readonly loadShelved: (hash: string) => Promise<void>;
}

/** Rebuilds roots from their journals. The machines are wired once. */
export class Historian {
  readonly #desk = new CrankDesk();
  readonly #wired: WiredMachines = wireMachines(this.#desk);
  readonly #compiled = new Map<RootKind, AnyActorLogic>();

  /** What a journal tells of its root, to its last entry. */
  async read(source: HistorySource): Promise<RootHistory> {
    const kind = rootKindOf(source.address);
    if (kind === undefined) throw new Error(`Cannot read "${source.address}": there is no such kind of root`);
    const machine = this.#compiled.get(kind) ?? compileMachine(this.#wired[kind]);
    this.#compiled.set(kind, machine);
    return await new Reading(new LiveRoot(source.address, kind, machine, this.#desk), source).run();
  }
}

class Reading {
  readonly #root: LiveRoot;
  readonly #source: HistorySource;
  readonly #since = new Map<string, Since>();
  #divergence: Divergence | undefined;
  #entries = 0;
  #lastAtMs: number | undefined;
  #input: unknown;
  #poisoned: Poisoned | undefined;
  #status: string | undefined;
  readonly #budget = new BudgetFold();
  readonly #escalated = new Map<RootAddress, Escalated>();

  constructor(root: LiveRoot, source: HistorySource) {
    this.#root = root;
    this.#source = source;
  }

  async run(): Promise<RootHistory> {
    const reader = new CrankReader();
    for await (const page of this.#source.pages) {
      for (const entry of page) {
        this.#note(entry);
        const hash = shelvedHashIn(entry);
        if (hash !== undefined) await this.#source.loadShelved(hash);
        const crank = reader.take(entry);
        if (crank !== undefined) this.#take(crank);
      }
    }
    const last = reader.rest();
    if (last !== undefined) this.#take(last);
    const isRead = this.#divergence === undefined && this.#entries > 0;
    return {
      actors: isRead ? readActors(this.#root) : [],
      since: this.#since,
      entries: this.#entries,
      lastAtMs: this.#lastAtMs,
      input: this.#input,
      poisoned: this.#poisoned,
      status: this.#status,
      budget: this.#budget.view(),
      escalated: this.#escalated,
      unreadable: isRead ? undefined : unreadable(this.#divergence),
    };
  }

  #note(entry: Entry): void {
    const { kind, type, body, at } = entry;
    this.#budget.take(entry);
    this.#entries += 1;
    this.#lastAtMs = at;
    if (kind === "created") this.#input = peek(body, "input");
    if (kind === "note" && type === "task.changed") this.#status = peekText(body, "status");
    if (kind === "note" && type === "supervisor.escalated") {
      this.#escalated.set(peekText(body, "child"), {
        atMs: at,
        restarts: Number(peek(body, "restarts")),
        periodMs: Number(peek(body, "periodMs")),
        cause: Failure.safeParse(peek(body, "cause")).data,
      });
    }
    if (kind !== "note" || type !== "poisoned") return;
    const { data } = Failure.safeParse(peek(body, "failure"));
    const message = peekText(body, "input", "message", "type");
    if (data !== undefined) this.#poisoned = { message, atMs: at, failure: data };
  }

  /** What does not replay is left out up to the next checkpoint, which says all again (K21). */
  #take(crank: RecordedCrank): void {
    const { first } = crank;
    if (first.kind === "checkpoint") this.#divergence = feedCheckpoint(this.#root, first);
    else if (this.#divergence === undefined) this.#divergence = feed(this.#root, crank);
    if (this.#divergence === undefined) this.#watch(first.at);
  }

  #watch(atMs: number): void {
    const met = new Set<string>();
    for (const { address, snapshot } of actorsOf(this.#root)) {
      const state = stateOf(snapshot);
      met.add(address);
      if (this.#since.get(address)?.state !== state) this.#since.set(address, { state, atMs });
    }
    for (const address of this.#since.keys()) if (!met.has(address)) this.#since.delete(address);
  }
}

function unreadable(divergence: Divergence | undefined): string {
  return divergence === undefined
    ? "it has no entries"
    : `its journal does not replay at ${divergence.seq} under this release: ${divergence.what}`;
}
