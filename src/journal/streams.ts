/** Where each stream stands, as its one writer knows it. */
import { genesisHash } from "./packed_value.ts";

/** End of one stream. `seq` and `hash` stand behind what was sealed, `pushedSeq` behind what was pushed. */
export interface Stream {
  seq: number;
  hash: string;
  /** False until the head was read, or the stream was found to be new. */
  known: boolean;
  /** True until the stream's first commit, which checks that nobody wrote a stream of this name before. */
  fresh: boolean;
  pushedSeq: number | undefined;
  /** Sequence of the newest snapshot that was written or is about to be. */
  snapshotSeq: number;
}

/** More streams than this are forgotten, oldest first; a forgotten one costs a read at its next unit. */
const streamsMax = 20_000;

/** The streams of one writer. */
export class Streams {
  readonly #streams = new Map<string, Stream>();

  /** The stream of a root; made on first sight. */
  of(root: string): Stream {
    const found = this.#streams.get(root);
    if (found !== undefined) return found;
    const stream: Stream = {
      seq: 0,
      hash: genesisHash,
      known: false,
      fresh: false,
      pushedSeq: undefined,
      snapshotSeq: 0,
    };
    this.#streams.set(root, stream);
    return stream;
  }

  /** Takes a head that was read from the store, unless the stream is known already. */
  adopt(root: string, head: { readonly seq: number; readonly hash: string }): void {
    const stream = this.of(root);
    if (stream.known || stream.pushedSeq !== undefined) return;
    Object.assign(stream, { ...head, known: true, fresh: head.seq === 0, pushedSeq: head.seq });
  }

  /**
   * Books the sequences of a unit. Throws if they do not follow the unit before: a bug of the caller, found before
   * anything is written.
   */
  book(root: string, first: number, last: number): Stream {
    const stream = this.of(root);
    const expected = stream.pushedSeq === undefined ? first : stream.pushedSeq + 1;
    if (first !== expected) {
      throw new RangeError(`Cannot push entry ${first} of ${root}: ${expected} is next`);
    }
    stream.pushedSeq = last;
    if (!stream.known && first === 1) {
      // No read: the commit itself checks that there is no such stream yet.
      stream.known = true;
      stream.fresh = true;
    }
    return stream;
  }

  /** Where these streams stand, to be put back if they are sealed once more. */
  save(roots: Iterable<string>): ReadonlyMap<string, Readonly<Stream>> {
    return new Map([...roots].map((root) => [root, { ...this.of(root) }]));
  }

  /** Puts back what was saved, but for those left out; what was pushed meanwhile stays pushed. */
  restore(saved: ReadonlyMap<string, Readonly<Stream>>, leftOut: ReadonlySet<string>): void {
    for (const [root, { seq, hash, known, fresh, snapshotSeq }] of saved) {
      if (leftOut.has(root)) continue;
      Object.assign(this.of(root), { seq, hash, known, fresh, snapshotSeq });
    }
  }

  /** Forgets a stream that another runtime writes from now on. */
  forget(root: string): void {
    this.#streams.delete(root);
  }

  /** Forgets the streams that have been idle longest. */
  trim(): void {
    if (this.#streams.size <= streamsMax) return;
    for (const [root, stream] of this.#streams) {
      if (this.#streams.size <= streamsMax / 2) return;
      if (stream.known && stream.pushedSeq === stream.seq) this.#streams.delete(root);
    }
  }
}
