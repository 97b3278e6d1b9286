/** Finds and reads agents: a folder with `agent.yaml`, such a file itself, or the name of an agent that comes with us. */
import { AgentDefinition } from "../../schemas/agent.ts";
import type { Json } from "../../schemas/json.ts";
import { canonicalBytes } from "../canonical.ts";
import { ConfigError, readConfigFile } from "../config_file.ts";
import type { Seams } from "../seams.ts";
import { builtinTools } from "../tools/builtin.ts";
import { parseYaml, type Place } from "../yaml.ts";
import { embeddedAgent, embeddedNames } from "./embedded.ts";
import { isAbsolute } from "./home.ts";
import type { SessionHome } from "./session_home.ts";

/** An agent that was read and may be run. */
export interface LoadedAgent {
  readonly definition: AgentDefinition;
  /** Hash of the definition (DM-9). */
  readonly coreRevision: string;
  readonly home: SessionHome["agent"];
}

/** Options of {@linkcode loadAgent}. */
export interface LoadAgentOptions {
  readonly cwd: string;
  readonly digest: Seams["digest"];
}

/** The file that makes a folder an agent. */
const agentFile = "agent.yaml";

/**
 * Loads the agent that `name` means. A name with a slash or a dot is a path; a bare name is an agent that comes with us,
 * or a folder, and refused if it is both. Throws {@linkcode ConfigError} with the place in the file, or `YamlError`.
 */
export async function loadAgent(name: string, options: LoadAgentOptions): Promise<LoadedAgent> {
  const embedded = /[/\\.]/.test(name) ? undefined : await loadEmbedded(name, options);
  const path = isAbsolute(name) ? name : `${options.cwd}/${name}`;
  const found = await findFile(path);
  if (embedded !== undefined && found !== undefined) {
    throw refused(
      name,
      `it is the name of an agent that comes with troupe and of a folder here: write ./${name}`,
    );
  }
  if (embedded !== undefined) return embedded;
  if (found === undefined) {
    const known = embeddedNames.join(", ");
    throw refused(
      name,
      `there is no folder with ${agentFile}, no such file, and no embedded agent (${known})`,
    );
  }
  const shown = found.isFolder ? `${name.replace(/[/\\]+$/, "")}/${agentFile}` : name;
  const text = await readText(found.file, shown);
  const definition = await readConfigFile(AgentDefinition, text, shown);
  checkTools(definition, text, shown);
  checkModel(definition, text, shown);
  const folder = await Deno.realPath(found.file.replace(/[/\\][^/\\]*$/, "") || "/");
  return await loaded(definition, { kind: "folder", path: folder }, options);
}

/** The agent of a name that comes with us; undefined if there is none. */
export async function loadEmbedded(
  name: string,
  options: Pick<LoadAgentOptions, "digest">,
): Promise<LoadedAgent | undefined> {
  const agent = embeddedAgent(name);
  return agent === undefined
    ? undefined
    : await loaded(agent.definition, { kind: "embedded", name }, options);
}

async function loaded(
  definition: AgentDefinition,
  home: SessionHome["agent"],
  { digest }: Pick<LoadAgentOptions, "digest">,
): Promise<LoadedAgent> {
  return { definition, coreRevision: await digest(canonicalBytes(definition as unknown as Json)), home };
}

async function findFile(
  path: string,
): Promise<{ readonly file: string; readonly isFolder: boolean } | undefined> {
  const info = await statOf(path);
  if (info?.isFile) return { file: path, isFolder: false };
  if (!info?.isDirectory) return undefined;
  const inside = `${path.replace(/[/\\]+$/, "")}/${agentFile}`;
  return (await statOf(inside))?.isFile ? { file: inside, isFolder: true } : undefined;
}

async function statOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch {
    return undefined;
  }
}

async function readText(file: string, shown: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch {
    throw refused(shown, "it cannot be read");
  }
}

/** A name that means nothing is a mistake, and is shown where it stands. MCP tools (`mcp.…`) may come later. */
function checkTools(definition: AgentDefinition, text: string, file: string): void {
  const known = [...builtinTools.keys()].sort();
  const at = (path: readonly (string | number)[]) => parseYaml(text, { file }).at(path);
  const keyAt = (path: readonly (string | number)[]) => parseYaml(text, { file }).keyAt(path);
  for (const [index, name] of definition.tools.entries()) {
    if (!builtinTools.has(name)) throw unknownTool(name, known, { file, place: at(["tools", index]) });
  }
  for (const name of Object.keys(definition.overrides)) {
    if (builtinTools.has(name) || name.startsWith("mcp.")) continue;
    throw unknownTool(name, known, { file, place: keyAt(["overrides", name]) });
  }
}

function unknownTool(
  name: string,
  known: readonly string[],
  { file, place }: { readonly file: string; readonly place: Place },
): ConfigError {
  const at = `${file}:${place.line}:${place.column}`;
  const message = `Cannot read "${file}": ${at}: there is no tool ${JSON.stringify(name)}; known are ${
    known.join(", ")
  }`;
  return new ConfigError(message, file, place);
}

/** A project folder names only its own script: an absolute path is the operator's to give. */
function checkModel(definition: AgentDefinition, text: string, file: string): void {
  const [provider, script = ""] = splitModel(definition.model);
  if (provider === "scripted" && !isAbsolute(script)) return;
  const place = parseYaml(text, { file }).at(["model"]);
  const why = provider === "scripted"
    ? "the script must lie in the agent's folder; write a relative path"
    : `there is no model provider "${provider}"; this release knows scripted/<script file>`;
  throw new ConfigError(`Cannot read "${file}": ${file}:${place.line}:${place.column}: ${why}`, file, place);
}

/** The two parts of a model: provider, and what the provider is told. */
export function splitModel(model: string): readonly [provider: string, rest: string] {
  const slash = model.indexOf("/");
  return [model.slice(0, slash), model.slice(slash + 1)];
}

function refused(name: string, why: string): ConfigError {
  return new ConfigError(`Cannot use ${JSON.stringify(name)} as agent: ${why}`, name, { line: 1, column: 1 });
}
