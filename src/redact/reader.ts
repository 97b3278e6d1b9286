/** Reads a text from a place on, and remembers whether its end was met: there, more text could change the answer. */

/** Tests one UTF-16 unit. */
export type CharacterTest = (code: number) => boolean;

/** The end of the text, or what stands before its beginning if that is unknown. */
const nothing = -1;

/** A text that is looked at place by place. */
export class Reader {
  readonly text: string;
  /** True once anything asked for what stands behind the end. */
  isAtEnd = false;
  readonly #before: number;

  /** `before` is what stands before the text: -1 for nothing, else a code that is taken for all of it. */
  constructor(text: string, before: number = nothing) {
    this.text = text;
    this.#before = before;
  }

  /** The unit at a place; -1 behind the end and before the beginning. */
  at(place: number): number {
    if (place < 0) return this.#before;
    if (place < this.text.length) return this.text.charCodeAt(place);
    this.isAtEnd = true;
    return nothing;
  }

  /** Where a run of at most `max` characters of a kind ends that begins at `from`. */
  run(from: number, test: CharacterTest, max: number): number {
    const length = this.text.length;
    const stop = Math.min(from + max, length);
    let at = from;
    while (at < stop && test(this.text.charCodeAt(at))) at += 1;
    if (at >= length && at - from < max) this.isAtEnd = true;
    return at;
  }

  /** True if a literal stands at a place. */
  has(place: number, literal: string): boolean {
    if (place + literal.length > this.text.length && literal.startsWith(this.text.slice(place))) {
      this.isAtEnd = true;
    }
    return this.text.startsWith(literal, place);
  }
}

/** `0` to `9`. */
export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** `A` to `Z`. */
export function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}

/** `a` to `z`. */
export function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}

/** A letter or digit of ASCII. */
export function isAlphanumeric(code: number): boolean {
  return isDigit(code) || isLower(code) || isUpper(code);
}

/** A letter, a digit or `_`. */
export function isWord(code: number): boolean {
  return isAlphanumeric(code) || code === 95;
}

/** Base64url: a letter, a digit, `_` or `-`. */
export function isUrlSafe(code: number): boolean {
  return isWord(code) || code === 45;
}

/** `0` to `9`, `a` to `f`, `A` to `F`. */
export function isHex(code: number): boolean {
  return isDigit(code) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70);
}

/** Space, tab, line ends, and the other blanks below them. */
export function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}
