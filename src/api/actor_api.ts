/** The actor API: every carrier hands its requests here, and gives back what comes (design.md section 7). */
import {
  type ApiCall,
  type ApiGiven,
  type ApiMethod,
  apiMethods,
  type ApiResult,
  type ApiStream,
} from "../../schemas/api.ts";
import type { ApiError } from "../../schemas/api_error.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { principalText } from "../../schemas/principal.ts";
import type { TraceId } from "../../schemas/trace.ts";
import { ApiFailure, describeError, notFound, questionNotFound } from "./api_failure.ts";
import type { ApiCallContext, ApiParts } from "./api_parts.ts";
import type { Caller } from "./caller.ts";
import { exportSession } from "./export_session.ts";
import { invoke, programCalls, programRefresh, programRegister, programReport } from "./programs.ts";
import { answer, questions } from "./questions.ts";
import { heartbeat } from "./heartbeat.ts";
import { spawn } from "./spawn.ts";
import { ask, cancel, resume, send, stop } from "./turns.ts";
import { budget, get, list, tree, why } from "./views.ts";
import { watch } from "./watch.ts";

/** A request, as a carrier has read it. Nothing of it was checked but who asks. */
export interface ApiRequest {
  readonly caller: Caller;
  readonly method: string;
  readonly params: unknown;
  /** Makes a repeat harmless; every command needs one. */
  readonly key?: string | undefined;
  /** The trace that the request belongs to, as the carrier has checked it. */
  readonly trace?: TraceId | undefined;
  readonly signal: AbortSignal;
}

/** A connection of a program, as its carrier holds it. */
export interface ApiConnection {
  readonly id: string;
  /** The program is gone: stops what was to stop with it. Resolves when that has ended. */
  end(): Promise<void>;
}

type CallMethods = {
  readonly [M in ApiCall]: (context: ApiCallContext, given: ApiGiven<M>) => Promise<ApiResult<M>>;
};
type StreamMethods = {
  readonly [M in ApiStream]: (context: ApiCallContext, given: ApiGiven<M>) => AsyncIterable<ApiResult<M>>;
};

/** One function each: leave one out and this does not compile. */
const calls: CallMethods = {
  spawn,
  send,
  ask,
  resume,
  questions,
  answer,
  cancel,
  stop,
  heartbeat,
  get,
  list,
  tree,
  budget,
  why,
  program_register: programRegister,
  program_refresh: programRefresh,
  program_report: programReport,
  invoke,
};
const streams: StreamMethods = { watch, export: exportSession, program_calls: programCalls };

/** Printable, so that keys of our own that follow from a client's can be nobody else's. */
const keyPattern = /^[\x21-\x7e]+$/;

/** The API of one runtime. */
export class ActorApi {
  readonly #parts: ApiParts;

  constructor(parts: ApiParts) {
    this.#parts = parts;
  }

  /** Carries out a call. Throws what {@linkcode ActorApi.describe} tells of. */
  async call(request: ApiRequest): Promise<unknown> {
    const { method, context, given } = this.#open(request);
    const perform = Object.hasOwn(calls, method) ? calls[method as ApiCall] : undefined;
    if (perform === undefined) throw unknownMethod(method);
    // The table pairs each method with its own parameters; the union of all forgets the pairing.
    return await (perform as (context: ApiCallContext, given: unknown) => Promise<unknown>)(context, given);
  }

  /** Answers piece by piece, until the caller has gone. */
  async *stream(request: ApiRequest): AsyncIterable<unknown> {
    const { method, context, given } = this.#open(request);
    const perform = Object.hasOwn(streams, method) ? streams[method as ApiStream] : undefined;
    if (perform === undefined) throw unknownMethod(method);
    yield* (perform as (context: ApiCallContext, given: unknown) => AsyncIterable<unknown>)(context, given);
  }

  /** Opens the connection of a program that is gone once the carrier ends it. */
  connect(): ApiConnection {
    const { fates } = this.#parts;
    const id = fates.open();
    return { id, end: () => fates.end(id) };
  }

  /** True if this command was carried out before: its key is known. */
  async wasAsked({ principal }: Caller, key: string | undefined): Promise<boolean> {
    const { journal } = this.#parts.runtime;
    return key !== undefined && await journal.readCommand(principalText(principal), key) !== undefined;
  }

  /** Where the journal of an agent stands. For who was let in to it. */
  async headOf(address: RootAddress): Promise<number> {
    return (await this.#parts.host.readHead(address)).seq;
  }

  /** An error as the caller is told. What nobody foresaw goes to the log, whole. */
  describe(error: unknown, requestId: string): ApiError {
    const told = describeError(error, requestId);
    if (told.code === "internal") {
      const detail = { request: requestId, message: String(error) };
      this.#parts.seams.log({ level: "error", event: "api.failed", detail });
    }
    return told;
  }

  /** Checks, in this order: the method, the right, the key, the parameters. Ownership is the method's own. */
  #open({ caller, method, params, key, trace, signal }: ApiRequest): {
    readonly method: ApiMethod;
    readonly context: ApiCallContext;
    readonly given: unknown;
  } {
    if (!Object.hasOwn(apiMethods, method)) throw unknownMethod(method);
    const known = method as ApiMethod;
    const { kind, scope, params: schema } = apiMethods[known];
    if (!caller.scopes.has(scope)) {
      throw new ApiFailure("scope_missing", `${known} needs the scope ${scope}, which this token has not`);
    }
    if (kind === "command") checkKey(known, key);
    const parsed = schema.safeParse(params ?? {});
    if (!parsed.success) {
      const foreign = parsed.error.issues.map(({ path: [name] }) => idFailure(name, params));
      const [first] = foreign;
      if (first !== undefined && !foreign.includes(undefined)) throw first;
      const issue = parsed.error.issues.find((_, at) => foreign[at] === undefined);
      const at = issue?.path.map(String).join(".") || "the request";
      throw new ApiFailure("params_invalid", `Cannot ${known}: ${at}: ${issue?.message ?? "not accepted"}`);
    }
    const context = { parts: this.#parts, caller, key: key ?? "", trace, signal };
    return { method: known, context, given: parsed.data };
  }
}

/** What is no id at all is refused as one that is somebody else's, byte for byte (CM-19); undefined if it is not about an id. */
function idFailure(name: PropertyKey | undefined, params: unknown): ApiFailure | undefined {
  if (typeof name !== "string" || typeof Object(params)[name] !== "string") return undefined;
  if (name === "question") return questionNotFound();
  return name === "address" || name === "parent" || name === "before" ? notFound() : undefined;
}

function unknownMethod(method: string): ApiFailure {
  const known = Object.keys(apiMethods).join(", ");
  return new ApiFailure(
    "method_unknown",
    `There is no method ${JSON.stringify(method.slice(0, 40))}: there are ${known}`,
  );
}

function checkKey(method: ApiMethod, key: string | undefined): void {
  if (key === undefined || key === "") {
    throw new ApiFailure(
      "idempotency_key_missing",
      `${method} needs an idempotency key: a new one for each command`,
    );
  }
  const most = limits.commandKeyBytesMax - 16;
  if (keyPattern.test(key) && key.length <= most) return;
  throw new ApiFailure(
    "idempotency_key_invalid",
    `An idempotency key is 1 to ${most} printable ASCII characters without spaces`,
  );
}
