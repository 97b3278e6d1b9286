/** Where a scan of YAML text stands, and how it moves over what carries no value. */
import { type Place, YamlError, type YamlErrorCode } from "./error.ts";

/** A position in a text, moved by the scanning functions. Line ends in the text are `\n` only. */
export interface Cursor {
  readonly text: string;
  /** Name of the text, for messages. */
  readonly file: string;
  /** Deepest nesting of collections that is accepted. */
  readonly depthMax: number;
  /** Offset of the next character. */
  at: number;
  /** Counted from 0. */
  line: number;
  /** Offset of the first character of the line. */
  lineStart: number;
}

/** Begins at the first character. */
export function createCursor(text: string, file: string, depthMax: number): Cursor {
  return { text, file, depthMax, at: 0, line: 0, lineStart: 0 };
}

/** The character under the cursor, or one that stands `ahead` of it; "" past the end. */
export function peek(cursor: Cursor, ahead = 0): string {
  return cursor.text.charAt(cursor.at + ahead);
}

/** Column of the cursor, counted from 0. */
export function columnOf(cursor: Cursor): number {
  return cursor.at - cursor.lineStart;
}

/** Place of the cursor, as people count it. */
export function placeOf(cursor: Cursor): Place {
  return { line: cursor.line + 1, column: columnOf(cursor) + 1 };
}

/** Throws the refusal of what stands at `place`, by default at the cursor. */
export function refuse(cursor: Cursor, code: YamlErrorCode, reason: string, place = placeOf(cursor)): never {
  throw new YamlError(code, cursor.file, place, reason);
}

/** Whether a character separates tokens: a space, a tab, a line end or the end of the text. */
export function isBlank(character: string): boolean {
  return character === "" || character === " " || character === "\n" || character === "\t";
}

/** Whether `---` or `...` stands here as a document marker. */
export function isDocumentMarker(cursor: Cursor): boolean {
  if (columnOf(cursor) !== 0 || !isBlank(peek(cursor, 3))) return false;
  const marker = cursor.text.slice(cursor.at, cursor.at + 3);
  return marker === "---" || marker === "...";
}

/** Steps over one line end. */
export function nextLine(cursor: Cursor): void {
  cursor.at += 1;
  cursor.line += 1;
  cursor.lineStart = cursor.at;
}

/** Goes back to where a copy of the cursor was taken. */
export function rewind(cursor: Cursor, copy: Readonly<Cursor>): void {
  cursor.at = copy.at;
  cursor.line = copy.line;
  cursor.lineStart = copy.lineStart;
}

/** Steps over spaces. A tab is refused: YAML libraries count it differently or build a wrong tree. */
export function skipSpaces(cursor: Cursor): void {
  while (peek(cursor) === " ") cursor.at += 1;
  if (peek(cursor) !== "\t") return;
  refuse(cursor, "yaml_tab_refused", "a tab stands where only spaces may stand; replace it by spaces");
}

/** Steps over spaces, comments and line ends, up to the next token. */
export function skipBlanks(cursor: Cursor): void {
  for (;;) {
    skipSpaces(cursor);
    if (peek(cursor) === "#" && isBlank(cursor.text.charAt(cursor.at - 1))) skipToLineEnd(cursor);
    if (peek(cursor) !== "\n") return;
    nextLine(cursor);
  }
}

/** Checks that nothing but a comment follows on the line, and steps to its end. */
export function finishLine(cursor: Cursor, after: string): void {
  skipSpaces(cursor);
  if (peek(cursor) === "#" && isBlank(cursor.text.charAt(cursor.at - 1))) skipToLineEnd(cursor);
  if (peek(cursor) === "\n" || peek(cursor) === "") return;
  refuse(cursor, "yaml_syntax", `unexpected text after ${after}; put it on its own line or in the quotes`);
}

function skipToLineEnd(cursor: Cursor): void {
  const end = cursor.text.indexOf("\n", cursor.at);
  cursor.at = end < 0 ? cursor.text.length : end;
}
