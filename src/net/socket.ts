/** One connection to a server, as bytes: what was read and not used yet, and what is being waited for. */
import { limits } from "../../schemas/limits.ts";

/** A connection with a buffer of what came. One reader and one writer at a time. */
export class Socket {
  /** The checked address on the other side. */
  readonly address: string;
  readonly #connection: Deno.Conn;
  #bytes = new Uint8Array(limits.httpReadBytes);
  #start = 0;
  #end = 0;
  #reading: Promise<boolean> | undefined;
  #isClosed = false;
  /** Answers that were read from it to their end. */
  answers = 0;

  constructor(connection: Deno.Conn, address: string) {
    this.#connection = connection;
    this.address = address;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What came and was not used. Valid until the next read. */
  get unread(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Marks the first `count` unread bytes as used. */
  use(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.#start = this.#end = 0;
  }

  /** Reads once more. False at the end of the stream. */
  async more(): Promise<boolean> {
    this.#reading ??= this.#read();
    try {
      return await this.#reading;
    } finally {
      this.#reading = undefined;
    }
  }

  /**
   * Begins to read before anything was asked, and says when something comes: on a quiet connection that is its end, or
   * an answer to no question. The next {@linkcode more} takes over what is being read.
   */
  listen(onNews: () => void): void {
    this.#reading = this.#read();
    this.#reading.then(onNews, onNews);
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      written += await this.#connection.write(bytes.subarray(written));
    }
  }

  /** Ends it at once; whatever is being read or written rejects. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reading?.catch(() => {});
    this.#connection.close();
  }

  async #read(): Promise<boolean> {
    this.#makeRoom();
    const count = await this.#connection.read(this.#bytes.subarray(this.#end));
    if (count === null) return false;
    this.#end += count;
    return true;
  }

  #makeRoom(): void {
    if (this.#end < this.#bytes.length) return;
    const kept = this.unread;
    if (this.#start === 0) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(kept);
      this.#bytes = larger;
    } else this.#bytes.copyWithin(0, this.#start, this.#end);
    this.#start = 0;
    this.#end = kept.length;
  }
}
