/** What each keyword of JSON Schema does to a value: one table, so that a keyword is understood or it is not there. */
import { canonicalJson, type Json, type JsonObject } from "./json.ts";
import type { Budget, Pattern } from "./pattern.ts";

/** Most problems that one check names. */
const problemsMax = 5;
/** Longest problem, in characters. */
const problemCharactersMax = 300;
/** Schemas inside each other in one check, references included. */
const schemaDepthMax = 200;
/** What one schema costs of the budget, measured against one character of a pattern. */
const visitSteps = 4;

/** One check at work. Sub-checks of `anyOf` and its like have problems of their own and share the budget. */
export interface Check {
  readonly root: JsonObject;
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly problems: string[];
  readonly budget: Budget;
  /** True for a value that stands for one that is not here: it fits whatever is asked of it. */
  readonly isOpaque?: ((value: Json) => boolean) | undefined;
}

/** One schema met by one value, at a path such as `arguments.lines[0]`. */
export interface Visit {
  readonly schema: JsonObject;
  readonly value: Json;
  readonly path: string;
  readonly depth: number;
  readonly check: Check;
}

/** What one keyword does. `parts` gives the schemas inside its rule, or undefined if the rule is malformed. */
export interface Keyword {
  readonly parts: (rule: Json) => readonly Json[] | undefined;
  readonly apply: (at: Visit, rule: Json) => void;
}

/** True for an object that is no list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The place in a schema that a `$ref` leads to. Only places inside the schema itself: nothing is ever fetched (B85). */
export function refTarget(root: JsonObject, ref: Json): JsonObject | boolean | undefined {
  if (typeof ref !== "string" || !/^#(?:\/|$)/.test(ref)) return undefined;
  let place: Json | undefined = root;
  for (const part of ref.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    place = isList(place) ? place[Number(key)] : own(place, key);
  }
  return isSchema(place) ? place : undefined;
}

/** Applies every keyword of a schema to a value; problems and spent steps go to the check. */
export function visit(at: Visit, schema: Json): void {
  const { budget } = at.check;
  if (at.depth > schemaDepthMax) budget.stepsLeft = -1;
  budget.stepsLeft -= visitSteps;
  if (budget.stepsLeft < 0) return;
  if (schema === false) report(at, at.path, "is not allowed");
  if (!isObject(schema) || at.check.isOpaque?.(at.value) === true) return;
  const here = { ...at, schema };
  for (const [name, rule] of Object.entries(schema)) keywords.get(name)?.apply(here, rule);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isSchema(rule: Json | undefined): rule is JsonObject | boolean {
  return typeof rule === "boolean" || isObject(rule);
}

function own(object: Json | undefined, key: string): Json | undefined {
  return isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

function entriesOf(value: Json | undefined): readonly [string, Json][] {
  return isObject(value) ? Object.entries(value) : [];
}

function report(at: Visit, path: string, problem: string): void {
  if (at.check.problems.length >= problemsMax) return;
  at.check.problems.push(`${path}: ${problem}`.slice(0, problemCharactersMax));
}

function descend(at: Visit, schema: Json, value: Json, path: string): void {
  visit({ ...at, value, path, depth: at.depth + 1 }, schema);
}

function passes(at: Visit, schema: Json, value: Json): boolean {
  const problems: string[] = [];
  descend({ ...at, check: { ...at.check, problems } }, schema, value, at.path);
  return problems.length === 0;
}

function matches(at: Visit, source: string, text: string): boolean {
  return at.check.patterns.get(source)?.(text, at.check.budget) ?? false;
}

function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** The shapes that rules have: the schemas inside a rule, or undefined if it is malformed. */
const shapes = {
  anything: () => [],
  number: (rule: Json) => typeof rule === "number" ? [] : undefined,
  text: (rule: Json) => typeof rule === "string" ? [] : undefined,
  list: (rule: Json) => isList(rule) ? [] : undefined,
  names: (rule: Json) => isList(rule) && rule.every((one) => typeof one === "string") ? [] : undefined,
  schema: (rule: Json) => isSchema(rule) ? [rule] : undefined,
  schemas: (rule: Json) => isList(rule) && rule.every(isSchema) ? rule : undefined,
  schemaMap: (rule: Json) =>
    isObject(rule) && Object.values(rule).every(isSchema) ? Object.values(rule) : undefined,
};

/** What is measured in a value; undefined for a value of another type, to which the keyword says nothing. */
const measures = {
  amount: (value: Json) => typeof value === "number" ? value : undefined,
  letters: (value: Json) => typeof value === "string" ? [...value].length : undefined,
  items: (value: Json) => isList(value) ? value.length : undefined,
  members: (value: Json) => isObject(value) ? Object.keys(value).length : undefined,
};

function atLeast(size: number, rule: number): boolean {
  return size >= rule;
}

function atMost(size: number, rule: number): boolean {
  return size <= rule;
}

function isMultiple(size: number, rule: number): boolean {
  const ratio = size / rule;
  return Math.abs(ratio - Math.round(ratio)) <= 1e-9 * Math.max(1, Math.abs(ratio));
}

function keyword(parts: Keyword["parts"], apply: Keyword["apply"]): Keyword {
  return { parts, apply };
}

type Measure = (value: Json) => number | undefined;

function bound(measure: Measure, fits: (size: number, rule: number) => boolean, says: string): Keyword {
  return keyword(shapes.number, (at, rule) => {
    const size = measure(at.value);
    if (typeof rule === "number" && size !== undefined && !fits(size, rule)) {
      report(at, at.path, `${says} ${rule}`);
    }
  });
}

function choice(fits: (passed: number) => boolean, says: string): Keyword {
  return keyword(shapes.schemas, (at, rule) => {
    if (!fits(listOf(rule).filter((part) => passes(at, part, at.value)).length)) report(at, at.path, says);
  });
}

const typeTests = new Map<Json, (value: Json) => boolean>([
  ["null", (value) => value === null],
  ["boolean", (value) => typeof value === "boolean"],
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  ["integer", (value) => Number.isInteger(value)],
  ["array", isList],
  ["object", isObject],
]);

function listOf(rule: Json): readonly Json[] {
  return isList(rule) ? rule : [rule];
}

function requireMembers(at: Visit, rule: Json): void {
  if (!isObject(at.value) || !isList(rule)) return;
  for (const name of rule.map(String)) {
    if (!Object.hasOwn(at.value, name)) report(at, memberPath(at.path, name), "is required");
  }
}

/** Members that neither `properties` nor `patternProperties` of the schema names. */
function extraMembers(at: Visit): readonly [string, Json][] {
  const sources = entriesOf(own(at.schema, "patternProperties")).map(([source]) => source);
  return entriesOf(at.value).filter(([key]) =>
    own(own(at.schema, "properties"), key) === undefined &&
    !sources.some((source) => matches(at, source, key))
  );
}

/** Every keyword that is understood. */
export const keywords: ReadonlyMap<string, Keyword> = new Map(Object.entries({
  $defs: keyword(shapes.schemaMap, () => {}),
  definitions: keyword(shapes.schemaMap, () => {}),
  $ref: keyword(shapes.text, (at, rule) => {
    descend(at, refTarget(at.check.root, rule) ?? false, at.value, at.path);
  }),
  type: keyword((rule) => listOf(rule).every((type) => typeTests.has(type)) ? [] : undefined, (at, rule) => {
    if (listOf(rule).some((type) => typeTests.get(type)?.(at.value))) return;
    report(at, at.path, `must be ${listOf(rule).join(" or ")}`);
  }),
  enum: keyword(shapes.list, (at, rule) => {
    const texts = listOf(rule).map(canonicalJson);
    if (!texts.includes(canonicalJson(at.value))) report(at, at.path, `must be one of ${texts.join(", ")}`);
  }),
  const: keyword(shapes.anything, (at, rule) => {
    if (canonicalJson(rule) !== canonicalJson(at.value)) {
      report(at, at.path, `must be ${canonicalJson(rule)}`);
    }
  }),
  minimum: bound(measures.amount, atLeast, "must be at least"),
  maximum: bound(measures.amount, atMost, "must be at most"),
  exclusiveMinimum: bound(measures.amount, (size, rule) => size > rule, "must be more than"),
  exclusiveMaximum: bound(measures.amount, (size, rule) => size < rule, "must be less than"),
  multipleOf: bound(measures.amount, isMultiple, "must be a multiple of"),
  minLength: bound(measures.letters, atLeast, "must have at least this many characters:"),
  maxLength: bound(measures.letters, atMost, "must have at most this many characters:"),
  pattern: keyword(shapes.text, (at, rule) => {
    if (typeof at.value !== "string" || matches(at, String(rule), at.value)) return;
    report(at, at.path, `must match the pattern ${rule}`);
  }),
  minItems: bound(measures.items, atLeast, "must have at least this many items:"),
  maxItems: bound(measures.items, atMost, "must have at most this many items:"),
  uniqueItems: keyword((rule) => typeof rule === "boolean" ? [] : undefined, (at, rule) => {
    if (rule !== true || !isList(at.value)) return;
    if (new Set(at.value.map(canonicalJson)).size < at.value.length) {
      report(at, at.path, "must not repeat an item");
    }
  }),
  prefixItems: keyword(shapes.schemas, (at, rule) => {
    for (const [index, item] of (isList(at.value) ? at.value : []).entries()) {
      descend(at, listOf(rule)[index] ?? true, item, `${at.path}[${index}]`);
    }
  }),
  items: keyword(shapes.schema, (at, rule) => {
    const from = measures.items(own(at.schema, "prefixItems") ?? []) ?? 0;
    for (const [index, item] of (isList(at.value) ? at.value : []).entries()) {
      if (index >= from) descend(at, rule, item, `${at.path}[${index}]`);
    }
  }),
  contains: keyword(shapes.schema, (at, rule) => {
    if (!isList(at.value) || at.value.some((item) => passes(at, rule, item))) return;
    report(at, at.path, "lacks an item that must be there");
  }),
  minProperties: bound(measures.members, atLeast, "must have at least this many members:"),
  maxProperties: bound(measures.members, atMost, "must have at most this many members:"),
  required: keyword(shapes.names, requireMembers),
  properties: keyword(shapes.schemaMap, (at, rule) => {
    for (const [key, part] of entriesOf(rule)) {
      const member = own(at.value, key);
      if (member !== undefined) descend(at, part, member, memberPath(at.path, key));
    }
  }),
  patternProperties: keyword(shapes.schemaMap, (at, rule) => {
    for (const [source, part] of entriesOf(rule)) {
      for (const [key, member] of entriesOf(at.value)) {
        if (matches(at, source, key)) descend(at, part, member, memberPath(at.path, key));
      }
    }
  }),
  additionalProperties: keyword(shapes.schema, (at, rule) => {
    for (const [key, member] of extraMembers(at)) descend(at, rule, member, memberPath(at.path, key));
  }),
  propertyNames: keyword(shapes.schema, (at, rule) => {
    for (const [key] of entriesOf(at.value)) descend(at, rule, key, memberPath(at.path, key));
  }),
  dependentRequired: keyword(
    (rule) => entriesOf(rule).every(([, list]) => shapes.names(list)) ? [] : undefined,
    (at, rule) => {
      for (const [key, list] of entriesOf(rule)) {
        if (own(at.value, key) !== undefined) requireMembers(at, list);
      }
    },
  ),
  dependentSchemas: keyword(shapes.schemaMap, (at, rule) => {
    for (const [key, part] of entriesOf(rule)) {
      if (own(at.value, key) !== undefined) descend(at, part, at.value, at.path);
    }
  }),
  if: keyword(shapes.schema, (at, rule) => {
    const branch = own(at.schema, passes(at, rule, at.value) ? "then" : "else");
    if (branch !== undefined) descend(at, branch, at.value, at.path);
  }),
  then: keyword(shapes.schema, () => {}),
  else: keyword(shapes.schema, () => {}),
  allOf: keyword(shapes.schemas, (at, rule) => {
    for (const part of listOf(rule)) descend(at, part, at.value, at.path);
  }),
  anyOf: choice((passed) => passed > 0, "fits none of the forms that are allowed"),
  oneOf: choice((passed) => passed === 1, "must fit exactly one of the forms that are allowed"),
  not: keyword(shapes.schema, (at, rule) => {
    if (passes(at, rule, at.value)) report(at, at.path, "has a form that is not allowed");
  }),
}));
