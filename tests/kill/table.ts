/** The crash table: which points are reached, for which class and carrier, and what the world must have seen then. */
import { type Point, points } from "./crash_plan.ts";
import { type Effect, effects } from "./outside.ts";
import { type Carrier, carriers } from "./scene.ts";

/** One cell of the table: a call of this class by this carrier is cut off at this point. */
export interface Cell {
  readonly point: Point;
  readonly effect: Effect;
  readonly carrier: Carrier;
}

/** What a healed call must have left outside, and whether a person was asked about it. */
export interface Expected {
  readonly isDoubted: boolean;
  /** How often the call came to its target: least and most. */
  readonly arrived: readonly [number, number];
  /** How often it had its effect: least and most. */
  readonly applied: readonly [number, number];
}

/** Why a cell cannot be reached; undefined if it can. */
export function whyUnreachable({ point, effect, carrier }: Cell): string | undefined {
  const isLocal = carrier === "file" || carrier === "command";
  if (isLocal && effect !== "non_idempotent") {
    return "built-in tools that act on the outside are non_idempotent";
  }
  switch (point) {
    case "P1":
      // Only a command is looked at before anybody is asked about it.
      return carrier === "command"
        ? undefined
        : "one unit holds the proposal and its question, or its dispatch";
    case "P4":
      // Those that always ask show it; the others would show it once more.
      return isLocal ? undefined : "one unit holds the approval and the dispatch: it is P5";
    case "P6":
    case "P7":
      return carrier === "file" ? "a file is written within this process: nothing lies between" : undefined;
    case "P11":
      return "no tool of this release names a look-up: the mechanism of every conditional tool is its key";
    case "P12":
    case "P12b":
      return effect === "non_idempotent" ? undefined : "it is repeated, and nobody is asked";
    case "P13":
      return isLocal ? "its result is one small value, committed with the outcome" : undefined;
    case "P14":
      return carrier === "file" ? "its write cannot be held back for a cancel to meet it" : undefined;
    default:
      return undefined;
  }
}

/** All cells of the table. */
export const allCells: readonly Cell[] = points.flatMap((point) =>
  effects.flatMap((effect) => carriers.map((carrier) => ({ point, effect, carrier })))
);

/** The cells that are reached: first each point with each class, then the other carriers. */
export const cells: readonly Cell[] = ordered(allCells.filter((cell) => whyUnreachable(cell) === undefined));

function ordered(reached: readonly Cell[]): readonly Cell[] {
  const rows = Map.groupBy(reached, ({ point, effect }) => `${point} ${effect}`);
  // Every other row begins with the other carrier.
  const first = [...rows.values()].map((row, index) => row[index % Math.min(2, row.length)]);
  return [...first.flatMap((cell) => cell ?? []), ...reached.filter((cell) => !first.includes(cell))];
}

const once = [1, 1] as const;
const undoubted = { isDoubted: false, arrived: once, applied: once };

/** The row of the table, for an operator who looks what happened, and lets run again what did not. */
export function expectedOf({ point, effect }: Cell): Expected {
  const wasAsked = effect === "non_idempotent";
  switch (point) {
    case "P4":
    case "P5":
      // One unit holds an approval and its dispatch. An idempotent one may have started before its intent was on the disk (K9).
      return effect === "idempotent"
        ? { isDoubted: false, arrived: [1, 2], applied: [1, 2] }
        : { ...undoubted, isDoubted: wasAsked };
    case "P6":
      // A request that was under way may still land, and then is found; what died with us never arrives.
      return {
        isDoubted: wasAsked,
        arrived: [1, 2],
        applied: effect === "idempotent" ? [1, 2] : once,
      };
    case "P7":
    case "P8":
    case "P13":
      return wasAsked
        ? { ...undoubted, isDoubted: true }
        : { isDoubted: false, arrived: [2, 2], applied: effect === "conditional" ? once : [2, 2] };
    case "P12":
    case "P12b":
      return { ...undoubted, isDoubted: true };
    case "P14":
      // Nothing is repeated. Held before its effect, it may have died with us, or lands late.
      return { isDoubted: effect !== "idempotent", arrived: [1, 2], applied: [0, 1] };
    default:
      return undoubted;
  }
}
