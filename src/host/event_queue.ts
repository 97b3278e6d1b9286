/** A queue between those who tell and one who listens: bounded, so that a slow listener cannot fill the memory. */

/** Events in order, for one listener at a time. */
export class EventQueue<T> {
  readonly #waiting: T[] = [];
  readonly #max: number;
  #isClosed = false;
  #hasLost = false;
  #wake: (() => void) | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Adds an event. Once more is waiting than may wait, nothing is taken any more until the listener was told. */
  push(event: T): void {
    if (this.#isClosed || this.#hasLost) return;
    if (this.#waiting.length >= this.#max) this.#hasLost = true;
    else this.#waiting.push(event);
    this.#wake?.();
  }

  /** No more events: the listener still gets those that wait. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /**
   * The events, until the queue is closed, or until some were lost: it then ends with what came before the gap, returns
   * `lost`, and takes events again.
   */
  async *take(): AsyncGenerator<T, "closed" | "lost"> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) yield next;
      if (this.#hasLost) {
        this.#hasLost = false;
        return "lost";
      }
      if (this.#isClosed) return "closed";
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }
}

/** A listener that was too slow: it begins again where it was. */
export class EventsLostError extends Error {
  override readonly name = "EventsLostError";
  readonly code = "events_lost";
}
