/** What a run shows: what its judges look at, and what they say. */
import type { StreamHead } from "../../schemas/entry.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import type { Clients } from "./clients.ts";
import type { Life } from "./life.ts";
import type { Outside } from "./outside.ts";
import type { Plan } from "./plan.ts";

/** A broken rule, with its number in kernel.md or in the notes on reliability. */
export interface Violation {
  readonly rule: string;
  readonly message: string;
}

/** Names a broken rule and what shows it. */
export type Complain = (rule: string, message: string) => void;

/** What was durable at the moment when a life ended: the end of every stream. */
export interface Mark {
  readonly life: number;
  readonly heads: ReadonlyMap<string, StreamHead>;
}

/** Everything that the judges look at. */
export interface Evidence {
  readonly plan: Plan;
  readonly disk: MemoryDisk;
  readonly outside: Outside;
  readonly clients: Clients;
  readonly marks: readonly Mark[];
  /** Numbers of the lives that another took over from while they went on. */
  readonly ghosts: ReadonlySet<number>;
  /** The life that runs at the end, with nothing left to do. */
  readonly life: Life;
  /** What was logged, among other lines. */
  readonly said: readonly string[];
}

/** How long a run was. */
export interface Counts {
  readonly steps: number;
  readonly lives: number;
  readonly crashes: number;
  readonly performances: number;
  /** Commits and applications of the first life: how far a systematic plan has to count. */
  readonly firstCommits: number;
  readonly firstApplied: number;
}

/** What a run showed. */
export interface Verdict {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly trace: readonly string[];
  /** Hash over every row of the store and every line of the ledger. */
  readonly hash: string;
  readonly counts: Counts;
  /** Kinds of entries that the journal holds, if it was judged, and kinds of trouble that came. */
  readonly seen: ReadonlySet<string>;
}

/** A failing run in words: how to repeat it, what broke first, and the last 50 lines of its trace before that. */
export function describe({ plan, violations, trace }: Verdict, commit?: string): string {
  const [first] = violations;
  const broken = trace.findIndex((line) => line.includes(" BROKEN "));
  return [
    `${plan.play} seed ${plan.seed} breaks ${first?.rule}: ${first?.message}`,
    `again: deno task sim --seeds 1 --from ${plan.seed}${
      commit === undefined ? "" : `, at commit ${commit}`
    }`,
    `plan: ${JSON.stringify(plan)}`,
    ...trace.slice(0, broken < 0 ? trace.length : broken + 1).slice(-50),
  ].join("\n");
}
