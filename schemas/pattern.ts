/** Regular expressions of strangers, matched in bounded time: V8 backtracks, and `(a+)+$` costs seconds on 29 letters. */

/** What may still be spent; shared by all that one check does. Below zero, its answers mean nothing. */
export interface Budget {
  stepsLeft: number;
}

/** A compiled pattern: true if it matches anywhere in the text. Spends about one step a character and atom. */
export type Pattern = (text: string, budget: Budget) => boolean;

/** A part of a pattern: where it can end, for all the places where it may begin. No place is ever tried twice. */
type Part = (text: readonly string[], from: ReadonlySet<number>, budget: Budget) => Set<number>;

/** Largest number in braces. */
const repeatsMax = 1_000;

const token =
  /\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[pP]\{[^}]*\}|\\c[A-Za-z]|\\[^]|\[(?:\\[^]|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|<[^>]*>)|[*+?]\??|\{\d+(?:,\d*)?\}\??|[^]/gu;

/**
 * Compiles a pattern of ECMA-262. Undefined if it is none, or needs what cannot be matched in bounded time: references
 * to earlier groups, looking behind. Places are tried all at once instead of one after another, so time is bounded by
 * length of the pattern times length of the text, times a little for nested repeats.
 */
export function compilePattern(source: string): Pattern | undefined {
  const flags = ["u", ""].find((one) => isRegex(source, one));
  if (flags === undefined) return undefined;
  const parser = new Parser(source.match(token) ?? [], flags);
  const part = parser.alternatives();
  if (part === undefined || !parser.isAtEnd) return undefined;
  return (text, budget) => {
    const characters = [...text];
    return part(characters, new Set(Array(characters.length + 1).keys()), budget).size > 0;
  };
}

function isRegex(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags);
    return true;
  } catch {
    return false;
  }
}

/** Recursive descent over the tokens; every method gives undefined for what is not supported. */
class Parser {
  #next = 0;

  constructor(readonly tokens: readonly string[], readonly flags: string) {}

  get isAtEnd(): boolean {
    return this.#next >= this.tokens.length;
  }

  alternatives(): Part | undefined {
    const options: Part[] = [];
    do {
      const option = this.#sequence();
      if (option === undefined) return undefined;
      options.push(option);
    } while (this.#take("|"));
    if (options.length === 1) return options[0];
    return (text, from, budget) => new Set(options.flatMap((option) => [...option(text, from, budget)]));
  }

  #sequence(): Part | undefined {
    const parts: Part[] = [];
    while (!this.isAtEnd && this.tokens[this.#next] !== "|" && this.tokens[this.#next] !== ")") {
      const atom = this.#atom(this.tokens[this.#next++] ?? "");
      const part = atom === undefined ? undefined : this.#repeated(atom);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return (text, from, budget) => {
      let places = new Set(from);
      for (const part of parts) if (places.size > 0) places = part(text, places, budget);
      return places;
    };
  }

  #atom(first: string): Part | undefined {
    if (first === "^") return where((_text, place) => place === 0);
    if (first === "$") return where((text, place) => place === text.length);
    if (first === "\\b") return where(isWordEdge);
    if (first === "\\B") return where((text, place) => !isWordEdge(text, place));
    if (first.startsWith("(")) return this.#group(first);
    if (/^(?:\\[1-9k]|[*+?)])/.test(first)) return undefined;
    const one = new RegExp(`^(?:${first})$`, this.flags);
    return (text, from, budget) => {
      budget.stepsLeft -= from.size;
      const places = new Set<number>();
      for (const place of from) if (place < text.length && one.test(text[place] ?? "")) places.add(place + 1);
      return places;
    };
  }

  #group(open: string): Part | undefined {
    const inner = this.alternatives();
    if (inner === undefined || !this.#take(")")) return undefined;
    if (open === "(?=") return where((text, place, budget) => inner(text, new Set([place]), budget).size > 0);
    if (open === "(?!") {
      return where((text, place, budget) => inner(text, new Set([place]), budget).size === 0);
    }
    return open === "(?<=" || open === "(?<!" ? undefined : inner;
  }

  #repeated(part: Part): Part | undefined {
    const quantifier = this.tokens[this.#next] ?? "";
    const counted = /^\{(\d+)(,)?(\d+)?\}/.exec(quantifier);
    if (counted === null && !/^[*+?]/.test(quantifier)) return part;
    this.#next += 1;
    const least = counted === null ? Number(quantifier.startsWith("+")) : Number(counted[1]);
    const open = counted === null
      ? !quantifier.startsWith("?")
      : counted[2] !== undefined && counted[3] === undefined;
    const most = open ? Infinity : counted === null ? 1 : Number(counted[3] ?? counted[1]);
    if (least > repeatsMax || (most > repeatsMax && most !== Infinity)) return undefined;
    return repeat(part, least, most);
  }

  #take(wanted: string): boolean {
    if (this.tokens[this.#next] !== wanted) return false;
    this.#next += 1;
    return true;
  }
}

/** A part that takes no characters: keeps the places where a test holds. */
function where(test: (text: readonly string[], place: number, budget: Budget) => boolean): Part {
  return (text, from, budget) => {
    budget.stepsLeft -= from.size;
    return new Set([...from].filter((place) => test(text, place, budget)));
  };
}

function repeat(part: Part, least: number, most: number): Part {
  return (text, from, budget) => {
    let places: Set<number> = new Set(from);
    for (let count = 0; count < least && places.size > 0; count++) places = part(text, places, budget);
    const reached = new Set(places);
    // Only places not reached before go on: each is entered once, so the loop ends.
    for (let count = least; count < most && places.size > 0 && budget.stepsLeft >= 0; count++) {
      places = new Set([...part(text, places, budget)].filter((place) => !reached.has(place)));
      for (const place of places) reached.add(place);
    }
    return reached;
  };
}

function isWordEdge(text: readonly string[], place: number): boolean {
  const isWord = (at: number) => /^\w$/.test(text[at] ?? "");
  return isWord(place - 1) !== isWord(place);
}
