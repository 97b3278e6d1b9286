/** A queue between those who tell and one who listens: bounded, so that a slow listener cannot fill the memory. */

/** Events in order. Used as an async iterable by one listener. */
export class EventQueue<T> implements AsyncIterable<T> {
  /** True once more was waiting than may wait; the listener then gets an error instead of a gap. */
  overflowed = false;
  readonly #waiting: T[] = [];
  readonly #max: number;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** Adds an event; dropped once the queue is closed or has overflowed. */
  push(event: T): void {
    if (this.#isClosed || this.overflowed) return;
    if (this.#waiting.length >= this.#max) this.overflowed = true;
    else this.#waiting.push(event);
    this.#wake?.();
  }

  /** No more events: the listener still gets those that wait. */
  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) yield next;
      if (this.overflowed) {
        throw new EventsLostError("Cannot keep up: too many events were waiting; begin again");
      }
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }
}

/** A listener that was too slow. */
export class EventsLostError extends Error {
  override readonly name = "EventsLostError";
  readonly code = "events_lost";
}
