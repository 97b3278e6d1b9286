/** In which order the entries of one crank are read: a crank's notes stand behind what it asked for, but come before it. */
import type { Entry } from "../../schemas/entry.ts";

/** True for the entry that begins a crank: what stands behind it, up to the next one, it caused. */
export function beginsCrank({ kind }: Entry): boolean {
  return kind === "created" || kind === "input" || kind === "outcome";
}

/** The entries of one crank: what began it or ended with it, what it bound, then its plans and its asks. */
export function inReadingOrder(crank: readonly Entry[]): readonly Entry[] {
  return crank.toSorted((left, right) => placeOf(left) - placeOf(right));
}

function placeOf({ kind, type }: Entry): number {
  if (kind === "intent") return 4;
  if (kind !== "note") return 0;
  return type === "tools.bound" ? 1 : type === "turn.planned" || type === "turn.invoked" ? 2 : 3;
}
