/** What a guarded request ends with when it brings no answer. */
import { type Failure, failure, type FailureCode } from "../../schemas/failure.ts";
import { remedyOf } from "../../schemas/failure_kind.ts";
import type { UrlDecision } from "../../schemas/url_decision.ts";

/** Circumstances of an {@linkcode HttpError}. */
export interface HttpErrorOptions extends ErrorOptions {
  /** False if certainly no byte of the request reached a server that could act on it. */
  readonly wasSent?: boolean;
}

/** A guarded request that brought no whole answer. The message shows scheme, host and port at most. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: FailureCode;
  /** False if certainly no byte of the request reached a server that could act on it. */
  readonly wasSent: boolean;
  /** What was decided on the way, hop by hop; the last is the one that failed. */
  hops: readonly UrlDecision[] = [];

  constructor(code: FailureCode, message: string, options: HttpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.wasSent = options.wasSent ?? true;
  }

  /** True if the same request may succeed later: by its code alone. Says nothing about whether a repeat is harmless. */
  get retryable(): boolean {
    return remedyOf(this).retry !== "never";
  }

  /** The same as data. */
  get failure(): Failure {
    return { ...failure(this.code, this.message), retryable: this.retryable };
  }
}
