/** Canonical JSON: one text for one value, for hashes and comparisons (K5). */
import { canonicalJson, type Json } from "../schemas/json.ts";

/** Values that are plain and frozen through and through: large ones come again and again. */
const known = new WeakSet<object>();

/** A value as the journal will give it back: what a machine is handed, live and in replay. Drops undefined fields. */
export function throughJson<T>(value: T): T {
  if (isPlain(value, 0)) {
    if (typeof value === "object" && value !== null) known.add(deepFreeze(value));
    return value;
  }
  return JSON.parse(JSON.stringify(value)) as T;
}

/** True if JSON gives back the very same value: nothing that it drops, changes or calls. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object" || depth > 32) return false;
  if (known.has(value)) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isPlain(item, depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

/** True if two values have the same JSON, whatever the order of their keys; undefined fields count as absent. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    for (let index = 0; index < left.length; index++) {
      if (!isSameJson(left[index], right[index])) return false;
    }
    return true;
  }
  if (Array.isArray(right)) return false;
  return hasSameFields(left as Record<string, unknown>, right as Record<string, unknown>);
}

function hasSameFields(left: Record<string, unknown>, right: Record<string, unknown>): boolean {
  for (const key in left) if (!isSameJson(left[key], right[key])) return false;
  for (const key in right) if (right[key] !== undefined && left[key] === undefined) return false;
  return true;
}

/** Freezes a JSON value through and through, and returns it: shared references then need no copies. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

/** The UTF-8 bytes of a value's canonical JSON. */
export function canonicalBytes(value: Json): Uint8Array {
  return new TextEncoder().encode(canonicalJson(value));
}
