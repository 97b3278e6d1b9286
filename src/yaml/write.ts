/** JSON data as YAML that every reader understands alike. */
import { limits } from "../../schemas/limits.ts";
import { resolvePlain } from "./scalar.ts";

/** A word or a few, with nothing in them that YAML or people could take for syntax. */
const plainText = /^[A-Za-z_][\w./@+-]*(?: [\w./@+-]+)*$/;

/**
 * Writes JSON data as YAML in block style; {@linkcode parseYaml} reads it back to the same value.
 *
 * Texts that a YAML library could take for something else are quoted. Keys whose value is undefined are left out.
 * Throws a TypeError for what JSON has no word for, and for more than 32 collections inside each other.
 */
export function stringifyYaml(value: unknown): string {
  return `${writeNode(value, 0).trimStart()}\n`;
}

/** What follows a key or a dash: a space and one line, or a line end and a block. */
function writeNode(value: unknown, depth: number): string {
  if (typeof value === "string") return ` ${writeString(value, depth)}`;
  if (typeof value === "number") return ` ${writeNumber(value)}`;
  if (value === null || typeof value === "boolean") return ` ${value}`;
  if (typeof value !== "object") throw new TypeError(`Cannot write YAML: a ${typeof value} is no JSON data`);
  if (depth >= limits.yamlDepthMax) {
    throw new TypeError(`Cannot write YAML: deeper than ${limits.yamlDepthMax} collections`);
  }
  return Array.isArray(value) ? writeList(value, depth) : writeMap(value, depth);
}

function writeList(items: readonly unknown[], depth: number): string {
  if (items.length === 0) return " []";
  const margin = "  ".repeat(depth);
  return items.map((item) => {
    const text = writeNode(item, depth + 1);
    // The first key or dash of a collection stands beside the dash of its item.
    return `\n${margin}-${text.startsWith("\n") ? ` ${text.trimStart()}` : text}`;
  }).join("");
}

function writeMap(map: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(map);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`Cannot write YAML: a ${map.constructor.name} is no JSON data`);
  }
  const entries = Object.entries(map).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return " {}";
  const margin = "  ".repeat(depth);
  return entries
    .map(([key, value]) => `\n${margin}${isPlain(key) ? key : quote(key)}:${writeNode(value, depth + 1)}`)
    .join("");
}

function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`Cannot write YAML: ${value} is no JSON data`);
  // Integers beyond the exact range are refused when read as such; the same number with an exponent is not.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value + 0);
}

function writeString(text: string, depth: number): string {
  if (isPlain(text)) return text;
  // A block of text as a whole document is read in two ways.
  if (depth === 0 || !isBlockText(text)) return quote(text);
  const margin = "  ".repeat(depth);
  const lines = text.replace(/\n$/, "").split("\n").map((line) => line === "" ? "" : margin + line);
  return [text.endsWith("\n") ? "|" : "|-", ...lines].join("\n");
}

function isPlain(text: string): boolean {
  const resolved = resolvePlain(text);
  return plainText.test(text) && "shape" in resolved && resolved.shape === "string" &&
    !/^(?:y|n|yes|no|on|off)$/i.test(text);
}

/** Whether a text of several lines keeps its exact form as a block: no odd spaces at its edges, all printable. */
function isBlockText(text: string): boolean {
  return /^[^\s].*\n/.test(text) && !/\n\n$/.test(text) && !/^[ \t]+$/m.test(text) &&
    /^[\t\n\x20-\x7E\xA0-\u2027\u202A-\uD7FF]*$/.test(text);
}

function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\x7F-\x9F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
