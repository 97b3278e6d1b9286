/** Lines out of a stream of bytes, in time that grows with the bytes alone. */

const newline = 10;
const carriageReturn = 13;
/** Smallest room for a line that goes on in the next chunk, and how much it grows when it is full. */
const room = { bytesMin: 4_096, growth: 8 } as const;
const nothing = new Uint8Array(0);

/** A line has more bytes than it may. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
  readonly code = "line_too_long";
  /** Whole lines that stood before it in the same chunk. */
  readonly lines: readonly Uint8Array[];

  constructor(maxBytes: number, lines: readonly Uint8Array[] = []) {
    super(`The line has more than ${maxBytes} bytes: send less at once`);
    this.lines = lines;
  }
}

/**
 * Cuts a stream of bytes into lines, wherever its chunks were cut. What is kept of a chunk is copied, so its buffer may
 * be used again; a line that lies whole in one chunk is a view of it. Holds at most one line of the allowed length.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  /** The beginning of the line that has not ended: the first `#length` bytes. */
  #room: Uint8Array = nothing;
  #length = 0;
  #isRefusing = false;

  /** `maxBytes`: longest line, without its end. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines that `chunk` ends, without `\n` and a `\r` before it. Throws {@linkcode LineTooLongError} at the first
   * byte too many, whether the line has ended or not, and from then on always.
   */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.#isRefusing) throw new LineTooLongError(this.#maxBytes);
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const part = chunk.subarray(start, end);
      this.#check(part, lines);
      lines.push(this.#end(part));
      start = end + 1;
    }
    const part = chunk.subarray(start);
    this.#check(part, lines);
    this.#keep(part, part.length + this.#length);
    return lines;
  }

  /** The line that has not ended: what a stream that is over leaves behind. */
  rest(): Uint8Array {
    return this.#room.slice(0, this.#length);
  }

  /** Refuses a line that would be too long with `part`. A `\r` at its end may belong to the line's end. */
  #check(part: Uint8Array, lines: readonly Uint8Array[]): void {
    const last = part.length > 0 ? part[part.length - 1] : this.#room[this.#length - 1];
    const bytes = this.#length + part.length - (last === carriageReturn ? 1 : 0);
    if (bytes <= this.#maxBytes) return;
    this.#isRefusing = true;
    this.#room = nothing;
    this.#length = 0;
    throw new LineTooLongError(this.#maxBytes, lines);
  }

  #end(part: Uint8Array): Uint8Array {
    if (this.#length === 0) return withoutReturn(part);
    const length = this.#length + part.length;
    this.#keep(part, length);
    const line = this.#room.subarray(0, length);
    // Given away: the next line gets a room of its own.
    this.#room = nothing;
    this.#length = 0;
    return withoutReturn(line);
  }

  /** Copies `part` behind the rest, in a room of at least `bytes`. Growing by a factor keeps all copies few. */
  #keep(part: Uint8Array, bytes: number): void {
    if (part.length === 0) return;
    if (bytes > this.#room.length) {
      const grown = Math.min(this.#room.length * room.growth, this.#maxBytes + 1);
      const larger = new Uint8Array(Math.max(bytes, room.bytesMin, grown));
      larger.set(this.#room.subarray(0, this.#length));
      this.#room = larger;
    }
    this.#room.set(part, this.#length);
    this.#length += part.length;
  }
}

function withoutReturn(line: Uint8Array): Uint8Array {
  return line[line.length - 1] === carriageReturn ? line.subarray(0, -1) : line;
}
