/** Finds all secrets of a text in one go: known ones in all their forms, typed ones, values under sensitive names. */
import { type EndOfMark, readAssignment } from "./assignments.ts";
import { nameAnchors } from "./field_names.ts";
import type { KnownSecrets, Origin } from "./known_secrets.ts";
import { LiteralMatcher } from "./literal_matcher.ts";
import { Reader } from "./reader.ts";
import { cover } from "./value_looks.ts";
import { type TypedPattern, typedPatterns } from "./typed_patterns.ts";

/** A part of a text that is a secret. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly origin: Origin;
  /** The secret itself, if it is known in plain; else it is what stands there. */
  readonly value?: string;
}

/** What was found, in order and without overlaps; and from where on more text could change the answer. */
export interface Found {
  readonly spans: readonly Span[];
  /** The length of the text if nothing is open. */
  readonly openFrom: number;
  /** Where the longest beginning of a known secret stands at the end of the text. */
  readonly partialFrom: number;
}

/** How to look. */
export interface FindOptions {
  readonly known: readonly KnownSecrets[];
  readonly endOfMark: (text: string, at: number) => number;
  /** What stands before the text; see {@linkcode Reader}. */
  readonly before?: number;
}

interface Anchor {
  readonly literal: string;
  readonly pattern: TypedPattern | undefined;
}

const anchors: readonly Anchor[] = [
  ...nameAnchors.map((literal) => ({ literal, pattern: undefined })),
  ...typedPatterns.flatMap((pattern) => pattern.anchors.map((literal) => ({ literal, pattern }))),
];
/** Anchors that differ in case only share a literal. */
const anchorsByLiteral = Map.groupBy(anchors, ({ literal }) => literal.toLowerCase());
const literals = [...anchorsByLiteral.keys()];
const anchorMatcher = new LiteralMatcher(literals, { isFolded: true });

/** Finds all secrets of a text. */
export function findSpans(text: string, { known, endOfMark, before }: FindOptions): Found {
  let partialFrom = text.length;
  const spans: Span[] = [];
  for (const secrets of known) {
    let ours: Span[] = [];
    const from = secrets.scan(text, (secret, start, end) => {
      // Matchers report one after another, each in the order of its ends.
      if ((ours.at(-1)?.end ?? 0) > end) {
        for (const span of ours) spans.push(span);
        ours = [];
      }
      push(ours, { start, end, origin: secret.origin, value: secret.value });
    });
    partialFrom = Math.min(partialFrom, from);
    for (const span of ours) spans.push(span);
  }
  const looks = new Looks(coverUp(text, spans), (at) => endOfMark(text, at), before);
  for (const span of looks.spans) spans.push(span);
  return { spans: merged(spans), openFrom: Math.min(partialFrom, looks.openFrom), partialFrom };
}

/**
 * The text with known secrets covered by as many characters that are none: what stands beside one is then no part of a
 * word, and the value of which it is a part goes on.
 */
function coverUp(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let covered = "";
  let from = 0;
  for (const { start, end } of merged([...spans])) {
    covered += text.slice(from, start) + cover.repeat(end - start);
    from = end;
  }
  return covered + text.slice(from);
}

/** Finds only what the looks and names of a text tell, as {@linkcode findSpans} does. */
export function findByLooks(text: string, endOfMark: EndOfMark): readonly Span[] {
  return merged([...new Looks(text, endOfMark, undefined).spans]);
}

/** The secrets that a text's looks tell, from anchor to anchor. */
class Looks {
  readonly spans: Span[] = [];
  openFrom: number;
  readonly #text: string;
  readonly #endOfMark: EndOfMark;
  readonly #before: number | undefined;
  /** The end of the last name that was looked at, and of the last value that was taken. */
  #nameEnd = 0;
  #takenTo = 0;
  /** The last typed secret: what begins within it needs no look. */
  #typed = { start: 0, end: 0 };

  constructor(text: string, endOfMark: EndOfMark, before: number | undefined) {
    this.#text = text;
    this.#endOfMark = endOfMark;
    this.#before = before;
    this.openFrom = text.length;
    const open = anchorMatcher.scan(text, (number, start, end) => this.#look(number, start, end));
    this.openFrom = Math.min(open, this.openFrom);
  }

  #look(number: number, start: number, end: number): void {
    for (const { literal, pattern } of anchorsByLiteral.get(literals[number] ?? "") ?? []) {
      if (pattern === undefined) this.#lookAtName(start, end);
      else if (pattern.isFolded || this.#text.startsWith(literal, start)) {
        this.#lookAtType(pattern, start, end);
      }
    }
  }

  #lookAtName(start: number, end: number): void {
    // One name may hold several anchors; and nothing within a value that is taken needs a look.
    if (start < this.#nameEnd || start < this.#takenTo) return;
    const reader = new Reader(this.#text, this.#before);
    const { found, valueFrom } = readAssignment(reader, { start, end }, this.#endOfMark);
    if (reader.isAtEnd && valueFrom !== undefined) this.openFrom = Math.min(this.openFrom, valueFrom);
    if (found === undefined) return;
    this.#nameEnd = end;
    this.#takenTo = found.end;
    const origin = { kind: "field", name: found.label, source: "field" } as const;
    this.spans.push({ start: found.start, end: found.end, origin });
  }

  #lookAtType(pattern: TypedPattern, start: number, end: number): void {
    if (start > this.#typed.start && start < this.#typed.end) return;
    const reader = new Reader(this.#text, this.#before);
    const place = pattern.read(reader, start, end);
    if (reader.isAtEnd) this.openFrom = Math.min(this.openFrom, start);
    if (place === undefined || this.#endOfMark(place.start) === place.end) return;
    this.#typed = place;
    const origin = { kind: "pattern", name: pattern.name, source: "pattern" } as const;
    this.spans.push({ ...place, origin });
  }
}

const ranks = { known: 2, pattern: 1, field: 0 } as const;

/** Adds a span whose end is behind all others' ends; what overlaps becomes one (DM-53: the longest gives the name). */
function push(spans: Span[], span: Span): void {
  let next = span;
  for (let last = spans.at(-1); last !== undefined && last.end > next.start; last = spans.at(-1)) {
    spans.pop();
    next = union(last, next);
  }
  spans.push(next);
}

function union(left: Span, right: Span): Span {
  // Of two types at one place the one with the longer prefix was met later, and knows better.
  const isRight = ranks[right.origin.kind] - ranks[left.origin.kind] || sizeOf(right) - sizeOf(left);
  return {
    ...(isRight >= 0 ? right : left),
    start: Math.min(left.start, right.start),
    end: Math.max(left.end, right.end),
  };
}

function sizeOf({ start, end }: Span): number {
  return end - start;
}

/** Spans of several searches in order, those that overlap made one. */
function merged(spans: Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  const sorted = spans.sort((left, right) => left.end - right.end || right.start - left.start);
  const all: Span[] = [];
  for (const span of sorted) push(all, span);
  return all;
}
