/** What a model is to the runtime: a name, what it can do, and a stream of events for a request (AR-16..21). */
import type { Failure } from "../../schemas/failure.ts";
import { remedyOf } from "../../schemas/failure_kind.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelCapabilities, ModelEvent, ModelRequest } from "../../schemas/model.ts";
import type { ModelErrorCode } from "../../schemas/script.ts";

/** The two parts of a model: its provider, and what that calls it. A name of the host's own is both. */
export function splitModel(model: string): readonly [provider: string, rest: string] {
  const slash = model.indexOf("/");
  return slash < 0 ? [model, model] : [model.slice(0, slash), model.slice(slash + 1)];
}

/** A vendor, or the script that stands for one. Knows nothing of turns, tools and journals (AR-21). */
export interface ModelProvider {
  /** The part of a model string before the slash. */
  readonly name: string;
  /** What it can do; a difference between vendors stands here and nowhere else (AR-19, AR-20). */
  readonly capabilities: ModelCapabilities;
  /** Requests that it takes at once; `limits.modelRequestsAtOnceDefault` if it does not say. */
  readonly concurrency?: number;
  /** How long it may say nothing before and within an answer, in milliseconds; `limits.modelCallDurationMs` if it does not say. */
  readonly timeoutMs?: number;
  /**
   * Answers a request as a stream that ends with `done`. May be asked the same again after a crash. Stops soon after
   * `signal` aborts. Throws {@linkcode ModelError} for what is expected to go wrong.
   */
  generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** A model call that did not work. Whether the same call may work later, its code says. The message holds no secret. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly failure: Failure;

  constructor(
    code: ModelErrorCode,
    message: string,
    options: ErrorOptions & {
      /** How long the provider asks to be left alone, in milliseconds. */
      readonly retryAfterMs?: number | undefined;
      /** Of `model_schema_unsupported`: the tool whose schema it is, by the name that the provider was given. */
      readonly tool?: string | undefined;
    } = {},
  ) {
    super(message, options);
    const { retryAfterMs, tool } = options;
    this.failure = {
      code,
      message: message.slice(0, 2_000),
      retryable: remedyOf({ code }).retry !== "never",
      ...(retryAfterMs === undefined
        ? {}
        : { retryAfterMs: Math.min(Math.max(0, Math.ceil(retryAfterMs)), limits.retryAfterToldMsMax) }),
      ...(tool === undefined || !/^[\w.-]{1,128}$/.test(tool) ? {} : { tool }),
    };
  }
}
