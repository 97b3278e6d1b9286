/** Why a child process could not be started or written to. */
import { head, visible } from "../tools/visible.ts";

/** What went wrong with a child process. */
export type ProcessErrorCode =
  | "process_command_missing"
  | "process_not_executable"
  | "process_folder_missing"
  | "process_start_failed"
  | "process_resources_exhausted"
  | "process_unidentified"
  | "process_input_closed"
  | "process_registry_closed";

/** A child process that could not be started or written to. The message names the command and says what to do. */
export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly code: ProcessErrorCode;

  constructor(code: ProcessErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A name or path that the caller gave, for messages: visible and short. */
export function quoted(name: string): string {
  return `"${head(visible(name), 200)}"`;
}

/** What the system calls an error, such as `ENOSPC`: never its message, which may hold paths of the machine. */
export function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return error instanceof Error ? error.name : "unknown error";
}
