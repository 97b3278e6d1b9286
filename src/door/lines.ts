/** Cuts a stream of bytes into lines, each within a bound. */
import { DoorError } from "./protocol.ts";

const newline = 10;

/** Collects bytes until a line is whole. Holds at most one line of the allowed length and one chunk. */
export class LineSplitter {
  /** Longest line from now on, in bytes. */
  bytesMax: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** The lines that `chunk` completes, as they are asked for. Throws `line_too_long` and `line_not_text`. */
  *take(chunk: Uint8Array): Iterable<string> {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      this.#add(rest.subarray(0, end));
      yield this.#line();
      rest = rest.subarray(end + 1);
    }
    // Copied: the chunk's buffer is used again for the next read.
    this.#add(rest.slice());
  }

  #add(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.bytesMax) {
      throw new DoorError(
        "line_too_long",
        `The line has more than ${this.bytesMax} bytes: send less at once`,
      );
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #line(): string {
    const bytes = new Uint8Array(this.#length);
    let offset = 0;
    for (const part of this.#parts) {
      bytes.set(part, offset);
      offset += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new DoorError("line_not_text", "The line is not UTF-8 text");
    }
  }
}

/** Writes all of `bytes`. */
export async function writeAll(connection: Pick<Deno.Conn, "write">, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await connection.write(bytes.subarray(written));
}
