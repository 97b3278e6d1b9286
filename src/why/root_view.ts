/** A root as a person sees it: as it lives in the process that owns the store, else as its journal left it. */
import { isInterned } from "../../actors/library.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { shelve } from "../effects/shelved.ts";
import type { Host } from "../host/host.ts";
import type { ActorState, LiveState } from "./actor_state.ts";
import { Historian, type RootHistory } from "./history.ts";

/** One root. */
export interface RootView {
  readonly record: RootRecord;
  /** The root first, then those below it; empty if nothing can be said of them. */
  readonly actors: readonly ActorState[];
  /** What only a living owner knows; undefined if the root rests in the store. */
  readonly live: Pick<LiveState, "isHeld" | "mail"> | undefined;
  readonly history: RootHistory;
}

/** Reads roots of one store; each at most once. */
export class RootViews {
  readonly #host: Host;
  readonly #records: ReadonlyMap<RootAddress, RootRecord>;
  readonly #historian = new Historian();
  readonly #views = new Map<RootAddress, Promise<RootView | undefined>>();

  constructor(host: Host, records: readonly RootRecord[]) {
    this.#host = host;
    this.#records = new Map(records.map((record) => [record.address, record]));
  }

  static async open(host: Host): Promise<RootViews> {
    return new RootViews(host, await host.listRoots());
  }

  /** Roots of the store, in the order in which they began. */
  get records(): readonly RootRecord[] {
    return [...this.#records.values()];
  }

  /** One root; undefined if there is none of that address. */
  of(address: RootAddress): Promise<RootView | undefined> {
    const known = this.#views.get(address) ?? this.#read(address);
    this.#views.set(address, known);
    return known;
  }

  async #read(address: RootAddress): Promise<RootView | undefined> {
    const record = this.#records.get(address);
    if (record === undefined) return undefined;
    const live = await this.#host.readActors(address);
    const history = await this.#historian.read({
      address,
      pages: this.#host.readPages(address),
      loadShelved: (hash) => this.#loadShelved(hash),
    });
    const { actors, ...alive } = live ?? { actors: history.actors };
    return { record, actors, live: "isHeld" in alive ? alive : undefined, history };
  }

  async #loadShelved(hash: string): Promise<void> {
    if (isInterned(hash)) return;
    shelve(hash, JSON.parse(new TextDecoder().decode(await this.#host.readBlob(hash))));
  }

  /** How often a root was restarted within the period that its supervisor counts. */
  async restartsOf(address: RootAddress, nowMs: number): Promise<number> {
    const supervisors = this.records.filter(({ kind }) => kind === "supervisor");
    const views = await Promise.all([...supervisors.map((one) => this.of(one.address)), this.of(address)]);
    const first = views.flatMap((view) => view?.actors.slice(0, 1) ?? []);
    return first.flatMap(({ restarts, restartPeriodMs }) =>
      restarts.filter(({ of, atMs }) => of === address && atMs > nowMs - restartPeriodMs)
    ).length;
  }

  /** Why and when its supervisor took a root out of service; undefined if none did. */
  async escalationOf(address: RootAddress) {
    for (const { kind, address: supervisor } of this.records) {
      if (kind !== "supervisor") continue;
      const found = (await this.of(supervisor))?.history.escalated.get(address);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Since when an actor is in its state; undefined if the journal does not tell yet. */
export function sinceOf({ history }: RootView, { address, state }: ActorState): number | undefined {
  const since = history.since.get(address);
  return since?.state === state ? since.atMs : undefined;
}
