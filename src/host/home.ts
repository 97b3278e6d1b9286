/** The host's own places: its configuration and its default store. A project folder decides neither. */
import { capabilityRuleProblem } from "../../actors/policy/known_capability.ts";
import { HostConfig, HostPolicy } from "../../schemas/config.ts";
import type { SecretSources } from "../../schemas/secret.ts";
import { checkedAddress, isAddress } from "../journal/remote_address.ts";
import { StoreError } from "../journal/store.ts";
import { ConfigError, readConfigFile } from "../config_file.ts";
import { peek } from "../peek.ts";
import { parseYaml } from "../yaml.ts";

/** Reads variables of the environment. */
export type Env = (name: string) => string | undefined;

/** The host's configuration, and where it was found. */
export interface HostSettings {
  readonly config: HostConfig;
  /** Undefined if there is no file: the defaults are in force. */
  readonly file: string | undefined;
}

/** The configuration, with rules for capabilities that there are: what is misspelt would forbid nothing. */
const CheckedConfig = HostConfig.superRefine(({ policy: { capabilities } }, { addIssue }) => {
  for (const { path, ...issue } of capabilityIssues(capabilities)) {
    addIssue({ ...issue, path: ["policy", ...path] });
  }
});

const CheckedPolicy = HostPolicy.superRefine(({ capabilities }, { addIssue }) => {
  for (const issue of capabilityIssues(capabilities)) addIssue(issue);
});

function capabilityIssues(capabilities: HostPolicy["capabilities"]) {
  return Object.keys(capabilities).flatMap((capability) => {
    const message = capabilityRuleProblem(capability);
    const path = ["capabilities", capability];
    return message === undefined ? [] : [{ code: "custom" as const, path, message, input: capabilities }];
  });
}

/** Reads a policy of a host: a file of its own, or the `policy` of a whole configuration. */
export async function readPolicyFile(file: string): Promise<HostPolicy> {
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound ? "there is no such file" : "it cannot be read";
    throw new ConfigError(`Cannot read the policy "${file}": ${reason}`, file, { line: 1, column: 1 });
  }
  const isConfig = peek(parseYaml(text, { file }).value, "policy") !== undefined;
  return isConfig
    ? (await readConfigFile(CheckedConfig, text, file)).policy
    : await readConfigFile(CheckedPolicy, text, file);
}

/** Reads `troupe.yaml` of the host: `$TROUPE_CONFIG`, or in the user's configuration folder. Never a project's file. */
export async function readHostSettings(env: Env): Promise<HostSettings> {
  const named = env("TROUPE_CONFIG");
  const base = env("XDG_CONFIG_HOME") ?? userFolder(env, ".config");
  const file = named ?? (base === undefined ? undefined : `${base}/troupe/troupe.yaml`);
  if (file === undefined) return { config: HostConfig.parse({}), file: undefined };
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    const isAbsent = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
    // Only a file that somebody named must be there.
    if (isAbsent && named === undefined) return { config: HostConfig.parse({}), file: undefined };
    const reason = isAbsent ? "there is no such file" : "it cannot be read";
    throw new ConfigError(`Cannot read the configuration "${file}": ${reason}`, file, { line: 1, column: 1 });
  }
  const settings = { config: await readConfigFile(CheckedConfig, text, file), file };
  const serverPaths = settings.config.server_paths.map((path) => besideConfig(path, env, settings));
  return {
    ...settings,
    config: {
      ...settings.config,
      secrets: absoluteSecrets(env, settings),
      providers: absoluteKeys(env, settings),
      server_paths: serverPaths,
      api: absoluteApi(env, settings),
    },
  };
}

/** Files of secrets are named as other files of the configuration are: beside it, or below the user's folder. */
function absoluteSecrets(env: Env, settings: HostSettings): SecretSources {
  return mapped(settings.config.secrets, (source) => absoluteSource(source, env, settings));
}

/** The same for keys of providers, and for headers that are secrets. */
function absoluteKeys(env: Env, settings: HostSettings): HostConfig["providers"] {
  const absolute = (source: string) => absoluteSource(source, env, settings);
  return mapped(settings.config.providers, (provider) => ({
    ...provider,
    headers: mapped(provider.headers, absolute),
    ...(provider.api_key === undefined ? {} : { api_key: absolute(provider.api_key) }),
  }));
}

function mapped<T>(record: { readonly [name: string]: T }, change: (value: T) => T): { [name: string]: T } {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

function absoluteSource(source: string, env: Env, settings: HostSettings): string {
  return source.startsWith("file:")
    ? `file:${besideConfig(source.slice("file:".length), env, settings)}`
    : source;
}

function absoluteApi(env: Env, settings: HostSettings): HostConfig["api"] {
  const { jwt } = settings.config.api;
  return jwt === undefined ? {} : { jwt: { ...jwt, key: absoluteSource(jwt.key, env, settings) } };
}

/** Where the store is: what was asked for, `$TROUPE_STORE`, the configuration, or the user's data folder. */
export function storeLocation(asked: string | undefined, env: Env, settings: HostSettings): string {
  const location = chooseStore(asked, env, settings);
  if (isAddress(location)) return checkedAddress(location);
  // A lock is a file beside the store; what has no place on a disk has none.
  if (location !== ":memory:") return location;
  throw new StoreError(
    "store_unusable",
    `Cannot use "${location}" as store: sessions are kept in a file, or in a remote KV`,
  );
}

function chooseStore(asked: string | undefined, env: Env, settings: HostSettings): string {
  const given = asked ?? env("TROUPE_STORE");
  if (given !== undefined) return given;
  const configured = settings.config.store;
  if (configured !== undefined) {
    return isAddress(configured) ? configured : besideConfig(configured, env, settings);
  }
  const base = dataFolder(env);
  if (base !== undefined) return `${base}/troupe.db`;
  const message = "Cannot choose a store: no home folder is known; name one with --store";
  throw new ConfigError(message, settings.file ?? "", { line: 1, column: 1 });
}

/** The user's folder for what troupe keeps; undefined if no home folder is known. */
export function dataFolder(env: Env): string | undefined {
  const base = env("XDG_DATA_HOME") ?? userFolder(env, ".local/share");
  return base === undefined ? undefined : `${base}/troupe`;
}

/** The folder that file tools may read: what was asked for, the configuration, or the working folder. */
export function workspaceFolder(
  asked: string | undefined,
  { env, settings, cwd }: { readonly env: Env; readonly settings: HostSettings; readonly cwd: string },
): string {
  if (asked !== undefined) return asked;
  const configured = settings.config.workspace;
  return configured === undefined ? cwd : besideConfig(configured, env, settings);
}

/** A path of the configuration is relative to its file; `~/` is the user's folder. */
function besideConfig(path: string, env: Env, { file }: HostSettings): string {
  if (path.startsWith("~/")) return userFolder(env, path.slice(2)) ?? path;
  const folder = file?.replace(/[/\\][^/\\]*$/, "") ?? ".";
  return isAbsolute(path) || folder === file ? path : `${folder}/${path}`;
}

function userFolder(env: Env, below: string): string | undefined {
  const home = env("HOME") ?? env("USERPROFILE");
  return home === undefined ? undefined : `${home}/${below}`;
}

/** True if a path does not depend on the working folder. */
export function isAbsolute(path: string): boolean {
  return path.startsWith("/") || /^[A-Za-z]:[/\\]/.test(path) || path.startsWith("\\\\");
}
