/** The roots that this runtime owns of a store that it shares: claimed, renewed, lost and freed (K17). */
import type { RootAddress } from "../../schemas/ids.ts";
import type { Lease } from "../../schemas/lease.ts";
import { leaseLimits } from "../../schemas/lease_limits.ts";
import type { Seams } from "../seams.ts";
import { keys } from "./keys.ts";
import {
  claimRoots,
  freeRoots,
  heldBy,
  holdsAny,
  type LeaseReport,
  leaseRow,
  linesBefore,
  readStanding,
  renewLeases,
  type Standing,
} from "./lease_rows.ts";
import { type Ownership, RootsLost, type WrittenRoots } from "./ownership.ts";
import type { Commit, Store, StoreKey } from "./store.ts";

/** How a runtime shares a store. */
export interface Sharing {
  /** The runtime in words, for those who find a session held by it. */
  readonly holder: string;
  /** Age at which a lease is over. Default 30 s; tests shorten it, and all pauses with it. */
  readonly leaseMs?: number;
}

interface Owned {
  readonly epoch: number;
  /** Of the row `owner/<root>`; undefined until the root's first commit took hold. */
  stamp: string | undefined;
  /** Of the row `lease/<root>`, as this runtime last wrote it. */
  leaseStamp: string | null;
  /** Until when nobody else takes it, by our own clock. */
  until: number;
  /** The same of a first commit that is on its way. */
  asked: number;
}

/** What came of a claim. */
export interface Claimed {
  readonly ours: readonly RootAddress[];
  /** Who holds the first of those that are not ours, if that is known. */
  readonly heldBy: Lease | undefined;
}

/** Roots of one commit that checks both rows of each. */
const pairsMax = Math.floor(leaseLimits.leaseChecksMax / 2);

/** Ownership of single roots. */
export class RootOwnership implements Ownership {
  readonly isShared = true;
  readonly line: StoreKey;
  readonly checksMax = leaseLimits.leaseChecksMax;
  /** Told of roots that another runtime has taken over. */
  onLost: (roots: readonly RootAddress[]) => void = () => {};
  readonly leaseMs: number;
  readonly runtime: string;
  readonly #store: Store;
  readonly #seams: Pick<Seams, "clock">;
  readonly #holder: string;
  readonly #owned = new Map<RootAddress, Owned>();
  #beat = 0;

  constructor(options: {
    readonly store: Store;
    readonly seams: Pick<Seams, "clock">;
    readonly runtime: string;
    readonly sharing: Sharing;
  }) {
    const { store, seams, runtime, sharing } = options;
    this.#store = store;
    this.#seams = seams;
    this.runtime = runtime;
    this.line = keys.writerOf(runtime);
    this.#holder = sharing.holder.slice(0, 200);
    this.leaseMs = sharing.leaseMs ?? leaseLimits.leaseMs;
  }

  /** Every root that is ours, or is being born here. */
  get owned(): readonly RootAddress[] {
    return [...this.#owned.keys()];
  }

  epochOf(root: RootAddress): number {
    return this.#owned.get(root)?.epoch ?? 1;
  }

  isOurs(root: RootAddress): boolean {
    return this.#owned.has(root);
  }

  bear(root: RootAddress, epoch = 1): void {
    this.#owned.set(root, { epoch, stamp: undefined, leaseStamp: null, until: 0, asked: 0 });
  }

  conditionsOf({ roots, fresh }: WrittenRoots): Pick<Commit, "checks" | "sets"> {
    const until = this.#until();
    const born = roots.filter((root) => this.#owned.get(root)?.stamp === undefined);
    for (const root of born) {
      const owned = this.#owned.get(root);
      if (owned !== undefined) owned.asked = until;
    }
    return {
      checks: [
        ...roots.map((root) => ({
          key: keys.owner(root),
          versionstamp: this.#owned.get(root)?.stamp ?? null,
        })),
        ...fresh.map((root) => ({ key: keys.head(root), versionstamp: null })),
      ],
      sets: born.flatMap((root) => [
        { key: keys.owner(root), value: { epoch: this.epochOf(root), runtime: this.runtime } },
        leaseRow(this.#report(root, this.epochOf(root), until)),
      ]),
    };
  }

  wrote({ roots }: WrittenRoots, versionstamp: string): void {
    for (const root of roots) {
      const owned = this.#owned.get(root);
      if (owned === undefined || owned.stamp !== undefined) continue;
      owned.stamp = owned.leaseStamp = versionstamp;
      owned.until = owned.asked;
    }
  }

  async explain({ roots }: WrittenRoots, { checks }: Pick<Commit, "checks">): Promise<void> {
    const lost = await this.#lostAmong(roots);
    this.#lose(lost);
    // Also those whose loss a heartbeat heard of before, or that were claimed anew since.
    const given = new Map(checks.map(({ key, versionstamp }) => [key.join(), versionstamp]));
    const stale = roots.filter((root) => {
      const owned = this.#owned.get(root);
      return owned === undefined || (owned.stamp ?? null) !== given.get(keys.owner(root).join());
    });
    if (stale.length > 0) throw new RootsLost(stale);
  }

  holds(root: RootAddress): boolean {
    const owned = this.#owned.get(root);
    return owned !== undefined && owned.until > this.#seams.clock.now();
  }

  async confirm(root: RootAddress): Promise<boolean> {
    const lost = await this.#lostAmong([root]);
    if (lost.length > 0) this.#lose(lost);
    return this.isOurs(root);
  }

  /** Takes those roots that nobody holds, the first of them first: if that is refused, nothing is taken. */
  async claim(roots: readonly RootAddress[]): Promise<Claimed> {
    const ours: RootAddress[] = [];
    let holder: Lease | undefined;
    const wanted = roots.filter((root) => !this.isOurs(root));
    for (let at = 0; at < wanted.length; at += pairsMax) {
      const standings = await this.#standings(wanted.slice(at, at + pairsMax));
      const now = this.#seams.clock.now();
      const free = standings.filter((one) => heldBy(one, now) === undefined);
      holder ??= standings.map((one) => heldBy(one, now)).find((lease) => lease !== undefined);
      if (at === 0 && free[0]?.root !== wanted[0]) return { ours, heldBy: holder };
      const taken = await this.#take(free);
      if (at === 0 && taken.length === 0) return { ours, heldBy: await this.#holderOf(wanted[0]) };
      ours.push(...taken);
    }
    return { ours, heldBy: holder };
  }

  /** Who holds a root that is not ours. */
  async #holderOf(root: RootAddress | undefined): Promise<Lease | undefined> {
    if (root === undefined) return undefined;
    return heldBy(await readStanding(this.#store, root), this.#seams.clock.now());
  }

  /** True if a runtime is there: this one, or one that holds any root. */
  async lives(runtime: string): Promise<boolean> {
    return runtime === this.runtime || await holdsAny(this.#store, runtime, this.#seams.clock.now());
  }

  /** What the store says of a root that may not be ours. */
  standing(root: RootAddress): Promise<Standing> {
    return readStanding(this.#store, root);
  }

  /** One heartbeat: renews every lease of ours; those whose root was taken over are lost (GA-45, CM-120). */
  async beat(): Promise<void> {
    this.#beat += 1;
    const roots = [...this.#owned].filter(([, { stamp }]) => stamp !== undefined);
    for (let at = 0; at < roots.length; at += pairsMax) {
      const until = this.#until();
      const beats = roots.slice(at, at + pairsMax).map(([root, { epoch, leaseStamp, stamp = "" }]) => ({
        ...this.#report(root, epoch, until),
        ownerStamp: stamp,
        leaseStamp,
      }));
      const { renewed, lost } = await renewLeases(this.#store, beats);
      for (const { root, until, leaseStamp } of renewed) {
        const owned = this.#owned.get(root);
        if (owned !== undefined) Object.assign(owned, { until, leaseStamp });
      }
      this.#lose(lost);
    }
  }

  /** Forgets the lines of runtimes that ended long ago without taking them away, and hold nothing. */
  async forgetLines(): Promise<void> {
    const oldest = this.#seams.clock.now() - leaseLimits.leaseLineAgeMsMax;
    for (const { key, runtime, versionstamp } of await linesBefore(this.#store, oldest)) {
      if (await this.lives(runtime)) continue;
      await this.#store.commit({ checks: [{ key, versionstamp }], sets: [], deletes: [key] });
    }
  }

  async release(): Promise<void> {
    const roots = [...this.#owned].flatMap(([root, { stamp }]) =>
      stamp === undefined ? [] : [{ root, ownerStamp: stamp }]
    );
    this.#owned.clear();
    for (let at = 0; at < roots.length; at += leaseLimits.leaseChecksMax) {
      await freeRoots(this.#store, roots.slice(at, at + leaseLimits.leaseChecksMax));
    }
    await this.#store.commit({ checks: [], sets: [], deletes: [this.line] }).catch(() => {});
  }

  async #take(standings: readonly Standing[]): Promise<readonly RootAddress[]> {
    if (standings.length === 0) return [];
    const until = this.#until();
    const reports = standings.map(({ root, owner }) => this.#report(root, (owner?.epoch ?? 0) + 1, until));
    const stamp = await claimRoots(this.#store, standings, reports);
    if (stamp === undefined) return [];
    for (const { root, epoch } of reports) {
      this.#owned.set(root, { epoch, stamp, leaseStamp: stamp, until, asked: until });
    }
    return reports.map(({ root }) => root);
  }

  #standings(roots: readonly RootAddress[]): Promise<Standing[]> {
    return Promise.all(roots.map((root) => readStanding(this.#store, root)));
  }

  async #lostAmong(roots: readonly RootAddress[]): Promise<readonly RootAddress[]> {
    const standings = await this.#standings(roots.filter((root) => this.isOurs(root)));
    return standings.filter(({ root, owner }) => {
      const owned = this.#owned.get(root);
      if (owned === undefined || (owner === undefined && owned.stamp === undefined)) return false;
      return owner?.runtime !== this.runtime || owner.epoch !== owned.epoch;
    }).map(({ root }) => root);
  }

  #lose(roots: readonly RootAddress[]): void {
    const lost = roots.filter((root) => this.#owned.delete(root));
    if (lost.length > 0) this.onLost(lost);
  }

  #until(): number {
    return this.#seams.clock.now() + this.leaseMs;
  }

  #report(root: RootAddress, epoch: number, until: number): LeaseReport {
    const { runtime, leaseMs } = this;
    return { root, runtime, epoch, beat: this.#beat, until, timeoutMs: leaseMs, holder: this.#holder };
  }
}
