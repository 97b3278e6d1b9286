/** Names of tools: the full one for trace and policy, the short one that a model calls, and which are refused. */
import type { CatalogSource } from "../schemas/catalog.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { GovernedName } from "../schemas/governance.ts";
import { ServerId } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import { ToolName } from "../schemas/tool.ts";

/** Prefix that only the runtime's own tools may have (CM-25). */
export const reservedPrefix = "troupe__";

/** The five names that belong to the runtime for good (CM-25). */
export const reservedNames: readonly string[] = [
  "subagent_spawn",
  "subagent_send",
  "subagent_wait",
  "subagent_close",
  "subagent_list",
];

/** A source, as far as the names of its tools depend on it. */
export type NamedSource = Pick<CatalogSource, "kind" | "server">;

/** A tool's name and the source it comes from. */
export interface NamedTool {
  readonly source: NamedSource;
  readonly name: string;
}

/** The full name of a tool: `mcp.<server>.<tool>` (AR-9); every other tool keeps its own. */
export function canonicalName(source: NamedSource, name: string): string {
  return source.kind === "mcp" ? `mcp.${source.server ?? ""}.${name}` : name;
}

/** True if only the runtime's own source, `troupe`, may offer a tool of this name (CM-25, CM-26). */
export function isReservedName(name: string): boolean {
  return name.startsWith(reservedPrefix) || reservedNames.includes(name);
}

/**
 * Why a tool may not be named so: no tool name at all (B83), no server id, or a name reserved for another source
 * (B82, CM-26). Undefined if the name is well. A reserved name of an MCP tool is harmless, since its full and its
 * provider name both begin with the server; it is refused all the same, so that nobody is led astray.
 */
export function refuseName(source: NamedSource, name: string): Failure | undefined {
  if (!ToolName.safeParse(name).success) {
    return failure(
      "tool_name_invalid",
      `Cannot use the tool "${
        visible(name)
      }": a name is 1 to ${limits.toolNameCharactersMax} of letters, digits, _ . -`,
    );
  }
  if (source.kind !== "mcp" && !GovernedName.safeParse(name).success) {
    return failure(
      "tool_name_invalid",
      `Cannot use the tool "${name}" of ${source.kind}: its name is lower-case letters, digits and _ only`,
    );
  }
  if (source.kind === "mcp" && !ServerId.safeParse(source.server).success) {
    return failure(
      "tool_name_invalid",
      `Cannot use the tool "${name}": its MCP server has the id "${
        visible(source.server ?? "")
      }", which is none`,
    );
  }
  if (source.kind !== "troupe" && (isReservedName(name) || isReservedName(plainName(source, name)))) {
    return failure(
      "tool_name_invalid",
      `Cannot use the tool "${name}" of ${source.kind}: the name is reserved for the runtime; rename the tool`,
    );
  }
  return undefined;
}

/**
 * Gives every tool the name that models call: `<server>__<tool>` for MCP (LC-12), its own otherwise, of at most 64
 * letters, digits, `_`, `-`. A name that had to be changed or cut ends in `_` and 8 hexadecimal digits of a hash of the
 * full name. Injective: no two full names share one. Depends on the set of tools only, not on their order: names are
 * given in the order of the full names, unchanged ones first. Keys of the result are full names; equal full names are
 * one tool.
 */
export function providerNames(tools: readonly NamedTool[]): ReadonlyMap<string, string> {
  const plain = new Map<string, string>();
  for (const tool of tools) {
    plain.set(canonicalName(tool.source, tool.name), plainName(tool.source, tool.name));
  }
  const order = [...plain.keys()].sort((left, right) =>
    isFit(plain, left) - isFit(plain, right) || compare(left, right)
  );
  const given = new Map<string, string>();
  const taken = new Set<string>();
  for (const canonical of order) {
    const wanted = plain.get(canonical) ?? canonical;
    let name = isFit(plain, canonical) === 0 ? wanted : marked(wanted, canonical);
    for (let again = 1; taken.has(name); again++) name = marked(wanted, `${canonical}#${again}`);
    taken.add(name);
    given.set(canonical, name);
  }
  return given;
}

/** Orders names by their UTF-16 units: the same everywhere, unlike the order of a language. */
export function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** The name that a model would call a tool by, if it is fit and free: `<server>__<tool>` for MCP, else its own. */
export function plainName(source: NamedSource, name: string): string {
  return source.kind === "mcp" ? `${source.server ?? ""}__${name}` : name;
}

/** 0 if the plain name can be used as it is, else 1. */
function isFit(plain: ReadonlyMap<string, string>, canonical: string): number {
  const name = plain.get(canonical) ?? "";
  return /^[A-Za-z0-9_-]+$/.test(name) && name.length <= limits.providerNameCharactersMax ? 0 : 1;
}

/** A name made fit, and told apart from its like by a hash of `key`. */
function marked(name: string, key: string): string {
  const suffix = `_${hashHex(key)}`;
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, limits.providerNameCharactersMax - suffix.length) +
    suffix;
}

/** FNV-1a over UTF-16 units, 32 bits, as 8 hexadecimal digits. Tells names apart; proves nothing. */
function hashHex(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** A name that is none, fit to be shown: at most 40 characters, nothing invisible. */
function visible(name: string): string {
  return name.slice(0, 40).replace(/[^\x20-\x7e]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}
