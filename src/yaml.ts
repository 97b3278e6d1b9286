/** YAML in and out, strict: the one importer of @std/yaml. */
import { parse } from "@std/yaml";
import { limits } from "../schemas/limits.ts";
import { scanDocument } from "./yaml/block.ts";
import { type Place, YamlError } from "./yaml/error.ts";
import { findDisagreement, findEntry, type YamlNode, type YamlPath } from "./yaml/node.ts";

export { type Place, YamlError, type YamlErrorCode } from "./yaml/error.ts";
export type { YamlPath } from "./yaml/node.ts";
export { stringifyYaml } from "./yaml/write.ts";

/** Options of {@linkcode parseYaml}. */
export interface ParseYamlOptions {
  /** Name of the text, for messages; usually a path relative to the project. */
  readonly file: string;
  /** Longest text accepted, in bytes; at most and by default 1 MiB. */
  readonly bytesMax?: number;
}

/** A parsed text: JSON data, and where in the text each value stands. */
export interface YamlDocument {
  /** Null, booleans, finite numbers, strings, arrays and plain objects; never shared, never cyclic. */
  readonly value: unknown;
  /** Place of the value at a path; for a missing one, of the nearest that is there. */
  readonly at: (path: YamlPath) => Place;
  /** Place of the key at a path, and of the value where there is no key. */
  readonly keyAt: (path: YamlPath) => Place;
}

/**
 * Parses one YAML document, core schema.
 *
 * The text is read twice: by our scan, which knows places and refuses what we do not accept, then by the library.
 * Both must see the same structure and the same kinds of scalars, so nothing enters that two YAML readers
 * understand in two ways. Refused: anchors, aliases, merge keys, tags, tabs as space, directives, a second
 * document, keys that are no strings or stand twice, and unquoted scalars such as 0777, 1_000 or 12:30.
 * Empty text is null. Throws {@linkcode YamlError}.
 */
export function parseYaml(text: string, options: ParseYamlOptions): YamlDocument {
  const { file } = options;
  const bytesMax = Math.min(options.bytesMax ?? limits.yamlBytesMax, limits.yamlBytesMax);
  if (text.length > bytesMax || new TextEncoder().encode(text).length > bytesMax) {
    const reason = `the text is longer than ${bytesMax} bytes; split it, or move large values into files`;
    throw new YamlError("yaml_too_large", file, { line: 1, column: 1 }, reason);
  }
  // Both readers get one kind of line end and no byte order mark, so that they count alike.
  const clean = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  checkLineEnds(clean, file);
  const root = scanDocument(clean, file, limits.yamlDepthMax);
  const value = parseByLibrary(clean, file);
  checkAgreement(root, value, file);
  return {
    value,
    at: (path) => findEntry(root, path).value.place,
    keyAt: (path) => findEntry(root, path).place,
  };
}

/** What ends a line for some readers and not for others would let a text hide in a comment. */
function checkLineEnds(text: string, file: string): void {
  const offset = text.search(/[\r\x85\u2028\u2029]/);
  if (offset < 0) return;
  const lines = text.slice(0, offset).split("\n");
  const place = { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
  const reason = "a line end that not every YAML reader knows; use a plain one, or an escape in quotes";
  throw new YamlError("yaml_syntax", file, place, reason);
}

function parseByLibrary(text: string, file: string): unknown {
  try {
    return parse(text, { schema: "core" }) ?? null;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reason = error.message.split("\n")[0] ?? "";
    throw new YamlError("yaml_syntax", file, placeOfError(error), `${reason}; correct it`);
  }
}

function placeOfError(error: Error): Place {
  const line = "line" in error ? Number(error.line) : NaN;
  const column = "column" in error ? Number(error.column) : NaN;
  return { line: line >= 1 ? line : 1, column: column >= 1 ? column : 1 };
}

function checkAgreement(root: YamlNode, value: unknown, file: string): void {
  const node = findDisagreement(root, value);
  if (!node) return;
  const reason =
    "this can be read in two ways; put texts in quotes and write collections in the plainest form";
  throw new YamlError("yaml_reading_differs", file, node.place, reason);
}
