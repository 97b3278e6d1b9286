/** JSON values: what may cross a border, and nothing else. */
import { z } from "zod";

/** Any JSON value, read-only. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object, read-only. */
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Accepts a JSON value. Depth and size are checked at the border, before this runs: see `src/border.ts`. */
export const Json: z.ZodType<Json> = z.custom<Json>((value) => isJson(value), {
  message: "must be a JSON value",
});

/** Accepts a JSON object. */
export const JsonObject: z.ZodType<JsonObject> = z.custom<JsonObject>(
  (value) => isJson(value) && typeof value === "object" && value !== null && !Array.isArray(value),
  { message: "must be a JSON object" },
);

/**
 * Keys that JSON writes with an escape. V8 15.0 can give an escaped key back as another one (`{"\\t":1}` parsed as
 * `{"\\\\":1}` after an object that had such a key), and a text that does not parse to what was written cannot be
 * journaled. Such keys are refused where values enter.
 */
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const escapedKey = /["\\\u0000-\u001f\u007f]/;

/** True if `value` is made of JSON values only: no undefined, no NaN, no class instances, no key with an escape. */
export function isJson(value: unknown): value is Json {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (next === null || typeof next === "string" || typeof next === "boolean") continue;
    if (typeof next === "number") {
      if (!Number.isFinite(next)) return false;
      continue;
    }
    if (typeof next !== "object") return false;
    if (Array.isArray(next)) { for (const item of next) waiting.push(item); }
    else {
      const prototype = Object.getPrototypeOf(next);
      if (prototype !== Object.prototype && prototype !== null) return false;
      for (const [key, item] of Object.entries(next)) {
        if (escapedKey.test(key)) return false;
        waiting.push(item);
      }
    }
  }
  return true;
}

/** JSON text with the keys of every object sorted: one text for one value. For hashing, never for snapshots (K5). */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields);
  if (!isSorted(keys)) keys.sort();
  let text = "";
  for (const key of keys) {
    const field = fields[key];
    if (field === undefined) continue;
    if (text !== "") text += ",";
    text += `${quoted(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}

/** Text that JSON writes as it is. */
const plainText = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function quoted(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

function isSorted(keys: readonly string[]): boolean {
  let before = "";
  for (const key of keys) {
    if (key < before) return false;
    before = key;
  }
  return true;
}
