/**
 * How much of one connection is worked on at once. A client may send request after request without reading an answer: a
 * few are begun, the next ones wait, and nothing more is read of the connection until there is room (F34).
 */
import type { Socket } from "node:net";
import { apiLimits } from "../../../schemas/api_limits.ts";

/** Begins a request; resolves once it is answered. Never rejects. */
export type Begin = () => Promise<void>;

interface Lane {
  open: number;
  /** What had been read of the connection by the time that it was full. */
  readonly waiting: Begin[];
}

/** The connections of one server. */
export class ConnectionLanes {
  readonly #lanes = new WeakMap<Socket, Lane>();

  /** Begins it now, or once there is room; never, if the connection ends before. Resolves once it is over. */
  async take(socket: Socket, begin: Begin): Promise<void> {
    const lane = this.#laneOf(socket);
    if (lane.open < apiLimits.requestsAtOnceMax) return await this.#run(socket, lane, begin);
    socket.pause();
    await new Promise<void>((resolve) => {
      const leave = () => {
        const at = lane.waiting.indexOf(wait);
        if (at >= 0) lane.waiting.splice(at, 1);
        resolve();
      };
      const wait = () => {
        socket.off("close", leave);
        return begin().finally(resolve);
      };
      lane.waiting.push(wait);
      socket.once("close", leave);
      if (socket.destroyed) leave();
    });
  }

  #laneOf(socket: Socket): Lane {
    let lane = this.#lanes.get(socket);
    if (lane === undefined) {
      lane = { open: 0, waiting: [] };
      this.#lanes.set(socket, lane);
      // Each that waits hears of the end, and all of them are few.
      socket.setMaxListeners(0);
    }
    return lane;
  }

  async #run(socket: Socket, lane: Lane, begin: Begin): Promise<void> {
    lane.open += 1;
    await begin();
    lane.open -= 1;
    const next = lane.waiting.shift();
    if (next !== undefined) void this.#run(socket, lane, next);
    else if (socket.isPaused()) socket.resume();
  }
}
