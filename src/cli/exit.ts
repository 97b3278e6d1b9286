/** Exit codes, and the one line that a person is shown of an error. */
import type { StoreErrorCode } from "../journal/store.ts";

/** The exit codes of `troupe`; documented in its help, never renumbered. */
export const exitCodes = {
  ok: 0,
  /** The run or check ended badly: a turn did not complete, a replay diverged. */
  failed: 1,
  usage: 2,
  damaged: 3,
  inUse: 4,
  fenced: 5,
  newer: 6,
  waiting: 7,
  interrupted: 130,
} as const;

/** One exit code. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What each exit code means, for `--help`. */
export const exitMeanings: { readonly [K in keyof typeof exitCodes]: string } = {
  ok: "well",
  failed: "the run or check ended badly: a turn did not complete, a replay diverged",
  usage: "wrong use or configuration",
  damaged: "unreadable or damaged data",
  inUse: "the store is in use by another process",
  fenced: "another runtime took the store over",
  newer: "written by a newer version",
  waiting: "the turn waits for a person: troupe resume",
  interrupted: "left before the end",
};

/** An order on the command line that cannot be carried out as it was given. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** Stable; for programs. */
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A command that did its work, and what it found is bad: exit code 1, or 3 where its code says that data is damaged. */
export class CheckFailedError extends Error {
  override readonly name = "CheckFailedError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A command that a person left before its end. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";
  readonly code = "interrupted";
}

/** Leave one out and this does not compile. */
const ofStoreErrors: { readonly [K in StoreErrorCode]: ExitCode } = {
  store_in_use: exitCodes.inUse,
  store_fenced: exitCodes.fenced,
  store_corrupt: exitCodes.damaged,
  store_full: exitCodes.failed,
  store_busy: exitCodes.inUse,
  store_not_found: exitCodes.usage,
  store_unusable: exitCodes.usage,
  store_from_newer_version: exitCodes.newer,
  store_unauthorized: exitCodes.usage,
  store_unreachable: exitCodes.failed,
  store_insecure: exitCodes.usage,
  store_protocol_unsupported: exitCodes.usage,
  lease_lost: exitCodes.fenced,
  journal_corrupt: exitCodes.damaged,
  value_too_large: exitCodes.failed,
  id_too_long: exitCodes.usage,
};

/** Codes of other errors that do not simply mean that the command failed. Errors keep their code over the door. */
const ofOtherCodes: { readonly [code: string]: ExitCode } = {
  interrupted: exitCodes.interrupted,
  turn_waiting: exitCodes.waiting,
  config_invalid: exitCodes.usage,
  transport_unsupported: exitCodes.usage,
  root_not_found: exitCodes.usage,
  token_not_found: exitCodes.usage,
  token_ended: exitCodes.usage,
  token_replaced: exitCodes.usage,
  tokens_full: exitCodes.usage,
  tokens_not_shared: exitCodes.usage,
  scope_for_persons: exitCodes.usage,
  jwt_key_invalid: exitCodes.usage,
  session_not_yours: exitCodes.usage,
  session_elsewhere: exitCodes.inUse,
  entry_not_found: exitCodes.usage,
  fork_unsettled: exitCodes.usage,
  fork_misplaced: exitCodes.usage,
  owner_missing: exitCodes.usage,
  question_not_found: exitCodes.usage,
  question_changed: exitCodes.usage,
  decision_not_offered: exitCodes.usage,
  note_required: exitCodes.usage,
  message_invalid: exitCodes.usage,
  idempotency_key_reuse: exitCodes.usage,
  path_not_found: exitCodes.usage,
  json_invalid: exitCodes.damaged,
  json_too_deep: exitCodes.damaged,
  json_too_large: exitCodes.damaged,
  line_not_text: exitCodes.damaged,
  line_too_long: exitCodes.damaged,
  export_invalid: exitCodes.damaged,
  export_altered: exitCodes.damaged,
  export_truncated: exitCodes.damaged,
  export_from_newer_version: exitCodes.newer,
  fixture_not_found: exitCodes.damaged,
  fixture_incomplete: exitCodes.damaged,
  fixture_invalid: exitCodes.damaged,
  fixture_altered: exitCodes.damaged,
  fixture_truncated: exitCodes.damaged,
  fixtures_unreadable: exitCodes.damaged,
  fixture_from_newer_version: exitCodes.newer,
  folder_not_empty: exitCodes.usage,
  records_inconsistent: exitCodes.damaged,
  trust_unreadable: exitCodes.damaged,
  trust_unsafe: exitCodes.usage,
  trust_unwritable: exitCodes.usage,
  trust_full: exitCodes.usage,
};

/** An error as a person and a script are told of it. */
export interface ErrorReport {
  /** One line, without the code. */
  readonly message: string;
  readonly code: string;
  readonly exit: ExitCode;
}

/** What an error means. Anything without a code of its own is a fault of ours: `internal`, exit code 1. */
export function reportError(error: unknown): ErrorReport {
  if (!(error instanceof Error)) {
    return { message: oneLine(String(error)), code: "internal", exit: exitCodes.failed };
  }
  const code = codeOf(error);
  return { message: oneLine(error.message), code, exit: exitOf(error, code) };
}

function codeOf(error: Error): string {
  if ("code" in error && typeof error.code === "string" && /^[a-z][a-z0-9_]*$/.test(error.code)) {
    return error.code;
  }
  if (error.name === "ScriptFileError" && "failure" in error) {
    const { failure } = error as { readonly failure?: { readonly code?: unknown } };
    if (typeof failure?.code === "string") return failure.code;
  }
  if (error instanceof Deno.errors.NotFound) return "file_not_found";
  if (error instanceof Deno.errors.AlreadyExists) return "file_exists";
  if (error instanceof Deno.errors.PermissionDenied) return "file_not_permitted";
  return "internal";
}

function exitOf(error: Error, code: string): ExitCode {
  if (Object.hasOwn(ofStoreErrors, code)) return ofStoreErrors[code as StoreErrorCode];
  const known = Object.hasOwn(ofOtherCodes, code) ? ofOtherCodes[code] : undefined;
  if (known !== undefined) return known;
  if (error instanceof UsageError || code.startsWith("yaml_") || code.startsWith("file_")) {
    return exitCodes.usage;
  }
  return exitCodes.failed;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").trim();
}
