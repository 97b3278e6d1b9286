/**
 * Sites of bad luck: places around the runtime where what is rare elsewhere happens now and then. Each is active in a
 * quarter of the runs, and then strikes a quarter of the time (notes 7.2). All are outside of the product.
 */
import { keys } from "../../src/journal/keys.ts";
import type { Commit, Store } from "../../src/journal/store.ts";
import type { Clock, Seams } from "../../src/seams.ts";
import type { Dice } from "./scenario.ts";

/** Every site. Lower bounds, which are drawn in the same way, stand beside these in the plan. */
export const siteNames = [
  /** A commit reaches the disk late. */
  "commit_slow",
  /** A commit has taken hold, and its caller hears of it late: letters and effects begin late. */
  "commit_told_late",
  /** A commit has taken hold, and throws. Only while crashes are to come. */
  "commit_throws",
  /** A snapshot is not written. */
  "snapshot_lost",
  /** What a root is woken from is read slowly. */
  "wake_slow",
  /** Whatever waits for a time waits longer. */
  "timer_late",
  /** What was put off for a moment is put off for long. */
  "defer_late",
  /** A hash takes several turns of the loop. */
  "digest_slow",
  /** Chance always says the least. */
  "chance_least",
  /** A target acts and answers within the turn in which it was asked. */
  "target_prompt",
  /** A person answers within the turn in which the question was shown. */
  "person_prompt",
  /** Texts hold a secret, in some encoding. */
  "secret_told",
] as const;
/** A site. */
export type Site = (typeof siteNames)[number];

const activity = 0.25;

/** The sites that are active in a run. */
export function drawSites(dice: Dice): readonly Site[] {
  return siteNames.filter(() => dice.chance(activity));
}

/** Strikes, or does not. */
export class Sites {
  readonly #dice: ReadonlyMap<Site, Dice>;

  /** Each site has dice of its own: how often one is asked changes no other. */
  constructor(active: readonly Site[], diceOf: (site: number) => Dice) {
    this.#dice = new Map(active.map((site) => [site, diceOf(siteNames.indexOf(site))]));
  }

  /** True if this site is active in the run at all. */
  has(site: Site): boolean {
    return this.#dice.has(site);
  }

  strikes(site: Site): boolean {
    return this.#dice.get(site)?.chance(activity) ?? false;
  }

  /** A wait, in milliseconds. */
  waitMs(site: Site): number {
    return 1 + (this.#dice.get(site)?.below(2_000) ?? 0);
  }

  pick<T>(site: Site, items: readonly T[]): T | undefined {
    return this.#dice.get(site)?.pick(items);
  }

  /** The store with bad luck. */
  store(store: Store, { clock, hasTroubleLeft }: {
    readonly clock: () => Clock;
    readonly hasTroubleLeft: () => boolean;
  }): Store {
    const wait = (site: Site) => clock().sleepUntil(clock().now() + this.waitMs(site));
    const [snapshots, logs] = [keys.snapshot("any")[0], keys.log("any", 1)[0]];
    const [chunks] = keys.snapshotChunk("any", 0);
    const commit = async (given: Commit) => {
      if (this.strikes("commit_slow")) await wait("commit_slow");
      // One that has chunks, or had some, is more than one row.
      const isWhole = ![...given.sets.map(({ key }) => key), ...given.deletes].some(([kind]) =>
        kind === chunks
      );
      const isLost = isWhole && this.strikes("snapshot_lost");
      const sets = isLost ? given.sets.filter(({ key }) => key[0] !== snapshots) : given.sets;
      const result = await store.commit({ ...given, sets });
      if (result.ok && hasTroubleLeft() && this.strikes("commit_throws")) {
        throw new Error("store_fault: thrown after the commit");
      }
      if (this.strikes("commit_told_late")) await wait("commit_told_late");
      return result;
    };
    const isOfWaking = (part: unknown) => part === snapshots || part === logs;
    const waking = async (part: unknown) => {
      if (isOfWaking(part) && this.strikes("wake_slow")) await wait("wake_slow");
    };
    return {
      commit: this.#touchesCommits() ? commit : (given) => store.commit(given),
      close: () => store.close(),
      get: async (key) => {
        await waking(key[0]);
        return await store.get(key);
      },
      async *list(range) {
        await waking(range.prefix[0]);
        yield* store.list(range);
      },
    };
  }

  #touchesCommits(): boolean {
    const sites: readonly Site[] = ["commit_slow", "commit_told_late", "commit_throws", "snapshot_lost"];
    return sites.some((site) => this.has(site));
  }

  /** The seams with bad luck. */
  seams(seams: Seams): Seams {
    const { clock, digest } = seams;
    return {
      ...seams,
      random: () => this.strikes("chance_least") ? 0 : seams.random(),
      digest: async (bytes) => {
        // By what is hashed, not by dice: the process remembers some hashes, and asks for them once.
        const isSlow = this.has("digest_slow") && bytes.length % 4 === 0;
        for (let turns = isSlow ? 5 : 0; turns > 0; turns--) await Promise.resolve();
        return await digest(bytes);
      },
      clock: {
        ...clock,
        sleepUntil: (atMs, signal) => {
          const isLate = atMs > clock.now() && this.strikes("timer_late");
          return clock.sleepUntil(isLate ? atMs + this.waitMs("timer_late") : atMs, signal);
        },
        defer: (task) => {
          if (!this.strikes("defer_late")) return clock.defer(task);
          void clock.sleepUntil(clock.now() + this.waitMs("defer_late")).then(task);
        },
      },
    };
  }
}
