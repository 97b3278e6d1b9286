/**
 * Search patterns, parsed: what a line must contain. A subset of JavaScript's regular expressions without what needs
 * backtracking, so that `src/tools/matcher.ts` can run every accepted pattern in time linear in the line.
 */
import { limits } from "../../schemas/limits.ts";

/** Most repeats that a pattern may count out, as in `x{2,1000}`. */
export const repeatsMax = 1_000;

/** A parsed pattern. */
export type PatternNode =
  | { readonly kind: "character"; readonly test: (codePoint: number) => boolean }
  | { readonly kind: "place"; readonly at: Place }
  | { readonly kind: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly branches: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly body: PatternNode; readonly min: number; readonly max: number };

/** A place between two characters: the ends of the line, and where words begin and end. */
export type Place = "start" | "end" | "word_edge" | "no_word_edge";

/** A pattern that is not accepted, and why. Caught by `createMatcher`. */
export class PatternError extends Error {
  override readonly name = "PatternError";
}

const places: { readonly [text: string]: Place } = {
  "^": "start",
  "$": "end",
  "\\b": "word_edge",
  "\\B": "no_word_edge",
};

const escapes =
  /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|[pP]\{[A-Za-z0-9_=]{1,64}\}|[dDwWsStnrfv]|0(?![0-9])|[^A-Za-z0-9])/uy;
const classes = /\[(?:[^\]\\]|\\[^])*\]/uy;
const quantifiers = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y;

/** Parses a pattern. Throws {@linkcode PatternError}. */
export function parsePattern(source: string): PatternNode {
  if (source.length > limits.regexCharactersMax) {
    throw new PatternError(`it is longer than ${limits.regexCharactersMax} characters`);
  }
  const reader = new Reader(source);
  const root = readChoice(reader);
  if (!reader.isAtEnd()) throw new PatternError("it has a ) too many");
  return root;
}

/** Reads a pattern from left to right. */
class Reader {
  readonly #source: string;
  #at = 0;
  constructor(source: string) {
    this.#source = source;
  }
  isAtEnd(): boolean {
    return this.#at >= this.#source.length;
  }
  /** Takes `text` if it is next. */
  take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
  /** Takes what the sticky `expression` matches next. */
  match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at += found[0].length;
    return found;
  }
  isNext(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }
  /** Takes one character; "" at the end. */
  next(): string {
    const codePoint = this.#source.codePointAt(this.#at);
    if (codePoint === undefined) return "";
    const character = String.fromCodePoint(codePoint);
    this.#at += character.length;
    return character;
  }
}

function readChoice(reader: Reader): PatternNode {
  const branches = [readSequence(reader)];
  while (reader.take("|")) branches.push(readSequence(reader));
  const only = branches[0];
  return branches.length === 1 && only !== undefined ? only : { kind: "choice", branches };
}

function readSequence(reader: Reader): PatternNode {
  const items: PatternNode[] = [];
  while (!reader.isAtEnd() && !reader.isNext("|") && !reader.isNext(")")) items.push(readRepeat(reader));
  return { kind: "sequence", items };
}

function readRepeat(reader: Reader): PatternNode {
  const body = readAtom(reader);
  const found = reader.match(quantifiers);
  if (found === undefined) return body;
  if (body.kind === "place") throw new PatternError(`${found[0]} stands behind a place, which cannot repeat`);
  const { min, max } = boundsOf(found);
  // Counted repeats are copied out, so one inside another would multiply.
  if (max > 1 && hasRepeat(body)) {
    throw new PatternError("a quantifier stands inside a repeated group; write it without one of the two");
  }
  if (reader.match(quantifiers) !== undefined) throw new PatternError("two quantifiers stand side by side");
  return { kind: "repeat", body, min, max };
}

function boundsOf(found: RegExpExecArray): { readonly min: number; readonly max: number } {
  const [text, least, comma, most] = found;
  if (text.startsWith("*")) return { min: 0, max: Infinity };
  if (text.startsWith("+")) return { min: 1, max: Infinity };
  if (text.startsWith("?")) return { min: 0, max: 1 };
  const min = Number(least);
  const max = comma === undefined ? min : most === "" ? Infinity : Number(most);
  if (min > max) throw new PatternError(`${text} counts backwards`);
  if (min > repeatsMax || (max !== Infinity && max > repeatsMax)) {
    throw new PatternError(`${text} repeats more than ${repeatsMax} times`);
  }
  return { min, max };
}

function hasRepeat(node: PatternNode): boolean {
  if (node.kind === "repeat") return true;
  if (node.kind === "sequence") return node.items.some(hasRepeat);
  return node.kind === "choice" && node.branches.some(hasRepeat);
}

function readAtom(reader: Reader): PatternNode {
  for (const [text, at] of Object.entries(places)) if (reader.take(text)) return { kind: "place", at };
  if (reader.isNext("(")) return readGroup(reader);
  if (reader.take(".")) return { kind: "character", test: () => true };
  const set = reader.match(classes) ?? reader.match(escapes);
  if (set !== undefined) return { kind: "character", test: testOf(set[0]) };
  const character = reader.next();
  if (character === "\\") throw new PatternError(`\\${reader.next()} is not supported`);
  if (character === "[") throw new PatternError("a [ has no ]");
  if ("*+?".includes(character)) throw new PatternError(`${character} has nothing to repeat`);
  return { kind: "character", test: testOfCharacter(character) };
}

function readGroup(reader: Reader): PatternNode {
  if (reader.match(/\(\?(?:<?[=!])/y) !== undefined) {
    throw new PatternError("looking ahead or behind is not supported");
  }
  if (reader.match(/\((?:\?:|\?<[A-Za-z_][A-Za-z0-9_]*>)?(?!\?)/y) === undefined) {
    throw new PatternError("this kind of group is not supported");
  }
  const inner = readChoice(reader);
  if (!reader.take(")")) throw new PatternError("a ( has no )");
  return inner;
}

function testOfCharacter(character: string): (codePoint: number) => boolean {
  const wanted = character.codePointAt(0);
  return (codePoint) => codePoint === wanted;
}

/** What one class or escape means is left to the engine: on one character it has nothing to go back to. */
function testOf(atom: string): (codePoint: number) => boolean {
  const expression = singleOf(atom, "u") ?? singleOf(atom, "");
  if (expression === undefined) throw new PatternError(`${atom} is not supported`);
  return (codePoint) => expression.test(String.fromCodePoint(codePoint));
}

function singleOf(atom: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${atom})$`, flags);
  } catch {
    return undefined;
  }
}
