/** Schemas in the few words that every provider knows: references written out, one type for each value. */
import type { Json, JsonObject } from "../../../schemas/json.ts";
import { isObject, refTarget } from "../../../schemas/json_schema_keywords.ts";
import { limits } from "../../../schemas/limits.ts";

/** Words that go over as they are, where their value is what it must be. */
const kept: { readonly [word: string]: (value: Json) => boolean } = {
  title: isText,
  description: isText,
  minimum: isNumber,
  maximum: isNumber,
  minLength: isNumber,
  maxLength: isNumber,
  minItems: isNumber,
  maxItems: isNumber,
  pattern: isText,
};

/** Formats that Google takes; the others say nothing that the description could not. */
const formats = new Set(["date-time", "enum", "float", "double", "int32", "int64"]);

interface Walk {
  readonly root: JsonObject;
  /** References that are being written out: one that leads back to itself ends there. */
  readonly within: readonly string[];
  readonly budget: { parts: number };
}

/** Makes the plain form of a schema. */
export function plainSchema(schema: JsonObject): JsonObject {
  return plain(schema, { root: schema, within: [], budget: { parts: limits.vendorSchemaPartsMax } });
}

function plain(schema: Json, walk: Walk): JsonObject {
  walk.budget.parts--;
  if (!isObject(schema) || walk.budget.parts < 0) return {};
  const { $ref: reference, ...beside } = schema;
  if (typeof reference === "string") return followed(reference, beside, walk);
  const all = schema["allOf"];
  if (Array.isArray(all)) {
    const { allOf: _, ...rest } = schema;
    return plain(all.map((one) => resolved(one, walk)).reduce<JsonObject>(merged, rest), walk);
  }
  return written(schema, walk);
}

/** What a reference leads to, with what stands beside it. */
function followed(reference: string, beside: JsonObject, walk: Walk): JsonObject {
  const target = walk.within.includes(reference) ? undefined : refTarget(walk.root, reference);
  if (!isObject(target)) {
    const description = beside["description"];
    return typeof description === "string" ? { description } : {};
  }
  return plain({ ...target, ...beside }, { ...walk, within: [...walk.within, reference] });
}

function resolved(schema: Json, walk: Walk): JsonObject {
  if (!isObject(schema)) return {};
  const { $ref: reference, ...beside } = schema;
  if (typeof reference !== "string") return schema;
  const target = walk.within.includes(reference) ? undefined : refTarget(walk.root, reference);
  return isObject(target) ? { ...target, ...beside } : beside;
}

/** Both of two schemas, as far as that can be said in one. */
function merged(left: JsonObject, right: JsonObject): JsonObject {
  const [mine, other] = [left["properties"], right["properties"]];
  const properties = isObject(mine) || isObject(other)
    ? { properties: { ...(mine as JsonObject | undefined), ...(other as JsonObject | undefined) } }
    : {};
  const names = [left["required"], right["required"]].flatMap((list) => Array.isArray(list) ? list : []);
  return { ...right, ...left, ...properties, ...(names.length > 0 ? { required: [...new Set(names)] } : {}) };
}

function written(schema: JsonObject, walk: Walk): JsonObject {
  const out: { [word: string]: Json } = {};
  for (const [word, value] of Object.entries(schema)) if (kept[word]?.(value)) out[word] = value;
  const format = schema["format"];
  if (typeof format === "string" && formats.has(format)) out["format"] = format;
  const values = valuesOf(schema);
  if (values !== undefined) sayValues(out, values);
  const branches = [schema["anyOf"], schema["oneOf"]].find((list) => Array.isArray(list)) as
    | Json[]
    | undefined;
  const types = [schema["type"]].flat().filter(isText) as string[];
  if (branches !== undefined) out["anyOf"] = branches.map((one) => plain(one, walk));
  else if (types.length > 1) {
    out["anyOf"] = types.map((type) => typed({ ...schema, type, description: "" }, type, walk));
  } else {
    const type = types[0] ?? impliedType(schema, values);
    if (type !== undefined) Object.assign(out, typed(schema, type, walk));
  }
  return out;
}

/** What belongs to one type. */
function typed(schema: JsonObject, type: string, walk: Walk): JsonObject {
  if (type === "array") return { type, items: itemsOf(schema, walk) };
  if (type !== "object") return { type };
  const properties = schema["properties"];
  if (!isObject(properties)) return { type };
  const names = Object.entries(properties as JsonObject);
  const required = schema["required"];
  const known = Array.isArray(required)
    ? required.filter((name) => isText(name) && Object.hasOwn(properties as JsonObject, name as string))
    : [];
  return {
    type,
    properties: Object.fromEntries(names.map(([name, one]) => [name, plain(one, walk)])),
    ...(known.length > 0 ? { required: known } : {}),
  };
}

/** Google refuses a list that does not say of what. */
function itemsOf(schema: JsonObject, walk: Walk): JsonObject {
  const { items, prefixItems } = schema;
  const list = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (list !== undefined && list.length > 0) {
    const [first, ...others] = list.map((one) => plain(one, walk));
    return others.length === 0 ? first ?? {} : { anyOf: [first ?? {}, ...others] };
  }
  const one = isObject(items) ? plain(items as JsonObject, walk) : {};
  return Object.keys(one).length === 0 ? { type: "string" } : one;
}

function valuesOf(schema: JsonObject): readonly Json[] | undefined {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
}

/** A list of texts is told as one; other values are told in words, for Google knows no others. */
function sayValues(out: { [word: string]: Json }, values: readonly Json[]): void {
  if (values.every(isText)) {
    out["enum"] = [...values];
    return;
  }
  const words = `One of: ${values.slice(0, 50).map((value) => JSON.stringify(value)).join(", ")}.`;
  out["description"] = [out["description"], words].filter(isText).join(" ");
}

function impliedType(schema: JsonObject, values: readonly Json[] | undefined): string | undefined {
  if (isObject(schema["properties"])) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  if (values === undefined || values.length === 0) return undefined;
  if (values.every(isText)) return "string";
  return values.every(isNumber)
    ? "number"
    : values.every((one) => typeof one === "boolean")
    ? "boolean"
    : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isNumber(value: unknown): boolean {
  return typeof value === "number";
}
