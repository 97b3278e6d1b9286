/** The port between a connection and the protocol: whoever is behind it, connections, lists and calls are the same. */
import type { McpEra } from "../../schemas/mcp_revision.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { McpRequest } from "./call.ts";
import type { Fields } from "./json_bounds.ts";
import type { Wire } from "./wire.ts";

/** What is said of how far a request has come. */
export interface ProgressNotice {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** How a request is made. */
export interface RequestOptions {
  /** Gives the request up, and tells the server. */
  readonly signal: AbortSignal;
  /** Without it, nobody is told how far the request has come. */
  readonly onProgress?: (notice: ProgressNotice) => void;
}

/** What a server says unasked, as it came. */
export interface ServerNotice {
  readonly method: string;
  readonly params: Fields;
}

/** The protocol with one server: one implementation for each era, `protocol_v1.ts` and `protocol_v2.ts`. */
export interface McpProtocol {
  readonly era: McpEra;
  /** What the server calls itself. */
  readonly server: { readonly name: string; readonly version: string };
  /** What it says that it can do. */
  readonly capabilities: Fields;
  /** True if giving a request up ends what its answer comes by, so that none can come late. */
  readonly hangsUp: boolean;
  /**
   * Sends a request before it returns, and gives its result as it came. Rejects with {@linkcode RpcError} if the server
   * answers with an error, with what the wire says if no answer comes.
   */
  request(request: McpRequest, options: RequestOptions): Promise<Fields>;
  /** Hears what the server says unasked. */
  hear(take: (notice: ServerNotice) => void): void;
}

/** How a conversation is begun. */
export interface SpeakOptions {
  /** What we say that we can do; empty without, so that no server waits for anything of ours. */
  readonly capabilities?: JsonObject;
  /** The revision to offer; the newest of its era without. */
  readonly revision?: string;
  /** Gives the beginning up. */
  readonly signal: AbortSignal;
  /** Answers what the server asks of us by a request, which only older revisions have; without it, all is refused. */
  readonly onRequest?: AnswerRequest;
}

/** Answers a request of a server, until `signal` says that nobody waits. Rejects with {@linkcode RpcError} to refuse. */
export type AnswerRequest = (
  request: { readonly method: string; readonly params?: unknown },
  signal: AbortSignal,
) => Promise<JsonObject>;

/** Begins a conversation. Rejects with {@linkcode RpcError} if the server refuses, with `EraError` if it is of another era. */
export type Speak = (wire: Wire, options: SpeakOptions) => Promise<McpProtocol>;

/** An error that a server answered with. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The protocol's codes for errors that mean something to us. */
export const rpcCodes = {
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  versionUnsupported: -32_022,
} as const;

/** The longest that a timer can wait: the SDKs start one for every request, and end it with the request. */
export const foreverMs = 2_147_483_647;
