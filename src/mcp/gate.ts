/** Lets only so many pieces of work run at once; the others wait in order. */

/** A gate with a fixed number of places. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs `work` once there is room. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(undefined);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Runs `work` once there is room, or not at all: undefined if `signal` aborts first. The work minds the signal. */
  async passUnless<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free -= 1;
    else if (!await this.#turn(signal)) return undefined;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Waits for a place that somebody leaves; false if `signal` aborts first. */
  #turn(signal: AbortSignal | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const enter = () => {
      signal?.removeEventListener("abort", giveUp);
      resolve(true);
    };
    const giveUp = () => {
      this.#waiting.splice(this.#waiting.indexOf(enter), 1);
      resolve(false);
    };
    this.#waiting.push(enter);
    signal?.addEventListener("abort", giveUp, { once: true });
    return promise;
  }

  /** A place is handed over, not given back: nobody who comes now gets before those who wait. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
