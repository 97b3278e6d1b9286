/** Speed of redaction, in this very process: it waits for nothing, so it needs no child. */
import { formsOf } from "../../src/redact/forms.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createRedactor, type Redactor } from "../../src/redact/redactor.ts";
import { progress } from "./progress.ts";
import { createRandom, median, quantile } from "./statistics.ts";

/** What to measure. */
export interface RedactRequest {
  readonly secrets: number;
  readonly characters: number;
  readonly rounds: number;
  readonly seed: number;
}

/** Speeds over one kind of text, in megabytes a second; a character counts as a byte. */
export interface RedactFigures {
  readonly name: string;
  /** The matcher, all forms of all secrets at once. */
  readonly literals: number;
  /** `String.includes` for each secret, as it is. */
  readonly includesPlain: number;
  /** `String.includes` for each form of each secret: what the matcher does. */
  readonly includesForms: number;
  /** A whole redaction of the text: known, typed, named; until nothing changes. */
  readonly text: number;
  /** The same text as JSON, an object for each line. */
  readonly json: number;
}

/** All figures of redaction. */
export interface RedactRoundsFigures {
  readonly secrets: number;
  readonly forms: number;
  readonly buildMs: number;
  readonly kinds: readonly RedactFigures[];
  /** What one piece of 64 characters of a stream takes, in milliseconds. */
  readonly pieceMs: { readonly median: number; readonly p99: number };
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const words =
  ("the quick brown fox jumps over a lazy dog error at line of module function returns value result tool " +
    "called with arguments id failed connection reset by peer password token file written to disk").split(
      " ",
    );

/** Measures all kinds of text in turn, several times, and takes medians. */
export function runRedactRounds({ secrets, characters, rounds, seed }: RedactRequest): RedactRoundsFigures {
  const random = createRandom(seed);
  const some = (length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
  const values = Array.from({ length: secrets }, () => some(40));
  const known = new KnownSecrets();
  for (const [index, value] of values.entries()) {
    known.add({ value, name: `SECRET_${index}`, source: "argument" });
  }
  const buildMs = timeOf(() => known.isIn("nothing"));
  const forms = values.flatMap((value) => formsOf(value) ?? []);
  const redactor = createRedactor({
    known,
    bounds: { stringCharactersMax: characters * 2, itemsMax: characters },
  });
  const prose = linesOf(characters, () => words[Math.floor(random() * words.length)] ?? "", " ");
  const kinds = [
    { name: "prose", text: prose },
    { name: "base64", text: linesOf(characters, () => some(76), "") },
    { name: "prose, a secret every 4 KB", text: planted(prose, values) },
  ];
  const samples = kinds.map(() => [] as Omit<RedactFigures, "name">[]);
  const pieces: number[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`redaction, round ${round + 1} of ${rounds}`);
    for (const [index, { text }] of kinds.entries()) {
      samples[index]?.push(measure(text, { known, redactor, values, forms }));
    }
    pieces.push(...timesOfPieces(redactor, prose.slice(0, 200_000)));
  }
  progress("");
  return {
    secrets,
    forms: forms.length,
    buildMs,
    kinds: kinds.map(({ name }, index) => ({ name, ...mediansOf(samples[index] ?? []) })),
    pieceMs: { median: median(pieces), p99: quantile(pieces, 0.99) },
  };
}

interface Subjects {
  readonly known: KnownSecrets;
  readonly redactor: Redactor;
  readonly values: readonly string[];
  readonly forms: readonly string[];
}

function measure(text: string, { known, redactor, values, forms }: Subjects): Omit<RedactFigures, "name"> {
  const speedOf = (work: () => void, characters = text.length) => characters / timeOf(work) / 1_000;
  const lines = text.split("\n").map((line, index) => ({ index, line }));
  // A loop over all forms takes long and its speed hardly varies with the length: a part says as much.
  const part = text.slice(0, Math.ceil(text.length / 8));
  return {
    literals: speedOf(() => known.scan(text, () => {})),
    includesPlain: speedOf(() => values.filter((value) => text.includes(value))),
    includesForms: speedOf(() => forms.filter((form) => part.includes(form)), part.length),
    text: speedOf(() => redactor.text(text, "model")),
    json: speedOf(() => redactor.json(lines, "model")),
  };
}

function timesOfPieces(redactor: Redactor, text: string): readonly number[] {
  const stream = redactor.stream("model");
  const found: number[] = [];
  for (let at = 0; at < text.length; at += 64) {
    found.push(timeOf(() => stream.push(text.slice(at, at + 64))));
  }
  stream.flush();
  return found;
}

function timeOf(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function mediansOf(samples: readonly Omit<RedactFigures, "name">[]): Omit<RedactFigures, "name"> {
  const of = (choose: (one: Omit<RedactFigures, "name">) => number) => median(samples.map(choose));
  return {
    literals: of((one) => one.literals),
    includesPlain: of((one) => one.includesPlain),
    includesForms: of((one) => one.includesForms),
    text: of((one) => one.text),
    json: of((one) => one.json),
  };
}

function linesOf(characters: number, word: () => string, between: string): string {
  const lines: string[] = [];
  for (let length = 0; length < characters;) {
    let line = word();
    while (line.length < 76) line += between + word();
    lines.push(line);
    length += line.length + 1;
  }
  return lines.join("\n");
}

function planted(text: string, values: readonly string[]): string {
  const parts: string[] = [];
  for (let at = 0, index = 0; at < text.length; at += 4_096, index++) {
    parts.push(text.slice(at, at + 4_096), values[index % values.length] ?? "");
  }
  return parts.join("");
}
