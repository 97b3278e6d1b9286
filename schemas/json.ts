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

/** True if `value` is made of JSON values only: no undefined, no NaN, no class instances. */
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
    if (Array.isArray(next)) waiting.push(...next);
    else {
      const prototype = Object.getPrototypeOf(next);
      if (prototype !== Object.prototype && prototype !== null) return false;
      waiting.push(...Object.values(next as Record<string, unknown>));
    }
  }
  return true;
}
