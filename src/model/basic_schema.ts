/** A schema in the words that no provider refuses, for one that was refused: what a call must fit stays the catalog's. */
import type { Json, JsonObject } from "../../schemas/json.ts";
import { isObject } from "../../schemas/json_schema_keywords.ts";
import { plainSchema } from "./vendor/plain_schema.ts";

/** The types that every provider knows. */
const types: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean"]);

/** Only `type`, `properties`, `required`, `items`, `enum` and `description` are left of it; references are written out first. */
export function basicSchema(schema: JsonObject): JsonObject {
  const { type: _type, ...rest } = basic(plainSchema(schema));
  return { type: "object", ...rest, properties: isObject(rest["properties"]) ? rest["properties"] : {} };
}

function basic(schema: Json): JsonObject {
  if (!isObject(schema)) return {};
  const { anyOf, description, enum: values } = schema;
  // Of a choice the first branch is told: what it leaves out, the call is still checked by.
  const branch = Array.isArray(anyOf) ? anyOf.find(isObject) : undefined;
  const { type, properties, required, items } = branch === undefined ? schema : basic(branch);
  const names = isObject(properties) ? Object.entries(properties) : undefined;
  return {
    ...(types.has(type) ? { type: type as Json } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(Array.isArray(values) ? { enum: values } : {}),
    ...(names === undefined
      ? {}
      : { properties: Object.fromEntries(names.map(([name, one]) => [name, basic(one)])) }),
    ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
    ...(items === undefined ? {} : { items: basic(items) }),
  };
}
