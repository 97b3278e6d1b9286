/** The rows of a server of the tests: bytes by bytes, in the order of the keys, and a clock of commits. */
import { type AtomicWrite, type KvEntry, numbers, type ReadRange } from "./messages.ts";

interface Stored extends KvEntry {
  /** The key as text, one character a byte: compares as the bytes do. */
  readonly order: string;
}

function textOf(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Everything that was committed, for the life of the server. */
export class Rows {
  readonly #rows: Stored[] = [];
  #version = 0n;

  /** Commits that took hold. */
  get version(): number {
    return Number(this.#version);
  }

  read({ start, end, limit, reverse }: ReadRange): readonly KvEntry[] {
    const [from, to] = [this.#at(textOf(start)), this.#at(textOf(end))];
    const count = limit > 0 ? limit : to - from;
    const found = reverse
      ? this.#rows.slice(Math.max(from, to - count), to).reverse()
      : this.#rows.slice(from, Math.min(to, from + count));
    return found;
  }

  /** The versionstamp of the commit; undefined if a check failed, and then nothing was written. */
  commit({ checks, mutations }: AtomicWrite): Uint8Array | undefined {
    for (const { key, versionstamp } of checks) {
      if (textOf(this.#find(textOf(key))?.versionstamp ?? new Uint8Array()) !== textOf(versionstamp)) {
        return undefined;
      }
    }
    this.#version += 1n;
    const versionstamp = new Uint8Array(10);
    new DataView(versionstamp.buffer).setBigUint64(0, this.#version);
    for (const { key, value, mutationType } of mutations) {
      const order = textOf(key);
      const index = this.#at(order);
      const isThere = this.#rows[index]?.order === order;
      if (mutationType === numbers.delete) {
        if (isThere) this.#rows.splice(index, 1);
        continue;
      }
      if (value === null) throw new TypeError("a row without a value");
      const row = { order, key, value: value.data, encoding: value.encoding, versionstamp };
      this.#rows.splice(index, isThere ? 1 : 0, row);
    }
    return versionstamp;
  }

  #find(order: string): Stored | undefined {
    const row = this.#rows[this.#at(order)];
    return row?.order === order ? row : undefined;
  }

  /** Index of the first row that is not before `order`. */
  #at(order: string): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle]?.order ?? "") < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
