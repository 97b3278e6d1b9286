/** Bounds of JSON that a server sent: measured before anything walks it that would need a stack as deep as it nests. */
import { isJson, type JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";

/** What a value is wrapped into before it is stored: a definition in a source in a blob, a piece in an envelope. */
const wrapDepth = 8;

/** An object as it came. */
export type Fields = { readonly [key: string]: unknown };

/** True for an object that is no list, whatever it holds. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Why an object cannot be kept by the rules of the project for JSON; undefined if it can be. */
export function jsonProblem(value: { readonly [key: string]: unknown }): string | undefined {
  const depthMax = limits.jsonDepthMax - wrapDepth;
  let nodes = 0;
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth > depthMax) return `it nests more than ${depthMax} deep`;
    const depth = next.depth + 1;
    for (const part of Object.values(next.value)) {
      if (++nodes > limits.jsonNodesMax) return `it holds more than ${limits.jsonNodesMax} values`;
      waiting.push({ value: part, depth });
    }
  }
  return isJson(value)
    ? undefined
    : "it holds a number out of range, or a key with a quote, backslash or control character";
}

/** The object as a JSON object, or why it is none. */
export function asJsonObject(
  value: { readonly [key: string]: unknown },
): { readonly json: JsonObject } | { readonly problem: string } {
  const problem = jsonProblem(value);
  return problem === undefined ? { json: value as JsonObject } : { problem };
}
