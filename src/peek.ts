/** Looks into JSON whose shape is another release's matter, without trusting it. */
import type { Json } from "../schemas/json.ts";

/** The value at a path; undefined if there is none. */
export function peek(value: unknown, ...path: readonly (string | number)[]): Json | undefined {
  let found: unknown = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as { readonly [step: string | number]: unknown })[step];
  }
  return found as Json | undefined;
}

/** The text at a path; "" if there is none. */
export function peekText(value: unknown, ...path: readonly (string | number)[]): string {
  const found = peek(value, ...path);
  return typeof found === "string" ? found : typeof found === "number" ? String(found) : "";
}

/** The list at a path; empty if there is none. */
export function peekList(value: unknown, ...path: readonly (string | number)[]): readonly Json[] {
  const found = peek(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The object at a path; empty if there is none. */
export function peekObject(
  value: unknown,
  ...path: readonly (string | number)[]
): { readonly [key: string]: Json } {
  const found = peek(value, ...path);
  return typeof found === "object" && found !== null && !Array.isArray(found)
    ? found as { readonly [key: string]: Json }
    : {};
}
