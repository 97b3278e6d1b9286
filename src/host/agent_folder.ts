/** Finds and reads agents: a folder with `agent.yaml`, such a file itself, or the name of an agent that comes with us. */
import { capabilityProblem } from "../../actors/policy/known_capability.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { ServerId } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalBytes } from "../canonical.ts";
import { ConfigError, readConfigFile } from "../config_file.ts";
import type { ModelDirectory } from "../model/model_directory.ts";
import { splitModel } from "../model/provider.ts";
import type { Seams } from "../seams.ts";
import { toolNames } from "../authored/tool_file.ts";
import { builtinTools } from "../tools/builtin.ts";
import { parseYaml, type Place } from "../yaml.ts";
import type { LoadedServer } from "./declare.ts";
import { readManifest } from "./read_manifest.ts";
import { embeddedAgent, embeddedNames } from "./embedded.ts";
import { isAbsolute } from "./home.ts";
import type { SessionHome } from "./session_home.ts";

/** An agent that was read and may be run. */
export interface LoadedAgent {
  readonly definition: AgentDefinition;
  /** Hash of the definition (DM-9). */
  readonly coreRevision: string;
  readonly home: SessionHome["agent"];
  /** The MCP servers that it declares, in the order of their ids. */
  readonly servers: readonly LoadedServer[];
}

/** Options of {@linkcode loadAgent}. */
export interface LoadAgentOptions {
  readonly cwd: string;
  readonly digest: Seams["digest"];
  /** The host's models. Without them, what the agent names is not looked for: its model will not be asked. */
  readonly models?: ModelDirectory;
}

/** The file that makes a folder an agent, and the folder of its servers' manifests. */
const agentFile = "agent.yaml";
const serversFolder = "mcp";

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
  const folder = await Deno.realPath(found.file.replace(/[/\\][^/\\]*$/, "") || "/");
  checkTools(definition, { text, file: shown, own: await toolNames(folder) });
  checkCapabilities(definition, text, shown);
  checkModels(definition, options.models, { text, file: shown });
  const servers = await readServers(folder, found.isFolder ? name.replace(/[/\\]+$/, "") : dirOf(name));
  const whole = withFallbacks(definition, options.models);
  return await loaded(whole, { kind: "folder", path: folder }, { ...options, servers });
}

function dirOf(path: string): string {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return cut < 0 ? "." : path.slice(0, cut);
}

/** Reads `mcp/<server>.yaml` of an agent's folder. Nothing is started by that (DM-29). */
async function readServers(folder: string, shown: string): Promise<readonly LoadedServer[]> {
  const names: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(`${folder}/${serversFolder}`)) {
      if (!isDirectory && /\.ya?ml$/.test(name)) names.push(name);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return [];
    throw refused(`${shown}/${serversFolder}`, "it cannot be read");
  }
  if (names.length > limits.mcpServersPerSessionMax) {
    const most = limits.mcpServersPerSessionMax;
    throw refused(
      `${shown}/${serversFolder}`,
      `it has ${names.length} manifests, at most ${most} are allowed`,
    );
  }
  const servers: LoadedServer[] = [];
  for (const name of names.sort()) servers.push(await readServer({ folder, shown, name }));
  const twice = servers.find(({ server }, at) => server === servers[at + 1]?.server);
  if (twice !== undefined) {
    throw refused(`${shown}/${serversFolder}`, `two files declare the server "${twice.server}": remove one`);
  }
  return servers;
}

async function readServer(
  { folder, shown, name }: { readonly folder: string; readonly shown: string; readonly name: string },
): Promise<LoadedServer> {
  const origin = `${serversFolder}/${name}`;
  const file = `${shown}/${origin}`;
  const server = name.replace(/\.ya?ml$/, "");
  const id = ServerId.safeParse(server);
  if (!id.success) {
    const why = `its name is the id of the server, and ${id.error.issues[0]?.message}`;
    throw new ConfigError(`Cannot read "${file}": ${why}`, file, { line: 1, column: 1 });
  }
  const text = await readText(`${folder}/${origin}`, file);
  return { server, manifest: await readManifest(text, file), folder, origin };
}

/** True if a name means an agent, whether or not it could be loaded. */
export async function isAgent(name: string, cwd: string): Promise<boolean> {
  if (embeddedNames.includes(name)) return true;
  if (name.includes("\n") || name.length > limits.pathCharactersMax) return false;
  return (await findFile(isAbsolute(name) ? name : `${cwd}/${name}`))?.isFolder === true;
}

/** The agent of a name that comes with us; undefined if there is none. */
export async function loadEmbedded(
  name: string,
  options: Pick<LoadAgentOptions, "digest">,
): Promise<LoadedAgent | undefined> {
  const agent = embeddedAgent(name);
  if (agent === undefined) return undefined;
  return await loaded(agent.definition, { kind: "embedded", name }, { ...options, servers: agent.servers });
}

async function loaded(
  definition: AgentDefinition,
  home: SessionHome["agent"],
  { digest, servers }: Pick<LoadAgentOptions, "digest"> & Pick<LoadedAgent, "servers">,
): Promise<LoadedAgent> {
  const coreRevision = await digest(canonicalBytes(definition as unknown as Json));
  return { definition, coreRevision, home, servers };
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
function checkTools(
  definition: AgentDefinition,
  { text, file, own }: { readonly text: string; readonly file: string; readonly own: readonly string[] },
): void {
  const names = new Set([...builtinTools.keys(), ...own]);
  const known = [...names].sort();
  const at = (path: readonly (string | number)[]) => parseYaml(text, { file }).at(path);
  const keyAt = (path: readonly (string | number)[]) => parseYaml(text, { file }).keyAt(path);
  for (const [index, name] of definition.tools.entries()) {
    if (!names.has(name)) throw unknownTool(name, known, { file, place: at(["tools", index]) });
  }
  for (const name of Object.keys(definition.overrides)) {
    if (names.has(name) || name.startsWith("mcp.")) continue;
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

/** What nobody knows grants nothing: a mistake is shown, rather than found at the first denied call (DM-30). */
function checkCapabilities({ capabilities }: AgentDefinition, text: string, file: string): void {
  for (const [index, capability] of capabilities.entries()) {
    const problem = capabilityProblem(capability);
    if (problem !== undefined) throw refusedAt(["capabilities", index], { text, file, problem });
  }
}

function refusedAt(
  path: readonly (string | number)[],
  { text, file, problem }: { readonly text: string; readonly file: string; readonly problem: string },
): ConfigError {
  const place = parseYaml(text, { file }).at(path);
  const at = `${file}:${place.line}:${place.column}`;
  return new ConfigError(`Cannot read "${file}": ${at}: ${problem}`, file, place);
}

/** A project folder names only its own script, and models that this host has. */
function checkModels(
  definition: AgentDefinition,
  models: ModelDirectory | undefined,
  { text, file }: { readonly text: string; readonly file: string },
): void {
  const all = [
    ["model"],
    ...(definition.model_fallbacks ?? []).map((_, index) => ["model_fallbacks", index]),
  ];
  for (const path of all) {
    const [key, index] = path;
    const model = typeof index === "number" ? definition.model_fallbacks?.[index] : definition.model;
    const problem = key === undefined || model === undefined ? undefined : problemOf(model, models);
    if (problem !== undefined) throw refusedAt(path, { text, file, problem });
  }
}

/** A key that is missing here may be there where the store is held: it is no mistake of the agent's. */
function problemOf(model: string, models: ModelDirectory | undefined): string | undefined {
  const [provider, script] = splitModel(model);
  if (provider === "scripted" && model !== provider) {
    return isAbsolute(script)
      ? "the script must lie in the agent's folder; write a relative path"
      : undefined;
  }
  const found = models?.find(model);
  return found === undefined || found.isAvailable || found.reason === "missing_credential"
    ? undefined
    : found.message;
}

/** An agent that names no fallbacks has those of its model's name. */
function withFallbacks(definition: AgentDefinition, models: ModelDirectory | undefined): AgentDefinition {
  const fallbacks = models?.fallbacksOf(definition.model) ?? [];
  if (definition.model_fallbacks !== undefined || fallbacks.length === 0) return definition;
  return { ...definition, model_fallbacks: [...fallbacks] };
}

function refused(name: string, why: string): ConfigError {
  return new ConfigError(`Cannot use ${JSON.stringify(name)} as agent: ${why}`, name, { line: 1, column: 1 });
}
