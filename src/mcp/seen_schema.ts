/** A tool's schema as a model may be told of it: what nobody sees is taken out of its words, and refused elsewhere. */
import type { Json, JsonObject } from "../../schemas/json.ts";
import { withoutUnseen } from "./plain_text.ts";

/** Keywords whose text is for readers alone. */
const words = new Set(["title", "description", "$comment"]);
/** Keywords whose values are arguments of the tool, not schemas. */
const values = new Set(["enum", "const", "default", "examples"]);

/**
 * The schema without unseen characters in its texts; undefined if a name or a value holds one: taking it out there would
 * change what the tool is called with. `schema` nests no deeper than JSON of the project may.
 */
export function seenSchema(schema: JsonObject): JsonObject | undefined {
  return seenPart(schema, "schema") as JsonObject | undefined;
}

/** What a part of a schema is: a schema itself, a map from names to schemas, or a value. */
type Kind = "schema" | "names" | "value";

function seenPart(part: Json, kind: Kind): Json | undefined {
  if (typeof part === "string") return isSeen(part) ? part : undefined;
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) {
    const seen = part.map((one) => seenPart(one, kind));
    return seen.every((one) => one !== undefined) ? seen as Json[] : undefined;
  }
  const whole: { [key: string]: Json } = {};
  for (const [key, value] of Object.entries(part as JsonObject)) {
    if (!isSeen(key)) return undefined;
    const isText = kind === "schema" && words.has(key) && typeof value === "string";
    const seen = isText ? withoutUnseen(value) : seenPart(value, kindBelow(kind, key));
    if (seen === undefined) return undefined;
    Object.defineProperty(whole, key, { value: seen, enumerable: true, writable: true, configurable: true });
  }
  return whole;
}

const maps = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

function kindBelow(kind: Kind, key: string): Kind {
  if (kind === "value") return "value";
  if (kind === "names") return "schema";
  return values.has(key) ? "value" : maps.has(key) ? "names" : "schema";
}

function isSeen(text: string): boolean {
  return withoutUnseen(text) === text;
}
