/** TypeScript as text: blanking what is not code, finding imports and functions. No parser, so nothing is run. */

/** What a scan keeps in mind. */
interface Scan {
  readonly source: string;
  readonly kept: string[];
  at: number;
  /** For each open `${`, the braces that are open inside it. */
  readonly templates: number[];
}

/** The source with comments, and the insides of strings, templates and patterns, replaced by spaces. */
export function blankNonCode(source: string): string {
  const scan: Scan = { source, kept: [], at: 0, templates: [] };
  while (scan.at < source.length) {
    const one = source.charAt(scan.at);
    const two = source.slice(scan.at, scan.at + 2);
    if (two === "//") blankTo(scan, indexAfter(source, "\n", scan.at) - 1);
    else if (two === "/*") blankTo(scan, indexAfter(source, "*/", scan.at + 2));
    else if (one === '"' || one === "'") blankQuoted(scan, one);
    else if (one === "/" && startsPattern(scan)) blankQuoted(scan, one);
    else if (one === "`" || (one === "}" && scan.templates.at(-1) === 0)) blankTemplate(scan, one);
    else {
      countBrace(scan, one);
      keep(scan, 1);
    }
  }
  return scan.kept.join("");
}

function countBrace(scan: Scan, character: string): void {
  const depth = scan.templates.at(-1);
  if (depth === undefined) return;
  if (character === "{") scan.templates[scan.templates.length - 1] = depth + 1;
  if (character === "}") scan.templates[scan.templates.length - 1] = depth - 1;
}

function indexAfter(source: string, text: string, from: number): number {
  const index = source.indexOf(text, from);
  return index < 0 ? source.length + 1 : index + text.length;
}

function keep(scan: Scan, count: number): void {
  scan.kept.push(scan.source.slice(scan.at, scan.at + count));
  scan.at += count;
}

function blankTo(scan: Scan, end: number): void {
  const stop = Math.min(end, scan.source.length);
  scan.kept.push(scan.source.slice(scan.at, stop).replaceAll(/[^\n]/g, " "));
  scan.at = stop;
}

/** A string or a pattern: up to the same mark, if it comes on the line. */
function blankQuoted(scan: Scan, mark: string): void {
  let end = scan.at + 1;
  for (let isInClass = false; end < scan.source.length; end += 1) {
    const character = scan.source.charAt(end);
    if (character === "\n" || (character === mark && !isInClass)) break;
    if (character === "\\") end += 1;
    if (mark === "/" && character === "[") isInClass = true;
    if (mark === "/" && character === "]") isInClass = false;
  }
  keep(scan, 1);
  blankTo(scan, end);
  if (scan.source.charAt(scan.at) === mark) keep(scan, 1);
}

/** A template, from its start or from the end of `${…}`, up to its end or the next `${`. */
function blankTemplate(scan: Scan, start: string): void {
  if (start === "}") scan.templates.pop();
  let end = scan.at + 1;
  for (; end < scan.source.length; end += 1) {
    const character = scan.source.charAt(end);
    if (character === "`" || (character === "$" && scan.source.charAt(end + 1) === "{")) break;
    if (character === "\\") end += 1;
  }
  keep(scan, 1);
  blankTo(scan, end);
  if (scan.source.charAt(scan.at) === "$") {
    scan.templates.push(0);
    keep(scan, 2);
  } else keep(scan, 1);
}

/** Whether the `/` here begins a pattern and is no division, judged by what stands before it. */
function startsPattern(scan: Scan): boolean {
  const before = scan.kept.slice(-200).join("").trimEnd();
  const last = before.at(-1);
  if (last === undefined || "(,=:[!&|?{};+-*%~^<>".includes(last)) return true;
  return /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield)$/.test(before);
}

/** What a source imports or re-exports, also by `import()` of a text: specifiers with their offsets. */
export function importsOf(
  source: string,
): readonly { readonly specifier: string; readonly offset: number }[] {
  return [...blankNonCode(source).matchAll(/(?<![\w$.])(?:from|import)\s*\(?\s*(["'])( *)\1/g)].map(
    (match) => {
      const end = match.index + match[0].length - 1;
      return { specifier: source.slice(end - (match[2] ?? "").length, end), offset: match.index };
    },
  );
}

/** A function's place: lines are counted from 1. */
export interface FunctionSpan {
  readonly firstLine: number;
  readonly lines: number;
}

/** An open bracket, and where the text before it begins that tells what it opens. */
interface Open {
  readonly offset: number;
  readonly headOffset: number;
}

/** The functions with a body in braces. */
export function functionsOf(source: string): readonly FunctionSpan[] {
  const code = blankNonCode(source);
  const spans: FunctionSpan[] = [];
  const open: Open[] = [];
  let headOffset = 0;
  for (let at = 0; at < code.length; at += 1) {
    const character = code.charAt(at);
    if ("{([".includes(character)) {
      open.push({ offset: at, headOffset });
      headOffset = at + 1;
    } else if ("})]".includes(character)) {
      const opened = open.pop();
      if (!opened) continue;
      const head = code.slice(opened.headOffset, opened.offset);
      if (character === "}" && opensFunction(head)) spans.push(spanOf(code, opened, at));
      // After a body a new head begins; a pattern, a type or arguments belong to the head around them.
      const isOver = character === "}" && /^\s*(?:[^\s{,)>|&[\]=:?.]|$)/.test(code.slice(at + 1, at + 200));
      headOffset = isOver ? at + 1 : opened.headOffset;
    } else if (character === ";") headOffset = at + 1;
  }
  return spans;
}

function spanOf(code: string, opened: Open, end: number): FunctionSpan {
  const head = code.slice(opened.headOffset, opened.offset);
  const start = opened.headOffset + head.length - head.trimStart().length;
  const firstLine = code.slice(0, start).split("\n").length;
  return { firstLine, lines: code.slice(start, end).split("\n").length };
}

function opensFunction(head: string): boolean {
  let own = head.trim();
  // What stands in braces inside the head, as a pattern or a type, says nothing about what the head opens.
  for (let outer = ""; outer !== own;) {
    outer = own;
    own = outer.replaceAll(/\{[^{}]*\}/g, " ");
  }
  if (own.endsWith("=>") || /(?<![\w$.])function\b/.test(own)) return true;
  const isOther = /(?:^|[\s}])(?:if|for|while|switch|catch|else|do|class|interface|enum|try|with)\b/.test(
    own,
  );
  return !isOther && /\)\s*(?::\s*[^=;]+)?$/.test(own);
}
