/**
 * Finds a pattern in a line, in time linear in the line: an automaton that follows all readings at once, and remembers
 * the sets of readings that it met. There is nothing to backtrack, so no pattern can hang the runtime (B110).
 */
import { failure } from "../../schemas/failure.ts";
import { accept, type Checked, refuse } from "./path.ts";
import { parsePattern, PatternError, type PatternNode, type Place } from "./pattern.ts";

/** Finds one pattern. */
export interface Matcher {
  /**
   * Where the first match that ends, ends: in UTF-16 units; -1 if there is none, or if `isOver` said that the time is
   * up. Asks it every 256 characters.
   */
  find(line: string, isOver: () => boolean): number;
}

/** Steps of one pattern; each costs time at each character of a line, in the worst case. */
const stepsMax = 1_000;

/** Steps that remembered readings and moves may hold in all; forgotten all at once when there are more. */
const rememberedMax = 400_000;

type Step =
  | { readonly kind: "character"; readonly test: (codePoint: number) => boolean; readonly next: number }
  | { readonly kind: "place"; readonly at: Place; readonly next: number }
  | { readonly kind: "fork"; next: readonly number[] }
  | { readonly kind: "match" };

/** What stands at one side of a place between two characters. */
type Side = "edge" | "word" | "other";

/** The readings that are possible at one place of a line. */
interface Reading {
  readonly steps: readonly number[];
  readonly before: Side;
  readonly moves: Map<number, Reading | "match">;
}

/** Makes a matcher for text that stands in a line as it is. */
export function createLiteralMatcher(text: string): Matcher {
  return {
    find: (line) => {
      const at = line.indexOf(text);
      return at < 0 ? -1 : at + text.length;
    },
  };
}

/** Makes a matcher for a regular expression; refuses with `pattern_invalid` and says what is not supported. */
export function createMatcher(source: string): Checked<Matcher> {
  try {
    const steps: Step[] = [{ kind: "match" }];
    const first = compile(parsePattern(source), 0, steps);
    return accept(new Automaton(steps, first));
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return refuse(failure("pattern_invalid", `Cannot search for this pattern: ${error.message}`));
  }
}

/** Makes a matcher for a whole path: `*` and `?` stay inside a folder, `**` does not, `{a,b}` is either. */
export function createGlob(glob: string): Checked<Matcher> {
  let depth = 0;
  const source = glob.replace(/\*\*\/|\*\*|[^]/gu, (token) => {
    if (token === "**/") return "(?:|.*/)";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    if (token === "{") return depth++ === 0 ? "(?:" : "\\{";
    if (token === "}" && depth > 0) return --depth === 0 ? ")" : "\\}";
    if (token === "," && depth === 1) return "|";
    return /[A-Za-z0-9]/.test(token) || token.length > 1 || token > "\x7f" ? token : `\\${token}`;
  });
  return createMatcher(`^${source}$`);
}

/** Writes the steps of `node` in front of `next`; returns the first of them. */
function compile(node: PatternNode, next: number, steps: Step[]): number {
  switch (node.kind) {
    case "character":
      return write({ kind: "character", test: node.test, next }, steps);
    case "place":
      return write({ kind: "place", at: node.at, next }, steps);
    case "sequence":
      return node.items.reduceRight((after, item) => compile(item, after, steps), next);
    case "choice":
      return write(
        { kind: "fork", next: node.branches.map((branch) => compile(branch, next, steps)) },
        steps,
      );
    case "repeat": {
      let after = node.max === Infinity ? loop(node.body, next, steps) : next;
      const optional = node.max === Infinity ? 0 : node.max - node.min;
      for (let copy = 0; copy < optional; copy++) {
        after = write({ kind: "fork", next: [compile(node.body, after, steps), next] }, steps);
      }
      for (let copy = 0; copy < node.min; copy++) after = compile(node.body, after, steps);
      return after;
    }
  }
}

function loop(body: PatternNode, next: number, steps: Step[]): number {
  const fork: Step = { kind: "fork", next: [] };
  const at = write(fork, steps);
  fork.next = [compile(body, at, steps), next];
  return at;
}

function write(step: Step, steps: Step[]): number {
  if (steps.length >= stepsMax) throw new PatternError(`it needs more than ${stepsMax} steps; repeat less`);
  return steps.push(step) - 1;
}

class Automaton implements Matcher {
  readonly #steps: readonly Step[];
  readonly #first: number;
  #readings = new Map<string, Reading>();
  #remembered = 0;

  constructor(steps: readonly Step[], first: number) {
    this.#steps = steps;
    this.#first = first;
  }

  find(line: string, isOver: () => boolean): number {
    let reading = this.#readingOf([this.#first], "edge");
    for (let at = 0, count = 1; at < line.length; count++) {
      if (count % 256 === 0 && isOver()) return -1;
      const codePoint = line.codePointAt(at) ?? 0;
      const move = reading.moves.get(codePoint) ?? this.#move(reading, codePoint);
      if (move === "match") return at;
      reading = move;
      at += codePoint > 0xffff ? 2 : 1;
    }
    return this.#reach(reading, "edge").matched ? line.length : -1;
  }

  #move(reading: Reading, codePoint: number): Reading | "match" {
    if (++this.#remembered > rememberedMax) {
      this.#remembered = 0;
      this.#readings = new Map();
      reading.moves.clear();
    }
    const side = sideOf(codePoint);
    const { matched, reached } = this.#reach(reading, side);
    const move = matched ? "match" : this.#readingOf(this.#after(reached, codePoint), side);
    reading.moves.set(codePoint, move);
    return move;
  }

  /** The steps behind one character, and the first step: a match may begin anywhere. */
  #after(reached: readonly number[], codePoint: number): readonly number[] {
    const next = new Set([this.#first]);
    for (const number of reached) {
      const step = this.#steps[number];
      if (step?.kind === "character" && step.test(codePoint)) next.add(step.next);
    }
    return [...next].sort((left, right) => left - right);
  }

  #readingOf(steps: readonly number[], before: Side): Reading {
    const key = `${before} ${steps.join()}`;
    const known = this.#readings.get(key);
    if (known !== undefined) return known;
    const reading: Reading = { steps, before, moves: new Map() };
    this.#readings.set(key, reading);
    this.#remembered += steps.length + 8;
    return reading;
  }

  /** All steps that wait for a character, given what stands on the other side of the place. */
  #reach(reading: Reading, behind: Side): { readonly matched: boolean; readonly reached: readonly number[] } {
    const seen = new Set(reading.steps);
    const reached: number[] = [];
    let matched = false;
    // A set takes in what is added to it while it is gone through.
    for (const number of seen) {
      const step = this.#steps[number];
      if (step?.kind === "match") matched = true;
      else if (step?.kind === "character") reached.push(number);
      else if (step?.kind === "fork") { for (const next of step.next) seen.add(next); }
      else if (step?.kind === "place" && isPlace(step.at, reading.before, behind)) seen.add(step.next);
    }
    return { matched, reached };
  }
}

function isPlace(place: Place, before: Side, behind: Side): boolean {
  switch (place) {
    case "start":
      return before === "edge";
    case "end":
      return behind === "edge";
    case "word_edge":
      return (before === "word") !== (behind === "word");
    case "no_word_edge":
      return (before === "word") === (behind === "word");
  }
}

function sideOf(codePoint: number): Side {
  const isWord = codePoint === 95 || (codePoint >= 48 && codePoint <= 57) ||
    (codePoint >= 65 && codePoint <= 90) || (codePoint >= 97 && codePoint <= 122);
  return isWord ? "word" : "other";
}
