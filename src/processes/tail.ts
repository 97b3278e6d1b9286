/** The last bytes of a stream, in bounded memory. */

/** Keeps the last bytes of a stream in a ring, and shows them as text. */
export class Tail {
  readonly #ring: Uint8Array;
  /** Bytes that came so far: the next one goes to this place, counted around the ring. */
  #bytes = 0;

  /** `maxBytes`: bytes that are kept. */
  constructor(maxBytes: number) {
    this.#ring = new Uint8Array(maxBytes);
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Uint8Array): void {
    const size = this.#ring.length;
    const last = size === 0 ? chunk.subarray(chunk.length) : chunk.subarray(-size);
    // Counted before the copy, so that what is passed over moves the place as well.
    this.#bytes += chunk.length - last.length;
    if (last.length === 0) return;
    const place = this.#bytes % size;
    const first = last.subarray(0, size - place);
    this.#ring.set(first, place);
    this.#ring.set(last.subarray(first.length), 0);
    this.#bytes += last.length;
  }

  /** What is kept, as UTF-8 text that begins at a whole character. Bytes that are no text are shown as U+FFFD. */
  text(): string {
    const size = this.#ring.length;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    if (this.#bytes <= size) return decoder.decode(this.#ring.subarray(0, this.#bytes));
    const bytes = new Uint8Array(size);
    const place = size === 0 ? 0 : this.#bytes % size;
    bytes.set(this.#ring.subarray(place), 0);
    bytes.set(this.#ring.subarray(0, place), size - place);
    return decoder.decode(bytes.subarray(firstCharacter(bytes)));
  }
}

/** Where the first whole character begins: a cut character leaves at most three continuation bytes behind. */
function firstCharacter(bytes: Uint8Array): number {
  let index = 0;
  while (index < 3 && ((bytes[index] ?? 0) & 0xc0) === 0x80) index += 1;
  return index;
}
