/** Where two values begin to differ: what a person wants to see of two long ones. */
import type { Json } from "../../schemas/json.ts";
import { isSameJson } from "../canonical.ts";

/** The first place where two values differ, from the outside in. */
export interface Difference {
  /** Keys and indexes, joined by dots; "" if the values differ as a whole. */
  readonly path: string;
  /** Undefined if one side has nothing there. */
  readonly expected: Json | undefined;
  readonly got: Json | undefined;
}

/** The first difference of two values; undefined if they are the same. */
export function firstDifference(expected: Json, got: Json): Difference | undefined {
  if (isSameJson(expected, got)) return undefined;
  const path: string[] = [];
  let left: Json | undefined = expected;
  let right: Json | undefined = got;
  while (isBranch(left) && isBranch(right) && Array.isArray(left) === Array.isArray(right)) {
    const [before, after]: readonly [Branch, Branch] = [left, right];
    const step: string | undefined = [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .find((key) => !isSameJson(before[key], after[key]));
    if (step === undefined) break;
    path.push(step);
    left = before[step];
    right = after[step];
  }
  return { path: path.join("."), expected: left, got: right };
}

/** An array or an object: both are looked up by keys. */
interface Branch {
  readonly [key: string]: Json;
}

function isBranch(value: unknown): value is Branch {
  return typeof value === "object" && value !== null;
}
