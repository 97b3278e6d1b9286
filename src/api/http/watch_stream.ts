/** A stream of the API as server-sent events: bounded towards whoever reads slowly, alive while nothing happens. */
import type { ApiError } from "../../../schemas/api_error.ts";
import { accessLimits } from "../../../schemas/access_limits.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import type { Clock } from "../../seams.ts";
import { ApiFailure } from "../api_failure.ts";
import { tokenInvalid } from "../token_file.ts";

/** How a watch is sent. */
export interface WatchStreamOptions {
  /** What is watched: has `seq` and is sent as it is. */
  readonly events: AsyncIterable<unknown>;
  /**
   * Where the journal stood when the watch began. What stands there already waits until there is room: reading it again
   * costs nothing. Only what is news must be taken in time.
   */
  readonly headSeq: number;
  readonly clock: Clock;
  /** Aborts when the server is to end: the watch then says where to go on. */
  readonly ending: AbortSignal;
  /** Aborts when the watcher's token does not hold any more: not one event is sent to it after that. */
  readonly revoked?: AbortSignal;
  /** Ends what is watched. */
  readonly leave: AbortController;
  /** Breaks the connection of a watcher that does not read. */
  readonly kill: () => void;
  readonly describe: (error: unknown) => ApiError;
}

/** The text of one event. Its id is where to go on from. */
export function eventText(type: string, data: unknown, id?: number): string {
  const text = `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  return id === undefined ? text : `id: ${id}\n${text}`;
}

/** What many watchers of one agent are sent is written once. */
const texts = new WeakMap<object, string>();

function watchText(event: { readonly type: string; readonly seq: number }): string {
  const known = texts.get(event) ?? eventText(event.type, event, event.seq);
  texts.set(event, known);
  return known;
}

/** The events as bytes. */
export function watchStream(options: WatchStreamOptions): ReadableStream<Uint8Array> {
  const { leave } = options;
  const waiting = new WatchQueue();
  const stop = new AbortController();
  const pumped = pump(options, waiting, stop.signal);
  const encoder = new TextEncoder();
  const cancel = async () => {
    stop.abort();
    waiting.end();
    leave.abort();
    await pumped;
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const text = await waiting.take(options.clock);
      if (text !== undefined) return controller.enqueue(encoder.encode(text));
      await cancel();
      controller.close();
    },
    cancel,
  }, { highWaterMark: 0 });
}

/** Fills the queue until the watch ends, whoever ends it. Never rejects. */
async function pump(options: WatchStreamOptions, waiting: WatchQueue, stop: AbortSignal): Promise<void> {
  const { events, headSeq, clock, ending, revoked, leave, kill, describe } = options;
  const part = (code: string, why: string) => {
    const failure = new ApiFailure(code, `${why}: watch again, after the last event`);
    waiting.end(`retry: ${apiLimits.watchRetryMs}\n${eventText("error", describe(failure))}`);
    leave.abort();
  };
  const farewell = () => part("draining", "The server ends");
  const revoke = () => {
    waiting.drop(eventText("error", describe(tokenInvalid())));
    leave.abort();
    clock.sleepUntil(clock.now() + accessLimits.revokedStreamMs, stop).then(() => stop.aborted || kill());
  };
  revoked?.addEventListener("abort", revoke, { once: true });
  if (revoked?.aborted) revoke();
  ending.addEventListener("abort", farewell, { once: true });
  if (ending.aborted) farewell();
  try {
    for await (const event of events) {
      if (stop.aborted || waiting.isEnded) return;
      const told = event as { readonly type: string; readonly seq: number };
      const text = watchText(told);
      if (told.seq <= headSeq) await waiting.room();
      if (waiting.add(text)) continue;
      part("slow_consumer", "Too much waited for you");
      clock.sleepUntil(clock.now() + apiLimits.slowWatcherMs, stop).then(() => stop.aborted || kill());
      return;
    }
    waiting.end(eventText("end", {}));
  } catch (error) {
    waiting.end(eventText("error", describe(error)));
  } finally {
    ending.removeEventListener("abort", farewell);
    revoked?.removeEventListener("abort", revoke);
  }
}

/** Texts on their way: at most so many and so many bytes. */
class WatchQueue {
  #texts: string[] = [];
  #length = 0;
  #last: string | undefined;
  #news = Promise.withResolvers<void>();
  #taken = Promise.withResolvers<void>();
  /** Ends the heartbeat. */
  readonly #over = new AbortController();
  #isBeating = false;
  /** When it must be shown that the watch stands, by the clock. */
  #beatMs = 0;
  isEnded = false;

  /** Adds a text. False if there is no room for it. A single one always has room: an entry is never above its limits. */
  add(text: string): boolean {
    if (this.isEnded) return true;
    const isFull = this.#texts.length >= apiLimits.watchEventsMax ||
      (this.#texts.length > 0 && this.#length + text.length > apiLimits.watchBytesMax);
    if (isFull) return false;
    this.#texts.push(text);
    this.#length += text.length;
    this.#news.resolve();
    return true;
  }

  /** Resolves once nothing waits, or nothing will be taken any more. */
  async room(): Promise<void> {
    while (!this.isEnded && this.#texts.length > 0) await this.#taken.promise;
  }

  /** Nothing more comes but this last text, if there is one. */
  end(last?: string): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.#last = last;
    this.#news.resolve();
    this.#taken.resolve();
    this.#over.abort();
  }

  /** Nothing of what waits is sent any more, but this last text. */
  drop(last: string): void {
    if (this.isEnded) return;
    this.#texts = [];
    this.#length = 0;
    this.end(last);
  }

  /** All that waits, as one text; a comment if nothing comes for a while; undefined at the end. */
  async take(clock: Clock): Promise<string | undefined> {
    if (this.#texts.length === 0 && !this.isEnded) {
      this.#beatMs = clock.now() + apiLimits.heartbeatMs;
      if (!this.#isBeating) void this.#beat(clock);
      await this.#news.promise;
      if (this.#texts.length === 0 && !this.isEnded) {
        this.#news = Promise.withResolvers();
        return ": nothing new\n\n";
      }
    }
    const text = this.#texts.join("") + (this.#last ?? "");
    this.#texts = [];
    this.#length = 0;
    this.#last = undefined;
    if (!this.isEnded) {
      this.#news = Promise.withResolvers();
      this.#taken.resolve();
      this.#taken = Promise.withResolvers();
    }
    return text === "" ? undefined : text;
  }
  /** Wakes whoever takes, after a while without news: one sleeper for the whole watch, not one for each text. */
  async #beat(clock: Clock): Promise<void> {
    this.#isBeating = true;
    while (!this.isEnded) {
      await clock.sleepUntil(this.#beatMs, this.#over.signal);
      if (clock.now() < this.#beatMs) continue;
      this.#beatMs = clock.now() + apiLimits.heartbeatMs;
      this.#news.resolve();
    }
  }
}
