/** Starts a program as the leader of a process group of its own, with exactly the environment that it is given. */
import { exhaustionAdvice, lacksFilesToStart } from "../exhaustion.ts";
import { findCommand, startError } from "./command.ts";
import { ProcessError, quoted } from "./process_error.ts";

/** What is started, and where. */
export interface SpawnOptions {
  /** A path, or a name that is looked up in `env.PATH`. */
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: { readonly [name: string]: string };
}

/** Starts it. Without `stdin` it has none to read. Throws {@linkcode ProcessError}: then certainly nothing was started. */
export function spawnLeader(
  options: SpawnOptions,
  { stdin }: { readonly stdin: "piped" | "null" },
): Deno.ChildProcess {
  const { command, args, cwd, env } = options;
  if (Object.keys(env).some((name) => name === "" || name.includes("="))) {
    const state = "a name in its environment is empty or has an equals sign; correct the name";
    throw new ProcessError("process_start_failed", `Cannot start ${quoted(command)}: ${state}`);
  }
  const path = findCommand(options);
  if (lacksFilesToStart()) {
    throw new ProcessError(
      "process_resources_exhausted",
      `Cannot start ${quoted(command)}: ${exhaustionAdvice}`,
    );
  }
  try {
    return new Deno.Command(path, {
      args: [...args],
      cwd,
      env: { ...env },
      clearEnv: true,
      detached: true,
      stdin,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    throw startError(command, error);
  }
}
