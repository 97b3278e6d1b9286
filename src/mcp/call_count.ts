/** Counts the calls of one client: what is in flight, what was answered, and since when nobody called. */
import type { Clock } from "../seams.ts";
import type { McpClient } from "./client.ts";

/** The calls of one client. */
export class CallCount {
  readonly #clock: Clock;
  #inFlight = 0;
  #served = 0;
  /** When the last call began or ended, in milliseconds since the epoch. */
  #quietSinceMs: number;
  #quiet = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#quietSinceMs = clock.now();
    this.#quiet.resolve();
  }

  /** Calls that the server has answered, well or badly. */
  get served(): number {
    return this.#served;
  }

  /** True if no call is in flight. */
  get isQuiet(): boolean {
    return this.#inFlight === 0;
  }

  /** Resolves once no call is in flight. */
  get quiet(): Promise<void> {
    return this.#quiet.promise;
  }

  /** Resolves when nobody has called for long, none is in flight and nothing else holds; never once `signal` is aborted. */
  async idle({ idleMs, isHeld, signal }: {
    readonly idleMs: number;
    readonly isHeld: () => boolean;
    readonly signal: AbortSignal;
  }): Promise<void> {
    while (!this.isQuiet || isHeld() || this.#clock.now() < this.#quietSinceMs + idleMs) {
      const sinceMs = isHeld() ? this.#clock.now() : this.#quietSinceMs;
      if (this.isQuiet) await this.#clock.sleepUntil(sinceMs + idleMs, signal);
      else await this.quiet;
      if (signal.aborted) return await new Promise(() => {});
    }
  }

  /** The same client, with its calls counted. */
  counted(client: McpClient): McpClient {
    return {
      greeting: client.greeting,
      ...(client.capabilities === undefined ? {} : { capabilities: client.capabilities }),
      isRemote: client.isRemote,
      gate: client.gate,
      ...(client.subscriptions === undefined ? {} : { subscriptions: client.subscriptions }),
      closed: client.closed,
      list: (signal) => client.list(signal),
      listChanged: () => client.listChanged(),
      taskTold: (task, signal) => client.taskTold(task, signal),
      close: () => client.close(),
      kill: () => client.kill(),
      call: async (request) => {
        this.#begin();
        try {
          const result = await client.call(request);
          if (result.status === "returned" || result.status === "refused") this.#served += 1;
          return result;
        } finally {
          this.#end();
        }
      },
    };
  }

  #begin(): void {
    if (this.#inFlight === 0) this.#quiet = Promise.withResolvers<void>();
    this.#inFlight += 1;
    this.#quietSinceMs = this.#clock.now();
  }

  #end(): void {
    this.#inFlight -= 1;
    this.#quietSinceMs = this.#clock.now();
    if (this.#inFlight === 0) this.#quiet.resolve();
  }
}
