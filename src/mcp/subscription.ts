/** `subscriptions/listen`: the one stream by which a server of the modern era tells that what it offers changed. */
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import { isRecord } from "./json_bounds.ts";
import { ListenStream } from "./listen_stream.ts";
import { RpcError, type ServerNotice } from "./protocol.ts";
import type { Connection } from "./request.ts";
import type { ServerNotices } from "./server_notices.ts";

/** What is listened for, by the capability that offers it. */
const filters = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const;

/** The subscription of one connection. */
export class Subscription {
  readonly #connection: Connection;
  readonly #notices: ServerNotices;
  #stream: ListenStream | undefined;
  #isLive = false;
  #wasLive = false;

  constructor(connection: Connection, notices: ServerNotices) {
    this.#connection = connection;
    this.#notices = notices;
  }

  /** True as long as the server tells of changes. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Takes what the server said. */
  take(notice: ServerNotice): void {
    if (this.#stream?.take(notice) !== true) return;
    // What changed while nobody listened, nobody has told.
    if (this.#wasLive) this.#notices.noteChange();
    this.#isLive = true;
    this.#wasLive = true;
  }

  /** Listens for as long as the connection lives and the server lets us; never rejects. */
  async run(): Promise<void> {
    const notifications = this.#filter();
    if (Object.keys(notifications).length === 0) return;
    const { transport, clock } = this.#connection;
    const over = new AbortController();
    void transport.lost.then(() => over.abort(givenUp));
    const { signal } = over;
    for (let failures = 0; !signal.aborted;) {
      this.#stream = new ListenStream(this.#connection, notifications, signal);
      const ended = await this.#stream.ended;
      failures = this.#isLive ? 0 : failures + 1;
      this.#isLive = false;
      // A server that refuses to be listened to is not asked again.
      if (signal.aborted || ended instanceof RpcError) return;
      const waitMs = Math.min(limits.mcpReopenMs * 2 ** Math.min(failures, 10), limits.mcpReopenMsMax);
      await clock.sleepUntil(clock.now() + waitMs, signal);
    }
  }

  #filter(): { [name: string]: true } {
    const { capabilities } = this.#connection.protocol;
    const wanted: { [name: string]: true } = {};
    for (const [capability, name] of Object.entries(filters)) {
      const offered = capabilities[capability];
      if (isRecord(offered) && offered["listChanged"] === true) wanted[name] = true;
    }
    return wanted;
  }
}
