/** One stream of `subscriptions/listen`: opened by a request that is answered only at its end. */
import type { JsonObject } from "../../schemas/json.ts";
import { type Fields, isRecord } from "./json_bounds.ts";
import type { ServerNotice } from "./protocol.ts";
import type { Connection } from "./request.ts";

/** What a server names in each notice of a stream: the number of the request that opened it. */
const streamKey = "io.modelcontextprotocol/subscriptionId";

/** A stream, from its request on. */
export class ListenStream {
  /** Resolves with what the server tells of, once it has said that it listens to us; never if it does not. */
  readonly acknowledged: Promise<Fields>;
  /** Resolves at the end, with the error if there is one. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #request: number;
  readonly #over = new AbortController();
  #acknowledge: (told: Fields) => void = () => {};

  /** Asks for `notifications`, until `signal` is aborted. */
  constructor({ protocol, transport }: Connection, notifications: JsonObject, signal: AbortSignal) {
    this.acknowledged = new Promise((resolve) => this.#acknowledge = resolve);
    const order = { signal: AbortSignal.any([signal, this.#over.signal]) };
    const request = { method: "subscriptions/listen", params: { notifications } };
    this.ended = protocol.request(request, order).catch((error: unknown) => error);
    // It is handed over before it returns.
    this.#request = transport.asked.last;
  }

  /** Takes what the server said, if it is of this stream. True if that begins the stream. */
  take({ method, params }: ServerNotice): boolean {
    if (method !== "notifications/subscriptions/acknowledged") return false;
    const { _meta: meta, notifications } = params;
    const of = isRecord(meta) ? meta[streamKey] : undefined;
    if (of !== undefined && String(of) !== String(this.#request)) return false;
    this.#acknowledge(isRecord(notifications) ? notifications : {});
    return true;
  }

  /** Ends it. */
  close(reason: unknown): void {
    this.#over.abort(reason);
  }
}
