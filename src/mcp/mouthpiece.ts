/** What an SDK takes for its transport: it speaks over a wire that outlives it, so that another SDK can take its place. */
import type { JSONRPCMessage, Transport } from "./sdk_v1.ts";
import type { Wire } from "./wire.ts";

/**
 * One SDK's end of a wire. Each counts its requests from 0: on the wire they go on from where the last one stopped, so
 * that a late answer to another SDK is never taken for one of its own.
 */
export class Mouthpiece implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  protected readonly wire: Wire;
  /** The number on the wire of the SDK's first request. */
  protected readonly base: number;

  readonly #onMessage = (message: JSONRPCMessage) => this.hear(message);
  readonly #onClose = () => this.onclose?.();

  constructor(wire: Wire) {
    this.wire = wire;
    this.base = wire.asked.last + 1;
    wire.onmessage = this.#onMessage;
    wire.onclose = this.#onClose;
  }

  /** The wire is started by whoever made it. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.wire.send(this.base === 0 ? message : this.#outgoing(message));
  }

  setProtocolVersion(version: string): void {
    this.wire.setProtocolVersion?.(version);
  }

  /** The SDK gives up; the wire is not its own to end. */
  close(): Promise<void> {
    // Another SDK may have taken its place by now.
    if (this.wire.onmessage === this.#onMessage) this.wire.onmessage = undefined;
    if (this.wire.onclose === this.#onClose) this.wire.onclose = undefined;
    this.onclose?.();
    return Promise.resolve();
  }

  protected hear(message: JSONRPCMessage): void {
    if ("method" in message || this.base === 0) return this.onmessage?.(message);
    const id = Number(message.id) - this.base;
    if (id >= 0) this.onmessage?.({ ...message, id });
  }

  #outgoing(message: JSONRPCMessage): JSONRPCMessage {
    if (!("method" in message)) return message;
    if ("id" in message) return { ...message, id: Number(message.id) + this.base };
    const { params } = message;
    if (params === undefined || !("requestId" in params)) return message;
    return { ...message, params: { ...params, requestId: Number(params["requestId"]) + this.base } };
  }
}
