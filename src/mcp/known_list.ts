/** The tools that a server told of, as long as they count by its own word; looked at again where nobody tells of a change. */
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Connection } from "./request.ts";
import type { ServerNotices } from "./server_notices.ts";
import { listTools, type ToolPages } from "./tool_pages.ts";

/** The last list of one connection. */
export class KnownList {
  readonly #connection: Connection;
  readonly #notices: ServerNotices;
  readonly #isTold: () => boolean;
  #pages: ToolPages | undefined;
  #endsAtMs = 0;
  #isWatched = false;

  /** `isTold`: true as long as the server is sure to tell of a change. */
  constructor(connection: Connection, notices: ServerNotices, isTold: () => boolean) {
    this.#connection = connection;
    this.#notices = notices;
    this.#isTold = isTold;
  }

  /** The tools, if they still count; undefined if they are to be asked for. */
  tools(): readonly unknown[] | undefined {
    const isOld = this.#connection.clock.now() >= this.#endsAtMs || this.#notices.isChanged;
    return isOld ? undefined : this.#pages?.tools;
  }

  /** Keeps a list, if the server says how long it counts. */
  learn(pages: ToolPages): void {
    const { protocol: { era }, clock } = this.#connection;
    const { ttlMs = 0 } = pages;
    if (era === "legacy" || ttlMs === 0) return this.forget();
    this.#pages = pages;
    this.#endsAtMs = clock.now() + Math.min(ttlMs, limits.mcpListTtlMsMax);
    if (!this.#isWatched) void this.#watch();
  }

  /** The next one who wants the tools asks for them. */
  forget(): void {
    this.#pages = undefined;
    this.#endsAtMs = 0;
  }

  /** Asks again once a list does not count any more, and tells of a change as the server would. */
  async #watch(): Promise<void> {
    this.#isWatched = true;
    const { clock, transport } = this.#connection;
    const over = new AbortController();
    void transport.lost.then(() => over.abort(givenUp));
    while (!over.signal.aborted) {
      await clock.sleepUntil(Math.max(this.#endsAtMs, clock.now() + limits.mcpListPollMs), over.signal);
      if (over.signal.aborted || this.#isTold() || this.#pages === undefined) continue;
      if (clock.now() < this.#endsAtMs || this.#notices.isChanged) continue;
      await this.#compare(this.#pages, over.signal);
    }
  }

  async #compare(before: ToolPages, signal: AbortSignal): Promise<void> {
    try {
      const pages = await listTools(this.#connection, signal);
      if (JSON.stringify(pages.tools) === JSON.stringify(before.tools)) return this.learn(pages);
    } catch {
      // Whoever asks next hears why.
    }
    this.forget();
    this.#notices.noteChange();
  }
}
