/** What a server of an older revision asks of us: only what was offered to it is answered, and little at once. */
import type { RequestAnswer, RequestGate, ServerRequest } from "../../schemas/call_pause.ts";
import type { McpAsks } from "../../schemas/manifest.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { type AnswerRequest, rpcCodes, RpcError } from "./protocol.ts";
import { readSampling, sampleMethod } from "./sample_request.ts";
import { elicitMethod, readElicitation } from "./server_request.ts";

/** A request for a person or a model, made while a call of ours is open. */
export interface ServerAsk {
  /** What is asked, under a name that its answer will have. */
  readonly read: (key: string) => ServerRequest;
  /** Aborts when the server does not wait for an answer any more, or the call is over. */
  readonly signal: AbortSignal;
}

/** What a server is told. */
export type AskAnswer = Omit<RequestAnswer, "key">;

/** Answers a request. */
export type AnswerAsk = (ask: ServerAsk) => Promise<AskAnswer>;

/** The extension of the modern era by which a call may become a task. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

/**
 * What a server is offered; nothing without `asks`. Roots and the model only in older revisions; tasks only in the newer
 * ones, where a server makes a task of a call of its own accord: in the older ones the call itself asks for that.
 */
export function offeredTo(asks: McpAsks | undefined, era: McpEra): JsonObject {
  if (asks === undefined) return {};
  const { elicitation = "prompt" } = asks;
  const { roots, sampling } = era === "legacy" ? asks : {};
  return {
    ...(elicitation === "deny" ? {} : { elicitation: { form: { applyDefaults: true }, url: {} } }),
    ...(roots === undefined ? {} : { roots: {} }),
    ...(sampling === undefined ? {} : { sampling: {} }),
    ...(era === "modern" ? { extensions: { [tasksExtension]: {} } } : {}),
  };
}

/** One open call, as far as its server asks during it: while it does, its silence means nothing. */
export class Asking {
  readonly answer: AnswerAsk | undefined;
  readonly over = new AbortController();
  #open = 0;
  #change = Promise.withResolvers<void>();

  constructor(answer: AnswerAsk | undefined) {
    this.answer = answer;
  }

  get isOpen(): boolean {
    return this.#open > 0;
  }

  /** Resolves once it is another number of requests that are open. */
  get changed(): Promise<void> {
    return this.#change.promise;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#count(1);
    try {
      return await work();
    } finally {
      this.#count(-1);
    }
  }

  #count(by: number): void {
    this.#open += by;
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/**
 * Answers the requests of one server. A question to a person belongs to an open call: nobody knows to which of several,
 * so the one that began last has it. Without an open call, and beyond four at once, it is declined (notes 6.6).
 */
export class ServerRequests {
  readonly #asks: McpAsks | undefined;
  readonly #calls: Asking[] = [];
  #open = 0;

  constructor(asks: McpAsks | undefined) {
    this.#asks = asks;
  }

  /** How questions to a person are answered; undefined if none is. */
  get gate(): RequestGate | undefined {
    const { elicitation = "prompt" } = this.#asks ?? { elicitation: "deny" };
    return elicitation === "deny" ? undefined : elicitation;
  }

  /** Answers one request of the server. */
  readonly answer: AnswerRequest = async ({ method, params }, signal) => {
    const roots = this.#asks?.roots;
    if (method === "roots/list" && roots !== undefined) return { roots: [{ ...roots }] };
    const read = this.#readerOf(method, params);
    if (read === undefined) throw new RpcError(rpcCodes.methodNotFound, "Method not found");
    const answered = await this.#pass({ read, signal });
    return method === sampleMethod ? sampleResult(answered) : elicitResult(answered);
  };

  /** Lets a server ask while `work` goes on. */
  async during<T>(asking: Asking, work: () => Promise<T>): Promise<T> {
    this.#calls.push(asking);
    try {
      return await work();
    } finally {
      this.#calls.splice(this.#calls.indexOf(asking), 1);
      asking.over.abort();
    }
  }

  /** How a request is read; undefined if it was not offered. */
  #readerOf(method: string, params: unknown): ServerAsk["read"] | undefined {
    const { gate } = this;
    const sampling = this.#asks?.sampling;
    if (method === elicitMethod && gate !== undefined) return (key) => readElicitation(key, params, gate);
    if (method === sampleMethod && sampling !== undefined) {
      return (key) => readSampling(key, params, sampling);
    }
    return undefined;
  }

  async #pass({ read, signal }: ServerAsk): Promise<AskAnswer> {
    const asking = this.#calls.at(-1);
    if (asking?.answer === undefined || this.#open >= limits.mcpRequestsAtOnceMax) {
      return { action: "decline" };
    }
    const { answer, over } = asking;
    this.#open += 1;
    try {
      const ask = { read, signal: AbortSignal.any([signal, over.signal]) };
      return await asking.during(() => answer(ask));
    } finally {
      this.#open -= 1;
    }
  }
}

function elicitResult({ action, content }: AskAnswer): JsonObject {
  return { action, ...(content === undefined ? {} : { content }) };
}

/** The code by which the protocol says that a person let no model answer. */
const rejectedCode = -1;

function sampleResult({ sample }: AskAnswer): JsonObject {
  if (sample === undefined) throw new RpcError(rejectedCode, "User rejected sampling request");
  const { text, model, stopReason } = sample;
  return { role: "assistant", content: { type: "text", text }, model, stopReason };
}
