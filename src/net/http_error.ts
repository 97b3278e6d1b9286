/** What a guarded request ends with when it brings no answer. */
import { type Failure, failure, type FailureCode, retryableFailure } from "../../schemas/failure.ts";
import type { UrlDecision } from "../../schemas/url_decision.ts";

/** Circumstances of an {@linkcode HttpError}. */
export interface HttpErrorOptions extends ErrorOptions {
  /** True if the same request may succeed later. */
  readonly retryable?: boolean;
  /** False if certainly no byte of the request reached a server that could act on it. */
  readonly wasSent?: boolean;
}

/** A guarded request that brought no whole answer. The message shows scheme, host and port at most. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: FailureCode;
  readonly retryable: boolean;
  /** False if certainly no byte of the request reached a server that could act on it. */
  readonly wasSent: boolean;
  /** What was decided on the way, hop by hop; the last is the one that failed. */
  hops: readonly UrlDecision[] = [];

  constructor(code: FailureCode, message: string, options: HttpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.wasSent = options.wasSent ?? true;
  }

  /** The same as data. */
  get failure(): Failure {
    return this.retryable ? retryableFailure(this.code, this.message) : failure(this.code, this.message);
  }
}
