/** What a run is made of besides its play: crashes, faults, and how wildly things are ordered. Drawn from a seed. */
import { createRandom } from "../support/world.ts";
import { createDice, type Dice } from "./scenario.ts";
import { drawSites, type Site } from "./sites.ts";
import { drawWorkload, type Workload } from "./workload.ts";

/** One end of the process. Counted within its own life, from 1. */
export interface Crash {
  /** At the n-th commit, after the n-th application of an effect outside, or at the n-th step of the driver. */
  readonly at: "commit" | "performance" | "step";
  readonly n: number;
  /** A commit is cut off before it takes hold, or after that but before its caller hears. */
  readonly when: "before" | "after";
  /** `ghost`: the process is not dead but only given up, and goes on until the store fences it (K16). */
  readonly how: "kill" | "ghost" | "stop";
  /** How far the clock is set, forth or back, before the next start (F13). */
  readonly clockMs: number;
  /** True if another release starts next, unless that would have to give up a root (K21). */
  readonly isUpgrade: boolean;
}

/** How often each kind of step is taken while several are possible. */
export interface Weights {
  readonly task: number;
  readonly store: number;
  readonly effect: number;
  readonly client: number;
  readonly time: number;
}

/** Everything that decides a run. The same plan gives the same run, to the byte. */
export interface Plan {
  readonly seed: number;
  readonly play: "script" | "swarm" | "tasks";
  /** `fixed`: always the first possible step, so that only the crashes differ. */
  readonly order: "fixed" | "chance";
  readonly crashes: readonly Crash[];
  readonly weights: Weights;
  /** Chance that a commit throws, before or after it took hold; only while crashes are to come. */
  readonly throwing: number;
  /** Chance that a read fails; only while crashes are to come. */
  readonly misreading: number;
  /** Chance that a request on the wire of a dead process still arrives. */
  readonly landing: number;
  readonly strict: boolean;
  readonly canVerify: boolean;
  readonly isUnruly: boolean;
  /** Chance that a life has nobody who answers questions. */
  readonly silence: number;
  /**
   * `letters`: many messages, all from one session to another. `catalogs`: one session's tools change all the time. The
   * others: one session that does little else; a mixed play has a bit of some of them.
   */
  readonly theme: "mixed" | "letters" | "catalogs" | "family" | "tasks" | "servers" | "schedules";
  /** Where bad luck strikes in this run. */
  readonly sites: readonly Site[];
  /** Steps within which everything must have settled; 10,000 without. */
  readonly stepsMax?: number;
  /** Bounds of the runtime that are lower in this run, so that what is rare elsewhere happens here. */
  readonly bounds: Bounds;
  readonly workload: Workload;
}

/** Bounds that a run may lower. */
export type Bounds = Partial<
  Record<
    | "snapshotEveryEntries"
    | "reasksAtOnceMax"
    | "groupEntriesMax"
    | "groupBytesMax"
    | "unitsUnwrittenMax"
    | "mailboxMessagesMax"
    | "promptsQueuedMax"
    | "noticesMax"
    | "entryBodyBytesMax"
    | "inlineValueBytesMax"
    | "blobChunkBytes"
    | "packedValueBytesMax",
    number
  >
>;

/** A kill at a commit, before or after it takes hold. */
export function killAt(at: Crash["at"], n: number, when: Crash["when"]): Crash {
  return { at, n, when, how: "kill", clockMs: 0, isUpgrade: false };
}

const fixedWeights: Weights = { task: 1, store: 1, effect: 1, client: 1, time: 1 };

/** The script in a fixed order with these crashes. */
export function scriptedPlan(crashes: readonly Crash[], changes: Partial<Plan> = {}): Plan {
  return {
    seed: 1,
    play: "script",
    order: "fixed",
    crashes,
    weights: fixedWeights,
    throwing: 0,
    misreading: 0,
    landing: 0,
    strict: false,
    canVerify: false,
    isUnruly: false,
    silence: 0,
    theme: "mixed",
    sites: [],
    bounds: {},
    workload: {},
    ...changes,
  };
}

/** Of its own dice: all else of a large run is the same, whoever makes it small. */
function workloadOf(seed: number): Workload {
  return drawWorkload(createDice(createRandom(seed ^ 0x10ad)));
}

/** The plan of a seed: each kind of trouble is on in some runs only, so that runs differ in kind (swarm). */
export function planOf(seed: number, workload: Workload = workloadOf(seed)): Plan {
  const dice = createDice(createRandom(seed));
  const weight = (most: number) => dice.chance(0.2) ? 0.05 * most : (0.2 + dice.next()) * most;
  return {
    seed,
    play: "swarm",
    order: "chance",
    workload,
    crashes: drawCrashes(dice, workload.commands === undefined),
    weights: { task: weight(4), store: weight(6), effect: weight(3), client: weight(2), time: weight(0.6) },
    throwing: dice.chance(0.3) ? 0.15 * dice.next() : 0,
    misreading: dice.chance(0.15) ? 0.05 * dice.next() : 0,
    landing: dice.chance(0.6) ? dice.next() : 0,
    strict: dice.chance(0.15),
    canVerify: dice.chance(0.5),
    isUnruly: dice.chance(0.6),
    silence: dice.chance(0.15) ? 0.5 : 0,
    theme: drawTheme(dice),
    sites: drawSites(dice),
    bounds: drawBounds(dice),
  };
}

function drawTheme(dice: Dice): Plan["theme"] {
  if (dice.chance(0.12)) return "letters";
  if (dice.chance(0.08)) return "catalogs";
  return dice.chance(0.16) ? dice.pick(["family", "tasks", "servers", "schedules"]) : "mixed";
}

function drawBounds(dice: Dice): Bounds {
  const between = (least: number, most: number) => least + dice.below(most - least + 1);
  const rarely = <T>(probability: number, bounds: T): T | undefined =>
    dice.chance(probability) ? bounds : undefined;
  return {
    ...rarely(0.5, { snapshotEveryEntries: between(1, 12) }),
    ...rarely(0.2, { reasksAtOnceMax: 1 }),
    ...rarely(0.2, { groupEntriesMax: between(1, 6) }),
    ...rarely(0.1, { unitsUnwrittenMax: between(1, 3) }),
    ...rarely(0.1, { mailboxMessagesMax: between(1, 3) }),
    ...rarely(0.1, { promptsQueuedMax: 1 }),
    ...rarely(0.1, { noticesMax: 1 }),
    ...rarely(0.15, { entryBodyBytesMax: between(100, 1_000) }),
    ...rarely(0.1, { packedValueBytesMax: between(6_000, 12_000) }),
    // Blobs and snapshots of several rows, which take several groups (K18). A group must hold at least one row.
    ...rarely(0.2, {
      blobChunkBytes: between(600, 3_000),
      inlineValueBytesMax: between(1_000, 4_000),
      groupBytesMax: between(12_000, 40_000),
    }),
  };
}

function drawCrashes(dice: Dice, isLarge: boolean): Crash[] {
  const count = dice.chance(0.1) ? 0 : 1 + dice.below(isLarge ? 5 : 3);
  const size = isLarge ? 1 : 0.4;
  const ghosts = dice.chance(0.25) ? 0.5 : 0;
  const hasBadClock = dice.chance(0.2);
  const upgrades = dice.chance(0.15) ? 0.5 : 0;
  return Array.from({ length: count }, (_, index): Crash => {
    const at = dice.pick<Crash["at"]>(["commit", "commit", "performance", "step"]);
    // Later lives have less left to do, and the recovery at their beginning is the part of interest.
    const reach = index === 0 || dice.chance(0.3) ? 1 : 0.25;
    const most = { commit: 45, performance: 20, step: 350 }[at];
    return {
      at,
      n: 1 + dice.below(Math.ceil(most * reach * size)),
      when: dice.pick(["before", "after"]),
      how: dice.chance(ghosts) ? "ghost" : dice.chance(0.1) ? "stop" : "kill",
      clockMs: hasBadClock ? dice.pick([-3_600_000, -1_000, 0, 5_000, 3_600_000]) : 0,
      isUpgrade: dice.chance(upgrades),
    };
  });
}
