/**
 * Finds many literals at once, in time linear in the text whatever the text: an Aho-Corasick automaton, and in front of
 * it a filter by the first characters, since nearly every place of nearly every text begins no literal.
 */

/** Told of the longest literal that ends at a place: its number, and where it stands. */
export type OnHit = (literal: number, start: number, end: number) => void;

/** How to compare. */
export interface LiteralMatcherOptions {
  /** ASCII letters count alike in both cases. The literals are then in lower case. */
  readonly isFolded: boolean;
}

/** From so many literals on the filter looks at 4 characters instead of 3, in a larger table. */
const manyLiterals = 64;
/** Characters of the second look, at places where the filter let one begin. */
const deepMax = 6;
const deepSize = 0x10000;
const tooShort = "Cannot look for a literal of less than 3 characters";

/** Finds literals of at least 3 characters. Built once; a change of literals needs another. */
export class LiteralMatcher {
  readonly #lengths: readonly number[];
  readonly #isFolded: boolean;
  /** Characters that the filter looks at: 3 or 4. Its hash moves on by 5 bits for each. */
  readonly #gram: number;
  readonly #mask: number;
  readonly #filter: Uint8Array;
  readonly #deep: number;
  readonly #deepFilter = new Uint8Array(deepSize);
  readonly #edges: Edges;
  readonly #fail: Int32Array;
  readonly #depth: Int32Array;
  /** The longest literal that ends in a state, plus one; 0 for none. */
  readonly #out: Int32Array;

  constructor(literals: readonly string[], { isFolded }: LiteralMatcherOptions) {
    this.#isFolded = isFolded;
    this.#lengths = literals.map(({ length }) => length);
    const shortest = literals.reduce((least, { length }) => Math.min(least, length), deepMax);
    if (shortest < 3) throw new Error(tooShort);
    [this.#gram, this.#mask] = shortest > 3 && literals.length >= manyLiterals ? [4, 0x3ffff] : [3, 0x7fff];
    this.#filter = new Uint8Array(this.#mask + 1);
    this.#deep = shortest;
    const statesMax = literals.reduce((sum, { length }) => sum + length, 1);
    this.#edges = new Edges(statesMax);
    this.#fail = new Int32Array(statesMax);
    this.#depth = new Int32Array(statesMax);
    this.#out = new Int32Array(statesMax);
    const parents = new Int32Array(statesMax);
    const codes = new Uint16Array(statesMax);
    let states = 1;
    for (const [number, literal] of literals.entries()) {
      let state = 0;
      for (let at = 0; at < literal.length; at++) {
        const code = literal.charCodeAt(at);
        let next = this.#edges.find(state, code);
        if (next < 0) {
          next = states++;
          this.#edges.add(state, code, next);
          parents[next] = state;
          codes[next] = code;
          this.#depth[next] = at + 1;
        }
        state = next;
      }
      this.#out[state] = number + 1;
      this.#filter[this.#hash(literal)] = 1;
      this.#deepFilter[this.#deepHash(literal, 0)] = 1;
    }
    this.#link(parents, codes, states);
  }

  /**
   * Tells `onHit` of every place where literals end, of the longest of them, in the order of their ends. Returns where
   * the longest literal begins that the end of the text may have begun; the length of the text if there is none.
   */
  scan(text: string, onHit: OnHit): number {
    if (this.#lengths.length === 0) return text.length;
    let state = 0;
    for (let at = this.#skip(text, 0); at < text.length; at++) {
      state = this.#step(state, this.#codeAt(text, at));
      const out = this.#out[state] ?? 0;
      if (out > 0) onHit(out - 1, at + 1 - (this.#lengths[out - 1] ?? 0), at + 1);
      if (state === 0) at = this.#skip(text, at + 1) - 1;
    }
    return text.length - (this.#depth[state] ?? 0);
  }

  /** True if any literal stands in the text. */
  isIn(text: string): boolean {
    let isFound = false;
    this.scan(text, () => {
      isFound = true;
    });
    return isFound;
  }

  /** The next place from `from` on where a literal may begin; the last few characters always may. */
  #skip(text: string, from: number): number {
    const gram = this.#gram;
    const length = text.length;
    if (length - from < gram) return from;
    return this.#isFolded ? this.#skipFolded(text, from) : this.#skipExact(text, from);
  }

  #skipExact(text: string, from: number): number {
    const [mask, filter, before] = [this.#mask, this.#filter, this.#gram - 1];
    const length = text.length;
    let hash = 0;
    let at = from;
    for (; at < from + before; at++) hash = ((hash << 5) ^ text.charCodeAt(at)) & mask;
    for (; at < length; at++) {
      hash = ((hash << 5) ^ text.charCodeAt(at)) & mask;
      if (filter[hash] !== 0 && this.#mayBegin(text, at - before)) return at - before;
    }
    return length - before;
  }

  #skipFolded(text: string, from: number): number {
    const [mask, filter, before] = [this.#mask, this.#filter, this.#gram - 1];
    const length = text.length;
    let hash = 0;
    let at = from;
    for (; at < from + before; at++) hash = ((hash << 5) ^ folded(text.charCodeAt(at))) & mask;
    for (; at < length; at++) {
      hash = ((hash << 5) ^ folded(text.charCodeAt(at))) & mask;
      if (filter[hash] !== 0 && this.#mayBegin(text, at - before)) return at - before;
    }
    return length - before;
  }

  /** A second look, at as many characters as every literal has. */
  #mayBegin(text: string, at: number): boolean {
    return at + this.#deep > text.length || this.#deepFilter[this.#deepHash(text, at)] !== 0;
  }

  #hash(literal: string): number {
    let hash = 0;
    for (let at = 0; at < this.#gram; at++) hash = ((hash << 5) ^ literal.charCodeAt(at)) & this.#mask;
    return hash;
  }

  #deepHash(text: string, from: number): number {
    let hash = 0;
    for (let at = from; at < from + this.#deep; at++) {
      hash = Math.imul(hash ^ this.#codeAt(text, at), 0x01000193);
    }
    return (hash ^ (hash >>> 16)) & (deepSize - 1);
  }

  #codeAt(text: string, at: number): number {
    const code = text.charCodeAt(at);
    return this.#isFolded ? folded(code) : code;
  }

  #step(from: number, code: number): number {
    for (let state = from;; state = this.#fail[state] ?? 0) {
      const next = this.#edges.find(state, code);
      if (next >= 0) return next;
      if (state === 0) return 0;
    }
  }

  /** Sets what each state falls back to, the shallow ones first. */
  #link(parents: Int32Array, codes: Uint16Array, states: number): void {
    const order = new Int32Array(states);
    const ends = new Int32Array(this.#lengths.reduce((most, length) => Math.max(most, length), 0) + 2);
    for (let state = 0; state < states; state++) {
      const depth = this.#depth[state] ?? 0;
      ends[depth + 1] = (ends[depth + 1] ?? 0) + 1;
    }
    for (let depth = 1; depth < ends.length; depth++) {
      ends[depth] = (ends[depth] ?? 0) + (ends[depth - 1] ?? 0);
    }
    for (let state = 0; state < states; state++) {
      const depth = this.#depth[state] ?? 0;
      const place = ends[depth] ?? 0;
      order[place] = state;
      ends[depth] = place + 1;
    }
    for (const state of order) {
      const parent = parents[state] ?? 0;
      if ((this.#depth[state] ?? 0) > 1) {
        this.#fail[state] = this.#step(this.#fail[parent] ?? 0, codes[state] ?? 0);
      }
      if (this.#out[state] === 0) this.#out[state] = this.#out[this.#fail[state] ?? 0] ?? 0;
    }
  }
}

/** An ASCII letter in lower case; anything else as it is. */
function folded(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code;
}

/** The edges of a tree of states: a table with open addresses, at most half full. */
class Edges {
  readonly #from: Int32Array;
  readonly #codes: Uint16Array;
  readonly #to: Int32Array;
  readonly #mask: number;

  constructor(edgesMax: number) {
    let size = 16;
    while (size < edgesMax * 2) size *= 2;
    this.#from = new Int32Array(size).fill(-1);
    this.#codes = new Uint16Array(size);
    this.#to = new Int32Array(size);
    this.#mask = size - 1;
  }

  find(state: number, code: number): number {
    for (let slot = this.#slot(state, code);; slot = (slot + 1) & this.#mask) {
      const from = this.#from[slot] ?? -1;
      if (from < 0) return -1;
      if (from === state && this.#codes[slot] === code) return this.#to[slot] ?? -1;
    }
  }

  add(state: number, code: number, next: number): void {
    let slot = this.#slot(state, code);
    while ((this.#from[slot] ?? -1) >= 0) slot = (slot + 1) & this.#mask;
    this.#from[slot] = state;
    this.#codes[slot] = code;
    this.#to[slot] = next;
  }

  #slot(state: number, code: number): number {
    const mixed = Math.imul(state, 0x9e3779b1) ^ Math.imul(code, 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & this.#mask;
  }
}
