/** The writing end of a pipe: whole lines in order, and a count of what nobody has read yet. */

/** Where bytes go. `Deno.stdout` is one. */
export interface ByteSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** Writes messages, one a line. */
export class RpcOutput {
  /** Resolves once nobody reads any more, or the system refuses to write. */
  readonly broken: Promise<void>;
  readonly #sink: ByteSink;
  readonly #end = Promise.withResolvers<void>();
  #writing: Promise<void> = Promise.resolve();
  #bytesUnwritten = 0;
  #isBroken = false;

  constructor(sink: ByteSink) {
    this.#sink = sink;
    this.broken = this.#end.promise;
  }

  /** Bytes that wait for whoever reads them. */
  get bytesUnwritten(): number {
    return this.#bytesUnwritten;
  }

  /** Resolves when the message has gone out, or can go nowhere. Never rejects. */
  write(message: unknown): Promise<void> {
    if (this.#isBroken) return Promise.resolve();
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    this.#bytesUnwritten += bytes.length;
    this.#writing = this.#writing.then(() => this.#put(bytes));
    return this.#writing;
  }

  /** Resolves when everything so far has gone out. */
  flushed(): Promise<void> {
    return this.#writing;
  }

  async #put(bytes: Uint8Array): Promise<void> {
    try {
      for (let written = 0; written < bytes.length && !this.#isBroken;) {
        written += await this.#sink.write(bytes.subarray(written));
      }
    } catch {
      this.#isBroken = true;
      this.#end.resolve();
    }
    this.#bytesUnwritten -= bytes.length;
  }
}
