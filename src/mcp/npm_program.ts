/** How a package of npm is started: by Deno, from its cache alone, with the permissions of its manifest and no more. */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { NpmPaths, NpmRun } from "../../schemas/npm_run.ts";
import { findCommand } from "../processes/command.ts";
import { ProcessError } from "../processes/process_error.ts";
import type { ReadVariable } from "./variables.ts";

/** The Deno that runs packages of npm. */
export interface DenoProgram {
  /** A path, or the name by which it is looked up. */
  readonly command: string;
  /** Where Deno keeps what it fetched: the same when a package is fetched and when it is run. */
  readonly cache: string;
  /** The registry, if the operator names another than Deno does. */
  readonly registry: string | undefined;
}

/** The Deno of this process: the one that runs it, or, where troupe is a program of its own, the one on the PATH. */
export function denoProgram(
  env: ReadVariable,
  isStandalone: boolean = Deno.build.standalone,
): DenoProgram | Failure {
  const cache = cacheFolder(env);
  if (cache === undefined) {
    const state = "no home folder is known, so neither is Deno's cache; set DENO_DIR";
    return failure("mcp_npm_not_cached", `Cannot run a package of npm: ${state}`);
  }
  const rest = { cache, registry: env("NPM_CONFIG_REGISTRY") || undefined };
  if (!isStandalone) return { command: Deno.execPath(), ...rest };
  try {
    return { command: findCommand({ command: "deno", cwd: "/", env: { PATH: env("PATH") ?? "" } }), ...rest };
  } catch (error) {
    if (!(error instanceof ProcessError)) throw error;
    const state =
      "there is no deno on the PATH, which troupe as a single program needs for it; install Deno 2";
    return failure("mcp_deno_missing", `Cannot run a package of npm: ${state}`);
  }
}

/** Where Deno keeps what it fetches, by its own rules. */
function cacheFolder(env: ReadVariable): string | undefined {
  const named = env("DENO_DIR");
  if (named !== undefined && named !== "") return named;
  const home = env("HOME") ?? env("USERPROFILE");
  if (Deno.build.os === "windows") return below(env("LOCALAPPDATA"), "deno");
  if (Deno.build.os === "darwin") return below(home, "Library/Caches/deno");
  return below(env("XDG_CACHE_HOME") || below(home, ".cache"), "deno");
}

function below(folder: string | undefined, name: string): string | undefined {
  return folder === undefined || folder === "" ? undefined : `${folder}/${name}`;
}

/** Keeps away what lies in the working folder: neither its configuration nor its packages change what is run. */
const apart = ["--no-config", "--no-lock", "--node-modules-dir=none"];

/** The command that runs a package. It asks nobody, fetches nothing, and may do what the manifest names. */
export function npmProgram(
  run: NpmRun,
  paths: NpmPaths,
  { command, cache, registry }: DenoProgram,
): { readonly command: string; readonly args: readonly string[]; readonly env: Record<string, string> } {
  const { net, env } = run.permissions;
  const args = [
    ...["run", "--quiet", "--no-prompt", "--cached-only", ...apart],
    ...allow("read", paths.read),
    ...allow("write", paths.write),
    ...allow("net", net),
    ...(env === undefined ? ["--allow-env"] : allow("env", env)),
    `npm:${run.npm}`,
    ...run.args,
  ];
  const own = { DENO_DIR: cache, DENO_NO_PACKAGE_JSON: "1", DENO_NO_UPDATE_CHECK: "1" };
  return {
    command,
    args,
    env: { ...own, ...(registry === undefined ? {} : { NPM_CONFIG_REGISTRY: registry }) },
  };
}

/** An option without names would allow everything: none is given then. */
function allow(what: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`--allow-${what}=${names.join(",")}`];
}

/** Arguments by which a package is fetched into Deno's cache. Its install scripts are not run. */
export function fetchArguments(run: NpmRun): readonly string[] {
  return ["cache", "--quiet", ...apart, `npm:${run.npm}`];
}

/** The failure of a start whose reason is that the package was never fetched, said as such; any other as it is. */
export function asNotCached(why: Failure, server: string, { npm }: NpmRun): Failure {
  if (!/not found in cache|--cached-only is specified/.test(why.message)) return why;
  return failure(
    "mcp_npm_not_cached",
    `The server "${server}" is not started: ${npm} was not fetched yet; troupe mcp check ${server} fetches it`,
  );
}
