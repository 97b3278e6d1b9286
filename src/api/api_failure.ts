/** Why the API refuses, and how any error is told to a program. */
import type { ApiError, ApiOutcome } from "../../schemas/api_error.ts";
import { FailureCode } from "../../schemas/failure.ts";
import { remedyOf } from "../../schemas/failure_kind.ts";
import { KernelError } from "../kernel/kernel.ts";
import { StoreError } from "../journal/store.ts";
import { ProgramError } from "../programs/program_error.ts";
import { ConfigError } from "../config_file.ts";

/** A refusal of the API. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly code: string;
  readonly outcome: ApiOutcome;
  constructor(code: string, message: string, outcome: ApiOutcome = "not_applied") {
    super(message);
    this.code = code;
    this.outcome = outcome;
  }
}

/** The one refusal for what is not there, is somebody else's, or is no address at all: nobody can tell them apart. */
export function notFound(): ApiFailure {
  return new ApiFailure("agent_not_found", "There is no such agent: see list");
}

/** The same for questions. */
export function questionNotFound(): ApiFailure {
  return new ApiFailure("question_not_found", "There is no such question: see questions");
}

const passing: ReadonlySet<string> = new Set([
  "mailbox_full",
  "store_busy",
  "store_full",
  "rate_limited",
  "slow_consumer",
  "prompt_queue_full",
  "cancels_waiting",
  "draining",
  "requests_too_many",
  "session_elsewhere",
  "lease_lost",
  "report_unconfirmed",
]);

/** An error as a program is told. What nobody foresaw says nothing of itself: its text is in the log. */
export function describeError(error: unknown, requestId: string): ApiError {
  const known = error instanceof ApiFailure || error instanceof KernelError || error instanceof StoreError ||
    error instanceof ConfigError || error instanceof ProgramError;
  if (!known) {
    return {
      code: "internal",
      message: "Something went wrong here: the log of the runtime says what; send the same key again",
      retryable: true,
      outcome: "unknown",
      request_id: requestId,
    };
  }
  const { code, message } = error instanceof ConfigError
    ? { code: "agent_invalid", message: error.message }
    : error;
  return {
    code,
    message: message.slice(0, 2_000),
    retryable: passing.has(code) || helps(code),
    // A store that refuses may have taken what was asked before: the same key tells.
    outcome: error instanceof ApiFailure
      ? error.outcome
      // What was accepted before the root was taken over goes on there.
      : error instanceof StoreError || code === "lease_lost" || code === "report_unconfirmed"
      ? "unknown"
      : "not_applied",
    request_id: requestId,
  };
}

/** True if a failure of a call is of a kind that a retry may help. */
function helps(code: string): boolean {
  const known = FailureCode.safeParse(code);
  return known.success && remedyOf({ code: known.data }).retry !== "never";
}
