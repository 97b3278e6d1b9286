/** The streams of one session by HTTP: those that bring an answer, and the one that brings what nobody asked for (CM-67). */
import { type Failure, failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Clock } from "../seams.ts";
import { AnswerLostError, type Asked } from "./asked.ts";
import { readEvents, type ServerEvent } from "./event_stream.ts";
import { brokenAnswer, mediaTypeOf } from "./http_answer.ts";
import { type Incoming, messageOf } from "./message.ts";

/** How long a stream may go on once it has brought its answer. Milliseconds. */
const lingerMs = 1_000;
/** Streams in a row that brought nothing new, after which a broken stream is not opened again for its answer. */
const resumesMax = 3;

/** What streams need of their session. */
export interface StreamsOptions {
  readonly asked: Asked;
  readonly clock: Clock;
  /** Opens a stream behind an event, or from now on. */
  readonly open: (lastEventId: string, signal: AbortSignal) => Promise<Response>;
  readonly hear: (incoming: Incoming) => Promise<void>;
  /** True if a stream that broke can be gone on with; in the modern era what broke is lost. */
  readonly canResume: () => boolean;
  /** Told of what is no message. */
  readonly onNoise: () => void;
}

/** What is known of a stream that may be opened again. */
interface Place {
  lastEventId: string;
  retryMs: number | undefined;
}

/** Reads the streams of one session. */
export class HttpStreams {
  readonly #options: StreamsOptions;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  /**
   * Reads the answer to a request. If its stream ends before and named a place to go on from, it is opened again there.
   * Throws {@linkcode AnswerLostError}; what stands in a broken piece is never taken for the answer (F24).
   */
  async answer(response: Response, request: number, exchange: AbortController): Promise<void> {
    const place: Place = { lastEventId: "", retryMs: undefined };
    let next: Response | undefined = response;
    let broken: Failure | undefined;
    for (let failures = 0;;) {
      const before = place.lastEventId;
      if (next !== undefined) broken = await this.#read(next, place, { exchange, request });
      if (!this.#isOpen(request)) return;
      failures = place.lastEventId === before ? failures + 1 : 0;
      const isHopeless = broken?.code === "mcp_message_too_large" || exchange.signal.aborted;
      const canResume = place.lastEventId !== "" && this.#options.canResume();
      if (isHopeless || !canResume || failures >= resumesMax) {
        throw new AnswerLostError(broken ?? endedEarly());
      }
      await this.#pause(place, failures, exchange.signal);
      next = await this.#open(place.lastEventId, exchange.signal);
    }
  }

  /** Hears what the server says unasked, for as long as it lets us; a server that has no such stream is no worse. */
  async listen(exchange: AbortController): Promise<void> {
    const { signal } = exchange;
    const place: Place = { lastEventId: "", retryMs: undefined };
    let wasOpen = false;
    for (let failures = 0; !signal.aborted;) {
      const response = await this.#open(place.lastEventId, signal);
      // Whatever its answer is: it offers none, and is asked no more.
      if (response === undefined && !wasOpen) return;
      let heard = 0;
      if (response !== undefined) {
        wasOpen = true;
        await this.#read(response, place, { exchange, onEvent: () => void (heard += 1) });
      }
      failures = heard > 0 ? 0 : failures + 1;
      await this.#pause(place, failures, signal);
    }
  }

  #isOpen(request: number): boolean {
    return this.#options.asked.stateOf(request) !== "over";
  }

  async #open(lastEventId: string, signal: AbortSignal): Promise<Response | undefined> {
    try {
      const response = await this.#options.open(lastEventId, signal);
      if (response.ok && mediaTypeOf(response) === "text/event-stream") return response;
      await response.body?.cancel();
      return undefined;
    } catch {
      return undefined;
    }
  }

  /** Reads one stream to its end, or to a moment after the answer. Gives back why it broke, if it did. */
  async #read(
    { body }: Response,
    place: Place,
    { exchange, request, onEvent }: {
      readonly exchange: AbortController;
      readonly request?: number;
      readonly onEvent?: () => void;
    },
  ): Promise<Failure | undefined> {
    if (body === null) return undefined;
    const ended = new AbortController();
    let isLingering = false;
    try {
      for await (const event of readEvents(body)) {
        onEvent?.();
        await this.#take(event, place);
        if (request === undefined || isLingering || this.#isOpen(request)) continue;
        isLingering = true;
        void this.#cutOff(exchange, ended.signal);
      }
      return undefined;
    } catch (error) {
      return brokenAnswer(error);
    } finally {
      ended.abort(givenUp);
    }
  }

  /** A stream that has brought its answer should end; one that does not is cut off. */
  async #cutOff(exchange: AbortController, ended: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await clock.sleepUntil(clock.now() + lingerMs, ended);
    if (!ended.aborted) exchange.abort(givenUp);
  }

  async #take(event: ServerEvent, place: Place): Promise<void> {
    place.lastEventId = event.id ?? place.lastEventId;
    place.retryMs = event.retryMs ?? place.retryMs;
    if (event.data === "" || (event.type !== "" && event.type !== "message")) return;
    let value: unknown;
    try {
      value = JSON.parse(event.data);
    } catch {
      return this.#options.onNoise();
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      const incoming = messageOf(one);
      if (incoming === undefined) this.#options.onNoise();
      else await this.#options.hear(incoming);
    }
  }

  /** As long as the server asks for, and longer each time that nothing came. */
  async #pause(
    { retryMs = limits.mcpReopenMs }: Place,
    failures: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    const waitMs = failures === 0
      ? retryMs
      : Math.max(retryMs, limits.mcpReopenMs * 2 ** Math.min(failures, 10));
    await clock.sleepUntil(clock.now() + Math.min(waitMs, limits.mcpReopenMsMax), signal);
  }
}

function endedEarly(): Failure {
  return failure("mcp_protocol_error", "The MCP server ended the stream of an answer before the answer came");
}
