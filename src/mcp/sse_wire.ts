/**
 * The transport of 2024-11-05: one stream of events brings all that the server says, and names the place where messages
 * are sent to. The stream is the session: once it has ended, what was not answered is lost.
 */
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import { givenUp } from "../effects/deadline.ts";
import { HttpError } from "../net/http_error.ts";
import { AnswerLostError, Asked, NotSentError } from "./asked.ts";
import { readEvents, type ServerEvent } from "./event_stream.ts";
import { brokenAnswer, mediaTypeOf, readRefusal } from "./http_answer.ts";
import { requestWithin } from "./http_request.ts";
import { type HttpPlace, HttpSession } from "./http_session.ts";
import type { HttpWireOptions } from "./http_wire.ts";
import { type Incoming, messageOf } from "./message.ts";
import { AuthError } from "./oauth/auth_error.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/** Answers of ours to a server that asks and does not take them; what comes beyond is not answered. */
const repliesWaitingMax = 100;

/** What one stream may bring, and how long it may go on: as long as its session. */
const streamBounds = {
  headersMs: limits.mcpConnectMs,
  idleMs: limits.mcpSseStreamMs,
  totalMs: limits.mcpSseStreamMs,
  bodyBytesMax: limits.mcpSseStreamBytesMax,
};

/** A session by HTTP with a server of 2024-11-05. It is lost when its stream ends, or we close it: once, and for good. */
export class SseWire implements Wire {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Wire["onmessage"];
  readonly asked = new Asked();
  readonly lost: Promise<Failure>;
  /** What the requests say besides; the id of the session stands in the place where messages are sent to. */
  readonly session: HttpSession;
  /** The last that the server said unasked: the method of a notification, or of a request. */
  lastEvent: string | null = null;
  /** True once the server has answered that it has no stream: it is not of that revision. */
  hasNoStream = false;
  readonly #options: HttpWireOptions;
  readonly #stream = new AbortController();
  readonly #requests = new Map<number, AbortController>();
  readonly #lose: (reason: Failure) => void;
  #endpoint: string | undefined;
  #loss: Failure | undefined;
  #repliesWaiting = 0;
  #isOdd = false;

  constructor(options: HttpWireOptions) {
    this.#options = options;
    this.session = new HttpSession(options);
    const { promise, resolve } = Promise.withResolvers<Failure>();
    this.lost = promise;
    this.#lose = resolve;
  }

  get loss(): Failure | undefined {
    return this.#loss;
  }

  get protocolVersion(): string {
    return this.session.protocolVersion;
  }

  setProtocolVersion(version: string): void {
    this.session.protocolVersion = version;
  }

  /**
   * Opens the stream and waits until it has named the place for messages. Rejects with {@linkcode NotSentError} if the
   * server has no stream, or the place is not of its own origin.
   */
  async start(): Promise<void> {
    const headers = this.session.headers("text/event-stream");
    const init = { method: "GET", headers, signal: this.#stream.signal };
    const response = await this.#reach(this.#options, init, streamBounds);
    if (!response.ok || mediaTypeOf(response) !== "text/event-stream" || response.body === null) {
      await response.body?.cancel();
      this.hasNoStream = true;
      throw new NotSentError(unnamed());
    }
    const named = Promise.withResolvers<void>();
    void this.#listen(response.body, named.resolve);
    const ended = await Promise.race([named.promise, this.lost]);
    if (ended !== undefined) throw new NotSentError(ended);
  }

  /** One stream brings all answers. */
  readonly isPerRequest = false;

  begin(era: McpEra): void {
    this.session.begin(era);
    this.lastEvent = null;
  }

  forget(request: number): void {
    this.asked.forget(request);
    this.#requests.get(request)?.abort(givenUp);
  }

  /**
   * Sends a message; its answer comes by the stream. Rejects with {@linkcode NotSentError} if nobody has acted on it, with
   * {@linkcode AnswerLostError} if nobody can say.
   */
  async send(message: JSONRPCMessage): Promise<void> {
    const request = this.asked.take(message);
    if (this.#loss !== undefined) throw new NotSentError(this.#loss);
    if (this.#endpoint === undefined) throw new NotSentError(unnamed());
    if (!this.#isWanted(message)) return;
    const body = JSON.stringify(message);
    if (body.length > limits.mcpMessageBytesMax) {
      const text = `A message for the server has more than ${limits.mcpMessageBytesMax} characters`;
      throw new NotSentError(failure("mcp_message_too_large", text));
    }
    const exchange = new AbortController();
    const isReply = !("method" in message);
    if (isReply) this.#repliesWaiting += 1;
    if (request !== undefined) {
      this.asked.note(request, true);
      this.#requests.set(request, exchange);
    }
    try {
      await this.#post({ ...this.#options, url: this.#endpoint }, body, { request, exchange });
    } finally {
      if (isReply) this.#repliesWaiting -= 1;
      if (request !== undefined) this.#requests.delete(request);
    }
  }

  /** Nothing is said about a request that is over, and no flood of questions is answered. */
  #isWanted(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return this.#repliesWaiting < repliesWaitingMax;
    if (message.method !== "notifications/cancelled") return true;
    return this.asked.stateOf(Number(message.params?.["requestId"])) === "written";
  }

  close(): Promise<void> {
    this.end(failure("mcp_connection_closed", "The connection to the MCP server was closed"));
    return Promise.resolve();
  }

  async #post(
    place: HttpPlace,
    body: string,
    { request, exchange }: { readonly request: number | undefined; readonly exchange: AbortController },
  ): Promise<void> {
    const headers = this.session.headers("application/json");
    headers.set("content-type", "application/json");
    const signal = AbortSignal.any([exchange.signal, this.#stream.signal]);
    const response = await this.#reach(place, { method: "POST", headers, body, signal }, {}, request);
    if (response.ok) return await response.body?.cancel();
    const refusal = await readRefusal(response, { request, hadSession: true });
    if (refusal.type === "answered") return await this.#hear(refusal.incoming);
    if (refusal.type === "doubtful") throw new AnswerLostError(refusal.failure);
    if (request !== undefined) this.asked.note(request, false);
    if (refusal.type === "session_lost") this.end(refusal.failure);
    throw new NotSentError(refusal.failure);
  }

  async #reach(
    place: HttpPlace,
    init: RequestInit,
    bounds: Parameters<typeof requestWithin>[2],
    request?: number,
  ): Promise<Response> {
    try {
      return await requestWithin(place, init, bounds);
    } catch (error) {
      if (this.#loss !== undefined) throw new AnswerLostError(this.#loss);
      const isUnheard = error instanceof AuthError || (error instanceof HttpError && !error.wasSent);
      if (!isUnheard) {
        throw new AnswerLostError(error instanceof HttpError ? error.failure : brokenAnswer(error));
      }
      if (request !== undefined) this.asked.note(request, false);
      throw new NotSentError(error.failure);
    }
  }

  /** Hears the stream to its end, which is the end of the session. */
  async #listen(body: ReadableStream<Uint8Array>, onNamed: () => void): Promise<void> {
    try {
      for await (const event of readEvents(body, limits.mcpSseEventsMax)) {
        if (event.type !== "endpoint") await this.#take(event);
        else if (this.#endpoint === undefined) {
          this.#endpoint = this.#placeOf(event.data);
          if (this.#endpoint === undefined) return this.end(event.data === "" ? unnamed() : elsewhere());
          onNamed();
        }
      }
      const message = "The MCP server ended the stream of its session";
      this.end(this.#endpoint === undefined ? unnamed() : retryableFailure("mcp_connection_lost", message));
    } catch (error) {
      this.end(brokenAnswer(error));
    } finally {
      // Whatever ended it, nothing is read any more.
      this.#stream.abort(givenUp);
    }
  }

  /** Only the server's own origin is sent anything: what else it names, nobody has approved. */
  #placeOf(named: string): string | undefined {
    const { url } = this.#options;
    const isUsable = named !== "" && named.length <= limits.urlCharactersMax;
    const place = isUsable ? URL.parse(named, url) : null;
    const isOwn = place !== null && place.origin === new URL(url).origin &&
      place.username + place.password === "";
    return isOwn ? place.href : undefined;
  }

  async #take({ type, data }: ServerEvent): Promise<void> {
    if (data === "" || (type !== "" && type !== "message")) return;
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      return this.#noteOdd("sends events that are no messages");
    }
    const incoming = messageOf(value);
    if (incoming === undefined) return this.#noteOdd("sends events that are no messages");
    await this.#hear(incoming);
  }

  async #hear({ message, answers }: Incoming): Promise<void> {
    if (this.#loss !== undefined) return;
    if (answers === undefined) this.lastEvent = "method" in message ? message.method.slice(0, 200) : null;
    else {
      if ("result" in message) this.session.initialized ??= message.result;
      if (!this.asked.settle(answers, message)) return;
    }
    try {
      this.onmessage?.(message);
    } catch {
      this.#noteOdd("sends messages that the protocol does not have");
    }
    if (answers === undefined) await Promise.resolve();
  }

  /** Ends the session for a reason; the first one counts. */
  end(reason: Failure): void {
    if (this.#loss !== undefined) return;
    this.#loss = reason;
    this.#stream.abort(givenUp);
    this.#lose(reason);
    this.onclose?.();
  }

  #noteOdd(what: string): void {
    if (this.#isOdd) return;
    this.#isOdd = true;
    this.#options.onNotice(`The MCP server ${what}; that is passed over`);
  }
}

function unnamed(): Failure {
  return failure("mcp_protocol_error", "The MCP server did not say where messages are sent to");
}

function elsewhere(): Failure {
  const message =
    "The MCP server wants its messages sent to another origin, which nobody has approved: give that URL " +
    "in the manifest if it is the server's own";
  return failure("mcp_protocol_error", message);
}
