/** One request on its way to a target of the play, and what it does next by its fate. */
import type { Life } from "./life.ts";
import type { Fate } from "./scenario.ts";

/** A request on its way to a target and back. */
export interface Attempt {
  readonly life: Life;
  readonly name: string;
  readonly root: string;
  readonly key: string;
  readonly fate: Fate;
  /** Aborted once nobody waits for it any more. */
  readonly signal?: AbortSignal;
  isApplied: boolean;
  isOver: boolean;
  apply: () => void;
  answer: () => void;
}

/** Puts a request on the wire. */
export type Send = (
  what: Pick<Attempt, "life" | "name" | "root" | "key" | "fate" | "signal">,
  does: Pick<Attempt, "apply" | "answer">,
) => void;

const applies: ReadonlySet<Fate> = new Set([
  "ok",
  "long",
  "break_after",
  "stall_applied",
  "late",
  "twice",
  "poison",
  "garbage",
  "dies_after",
  "changes",
]);
const silent: ReadonlySet<Fate> = new Set(["stall", "stall_applied", "refuse"]);

/** What an attempt can do next; undefined if it waits to be aborted, or is over. */
export function nextOf(attempt: Attempt): "apply" | "answer" | undefined {
  if (attempt.isOver) return undefined;
  if (applies.has(attempt.fate) && !attempt.isApplied) return "apply";
  if (!attempt.life.isAlive || silent.has(attempt.fate)) return undefined;
  return attempt.fate !== "late" || attempt.signal?.aborted === true ? "answer" : undefined;
}
