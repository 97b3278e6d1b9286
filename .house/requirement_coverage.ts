/**
 * Tells which requirements no test names, and refuses ids that do not exist.
 *
 * An id counts where a reader looks for it: in a test's name, in the comment directly above a test, and in the
 * comment at the head of a test file. Whether the test proves what it names, only a reader can say.
 */
import { blankNonCode } from "../tests/architecture/source.ts";
import { readTree, type Tree } from "../tests/architecture/tree.ts";

/** An id in a test, with its place: `tests/unit/turn_test.ts:12`. */
export interface Mention {
  readonly id: string;
  readonly place: string;
}

/** What the tests name. */
export interface Coverage {
  readonly total: number;
  /** The requirements that a test names, each with the places. */
  readonly named: ReadonlyMap<string, readonly string[]>;
  readonly unnamed: readonly string[];
  /** Ids in tests that no requirement has. */
  readonly unknown: readonly Mention[];
}

/** A piece of a file in which ids count. */
interface Piece {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** A longer range is a slip of the pen, and is not written out. */
const rangeIdsMax = 200;

const head = /\b([A-Z]{2})-(\d+)\b/g;
const range = /(?:\s*\.\.\s*(?:([A-Z]{2})-)?|\s+to\s+([A-Z]{2})-)(\d+)\b/y;
// A number that stands before a word counts something else: "DM-17, 50 results".
const next = /(?:,|,?\s+and)\s+(\d+)(?=\s*$|\s*\.\.\s*\d|\s+and\s|[,;:.)\]](?!\d))/y;

/** The ids in a text, with `CM-109..111`, `LC-4 to LC-7` and `DM-12, 13 and 15` written out, and their offsets. */
export function idsIn(text: string): readonly { readonly id: string; readonly offset: number }[] {
  let taken = 0;
  return [...text.matchAll(head)].flatMap((match) => {
    // The end of a range that was written in full.
    if (match.index < taken) return [];
    const { ids, end } = readList(match[1] ?? "", match[2] ?? "", text, match.index + match[0].length);
    taken = end;
    return ids.map((id) => ({ id, offset: match.index }));
  });
}

/** The ids of one family from its first number on, which ends at an offset, and where they end. */
function readList(family: string, first: string, text: string, from: number) {
  const ids: string[] = [];
  let end = from;
  for (let number = first;;) {
    const found = matchAt(range, text, end);
    const isOfFamily = found !== null && (found[1] ?? found[2] ?? family) === family;
    const last = isOfFamily ? found[3] ?? number : number;
    if (isOfFamily) end = range.lastIndex;
    ids.push(...writeOut(family, number, last));
    const item = matchAt(next, text, end)?.[1];
    // Lists rise; a number that falls is no part of one.
    if (item === undefined || Number(item) <= Number(last)) return { ids, end };
    end = next.lastIndex;
    number = item;
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The ids of a range. One that makes no sense stays as it is written, so that it is found not to exist. */
function writeOut(family: string, first: string, last: string): readonly string[] {
  if (first === last) return [`${family}-${first}`];
  const length = Number(last) - Number(first) + 1;
  if (length < 1 || length > rangeIdsMax) return [`${family}-${first}..${last}`];
  return Array.from({ length }, (_, index) => `${family}-${Number(first) + index}`);
}

/** The ids that the tests of one file name. */
export function mentionsOf(path: string, source: string): readonly Mention[] {
  return piecesOf(path, source).flatMap(({ line, text }) => {
    // Marks of comments would part a list that goes on in the next line.
    const plain = text.replaceAll(/^[ \t]*(?:\/\/+|\/\*+|\*+\/?)/gm, (mark) => " ".repeat(mark.length));
    return idsIn(plain).map(({ id, offset }) => ({
      id,
      place: `${path}:${line + plain.slice(0, offset).split("\n").length - 1}`,
    }));
  });
}

function piecesOf(path: string, source: string): readonly Piece[] {
  const isTestFile = path.endsWith("_test.ts");
  const code = blankNonCode(source);
  const lines = source.split("\n");
  const codeLines = code.split("\n");
  /** A line of a comment and of nothing else; also one inside a longer text, which stands above no test. */
  function isComment(line: number): boolean {
    return lines[line]?.trim() !== "" && codeLines[line]?.trim() === "";
  }

  const pieces = new Map<number, Piece>();
  function take(first: number, end: number): void {
    if (end > first) pieces.set(first, { line: first + 1, text: lines.slice(first, end).join("\n") });
  }

  if (isTestFile && isComment(0)) {
    const end = lines.findIndex((_, line) => !isComment(line));
    take(0, end < 0 ? lines.length : end);
  }
  // A function of a test file's own, called at the left margin with a text, makes tests too.
  const calls = isTestFile
    ? /(?<![\w$.])Deno\.test\s*\(|^[\w$]+\((?=\s*["'`])/gm
    : /(?<![\w$.])Deno\.test\s*\(/g;
  const names = [...code.matchAll(calls)].map((call) => {
    const line = code.slice(0, call.index).split("\n").length - 1;
    let first = line;
    while (first > 0 && isComment(first - 1)) first -= 1;
    take(first, line);
    return nameAfter(source, code, call.index + call[0].length);
  });
  return [...pieces.values(), ...names.flatMap((name) => name ?? [])];
}

/** The name of a test: the first text behind the bracket, or the `name` of its options. */
function nameAfter(source: string, code: string, from: number): Piece | undefined {
  const start = /\s*(?:\{[^"'`]*?\bname:\s*)?["'`]/y;
  const match = matchAt(start, code, from);
  if (!match) return undefined;
  const offset = from + match[0].length;
  const end = code.indexOf(code.charAt(offset - 1), offset);
  return { line: code.slice(0, offset).split("\n").length, text: source.slice(offset, end) };
}

/** Compares the requirements with the ids that tests name. Paths of the tree are those below `tests/`. */
export function coverageOf(ids: readonly string[], tests: Tree): Coverage {
  const known = new Set(ids);
  const named = new Map<string, string[]>();
  const unknown: Mention[] = [];
  for (const path of [...tests.keys()].filter((it) => it.endsWith(".ts")).sort()) {
    for (const mention of mentionsOf(`tests/${path}`, tests.get(path) ?? "")) {
      if (!known.has(mention.id)) {
        unknown.push(mention);
        continue;
      }
      const places = named.get(mention.id) ?? [];
      if (!places.includes(mention.place)) places.push(mention.place);
      named.set(mention.id, places);
    }
  }
  return { total: known.size, named, unnamed: ids.filter((id) => !named.has(id)), unknown };
}

/** Ids by family, one line each, neighbours as a range: `CM 1..4, 7`. The ids are sorted. */
export function asRanges(ids: readonly string[]): readonly string[] {
  const families = new Map<string, [first: number, last: number][]>();
  for (const id of ids) {
    const [family = "", text] = id.split("-");
    const number = Number(text);
    const ranges = families.get(family) ?? [];
    const open = ranges.at(-1);
    if (open && open[1] === number - 1) open[1] = number;
    else ranges.push([number, number]);
    families.set(family, ranges);
  }
  return [...families].map(([family, ranges]) =>
    `${family} ${ranges.map(([first, last]) => first === last ? first : `${first}..${last}`).join(", ")}`
  );
}

/** The ids of a file that has one on each line. */
export function readIds(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** What is printed; ids that do not exist come apart, as errors. */
export function report(
  coverage: Coverage,
): { readonly lines: readonly string[]; readonly errors: readonly string[] } {
  const { total, named, unnamed, unknown } = coverage;
  return {
    lines: [
      ...(unnamed.length > 0 ? ["Named by no test:", ...asRanges(unnamed).map((line) => `  ${line}`)] : []),
      `${named.size} of ${total} requirements are named by a test`,
    ],
    errors: unknown.map(({ id, place }) => `${place}: names ${id}, which does not exist`),
  };
}

if (import.meta.main) {
  const ids = readIds(await Deno.readTextFile(new URL("requirement_ids.txt", import.meta.url)));
  const coverage = coverageOf(ids, await readTree(new URL("../tests/", import.meta.url)));
  const { lines, errors } = report(coverage);
  for (const error of errors) console.error(error);
  if (Deno.args.includes("--json")) {
    console.log(JSON.stringify({ ...coverage, named: Object.fromEntries(coverage.named) }, null, 2));
  } else console.log(lines.join("\n"));
  if (errors.length > 0) Deno.exitCode = 1;
}
