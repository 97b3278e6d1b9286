/** Makes a connection's declaration from a manifest: what the host knows and decides, before anything is started. */
import { matchCapability } from "../../actors/policy/capability.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ConnectGate, McpDeclaration, McpManifest } from "../../schemas/manifest.ts";
import type { TrustLevel } from "../../schemas/provenance.ts";
import { authText, referencesOf } from "../../schemas/mcp_auth.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { canonicalBytes, throughJson } from "../canonical.ts";
import type { Seams } from "../seams.ts";
import { isAbsolute } from "./home.ts";
import type { GivenTrust } from "./trust.ts";
import { allowedPaths, permissionRows, realFolders, resolvePaths } from "./npm_paths.ts";

/** A manifest that was read, and where. */
export interface LoadedServer {
  readonly server: string;
  readonly manifest: McpManifest;
  /** The agent's folder, absolute; empty for an agent that comes with troupe. */
  readonly folder: string;
  /** Where the manifest was found, for people: `mcp/docs.yaml`. */
  readonly origin: string;
}

/** What a host decides by. */
export interface DeclareOptions extends FingerprintOptions {
  readonly policy: Pick<HostPolicy, "connect"> & Partial<Pick<HostPolicy, "capabilities">>;
  /** What the agent was granted. To declare a server grants nothing (DM-29). */
  readonly capabilities: readonly string[];
  /** Names of the host's secrets: `${NAME}` of one of them needs a grant of its own. */
  readonly secrets: ReadonlySet<string>;
  /** How far the operator trusts a fingerprint; undefined: not at all. */
  readonly trustOf: (fingerprint: string) => Promise<GivenTrust | undefined>;
  /** Folders outside the workspace that the operator lets servers from npm have. */
  readonly serverPaths?: readonly string[];
  /** Set for an agent that comes with troupe: its servers are ours, and we say what a repeat of their tools does. */
  readonly builtIn?: { readonly effects: { readonly [tool: string]: EffectClass } };
}

/** What a fingerprint is made with. */
export interface FingerprintOptions {
  readonly digest: Seams["digest"];
  /** The folder that the server works in, real and absolute. */
  readonly workspace: string;
}

/**
 * Hash of a declaration and all that its start depends on: another one is asked about anew (DM-62). A program may load
 * what lies in its working folder, so trust is for one workspace; our own servers never do.
 */
export async function fingerprintOf(
  { server, manifest, folder }: LoadedServer,
  { digest, workspace }: FingerprintOptions,
): Promise<string> {
  const isOurs = manifest.transport === "stdio" && manifest.command === "troupe";
  const run = manifest.transport === "stdio" ? manifest.run : undefined;
  const cwd = manifest.transport === "stdio" ? manifest.cwd ?? "." : ".";
  // A link that leads elsewhere by now makes other files reachable: that is another declaration.
  const paths = run === undefined ? {} : { paths: await resolvePaths(run, folderFrom(workspace, cwd)) };
  // What an operator trusted under a release that wrote the default down is trusted still.
  const written = { connect_timeout_seconds: limits.mcpConnectMs / 1_000, ...manifest };
  const declared = { server, folder, manifest: written, workspace: isOurs ? "" : workspace, ...paths };
  return await digest(canonicalBytes(throughJson(declared) as unknown as Json));
}

/** Why an agent may not have a server started, if it lacks the capability for that (DM-24). */
export function connectRefusal(server: string, capabilities: readonly string[]): Failure | undefined {
  const capability = `mcp.connect:${server}`;
  if (matchCapability(capabilities, capability) !== undefined) return undefined;
  return failure(
    "capability_missing",
    `The server "${server}" is not started: the agent lacks the capability "${capability}"; add it to ` +
      "capabilities in agent.yaml, and begin a new session",
  );
}

/** Why a server may not be given a secret of the host that its manifest names: only an exact grant gives it (DM-27). */
function secretRefusal(
  { server, manifest }: LoadedServer,
  { secrets, capabilities }: Pick<DeclareOptions, "secrets" | "capabilities">,
): Failure | undefined {
  const templates = manifest.transport === "stdio"
    ? Object.values(manifest.env)
    : [...Object.values(manifest.headers), ...referencesOf(manifest.auth)];
  const named = templates.flatMap((template) =>
    [...template.matchAll(/\$\{([^}]*)\}/g)].map(([, name = ""]) => name)
  );
  const missing = named.find((name) => secrets.has(name) && !capabilities.includes(`secret.bind:${name}`));
  if (missing === undefined) return undefined;
  return failure(
    "capability_missing",
    `The server "${server}" is not started: its manifest names the secret "${missing}", and the agent lacks the ` +
      `capability "secret.bind:${missing}"; add it to capabilities in agent.yaml, and begin a new session`,
  );
}

/** Declares one server. */
export async function declareServer(loaded: LoadedServer, options: DeclareOptions): Promise<McpDeclaration> {
  const { server, manifest, origin } = loaded;
  const { builtIn, policy, capabilities } = options;
  const refusal = connectRefusal(server, capabilities) ?? secretRefusal(loaded, options);
  const fingerprint = await fingerprintOf(loaded, options);
  const trust: TrustLevel = builtIn !== undefined
    ? "trusted_local"
    : await options.trustOf(fingerprint) ?? "unknown";
  const isDenied = refusal !== undefined || policy.connect === "deny";
  const gate: ConnectGate = isDenied ? "denied" : trust === "unknown" ? "prompt" : "granted";
  const folder = manifest.transport === "stdio"
    ? await workingFolder(options.workspace, manifest.cwd ?? ".", server)
    : "";
  const paths = typeof folder === "string" ? await pathsOf(loaded, folder, options) : undefined;
  const isRefused = paths !== undefined && "code" in paths;
  const problem = refusal ?? (typeof folder === "string" ? isRefused ? paths : undefined : folder);
  return {
    server,
    manifest,
    fingerprint,
    cwd: typeof folder === "string" ? folder : "",
    ...(paths === undefined || isRefused ? {} : { paths }),
    origin,
    trust,
    gate,
    ...(problem === undefined ? {} : { problem }),
    preview: await previewOf(manifest, options.digest),
    effects: builtIn?.effects ?? {},
    ...asksOf(loaded, options),
  };
}

/** What the server may ask of us: what its manifest wants, as far as policy lets it. */
function asksOf(
  { server, manifest }: LoadedServer,
  { policy: { capabilities = {} }, workspace }: Pick<DeclareOptions, "policy" | "workspace">,
): Pick<McpDeclaration, "asks"> {
  const ruleFor = (wanted: string) => capabilities[matchCapability(Object.keys(capabilities), wanted) ?? ""];
  const elicitation = ruleFor(`mcp.elicit:${server}`);
  const sampling = ruleFor(`mcp.sample:${server}`) ?? "prompt";
  const mayKnow = manifest.roots === true && ruleFor(`mcp.roots:${server}`) !== "deny";
  const asks = {
    ...(elicitation === undefined ? {} : { elicitation }),
    ...(manifest.sampling === undefined || sampling === "deny"
      ? {}
      : { sampling: { ...manifest.sampling, gate: sampling } }),
    ...(mayKnow ? { roots: rootOf(workspace) } : {}),
  };
  return Object.keys(asks).length === 0 ? {} : { asks };
}

/** A folder as the protocol names it. */
function rootOf(folder: string): { readonly uri: string; readonly name: string } {
  const parts = folder.replaceAll("\\", "/").split("/");
  const path = parts.map((part) => encodeURIComponent(part).replaceAll("%3A", ":")).join("/");
  const uri = `file://${path.startsWith("/") ? "" : "/"}${path}`;
  return { uri, name: (parts.findLast((part) => part !== "") ?? "/").slice(0, 200) };
}

/** What a server from npm may read and write; undefined for any other. */
async function pathsOf({ server, manifest }: LoadedServer, cwd: string, options: DeclareOptions) {
  if (manifest.transport !== "stdio" || manifest.run === undefined) return undefined;
  const { workspace, serverPaths = [] } = options;
  return await allowedPaths(server, manifest.run, {
    cwd,
    roots: await realFolders([workspace, ...serverPaths]),
  });
}

function folderFrom(workspace: string, cwd: string): string {
  return isAbsolute(cwd) ? cwd : `${workspace}/${cwd}`;
}

/** The working folder of a server lies in the workspace, whatever links say (DM-60). */
async function workingFolder(workspace: string, cwd: string, server: string): Promise<string | Failure> {
  const refuse = (why: string) =>
    failure("mcp_working_folder_refused", `The server "${server}" is not started: its cwd "${cwd}" ${why}`);
  try {
    const root = await Deno.realPath(workspace);
    const folder = await Deno.realPath(folderFrom(root, cwd));
    const isInside = folder === root || folder.startsWith(root.endsWith("/") ? root : `${root}/`);
    if (!isInside) return refuse("lies outside the workspace");
    return (await Deno.stat(folder)).isDirectory ? folder : refuse("is no folder");
  } catch {
    return refuse("does not exist");
  }
}

/** What an operator is shown: the command, the shape of its options, names instead of values (DM-73). */
async function previewOf(manifest: McpManifest, digest: Seams["digest"]): Promise<string> {
  if (manifest.transport !== "stdio") {
    const { origin, pathname } = new URL(manifest.url);
    return lines([
      ["url", `${origin}${pathname}`],
      ["headers", Object.keys(manifest.headers).join(", ")],
      ["auth", manifest.auth === undefined ? "" : authText(manifest.auth)],
      ["is told", toldText(manifest)],
    ]);
  }
  const { run, command = "" } = manifest;
  const args: string[] = [];
  for (const arg of run?.args ?? manifest.args) args.push(await shapeOf(arg, digest));
  const jail = run === undefined ? [] : [["npm", run.npm] as const, ...permissionRows(run)];
  return lines([
    ["command", command],
    ...jail,
    ["arguments", args.join(" ")],
    ["cwd", manifest.cwd ?? "the workspace"],
    ["variables", Object.keys(manifest.env).join(", ")],
    ["is told", toldText(manifest)],
  ]);
}

function toldText({ roots, sampling }: McpManifest): string {
  return [
    ...(roots === true ? ["the path of the workspace"] : []),
    ...(sampling === undefined
      ? []
      : [`what the agent's model answers it, ${sampling.max_requests} times a call`]),
  ].join("; ");
}

/** An option by its name; a value, which may be a secret, by its length and the beginning of its hash. */
async function shapeOf(arg: string, digest: Seams["digest"]): Promise<string> {
  const [, option = "", value] = /^(--?[A-Za-z][A-Za-z0-9-]*)(?:=([^]*))?$/.exec(arg) ?? [];
  if (option !== "") return value === undefined ? option : `${option}=${await shapeOf(value, digest)}`;
  const hash = await digest(new TextEncoder().encode(arg));
  return `<${arg.length} characters, ${hash.slice(0, "sha256:".length + 8)}>`;
}

function lines(rows: readonly (readonly [name: string, value: string])[]): string {
  return rows.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`).join("\n")
    .slice(0, 4_000);
}
