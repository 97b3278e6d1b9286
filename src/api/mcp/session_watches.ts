/** Who is told that a session has gone on: one watch for each that somebody subscribed to. */
import type { AgentView } from "../../../schemas/api_view.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import type { Clock } from "../../seams.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Caller } from "../caller.ts";
import { addressIn } from "./session_resources.ts";

interface Watched {
  readonly events: AsyncIterable<unknown>;
  readonly tell: () => Promise<void> | void;
  readonly signal: AbortSignal;
}

/** The subscriptions of one connection. */
export class SessionWatches {
  readonly #api: ActorApi;
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly end: AbortController; readonly watched: Promise<void> }>();

  constructor(api: ActorApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /**
   * Tells each time that the journal of a session has gone on. Throws as a read of it would, and if there are too many
   * of them. Once more for the same URI changes nothing.
   */
  async begin(uri: string, caller: Caller, tell: () => Promise<void> | void): Promise<void> {
    if (this.#open.has(uri)) return;
    if (this.#open.size >= apiLimits.mcpSubscriptionsMax) {
      const most = apiLimits.mcpSubscriptionsMax;
      throw new ApiFailure("requests_too_many", `${most} sessions are subscribed to: leave one first`);
    }
    const end = new AbortController();
    // Taken before anything is awaited, so that two at once are one.
    const begun = Promise.withResolvers<void>();
    this.#open.set(uri, { end, watched: begun.promise });
    try {
      const address = addressIn(uri) ?? "";
      const params = { address };
      const view = await this.#api.call({ caller, method: "get", params, signal: end.signal }) as AgentView;
      const events = this.#api.stream({
        caller,
        method: "watch",
        params: { address, after: view.seq },
        signal: end.signal,
      });
      begun.resolve(this.#tellEach(uri, { events, tell, signal: end.signal }));
    } catch (error) {
      this.#open.delete(uri);
      begun.resolve();
      throw error;
    }
  }

  /** Ends one. Resolves when nothing more is told. */
  async end(uri: string): Promise<void> {
    const one = this.#open.get(uri);
    this.#open.delete(uri);
    one?.end.abort();
    await one?.watched;
  }

  /** Ends them all. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((uri) => this.end(uri)));
  }

  /** A session that is no longer there, and a client that is gone, end it in silence. */
  async #tellEach(uri: string, { events, tell, signal }: Watched): Promise<void> {
    const news = { isDue: false, telling: Promise.resolve() };
    let isTelling = false;
    const tellAll = async () => {
      isTelling = true;
      while (news.isDue && !signal.aborted) {
        news.isDue = false;
        await tell();
        await this.#clock.sleepUntil(this.#clock.now() + apiLimits.mcpNoticesMs, signal);
      }
      isTelling = false;
    };
    try {
      for await (const _event of events) {
        news.isDue = true;
        if (!isTelling) news.telling = tellAll().catch(() => {});
      }
    } catch {
      this.#open.delete(uri);
    }
    await news.telling;
  }
}
