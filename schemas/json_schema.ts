/** Checks arguments against the JSON Schema of a tool; what it does not understand, it refuses. */
import type { Json, JsonObject } from "./json.ts";
import { isObject, keywords, refTarget, type Visit, visit } from "./json_schema_keywords.ts";
import { limits } from "./limits.ts";
import { compilePattern, type Pattern } from "./pattern.ts";

/** Schemas visited and characters matched in one check; beyond it the arguments are refused unchecked. */
const stepsMax = 1_000_000;

/** What is known of a schema before any value is seen. */
interface Prepared {
  readonly problem: string | undefined;
  readonly patterns: ReadonlyMap<string, Pattern>;
}

const prepared = new WeakMap<JsonObject, Prepared>();

/** Constrain a value, but are not understood: a schema that has one is refused. */
const refusedKeywords = new Set(
  ("minContains maxContains unevaluatedItems unevaluatedProperties dependencies additionalItems $dynamicRef " +
    "$recursiveRef").split(" "),
);

/**
 * Checks `value` against `schema` (draft 2020-12 and what draft-07 shares with it). Returns the problems, at most 5, one
 * line each with the path, and none of the values; empty if it fits. A schema with a keyword that constrains but is not
 * understood, or with a reference outside itself, fits nothing (fail closed). `format` is an annotation, as the draft
 * says; unknown keywords are too. zod's own `fromJSONSchema` is not used: in 4.6.7 it ignores, without a word, `required`
 * names outside `properties`, keywords without `type`, neighbours of `$ref`, `enum` and `allOf`, and lets a `default`
 * stand in for a required value. `isOpaque` tells of a value that it stands for another, which is not here.
 */
export function checkArguments(
  schema: JsonObject,
  value: JsonObject,
  isOpaque?: (value: Json) => boolean,
): string[] {
  return check({ schema, value, path: "arguments", isOpaque });
}

/** As {@linkcode checkArguments}, for what a tool gave back. */
export function checkResult(schema: JsonObject, value: JsonObject): string[] {
  return check({ schema, value, path: "result" });
}

/** As {@linkcode checkArguments}, for what a turn answers: any JSON value. */
export function checkAnswer(schema: JsonObject, value: Json): string[] {
  return check({ schema, value, path: "answer" });
}

interface Checked {
  readonly schema: JsonObject;
  readonly value: Json;
  /** What the value is called in problems. */
  readonly path: string;
  readonly isOpaque?: ((value: Json) => boolean) | undefined;
}

function check({ schema, value, path, isOpaque }: Checked): string[] {
  const { problem, patterns } = prepare(schema);
  if (problem !== undefined) return [`the schema of this tool is not supported: ${problem}`];
  const budget = { stepsLeft: stepsMax };
  const problems: string[] = [];
  const start: Visit = {
    schema,
    value,
    path,
    depth: 0,
    check: { root: schema, patterns, problems, budget, isOpaque },
  };
  visit(start, schema);
  return budget.stepsLeft < 0 ? [`${path}: too large or too deeply nested to be checked`] : problems;
}

/** Why no value can be checked against a schema, in one clause; undefined if it is well. */
export function schemaProblem(schema: JsonObject): string | undefined {
  return prepare(schema).problem;
}

function prepare(schema: JsonObject): Prepared {
  const before = prepared.get(schema);
  if (before !== undefined) return before;
  const patterns = new Map<string, Pattern>();
  const waiting: Json[] = [schema];
  let problem: string | undefined;
  for (let next = waiting.pop(); next !== undefined && problem === undefined; next = waiting.pop()) {
    if (!isObject(next)) continue;
    for (const [name, rule] of Object.entries(next)) {
      problem ??= refuse(schema, name, rule, patterns);
      for (const part of keywords.get(name)?.parts(rule) ?? []) waiting.push(part);
    }
  }
  const known = { problem, patterns };
  prepared.set(schema, known);
  return known;
}

function refuse(
  root: JsonObject,
  name: string,
  rule: Json,
  patterns: Map<string, Pattern>,
): string | undefined {
  if (refusedKeywords.has(name)) return `the keyword "${name}" is not understood`;
  const keyword = keywords.get(name);
  if (keyword === undefined) return undefined;
  if (keyword.parts(rule) === undefined) return `the keyword "${name}" is malformed`;
  if (name === "$ref" && refTarget(root, rule) === undefined) {
    return "a $ref does not lead to a place in the schema";
  }
  const sources = name === "pattern"
    ? [String(rule)]
    : name === "patternProperties"
    ? Object.keys(rule ?? {})
    : [];
  for (const source of sources) {
    const pattern = source.length <= limits.regexCharactersMax ? compilePattern(source) : undefined;
    if (pattern === undefined) return "a pattern is too long or not understood";
    patterns.set(source, pattern);
  }
  return undefined;
}
