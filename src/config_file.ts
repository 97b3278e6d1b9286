/** Config files: YAML through a schema, with every complaint at its place in the text. */
import { z } from "zod";
import { parseYaml, type Place, type YamlDocument } from "./yaml.ts";

/** Complaints that one message lists; the rest is counted. */
const complaintsMax = 5;

/** Unions inside unions that are looked into for the complaint that helps most. */
const unionDepthMax = 8;

type Issue = z.core.$ZodIssue;

interface Complaint {
  readonly place: Place;
  /** What is wrong and what to do. */
  readonly text: string;
}

/** What can be wrong with a config file. */
export type ConfigErrorCode = "config_invalid" | "transport_unsupported";

/** A config file that is well-formed YAML but not what its schema asks for. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** Stable; for programs. */
  readonly code: ConfigErrorCode;
  /** The name that the caller gave to the text. */
  readonly file: string;
  /** Line of the first complaint, counted from 1. */
  readonly line: number;
  /** Column of the first complaint, counted from 1, in UTF-16 units. */
  readonly column: number;

  constructor(message: string, file: string, place: Place, code: ConfigErrorCode = "config_invalid") {
    super(message);
    this.code = code;
    this.file = file;
    this.line = place.line;
    this.column = place.column;
  }
}

/**
 * Reads a config file's text through its schema.
 *
 * Throws {@linkcode ConfigError} with at most five complaints, in text order, each as `file:line:column: what is
 * wrong; what to do`, and `YamlError` for text that is not the YAML that we accept. Never shows a value: it may be
 * a secret in the wrong place.
 */
export async function readConfigFile<T>(schema: z.ZodType<T>, text: string, file: string): Promise<T> {
  const document = parseYaml(text, { file });
  const parsed = await schema.safeParseAsync(document.value);
  if (parsed.success) return parsed.data;
  const complaints = firstPerPath(parsed.error.issues)
    .flatMap((issue) => complaintsOf(issue, document))
    .sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  throw new ConfigError(messageOf(complaints, file), file, complaints[0]?.place ?? { line: 1, column: 1 });
}

/** One value of the wrong kind can break several rules; the first says enough. Unknown keys are all kept. */
function firstPerPath(issues: readonly Issue[]): readonly Issue[] {
  const seen = new Set<string>();
  return issues.filter((issue) => {
    const path = JSON.stringify(issue.path.map(String));
    if (issue.code === "unrecognized_keys") return true;
    if (seen.has(path)) return false;
    seen.add(path);
    return true;
  });
}

function messageOf(complaints: readonly Complaint[], file: string): string {
  const lines = complaints.slice(0, complaintsMax).map(({ place, text }) =>
    `${file}:${place.line}:${place.column}: ${text}`
  );
  const rest = complaints.length - lines.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  const separator = lines.length === 1 ? " " : "\n  ";
  return `Cannot read "${file}":${separator}${lines.join(separator)}`;
}

function complaintsOf(issue: Issue, document: YamlDocument): readonly Complaint[] {
  const found = mostSpecific(issue, document.value, unionDepthMax);
  const path = found.path.map((step) => typeof step === "number" ? step : String(step));
  if (found.code === "unrecognized_keys") {
    return found.keys.map((key) => ({
      place: document.keyAt([...path, key]),
      text: `unknown key "${key}"${belowOf(path)}; remove it or correct its spelling`,
    }));
  }
  const isKeyWrong = found.code === "invalid_key";
  const place = isKeyWrong ? document.keyAt(path) : document.at(path);
  return [{ place, text: describe(found, path, document.value) }];
}

/** Of a union's complaints, those of the branch that the value came nearest to. */
function mostSpecific(issue: Issue, root: unknown, depth: number): Issue {
  if (issue.code !== "invalid_union" || depth === 0) return issue;
  const branches = issue.errors
    .filter((branch) => !branch.some((inner) => inner.path.length === 0 && inner.code === "invalid_type"))
    .sort((a, b) => a.length - b.length);
  const inner = branches[0]?.[0];
  if (!inner) return issue;
  return mostSpecific({ ...inner, path: [...issue.path, ...inner.path] }, root, depth - 1);
}

function describe(issue: Issue, path: readonly (string | number)[], root: unknown): string {
  const name = nameOf(path);
  const isMissing = path.length > 0 && valueAt(root, path) === undefined;
  const wanted = wantedOf(issue);
  if (isMissing) return `the key ${name} is missing; add it${wanted && ` with ${wanted}`}`;
  if (wanted) {
    const found = kindOf(valueAt(root, path));
    return `${name} must be ${wanted}; this is ${
      issue.code === "invalid_value" ? `another value, ${found}` : found
    }`;
  }
  if (issue.code === "invalid_key") {
    const inner = issue.issues[0];
    return `the key ${name} is not accepted${inner ? ` (${uncapital(inner.message)})` : ""}; rename it`;
  }
  return `${name} is not accepted: ${uncapital(issue.message)}; correct it`;
}

/** What the schema asks for, in words; "" where the issue's own message says it best. */
function wantedOf(issue: Issue): string {
  if (issue.code === "invalid_type") return withArticle(issue.expected);
  if (issue.code === "invalid_value") {
    const values = issue.values.map((value) => JSON.stringify(String(value)));
    return values.length === 1 ? values.join() : `one of ${values.join(", ")}`;
  }
  if (issue.code !== "invalid_union") return "";
  const kinds = issue.errors.flatMap((branch) => branch[0] ? [wantedOf(branch[0])] : []);
  return kinds.every((kind) => kind !== "") ? [...new Set(kinds)].join(" or ") : "";
}

function withArticle(kind: string): string {
  const words: { readonly [kind: string]: string } = {
    int: "a whole number",
    record: "a map of keys and values",
    object: "a map of keys and values",
    array: "a list",
    boolean: "true or false",
    null: "null",
  };
  return words[kind] ?? `a ${kind}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "number" && !Number.isInteger(value)) return "a fraction";
  return typeof value === "boolean" ? "true or false" : `a ${typeof value}`;
}

function nameOf(path: readonly (string | number)[]): string {
  if (path.length === 0) return "the file";
  return `"${
    path.map((step, index) => typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`).join(
      "",
    )
  }"`;
}

function belowOf(path: readonly (string | number)[]): string {
  return path.length === 0 ? "" : ` in ${nameOf(path)}`;
}

function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function uncapital(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
