/** Connections that are kept for the next request to the same origin at the same checked address. */
import { limits } from "../../schemas/limits.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Clock } from "../seams.ts";
import type { Socket } from "./socket.ts";

interface Kept {
  readonly socket: Socket;
  readonly over: AbortController;
}

/** Quiet connections by origin. One that says anything, ends, or waits too long is closed and forgotten. */
export class Pool {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept[]>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the newest connection to `origin` whose address was checked for this request. */
  take(origin: string, addresses: readonly string[]): Socket | undefined {
    const kept = this.#kept.get(origin);
    const found = kept?.findLast(({ socket }) => addresses.includes(socket.address));
    if (!found) return undefined;
    this.#remove(origin, found);
    return found.socket;
  }

  /** Keeps a connection on which nothing is under way. */
  put(origin: string, socket: Socket): void {
    const kept = this.#kept.get(origin) ?? [];
    if (this.#isClosed || kept.length >= limits.httpIdlePerOriginMax) return socket.close();
    const entry: Kept = { socket, over: new AbortController() };
    this.#kept.set(origin, [...kept, entry]);
    const drop = () => {
      if (this.#remove(origin, entry)) socket.close();
    };
    socket.listen(drop);
    void this.#clock.sleepUntil(this.#clock.now() + limits.httpKeepMs, entry.over.signal).then(drop);
  }

  /** Connections that wait. */
  get size(): number {
    return [...this.#kept.values()].reduce((sum, kept) => sum + kept.length, 0);
  }

  /** Closes all; what is put later is closed too. */
  close(): void {
    this.#isClosed = true;
    for (const [origin, kept] of this.#kept) {
      for (const entry of kept) {
        this.#remove(origin, entry);
        entry.socket.close();
      }
    }
  }

  #remove(origin: string, entry: Kept): boolean {
    const kept = this.#kept.get(origin) ?? [];
    if (!kept.includes(entry)) return false;
    const rest = kept.filter((other) => other !== entry);
    if (rest.length > 0) this.#kept.set(origin, rest);
    else this.#kept.delete(origin);
    entry.over.abort(givenUp);
    return true;
  }
}
