/** Arguments that a server wants to see in headers too: `x-mcp-header` in a tool's schema, `Mcp-Param-…` by HTTP. */
import { type Fields, isRecord } from "./json_bounds.ts";
import { encodeHeader } from "./message_headers.ts";
import { oneLine } from "./plain_text.ts";

const mark = "x-mcp-header";
const nameForm = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/;
const kinds: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Keywords whose value is a schema for each of some names, which are no keywords themselves. */
const named: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
/** Keywords whose value is no schema, whatever stands in it. */
const plain: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required", mark]);

/** One argument, and the header that repeats it. */
export interface ParamHeader {
  readonly header: string;
  /** Where the argument stands: names of properties, from the outermost. */
  readonly path: readonly string[];
}

/** What a schema asks for; why it may not, if it may not. Of a schema that is none, nothing. */
export function paramHeadersOf(
  schema: unknown,
): { readonly headers: readonly ParamHeader[] } | { readonly problem: string } {
  const headers: ParamHeader[] = [];
  const taken = new Set<string>();
  const waiting: Place[] = [{ node: schema, path: [] }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { node, path } = place;
    if (Array.isArray(node)) waiting.push(...node.map((one) => ({ node: one, path: undefined })));
    if (!isRecord(node)) continue;
    if (Object.hasOwn(node, mark)) {
      const header = node[mark];
      const problem = problemOf(node, path, taken);
      if (problem !== undefined) return { problem };
      headers.push({ header: String(header), path: path ?? [] });
      taken.add(String(header).toLowerCase());
    }
    waiting.push(...partsOf(node, path));
  }
  return { headers };
}

/** A part of a schema; its path, if only names of properties lead to it. */
interface Place {
  readonly node: unknown;
  readonly path: readonly string[] | undefined;
}

function partsOf(node: Fields, path: Place["path"]): Place[] {
  return Object.entries(node).flatMap(([key, value]): Place[] => {
    if (plain.has(key)) return [];
    if (!named.has(key) || !isRecord(value)) return [{ node: value, path: undefined }];
    const isReachable = key === "properties" && path !== undefined;
    return Object.entries(value).map(([name, part]) => ({
      node: part,
      path: isReachable ? [...path, name] : undefined,
    }));
  });
}

function problemOf(node: Fields, path: Place["path"], taken: ReadonlySet<string>): string | undefined {
  const header = node[mark];
  if (path === undefined || path.length === 0) {
    return `it has ${mark} where it may not stand: only on a property that properties alone lead to`;
  }
  if (typeof header !== "string" || !nameForm.test(header)) return `its ${mark} is not the name of a header`;
  if (!kinds.has(node["type"])) {
    return `its ${mark} ${oneLine(header, 100)} is on what is neither a string, an integer nor a boolean`;
  }
  return taken.has(header.toLowerCase()) ? `its ${mark} ${oneLine(header, 100)} stands twice` : undefined;
}

/** The headers of one call. An argument that is not there, or of another kind, is not repeated. */
export function paramValues(headers: readonly ParamHeader[], args: unknown): readonly [string, string][] {
  return headers.flatMap(({ header, path }): [string, string][] => {
    const value = path.reduce<unknown>(
      (at, name) => isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined,
      args,
    );
    const isNumber = typeof value === "number" && Number.isSafeInteger(value);
    if (typeof value !== "string" && typeof value !== "boolean" && !isNumber) return [];
    return [[`mcp-param-${header}`, encodeHeader(String(value))]];
  });
}
