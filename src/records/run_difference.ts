/** Where two runs of a session differ. */
import { type FieldDrift, fieldsBetween } from "../field_drift.ts";
import type { RunEvent } from "./run_fold.ts";

/** Something that is not the same in both runs: other fields, or there in one of them alone. */
export interface RunDifference {
  readonly what: string;
  /** Its entry in each run; absent where there is none. */
  readonly left?: number;
  readonly right?: number;
  /** Empty if one run alone has it. */
  readonly fields: readonly FieldDrift[];
}

/**
 * The differences of two runs, in the order of the left one. What both did in another order, as calls that run at once
 * may, is no difference.
 */
export function differencesBetween(
  left: readonly RunEvent[],
  right: readonly RunEvent[],
): readonly RunDifference[] {
  const others = new Map(right.map((event) => [event.key, event]));
  const found: { readonly place: number; readonly difference: RunDifference }[] = [];
  for (const [place, event] of left.entries()) {
    const other = others.get(event.key);
    others.delete(event.key);
    if (other === undefined) {
      found.push({ place, difference: { what: event.label, left: event.seq, fields: [] } });
      continue;
    }
    const fields = fieldsBetween(event.body, other.body);
    if (fields.length === 0) continue;
    const places = { left: event.seq, right: other.seq };
    found.push({ place, difference: { what: event.label, ...places, fields } });
  }
  for (const [place, event] of right.entries()) {
    if (!others.has(event.key)) continue;
    found.push({ place, difference: { what: event.label, right: event.seq, fields: [] } });
  }
  return found.sort((a, b) => a.place - b.place).map(({ difference }) => difference);
}
