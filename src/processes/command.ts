/** Which file a command means, and why one cannot be started. */
import { exhaustionAdvice, isExhausted } from "../exhaustion.ts";
import { errorCode, ProcessError, quoted } from "./process_error.ts";

/** A command as it was given, and where it is to run. */
export interface CommandPlace {
  readonly command: string;
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
}

/**
 * The absolute path of a command. One without a slash is looked up in `env.PATH`; one with a slash is taken from `cwd`.
 * Refuses a folder that does not exist, and a command that does not exist or may not be executed.
 */
export function findCommand({ command, cwd, env }: CommandPlace): string {
  checkFolder(command, cwd);
  // Windows has its own endings and its own search.
  if (Deno.build.os === "windows") return command;
  if (!command.includes("/")) return lookUp(command, env["PATH"] ?? "");
  const path = command.startsWith("/") ? command : `${absolute(cwd)}/${command}`;
  const kind = kindOf(path);
  if (kind === "missing") {
    throw refusal(command, "process_command_missing", "there is no such file; correct the path");
  }
  if (kind !== "program") throw notExecutable(command);
  return path;
}

/** Why `Deno.Command` could not start what was found. */
export function startError(command: string, error: unknown): ProcessError {
  if (error instanceof Deno.errors.PermissionDenied) return notExecutable(command);
  const cause = { cause: error };
  if (error instanceof Deno.errors.NotCapable) {
    const state = "this runtime is not permitted to start it; run it with --allow-run";
    return refusal(command, "process_start_failed", state, cause);
  }
  if (isExhausted(error)) return refusal(command, "process_resources_exhausted", exhaustionAdvice, cause);
  // The file was there a moment ago: it is the interpreter that is missing.
  const state = error instanceof Deno.errors.NotFound
    ? "the program that its first line names does not exist; install that program, or correct the line"
    : `the system refuses it (${
      errorCode(error)
    }); check its arguments and environment, and what the machine has left`;
  return refusal(command, "process_start_failed", state, cause);
}

function refusal(
  command: string,
  code: ProcessError["code"],
  state: string,
  options?: ErrorOptions,
): ProcessError {
  return new ProcessError(code, `Cannot start ${quoted(command)}: ${state}`, options);
}

function notExecutable(command: string): ProcessError {
  const state = "it is not a file that may be executed; make it executable, or name another";
  return refusal(command, "process_not_executable", state);
}

function checkFolder(command: string, cwd: string): void {
  let isFolder: boolean;
  try {
    isFolder = Deno.statSync(cwd).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw startError(command, error);
    isFolder = false;
  }
  if (isFolder) return;
  const state = `its folder ${quoted(cwd)} does not exist, or cannot be entered; create it, or name another`;
  throw refusal(command, "process_folder_missing", state);
}

/** Looks a command up by the rules of a shell, but never in a place that depends on the working folder. */
function lookUp(command: string, path: string): string {
  const folders = path.split(":").filter((folder) => folder.startsWith("/"));
  if (folders.length === 0) {
    const state = "its environment has no PATH to look it up in; set PATH, or give the path of the command";
    throw refusal(command, "process_command_missing", state);
  }
  let isLocked = false;
  for (const folder of command === "" ? [] : folders) {
    const candidate = `${folder}/${command}`;
    const kind = kindOf(candidate);
    if (kind === "program") return candidate;
    if (kind === "locked") isLocked = true;
  }
  if (isLocked) throw notExecutable(command);
  const state =
    "no folder of the PATH in its environment has such a command; install it, or give its whole path";
  throw refusal(command, "process_command_missing", state);
}

/** What stands at a path: a file that somebody may execute, one that nobody may, a folder, or nothing to be seen. */
function kindOf(path: string): "program" | "locked" | "folder" | "missing" {
  try {
    const { isFile, mode } = Deno.statSync(path);
    if (!isFile) return "folder";
    return ((mode ?? 0) & 0o111) !== 0 ? "program" : "locked";
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw startError(path.split("/").at(-1) ?? "", error);
    return "missing";
  }
}

function absolute(folder: string): string {
  return folder.startsWith("/") ? folder : `${Deno.cwd()}/${folder}`;
}
