/** Schemas of tools in the words that a provider understands. What a call must fit stays the catalog's own schema. */
import type { Json, JsonObject } from "../../../schemas/json.ts";
import { isObject } from "../../../schemas/json_schema_keywords.ts";
import { limits } from "../../../schemas/limits.ts";
import { plainSchema } from "./plain_schema.ts";

const told = { strict: new WeakMap<JsonObject, JsonObject>(), plain: new WeakMap<JsonObject, JsonObject>() };

/**
 * The schema as it is told: always an object at its root, without combinations there and without the dialect's address,
 * and never larger than a bound. `isStrict`: the provider takes what JSON Schema 2020-12 has (`strictToolSchema`);
 * otherwise references are written out and what not every provider knows is left out. The same schema gives the same.
 */
export function toldSchema(schema: JsonObject, isStrict: boolean): JsonObject {
  const known = isStrict ? told.strict : told.plain;
  const before = known.get(schema);
  if (before !== undefined) return before;
  const made = bounded(rootOf(isStrict ? asModern(schema) as JsonObject : plainSchema(schema)));
  known.set(schema, made);
  return made;
}

const combinations = ["allOf", "anyOf", "oneOf"] as const;

/** No vendor takes a choice at the root: the properties of all its branches are offered instead. */
function rootOf(schema: JsonObject): JsonObject {
  const { allOf, anyOf, oneOf, $schema: _schema, $id: _id, ...rest } = schema;
  const properties: { [name: string]: Json } = {};
  for (const branch of [allOf, anyOf, oneOf].flatMap((list) => Array.isArray(list) ? list : [])) {
    if (isObject(branch) && isObject(branch["properties"])) Object.assign(properties, branch["properties"]);
  }
  if (isObject(rest["properties"])) Object.assign(properties, rest["properties"]);
  const required = [rest["required"], ...(Array.isArray(allOf) ? allOf : []).map(requiredOf)].flat()
    .filter((name): name is string => typeof name === "string" && Object.hasOwn(properties, name));
  const hasChoice = combinations.some((name) => schema[name] !== undefined);
  return {
    ...rest,
    type: "object",
    properties,
    // With properties from branches, an answer that fits one of them must not be forbidden.
    ...(hasChoice && rest["additionalProperties"] === false ? { additionalProperties: true } : {}),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
}

function requiredOf(branch: Json): Json {
  return isObject(branch) ? branch["required"] ?? [] : [];
}

/** What draft-07 and before said otherwise than 2020-12, said as 2020-12 does. */
function asModern(schema: Json, depth = 0): Json {
  if (depth > limits.jsonDepthMax) return true;
  if (Array.isArray(schema)) return schema.map((one) => asModern(one, depth + 1));
  if (!isObject(schema)) return schema;
  const modern: { [name: string]: Json } = {};
  for (const [name, rule] of Object.entries(schema)) {
    // What is said of values is no schema, and a map of names has no words of its own.
    if (values.has(name)) modern[name] = rule;
    else if (maps.has(name) && isObject(rule)) {
      const named = Object.entries(rule).map(([key, one]) => [key, asModern(one, depth + 1)]);
      modern[name] = Object.fromEntries(named);
    } else modern[name] = asModern(rule, depth + 1);
  }
  return withoutOldWords(modern);
}

const values = new Set(["enum", "const", "default", "examples"]);
const maps = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

function withoutOldWords(modern: { [name: string]: Json }): JsonObject {
  const { items, additionalItems } = modern;
  if (Array.isArray(items)) {
    modern["prefixItems"] = items;
    if (additionalItems === undefined) delete modern["items"];
    else modern["items"] = additionalItems;
  }
  delete modern["additionalItems"];
  for (const [flag, bound] of [["exclusiveMinimum", "minimum"], ["exclusiveMaximum", "maximum"]] as const) {
    if (typeof modern[flag] !== "boolean") continue;
    if (modern[flag] === true && modern[bound] !== undefined) {
      modern[flag] = modern[bound];
      delete modern[bound];
    } else delete modern[flag];
  }
  return modern;
}

/** A schema that is too large loses first its descriptions, then everything but the names of its properties. */
function bounded(schema: JsonObject): JsonObject {
  if (fits(schema)) return schema;
  const bare = withoutWords(schema) as JsonObject;
  if (fits(bare)) return bare;
  const names = Object.keys(isObject(schema["properties"]) ? schema["properties"] : {});
  const thin = { type: "object", properties: Object.fromEntries(names.map((name) => [name, {}])) };
  return fits(thin) ? thin : { type: "object", properties: {} };
}

function fits(schema: JsonObject): boolean {
  return JSON.stringify(schema).length <= limits.vendorSchemaCharactersMax;
}

const words = new Set(["description", "title", "examples", "default", "$comment"]);

function withoutWords(schema: Json, isNames = false): Json {
  if (Array.isArray(schema)) return schema.map((one) => withoutWords(one));
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([name]) => isNames || !words.has(name));
  return Object.fromEntries(
    kept.map(([name, rule]) => [name, values.has(name) ? rule : withoutWords(rule, maps.has(name))]),
  );
}
