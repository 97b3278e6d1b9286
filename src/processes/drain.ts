/** Reads a pipe to its end in small pieces, so that a flood costs time and no memory (B50, DM-99). */
import { limits } from "../../schemas/limits.ts";

/** What is told of a stream. Slow to take is fine: the child waits. */
export interface OutputSink {
  /** The bytes are valid until it resolves. Never rejects: what goes wrong is its own to tell. */
  push(chunk: Uint8Array): Promise<void>;
  /** Nothing more comes. `isCut` if there may have been more. */
  end(isCut: boolean): Promise<void>;
}

/** The reading end of one of a command's outputs. */
export class Drain {
  /** Resolves at the end of the pipe, or when it is cut; true if it broke. */
  readonly over: Promise<boolean>;
  readonly #reader: ReadableStreamBYOBReader;
  #isCut = false;

  constructor(stream: ReadableStream<Uint8Array>, sink: OutputSink) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.over = this.#read(sink);
  }

  /** Stops reading, whoever holds the other end. */
  async cut(): Promise<void> {
    this.#isCut = true;
    await this.#reader.cancel().catch(() => {});
    await this.over;
  }

  async #read(sink: OutputSink): Promise<boolean> {
    let buffer = new Uint8Array(limits.commandChunkBytes);
    let isBroken = false;
    try {
      for (;;) {
        const { value, done } = await this.#reader.read(buffer);
        if (done || value === undefined) break;
        await sink.push(value);
        buffer = new Uint8Array(value.buffer);
      }
    } catch {
      isBroken = !this.#isCut;
    }
    await sink.end(this.#isCut || isBroken);
    return isBroken;
  }
}
