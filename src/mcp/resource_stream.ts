/**
 * Resources that are subscribed to in the modern era: they stand in the request that opens a stream, so that each change
 * of them opens another one. The one before is closed only then: what changes in between is told by one or the other.
 */
import { failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { McpCall, McpCallResult, McpRequest } from "./call.ts";
import { ListenStream } from "./listen_stream.ts";
import { RpcError, type ServerNotice } from "./protocol.ts";
import { type Connection, refusal } from "./request.ts";

/** How a stream was opened, or why there is none. */
type Opened = "open" | Exclude<McpCallResult, { readonly status: "returned" }>;

/** The resources of one connection. */
export class ResourceStream {
  readonly #connection: Connection;
  readonly #onMissed: (uri: string) => void;
  readonly #over = new AbortController();
  #uris: ReadonlySet<string> = new Set();
  #stream: ListenStream | undefined;
  #opening: ListenStream | undefined;
  /** One change after another. */
  #turn: Promise<unknown> = Promise.resolve();
  /** True if there was a time in which nobody listened. */
  #isMissed = false;

  /** `onMissed` is told of each resource that may have changed while nobody listened. */
  constructor(connection: Connection, onMissed: (uri: string) => void) {
    this.#connection = connection;
    this.#onMissed = onMissed;
    void connection.transport.lost.then(() => this.#over.abort(givenUp));
  }

  /** True for the requests that this era makes by a stream. */
  static answers(request: McpRequest | undefined): request is McpRequest {
    return request?.method === "resources/subscribe" || request?.method === "resources/unsubscribe";
  }

  /** Takes what the server said. */
  take(notice: ServerNotice): void {
    this.#opening?.take(notice);
  }

  /** Subscribes to a resource, or ends that. Never rejects. */
  change({ method, params }: McpRequest, { signal }: Pick<McpCall, "signal">): Promise<McpCallResult> {
    const uri = String(params["uri"]);
    const changed = this.#turn.then(() =>
      method === "resources/subscribe" ? this.#add(uri, signal) : this.#remove(uri, signal)
    );
    this.#turn = changed;
    return changed;
  }

  async #add(uri: string, signal: AbortSignal): Promise<McpCallResult> {
    const uris = new Set([...this.#uris, uri]);
    const opened = await this.#open(uris, signal, uri);
    if (opened !== "open") return opened;
    this.#uris = uris;
    return { status: "returned", result: {} };
  }

  async #remove(uri: string, signal: AbortSignal): Promise<McpCallResult> {
    this.#uris = new Set([...this.#uris].filter((one) => one !== uri));
    if (this.#uris.size > 0) {
      const opened = await this.#open(this.#uris, signal);
      return opened === "open" ? { status: "returned", result: {} } : opened;
    }
    const last = this.#stream;
    this.#stream = undefined;
    last?.close(givenUp);
    return { status: "returned", result: {} };
  }

  /** Opens a stream in place of the one that there is, which stays if this one is refused. */
  async #open(uris: ReadonlySet<string>, signal: AbortSignal, added?: string): Promise<Opened> {
    const { clock } = this.#connection;
    const stream = new ListenStream(
      this.#connection,
      { resourceSubscriptions: [...uris] },
      this.#over.signal,
    );
    this.#opening = stream;
    const enough = new AbortController();
    const stopped = AbortSignal.any([signal, enough.signal]);
    const silence = clock.sleepUntil(clock.now() + limits.mcpListPageMs, stopped);
    const first = await Promise.race([
      stream.acknowledged.then((told) => ({ told })),
      stream.ended.then((error) => ({ error })),
      silence.then(() => "stopped" as const),
    ]);
    enough.abort(givenUp);
    this.#opening = undefined;
    const refused = this.#whyNot(first, added);
    if (refused !== undefined) {
      stream.close(givenUp);
      return refused;
    }
    const before = this.#stream;
    this.#stream = stream;
    before?.close(givenUp);
    if (this.#isMissed) { for (const uri of uris) this.#onMissed(uri); }
    this.#isMissed = false;
    void stream.ended.then(() => this.#reopen(stream));
    return "open";
  }

  /** The stream is the subscription: without one, certainly nothing was done. */
  #whyNot(
    first: "stopped" | { readonly error: unknown } | { readonly told: { readonly [name: string]: unknown } },
    added: string | undefined,
  ): Exclude<Opened, "open"> | undefined {
    if (first === "stopped") {
      const words = "The MCP server was not heard to tell of this resource; it is not subscribed to";
      return { status: "not_sent", failure: retryableFailure("mcp_unavailable", words) };
    }
    if ("told" in first) {
      const told = first.told["resourceSubscriptions"];
      if (added === undefined || (Array.isArray(told) && told.includes(added))) return undefined;
      const words = "Cannot subscribe to this resource: the MCP server does not tell of its changes";
      return { status: "refused", failure: failure("mcp_subscription_refused", words), isUnknown: false };
    }
    if (first.error instanceof RpcError) {
      return { status: "refused", failure: refusal("the subscription", first.error), isUnknown: false };
    }
    const words = "The MCP server ended the stream by which it tells of resources";
    const loss = this.#connection.transport.loss ?? retryableFailure("mcp_unavailable", words);
    return { status: "not_sent", failure: loss };
  }

  /** A stream that ended by itself is opened again, later each time; a server that refuses that is not asked again. */
  async #reopen(ended: ListenStream): Promise<void> {
    const { clock } = this.#connection;
    const { signal } = this.#over;
    if (this.#stream !== ended) return;
    this.#stream = undefined;
    this.#isMissed = true;
    for (let failures = 0; !signal.aborted; failures++) {
      const waitMs = Math.min(limits.mcpReopenMs * 2 ** Math.min(failures, 10), limits.mcpReopenMsMax);
      await clock.sleepUntil(clock.now() + waitMs, signal);
      const again = this.#turn.then(async () => {
        if (signal.aborted || this.#stream !== undefined || this.#uris.size === 0) return "open";
        return await this.#open(this.#uris, signal);
      });
      this.#turn = again;
      const opened = await again;
      if (opened === "open") return;
      if (opened.status !== "refused") continue;
      // Nobody tells of them any more, which is news of each.
      for (const uri of this.#uris) this.#onMissed(uri);
      return;
    }
  }
}
