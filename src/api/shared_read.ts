/** Reads of one thing for many who ask at once: each gets what was read after it asked, and none reads alone. */

/** One thing that is read anew whenever somebody asks. */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** What is there now. A read that was begun before may have missed what the caller knows of: it waits for the next. */
  get(): Promise<T> {
    if (this.#running === undefined) return this.#begin();
    const begin = () => {
      this.#next = undefined;
      return this.#begin();
    };
    return this.#next ??= this.#running.then(begin, begin);
  }

  #begin(): Promise<T> {
    const reading = this.#read().finally(() => this.#running = undefined);
    this.#running = reading;
    return reading;
  }
}
