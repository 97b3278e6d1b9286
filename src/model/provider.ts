/** What a model is to the runtime: a name, what it can do, and a stream of events for a request (AR-16..21). */
import type { FailureCode } from "../../schemas/failure.ts";
import type { ModelCapabilities, ModelEvent, ModelRequest } from "../../schemas/model.ts";

/** A vendor, or the script that stands for one. Knows nothing of turns, tools and journals (AR-21). */
export interface ModelProvider {
  /** The part of a model string before the slash. */
  readonly name: string;
  /** What it can do; a difference between vendors stands here and nowhere else (AR-19, AR-20). */
  readonly capabilities: ModelCapabilities;
  /**
   * Answers a request as a stream that ends with `done`. May be asked the same again after a crash. Stops soon after
   * `signal` aborts. Throws {@linkcode ModelError} for what is expected to go wrong.
   */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The failures that a provider may report. */
export type ModelErrorCode = Extract<
  FailureCode,
  "script_exhausted" | "script_mismatch" | "model_failed" | "model_unknown" | "model_answer_invalid"
>;

/** A model call that did not work, and whether the same call may work later. The message holds no secret. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly code: ModelErrorCode;
  /** True for rate limits, broken networks and failing servers (AR-26). */
  readonly retryable: boolean;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: ErrorOptions & { readonly retryable?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
