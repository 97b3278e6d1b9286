/** Standard output of a child: given to one reader, thrown away once nobody wants it. */

/** What a pipe holds at most when a child has ended; only a process that left its group can write more. */
const lastBytesMax = 2 * 1_048_576;

/** The reading end of a child's standard output. */
export class Output {
  /** Ends when the child's output does, or when it is cut. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly #source: ReadableStreamDefaultReader<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #isDropped = false;

  constructor(source: ReadableStream<Uint8Array>) {
    this.#source = source.getReader();
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => this.cut(),
      // Nothing is read ahead: what nobody asks for stays with the child.
    }, { highWaterMark: 0 });
  }

  /** True if somebody reads. */
  get isRead(): boolean {
    return this.stream.locked;
  }

  /** Throws away all that comes from now on, so that a child is never blocked by output that nobody reads. */
  async discard(): Promise<void> {
    this.#drop();
    while (await this.#next() !== undefined);
  }

  /**
   * The child has ended: takes what is left in its pipe, which is little, so that whoever reads gets it at leisure.
   * Resolves at the end of the pipe.
   */
  async finish(): Promise<void> {
    let bytes = 0;
    while (!this.#isDropped && bytes < lastBytesMax) {
      const chunk = await this.#next();
      if (chunk === undefined) this.#drop();
      else if (!this.#isDropped) this.#controller?.enqueue(chunk);
      bytes += chunk?.length ?? 0;
    }
  }

  /** Stops reading at once, whoever holds the other end. */
  async cut(): Promise<void> {
    this.#drop();
    await this.#source.cancel().catch(() => {});
  }

  async #pull(): Promise<void> {
    const chunk = await this.#next();
    if (this.#isDropped) return;
    if (chunk === undefined) this.#drop();
    else this.#controller?.enqueue(chunk);
  }

  /** The next bytes, or undefined at the end. A broken pipe is an end as well. */
  async #next(): Promise<Uint8Array | undefined> {
    const { value } = await this.#source.read().catch(() => ({ value: undefined }));
    return value;
  }

  #drop(): void {
    if (this.#isDropped) return;
    this.#isDropped = true;
    try {
      this.#controller?.close();
    } catch {
      // The reader itself has canceled it.
    }
  }
}
