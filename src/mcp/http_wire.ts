/**
 * The SDK's transport over Streamable HTTP: each message is a request of its own, each answer comes in the body of one,
 * and what the server says unasked comes by a stream that stays open. Ours rather than the SDK's, since that one waits
 * for ever for answers that cannot come any more, and has no bounds.
 */
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpEra } from "../../schemas/mcp_revision.ts";
import { givenUp } from "../effects/deadline.ts";
import { AuthError } from "./oauth/auth_error.ts";
import { HttpError } from "../net/http_error.ts";
import type { Clock } from "../seams.ts";
import { AnswerLostError, Asked, NotSentError } from "./asked.ts";
import { brokenAnswer, mediaTypeOf, readRefusal, readText } from "./http_answer.ts";
import { requestWithin } from "./http_request.ts";
import { type HttpPlace, HttpSession } from "./http_session.ts";
import { HttpStreams } from "./http_streams.ts";
import { type Incoming, messageOf } from "./message.ts";
import { messageHeaders } from "./message_headers.ts";
import type { JSONRPCMessage } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/** Answers of ours to a server that asks and does not take them; what comes beyond is not answered. */
const repliesWaitingMax = 100;
/** How long other requests of a session that the server has lost may still end by themselves. Milliseconds. */
const settleMs = 2_000;

/** A header: its name and its value. */
type Pair = readonly [string, string];

/** Options of {@linkcode HttpWire}. */
export interface HttpWireOptions extends HttpPlace {
  readonly clock: Clock;
  /** Told in one line for people what is odd about the server, but does no harm. */
  readonly onNotice: (text: string) => void;
}

/** A session with a server by HTTP. It is lost when the server says so, or we close it: once, and for good. */
export class HttpWire implements Wire {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Wire["onmessage"];
  readonly asked = new Asked();
  readonly lost: Promise<Failure>;
  readonly session: HttpSession;
  /** The last that the server said unasked: the method of a notification, or of a request. */
  lastEvent: string | null = null;
  /** What of a message its headers say besides, in the modern era. */
  repeated: (message: JSONRPCMessage) => readonly Pair[] = () => [];
  readonly #options: HttpWireOptions;
  readonly #streams: HttpStreams;
  /** What is on its way, each of which can be given up; requests also by their number. */
  readonly #exchanges = new Set<AbortController>();
  readonly #requests = new Map<number, AbortController>();
  readonly #posts = new Set<Promise<void>>();
  #isOver = false;
  #lose: (reason: Failure) => void = () => {};
  #loss: Failure | undefined;
  #repliesWaiting = 0;
  #isOdd = false;

  constructor(options: HttpWireOptions) {
    this.#options = options;
    this.session = new HttpSession(options);
    const { promise, resolve } = Promise.withResolvers<Failure>();
    this.lost = promise;
    this.#lose = resolve;
    this.#streams = new HttpStreams({
      asked: this.asked,
      clock: options.clock,
      open: (lastEventId, signal) => this.#openStream(lastEventId, signal),
      hear: (incoming) => this.#hear(incoming),
      canResume: () => !this.isPerRequest,
      onNoise: () => this.#noteOdd("sends events that are no messages"),
    });
  }

  get loss(): Failure | undefined {
    return this.#loss;
  }

  get isPerRequest(): boolean {
    return this.session.era === "modern";
  }

  begin(era: McpEra): void {
    this.session.begin(era);
    this.lastEvent = null;
  }

  get protocolVersion(): string {
    return this.session.protocolVersion;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  setProtocolVersion(version: string): void {
    this.session.protocolVersion = version;
  }

  forget(request: number): void {
    const isOpen = this.asked.stateOf(request) !== "over";
    this.asked.forget(request);
    // The stream of one that was answered ends by itself, and its connection can be used again.
    if (isOpen) this.#requests.get(request)?.abort(givenUp);
  }

  /**
   * Sends a message and takes what is answered to it. Rejects with {@linkcode NotSentError} if nobody has acted on it,
   * with {@linkcode AnswerLostError} if it was a request and no answer will come.
   */
  async send(message: JSONRPCMessage): Promise<void> {
    const request = this.asked.take(message);
    if (this.#loss !== undefined) throw new NotSentError(this.#loss);
    if (!this.#isWanted(message)) return;
    const body = JSON.stringify(message);
    if (body.length > limits.mcpMessageBytesMax) {
      const text = `A message for the server has more than ${limits.mcpMessageBytesMax} characters`;
      throw new NotSentError(failure("mcp_message_too_large", text));
    }
    const isReply = !("method" in message);
    if (isReply) this.#repliesWaiting += 1;
    const more = this.isPerRequest ? [...this.repeated(message), ...messageHeaders(message)] : [];
    const posted = this.#post(body, request, more);
    const settled = posted.catch(() => {}).then(() => {
      this.#posts.delete(settled);
      if (isReply) this.#repliesWaiting -= 1;
    });
    this.#posts.add(settled);
    await posted;
    if ("method" in message && message.method === "notifications/initialized") void this.#listen();
  }

  end(reason: Failure): void {
    void this.#endLost(reason);
  }

  /** Ends the session from our side, and tells the server. */
  async close(): Promise<void> {
    this.#end(failure("mcp_connection_closed", "The connection to the MCP server was closed"));
    await this.session.end();
  }

  #end(reason: Failure): void {
    this.#loss ??= reason;
    if (this.#isOver) return;
    this.#isOver = true;
    for (const exchange of this.#exchanges) exchange.abort(givenUp);
    this.#lose(this.#loss);
    this.onclose?.();
  }

  /** Nothing more is sent; what is on its way may get the same answer, which says more than that it was cut off. */
  async #endLost(reason: Failure): Promise<void> {
    if (this.#loss !== undefined) return;
    this.#loss = reason;
    this.session.forget();
    const enough = new AbortController();
    const { clock } = this.#options;
    await Promise.race([
      Promise.all(this.#posts),
      clock.sleepUntil(clock.now() + settleMs, enough.signal),
    ]);
    enough.abort(givenUp);
    this.#end(reason);
  }

  /** Nothing is said about a request that the server does not have, and no flood of questions is answered. */
  #isWanted(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return this.#repliesWaiting < repliesWaitingMax;
    if (message.method !== "notifications/cancelled") return true;
    return this.asked.stateOf(Number(message.params?.["requestId"])) === "written";
  }

  async #post(body: string, request: number | undefined, more: readonly Pair[]): Promise<void> {
    const exchange = this.#begin();
    const { signal } = exchange;
    if (request !== undefined) {
      this.asked.note(request, true);
      this.#requests.set(request, exchange);
    }
    try {
      const headers = this.session.headers("application/json, text/event-stream");
      headers.set("content-type", "application/json");
      for (const [name, value] of more) headers.set(name, value);
      const response = await this.#fetch({ method: "POST", headers, body, signal }, request);
      if (response.ok) await this.#take(response, request, exchange);
      else await this.#takeRefusal(response, request, headers.has("mcp-session-id"));
    } finally {
      this.#exchanges.delete(exchange);
      if (request !== undefined) this.#requests.delete(request);
    }
  }

  #begin(): AbortController {
    const exchange = new AbortController();
    if (this.#isOver) exchange.abort(givenUp);
    else this.#exchanges.add(exchange);
    return exchange;
  }

  async #listen(): Promise<void> {
    const exchange = this.#begin();
    await this.#streams.listen(exchange);
    this.#exchanges.delete(exchange);
  }

  #openStream(lastEventId: string, signal: AbortSignal): Promise<Response> {
    const headers = this.session.headers("text/event-stream");
    if (lastEventId !== "") headers.set("last-event-id", lastEventId);
    return requestWithin(this.#options, { method: "GET", headers, signal });
  }

  async #fetch(init: RequestInit, request: number | undefined): Promise<Response> {
    try {
      return await requestWithin(this.#options, init);
    } catch (error) {
      if (this.#loss !== undefined) throw new AnswerLostError(this.#loss);
      // Whoever could not say who we are has not been heard, or was refused.
      if (error instanceof AuthError) {
        if (request !== undefined) this.asked.note(request, false);
        throw new NotSentError(error.failure);
      }
      if (!(error instanceof HttpError)) throw new AnswerLostError(brokenAnswer(error));
      if (error.wasSent) throw new AnswerLostError(error.failure);
      if (request !== undefined) this.asked.note(request, false);
      throw new NotSentError(error.failure);
    }
  }

  async #take(response: Response, request: number | undefined, exchange: AbortController): Promise<void> {
    if (request === undefined) return await response.body?.cancel();
    if (!this.session.note(response)) this.#noteOdd("names another session than it began with");
    const type = mediaTypeOf(response);
    if (type === "text/event-stream") return await this.#streams.answer(response, request, exchange);
    if (type !== "application/json" || response.status === 202) {
      await response.body?.cancel();
      const what = response.status === 202 || response.body === null ? "without an answer" : `with "${type}"`;
      throw new AnswerLostError(
        failure(
          "mcp_protocol_error",
          `The MCP server answered a request ${what} (status ${response.status})`,
        ),
      );
    }
    await this.#takeJson(response, request);
  }

  async #takeRefusal(response: Response, request: number | undefined, hadSession: boolean): Promise<void> {
    const refusal = await readRefusal(response, { request, hadSession });
    if (refusal.type === "answered") return await this.#hear(refusal.incoming);
    if (refusal.type === "doubtful") throw new AnswerLostError(refusal.failure);
    if (refusal.type === "session_lost") void this.#endLost(refusal.failure);
    if (request !== undefined) this.asked.note(request, false);
    throw new NotSentError(refusal.failure);
  }

  async #takeJson(response: Response, request: number): Promise<void> {
    let value: unknown;
    try {
      value = JSON.parse(await readText(response, limits.mcpMessageBytesMax));
    } catch (error) {
      throw new AnswerLostError(this.#loss ?? brokenAnswer(error));
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      const incoming = messageOf(one);
      if (incoming !== undefined) await this.#hear(incoming);
    }
    if (this.asked.stateOf(request) === "over") return;
    throw new AnswerLostError(
      failure("mcp_protocol_error", "The MCP server answered with neither a result nor an error"),
    );
  }

  /** Hands a message to the SDK, unless it answers what nobody waits for. */
  async #hear({ message, answers }: Incoming): Promise<void> {
    if (this.#isOver) return;
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
    // The SDK hears of a notification one step later; the answer behind it must not overtake it.
    if (answers === undefined) await Promise.resolve();
  }

  #noteOdd(what: string): void {
    if (this.#isOdd) return;
    this.#isOdd = true;
    this.#options.onNotice(`The MCP server ${what}; that is passed over`);
  }
}
