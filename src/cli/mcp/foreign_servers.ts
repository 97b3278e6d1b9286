/** Servers as other hosts write them down, read into manifests of ours: what they say, and what could not be taken. */
import { ServerId } from "../../../schemas/ids.ts";
import { isRecord } from "../../mcp/json_bounds.ts";
import { isSensitiveName } from "../../redact/field_names.ts";
import { isLikely } from "../../redact/value_looks.ts";

/** One server of another host's file. */
export interface Foreign {
  /** As that host calls it. */
  readonly name: string;
  /** Its id here. */
  readonly server: string;
  /** Its manifest; undefined if it cannot be taken over. */
  readonly fields: object | undefined;
  /** What a person must know: one line each. */
  readonly told: readonly string[];
}

const idCharactersMax = 24;

/** The servers of a file, in its order: those of `mcpServers` (Claude, Cursor, and most others) or `servers` (VS Code). */
export function foreignServers(file: unknown): readonly Foreign[] {
  const inside = isRecord(file) ? file["mcpServers"] ?? file["servers"] : undefined;
  if (!isRecord(inside)) return [];
  const ids = new Set<string>();
  return Object.entries(inside).map(([name, one]) => {
    const server = idFor(name, ids);
    const renamed = server === name ? [] : [`it is called ${server} here`];
    try {
      const told: string[] = [...renamed];
      const fields = isRecord(one) ? fieldsOf(one, { server, told }) : refuse("it is no object");
      return { name, server, fields, told };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { name, server, fields: undefined, told: [...renamed, error.message] };
    }
  });
}

/** A server that cannot be taken over. */
class Refusal extends Error {
  override readonly name = "Refusal";
}

function refuse(why: string): never {
  throw new Refusal(why);
}

/** The nearest id that no other server of the file has. */
function idFor(name: string, taken: Set<string>): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9-]+/g, "-").replace(/^[^a-z]+|-+$/g, "");
  const base = plain.slice(0, idCharactersMax).replace(/-+$/, "") || "server";
  for (let count = 1;; count++) {
    const suffix = count === 1 ? "" : `-${count}`;
    const id = `${base.slice(0, idCharactersMax - suffix.length)}${suffix}`;
    if (taken.has(id)) continue;
    taken.add(id);
    return ServerId.parse(id);
  }
}

interface Reading {
  readonly server: string;
  readonly told: string[];
}

type Fields = { readonly [key: string]: unknown };

/** Keys that are read; the others are told of. */
const known = new Set([
  ...["type", "transport", "command", "args", "env", "cwd", "url", "headers", "disabled", "enabled"],
  // What is only for the other host's screen.
  ...["description", "name", "icon", "$schema"],
]);

function fieldsOf(one: Fields, reading: Reading): object {
  for (const key of Object.keys(one)) {
    if (!known.has(key)) reading.told.push(`its "${key}" is not taken over`);
  }
  const isOff = one["disabled"] === true || one["enabled"] === false;
  const enabled = isOff ? { enabled: false } : {};
  const type = one["type"] ?? one["transport"];
  if (typeof one["url"] === "string" && one["command"] === undefined) {
    if (type === "ws") refuse("it is reached by ws, which troupe does not speak (mcp_transport_unsupported)");
    if (type === "sse") reading.told.push("it is written as streamable_http, which finds servers of sse too");
    return { ...enabled, transport: "streamable_http", url: urlOf(one["url"]), ...headersOf(one, reading) };
  }
  const { command } = one;
  if (typeof command !== "string" || command === "") refuse("it has neither a command nor a URL");
  const args = textsIn(one["args"] ?? [], "args");
  for (const text of [command, ...args]) checkArgument(text);
  return {
    ...enabled,
    command,
    ...(args.length === 0 ? {} : { args }),
    ...envOf(one, reading),
    ...cwdOf(one, reading),
  };
}

function textsIn(value: unknown, what: string): readonly string[] {
  if (!Array.isArray(value)) refuse(`its ${what} are no list`);
  return value.map((one) => typeof one === "string" ? one : refuse(`its ${what} are not all texts`));
}

/** Arguments are seen by every process of the machine, and a manifest names no variables in them. */
function checkArgument(text: string): void {
  if (/\$\{[^}]*\}/.test(text)) {
    refuse(`its argument ${shape(text)} names a variable; only env and headers can`);
  }
  const [, option, value = ""] = /^(--?[A-Za-z][A-Za-z0-9-]*)=(.*)$/s.exec(text) ?? [];
  const isSecret = option === undefined
    ? looksSecret(text)
    : isSensitiveName(option.replace(/^-+/, "")) && value !== "";
  if (isSecret) {
    refuse(`its argument ${shape(text)} may hold a secret, which a manifest must not; give it by env`);
  }
}

/** The beginning of an argument: enough to find it. */
function shape(text: string): string {
  const option = /^--?[A-Za-z][A-Za-z0-9-]*/.exec(text)?.[0];
  return option === undefined ? `of ${text.length} characters` : JSON.stringify(option);
}

function urlOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) refuse("its URL is no http or https URL");
  if (url.username + url.password !== "") {
    refuse("its URL holds a login; a header may name a variable instead");
  }
  for (const [name, value] of url.searchParams) {
    if (isSensitiveName(name) || looksSecret(value)) {
      refuse(`its URL may hold a secret (${name}), which a manifest must not`);
    }
  }
  return text;
}

function envOf({ env = {} }: Fields, reading: Reading): { readonly env?: object } {
  if (!isRecord(env)) refuse("its env is no object");
  const entries = Object.entries(env).map((
    [name, value],
  ) => [name, valueOf(name, value, { reading, variable: name })]);
  return entries.length === 0 ? {} : { env: Object.fromEntries(entries) };
}

function headersOf({ headers = {} }: Fields, reading: Reading): { readonly headers?: object } {
  if (!isRecord(headers)) refuse("its headers are no object");
  const entries = Object.entries(headers).map(([name, value]) => {
    const variable = `${reading.server}_${name}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    return [name, valueOf(name, value, { reading, variable })];
  });
  return entries.length === 0 ? {} : { headers: Object.fromEntries(entries) };
}

interface ValuePlace {
  readonly reading: Reading;
  /** The variable that stands for the value, if it must not be written. */
  readonly variable: string;
}

function valueOf(name: string, value: unknown, { reading: { told }, variable }: ValuePlace): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") refuse(`its ${name} is no text`);
  if (value.includes("${")) return withReferences(name, value, { told, variable });
  if (!isSensitiveName(name) && !looksSecret(value)) return value;
  const scheme = /^(?:Bearer|Basic|Token) (?=\S)/i.exec(value)?.[0] ?? "";
  const rest = scheme === "" ? "its value" : `what follows "${scheme.trim()}" in it`;
  told.push(
    `${name} may be a secret: set ${variable} in your environment, or under secrets in troupe.yaml, to ${rest}`,
  );
  return `${scheme}\${${variable}}`;
}

/** References of other hosts: `${env:NAME}`, `${NAME:-default}`, `${input:id}`. */
function withReferences(
  name: string,
  value: string,
  { told, variable }: { readonly told: string[]; readonly variable: string },
): string {
  return value.replace(/\$\{([^}]*)\}/g, (whole, inner: string) => {
    const [, plain] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-.*)?$/s.exec(inner) ?? [];
    if (plain !== undefined) {
      if (inner.includes(":-")) told.push(`${name}: ${plain} has no default here; set it`);
      return `\${${plain}}`;
    }
    if (inner.startsWith("input:")) {
      told.push(`${name} was asked for by the other host: set ${variable} in your environment`);
      return `\${${variable}}`;
    }
    return refuse(`its ${name} names ${JSON.stringify(whole)}, which troupe does not know`);
  });
}

/** Paths and addresses are long and have digits, but hide nothing. */
function looksSecret(value: string): boolean {
  if (/^(?:[~.]{0,2}\/|[A-Za-z]:[\\/]|https?:\/\/[^@?]*$|@?[a-z][\w.-]*\/)/.test(value)) return false;
  return value.length >= 12 && !/\s/.test(value) && isLikely(value);
}

/** A working folder lies in the workspace: one of the machine cannot. */
function cwdOf({ cwd }: Fields, { told }: Reading): { readonly cwd?: string } {
  if (cwd === undefined || cwd === "\${workspaceFolder}") return {};
  if (typeof cwd !== "string") return refuse("its cwd is no text");
  if (!/^[/\\~$]|^[A-Za-z]:/.test(cwd)) return { cwd };
  told.push("its cwd is not taken over: a server works in the workspace");
  return {};
}
