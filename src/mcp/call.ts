/** One `tools/call`, from its first byte to the one way in which it ended. */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { TraceId } from "../../schemas/trace.ts";
import { givenUp } from "../effects/deadline.ts";
import { oneLine } from "./plain_text.ts";
import { AnswerLostError, NotSentError } from "./asked.ts";
import { type ProgressNotice, rpcCodes, RpcError } from "./protocol.ts";
import { cancelReason, type Connection, refusal } from "./request.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";
import type { AnswerAsk, Asking } from "./server_requests.ts";
import { traceParentOf } from "./trace_parent.ts";

/** How long an answer is still waited for after we gave a call up, in milliseconds. Some servers never send one. */
const answerGraceMs = 2_000;
/** Reports of progress that are passed on for one call; later ones only keep it alive. */
const progressReportsMax = 10_000;
const progressCharactersMax = 500;

/** A request of the protocol. */
export interface McpRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** A call of one tool. */
export interface McpCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** What is asked in place of `tools/call`, for what a server offers besides tools. */
  readonly request?: McpRequest;
  /** What stands beside the arguments: answers that the server wanted first. */
  readonly more?: JsonObject;
  /** Asks for the call to be carried out as a task, and for how long the server is to keep it. Milliseconds. */
  readonly asTask?: { readonly ttl: number };
  /** The same for every attempt: for servers that deduplicate. What only asks about a call has none. */
  readonly key?: string;
  /** The trace that whoever asked for this named. */
  readonly trace?: TraceId | undefined;
  readonly signal: AbortSignal;
  /** How long the server may be silent; progress makes it begin anew. Milliseconds. */
  readonly idleMs: number;
  readonly onProgress: (message: string) => void;
  /** Answers what the server asks of a person while the call is open; without it, that is declined. */
  readonly onAsk?: AnswerAsk | undefined;
  /** Hears of a result that comes after the end of the call, once at most: the second of two, or one that is late. */
  readonly onStray?: (result: unknown) => void;
}

/** How a call ended. */
export type McpCallResult =
  /** The server answered with a result, given as it came. */
  | { readonly status: "returned"; readonly result: unknown }
  /**
   * The server answered with an error of the protocol, by its code; `isUnknown` if it does not know the tool or its
   * arguments.
   */
  | {
    readonly status: "refused";
    readonly failure: Failure;
    readonly isUnknown: boolean;
    readonly code?: number;
    /** What the server added to its error, as it came. */
    readonly data?: unknown;
  }
  /** Certainly nothing was written. */
  | { readonly status: "not_sent"; readonly failure: Failure }
  /** Written, and no answer will come: the tool may have run. */
  | { readonly status: "lost"; readonly failure: Failure };

type Answer = { readonly result: unknown } | { readonly error: unknown };
/** Why an answer is not waited for any more. */
type Stop = "canceled" | "silent";

const doubt = "the call may have been carried out: check before repeating it";

/** Performs a call. Never rejects. While its server asks somebody, its silence means nothing. */
export async function performCall(
  connection: Connection,
  call: McpCall,
  asking?: Asking,
): Promise<McpCallResult> {
  const { loss } = connection.transport;
  if (loss !== undefined) return { status: "not_sent", failure: loss };
  if (call.signal.aborted) {
    return { status: "not_sent", failure: failure("tool_canceled", unsent("canceled")) };
  }
  return await new RunningCall(connection, call, asking).run();
}

/** What a server is told of a call besides what it asks: for servers that deduplicate, and for those that trace. */
function metaOf(key: string, trace: TraceId | undefined): JsonObject {
  const traceparent = traceParentOf(key);
  return {
    "troupe/idempotency-key": key,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(trace === undefined ? {} : { "troupe/trace-id": trace }),
  };
}

class RunningCall {
  readonly #connection: Connection;
  readonly #call: McpCall;
  readonly #asking: Asking | undefined;
  readonly #giveUp = new AbortController();
  readonly #over = new AbortController();
  #silentAtMs = 0;
  #reports = 0;
  #request = -1;

  constructor(connection: Connection, call: McpCall, asking: Asking | undefined) {
    this.#connection = connection;
    this.#call = call;
    this.#asking = asking;
  }

  async run(): Promise<McpCallResult> {
    const answer = this.#ask();
    const first = await Promise.race([answer, this.#untilStopped()]);
    const result = typeof first === "string" ? await this.#abandon(first, answer) : this.#conclude(first);
    this.#over.abort(givenUp);
    this.#connection.transport.forget(this.#request);
    return result;
  }

  #ask(): Promise<Answer> {
    const { key, trace } = this.#call;
    const { protocol, transport } = this.#connection;
    const { method, params } = requestOf(this.#call);
    const asked = {
      method,
      params: { ...params, ...(key === undefined ? {} : { _meta: metaOf(key, trace) }) },
    };
    this.#restartSilence();
    const answer = protocol.request(asked, {
      signal: this.#giveUp.signal,
      onProgress: (progress) => this.#noteProgress(progress),
    });
    // It is handed over before it returns.
    this.#request = transport.asked.last;
    const { onStray } = this.#call;
    if (onStray !== undefined) {
      transport.asked.hearStray(this.#request, (message) => "result" in message && onStray(message.result));
    }
    return answer.then((result) => ({ result }), (error: unknown) => ({ error }));
  }

  /** Waits until the caller gives up or the server has been silent for too long. Woken once per silence, not per report. */
  async #untilStopped(): Promise<Stop> {
    const { clock } = this.#connection;
    const { signal } = this.#call;
    const canceled = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true, signal: this.#over.signal });
    });
    const asking = this.#asking;
    while (!signal.aborted && !this.#over.signal.aborted) {
      if (asking?.isOpen === true) {
        await Promise.race([canceled, asking.changed]);
        this.#restartSilence();
        continue;
      }
      if (clock.now() >= this.#silentAtMs) break;
      const silence = clock.sleepUntil(this.#silentAtMs, this.#over.signal);
      await Promise.race([canceled, silence, ...(asking === undefined ? [] : [asking.changed])]);
    }
    return signal.aborted ? "canceled" : "silent";
  }

  #restartSilence(): void {
    this.#silentAtMs = this.#connection.clock.now() + this.#call.idleMs;
  }

  #noteProgress({ progress, total, message }: ProgressNotice): void {
    this.#restartSilence();
    if (++this.#reports > progressReportsMax) return;
    const amount = total === undefined ? `${progress}` : `${progress} of ${total}`;
    this.#call.onProgress(oneLine(message ?? amount, progressCharactersMax));
  }

  #conclude(answer: Answer): McpCallResult {
    if ("result" in answer) return { status: "returned", result: answer.result };
    const { transport } = this.#connection;
    const told = answer.error instanceof AnswerLostError ? answer.error.failure : transport.loss;
    const loss = told ?? failure("mcp_protocol_error", "The call could not be sent to the MCP server");
    switch (transport.asked.stateOf(this.#request)) {
      case "over":
        if (isOfOtherRevision(answer.error)) return this.#concludeUnspoken(answer.error);
        return {
          status: "refused",
          failure: refusal("the call", answer.error),
          isUnknown: this.#call.request === undefined && isUnknownCall(answer.error),
          ...(answer.error instanceof RpcError ? { code: answer.error.code, data: answer.error.data } : {}),
        };
      case "written":
        return { status: "lost", failure: { ...loss, message: `${loss.message}; ${doubt}`.slice(0, 2_000) } };
      case "unwritten":
        return {
          status: "not_sent",
          failure: answer.error instanceof NotSentError ? answer.error.failure : loss,
        };
    }
  }

  /** The server does not speak this revision any more: certainly it did nothing, and the next connection finds out anew. */
  #concludeUnspoken(error: unknown): McpCallResult {
    const { transport, isRemote } = this.#connection;
    const why = refusal("the call", error);
    // A process that is ended here would have the call made once more within the same attempt.
    if (isRemote) transport.end(why);
    return { status: "not_sent", failure: why };
  }

  /** Tells the server, and gives it a moment: an answer that was on its way settles what would else be in doubt. */
  async #abandon(stop: Stop, answer: Promise<Answer>): Promise<McpCallResult> {
    const { transport, clock } = this.#connection;
    // The answer is there already: it only has not come as far as the stop.
    if (transport.asked.stateOf(this.#request) === "over") return this.#conclude(await answer);
    if (transport.asked.stateOf(this.#request) === "unwritten") {
      transport.forget(this.#request);
      this.#giveUp.abort(cancelReason);
      return { status: "not_sent", failure: stopped(stop, unsent(stop)) };
    }
    const late = new Promise<JSONRPCMessage>((resolve) => transport.asked.redirect(this.#request, resolve));
    this.#giveUp.abort(cancelReason);
    // Whoever hangs up hears no answer any more.
    const graceMs = this.#connection.protocol.hangsUp ? 0 : answerGraceMs;
    const grace = clock.sleepUntil(clock.now() + graceMs, this.#over.signal);
    const message = await Promise.race([late, grace, transport.lost]);
    // An error says no more than that it was stopped: how far it had come, nobody knows.
    if (typeof message === "object" && "result" in message) {
      return { status: "returned", result: message.result };
    }
    return { status: "lost", failure: stopped(stop, `${sent(stop, this.#call.idleMs)}; ${doubt}`) };
  }
}

function requestOf({ tool, arguments: args, asTask, request, more }: McpCall): McpRequest {
  if (request !== undefined) return request;
  const params = { name: tool, arguments: args, ...(asTask === undefined ? {} : { task: asTask }), ...more };
  return { method: "tools/call", params };
}

/** The protocol has these codes for a tool that is not there, and for arguments and headers that are not those it takes. */
const unknownCodes: ReadonlySet<number> = new Set([
  rpcCodes.invalidParams,
  rpcCodes.methodNotFound,
  rpcCodes.headerMismatch,
]);

function isUnknownCall(error: unknown): boolean {
  return error instanceof RpcError && unknownCodes.has(error.code);
}

function isOfOtherRevision(error: unknown): boolean {
  return error instanceof RpcError && error.code === rpcCodes.versionUnsupported;
}

function stopped(stop: Stop, message: string): Failure {
  return stop === "canceled"
    ? failure("tool_canceled", message)
    : retryableFailure("mcp_unavailable", message);
}

function unsent(stop: Stop): string {
  return stop === "canceled"
    ? "The call was canceled before anything of it was sent"
    : "The MCP server did not read its input in time; nothing of the call was sent";
}

function sent(stop: Stop, idleMs: number): string {
  return stop === "canceled"
    ? "The call was canceled after it had been sent"
    : `The MCP server was silent for ${idleMs / 1_000} s after the call had been sent`;
}
