/**
 * Values under sensitive names in text (DM-50): `key=value`, `key: value`, JSON within text, headers, options of
 * commands, queries of URLs. How sure we must be of a value depends on how it is written: `--token x` says all, while
 * `e.token=t` is code.
 */
import { isSecretHeader, sensitivePart } from "./field_names.ts";
import { isBlank, isLower, isUrlSafe, type Reader } from "./reader.ts";
import {
  isCertain,
  isHeaderValue,
  isLikely,
  isNameOfSecret,
  isPlaceholder,
  isWorkingDirectory,
} from "./value_looks.ts";

/** A value that stands under a sensitive name. */
export interface Assignment {
  readonly start: number;
  readonly end: number;
  /** What of the name says that it is a secret. */
  readonly label: string;
}

/** What can be said of a name at a place of a text. */
export interface AssignmentRead {
  readonly found?: Assignment;
  /** Where the value begins, once one does: if the text ended too early, it is from here on that nothing is sure. */
  readonly valueFrom?: number;
}

const keyCharactersMax = 64;
const blanksMax = 8;
const weakValueCharactersMax = 256;
const none: AssignmentRead = {};
/** What a mark begins with. */
const bracket = 0x5b;

/** The name, and what stands around it. */
interface Key {
  readonly name: string;
  readonly label: string;
  readonly start: number;
  readonly end: number;
  readonly isOption: boolean;
}

/** Skips a mark of ours; returns the place itself if there is none. */
export type EndOfMark = (at: number) => number;

/** Looks at the name in which an anchor stands, from `start` to `end`. */
export function readAssignment(
  reader: Reader,
  { start, end }: { readonly start: number; readonly end: number },
  endOfMark: EndOfMark,
): AssignmentRead {
  const key = readKey(reader, start, end);
  if (key === undefined) return none;
  const sign = readSign(reader, key);
  if (sign === undefined) return none;
  const value = readValue(reader, key, sign, endOfMark);
  const valueFrom = sign.valueFrom;
  if (value === undefined) return { valueFrom };
  if (isWorkingDirectory(key.label, reader.text.slice(value.start, value.start + 4))) return { valueFrom };
  return { valueFrom, found: { ...value, label: key.label } };
}

function readKey(reader: Reader, anchorStart: number, anchorEnd: number): Key | undefined {
  let start = anchorStart;
  while (
    anchorStart - start < keyCharactersMax &&
    (isUrlSafe(reader.at(start - 1)) || reader.at(start - 1) === 0x2e)
  ) {
    start -= 1;
  }
  const end = reader.run(anchorEnd, isUrlSafe, keyCharactersMax);
  let dashes = 0;
  while (reader.at(start + dashes) === 0x2d) dashes += 1;
  const name = reader.text.slice(Math.max(start + dashes, 0), end);
  const label = sensitivePart(name);
  if (label === undefined) return undefined;
  const before = reader.at(start - 1);
  const isOption = (dashes === 1 || dashes === 2) && (before < 0 || isBlank(before) || isQuote(before));
  return { name, label, start: start + dashes, end, isOption };
}

/** What stands between a name and its value. */
interface Sign {
  readonly valueFrom: number;
  readonly kind: "equals" | "colon" | "blank";
  readonly isTight: boolean;
  /** True if the name stands in quotes, as in JSON: then its value does, too, or is none. */
  readonly isQuoted: boolean;
}

function readSign(reader: Reader, key: Key): Sign | undefined {
  const quoteEnd = endOfQuote(reader, key.end);
  const bracketEnd = reader.at(quoteEnd) === 0x5d && quoteEnd > key.end ? quoteEnd + 1 : quoteEnd;
  const from = reader.run(bracketEnd, isInlineBlank, blanksMax);
  const sign = signAt(reader, from);
  if (sign !== undefined) {
    const valueFrom = reader.run(sign.end, isInlineBlank, blanksMax);
    return {
      valueFrom,
      kind: sign.kind,
      isTight: from === key.end && valueFrom === sign.end,
      isQuoted: quoteEnd > key.end,
    };
  }
  const isNext = key.isOption && from > key.end && quoteEnd === key.end;
  return isNext ? { valueFrom: from, kind: "blank", isTight: false, isQuoted: false } : undefined;
}

function signAt(
  reader: Reader,
  at: number,
): { readonly end: number; readonly kind: "equals" | "colon" } | undefined {
  switch (reader.at(at)) {
    case 0x3d: // `=`, `=>`
      return { end: reader.at(at + 1) === 0x3e ? at + 2 : at + 1, kind: "equals" };
    case 0x3a: // `:`, `:=`
      return reader.at(at + 1) === 0x3d ? { end: at + 2, kind: "equals" } : { end: at + 1, kind: "colon" };
    case 0x25: { // `%3D`, within an encoded query
      if (reader.at(at + 1) !== 0x33) return undefined;
      const last = reader.at(at + 2) | 0x20;
      if (last === 0x64) return { end: at + 3, kind: "equals" };
      return last === 0x61 ? { end: at + 3, kind: "colon" } : undefined;
    }
    default:
      return undefined;
  }
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function readValue(reader: Reader, key: Key, sign: Sign, endOfMark: EndOfMark): Range | undefined {
  const { valueFrom } = sign;
  const quoteEnd = endOfQuote(reader, valueFrom);
  if (quoteEnd > valueFrom) {
    const quoted = readQuoted(reader, valueFrom, quoteEnd, endOfMark);
    return quoted !== undefined && (sign.isQuoted || !isCodeAfterQuote(reader, quoted)) ? quoted : undefined;
  }
  if (
    sign.kind === "colon" && !sign.isQuoted && isSecretHeader(key.name) && mayBeginHeader(reader, key.start)
  ) {
    const lineEnd = runTo(reader, valueFrom, isHeaderEnd, { endOfMark });
    const end = withoutBlanks(reader, valueFrom, lineEnd);
    const text = reader.text.slice(valueFrom, Math.min(end, valueFrom + weakValueCharactersMax));
    return judged(reader, { start: valueFrom, end }, isHeaderValue(text, key.label), endOfMark);
  }
  const before = reader.at(key.start - 1);
  const isQuery = sign.kind === "equals" && (before === 0x26 || before === 0x3f);
  if (isQuery || key.isOption) {
    const end = runTo(reader, valueFrom, isQuery ? isQueryEnd : isTokenEnd, { endOfMark });
    const isNext = sign.kind === "blank" && reader.has(valueFrom, "--");
    return isNext ? undefined : judged(reader, { start: valueFrom, end }, true, endOfMark);
  }
  const isEnvironment = sign.kind === "equals" && sign.isTight && !hasLower(key.name) &&
    (before < 0 || isBlank(before) || before === 0x22 || before === 0x27 || before === 0x3b);
  // As far as it must be seen to be judged; all of it only if it is taken: no text may be gone through again and again.
  const seen = runTo(reader, valueFrom, isTokenEnd, { endOfMark, max: weakValueCharactersMax + 1 });
  const text = reader.text.slice(valueFrom, seen);
  const isLong = text.length > weakValueCharactersMax;
  if (isEnvironment || (isLong && isCertain(text))) {
    return judged(
      reader,
      { start: valueFrom, end: runTo(reader, seen, isTokenEnd, { endOfMark }) },
      true,
      endOfMark,
    );
  }
  if (isLong) return undefined;
  const isSure = isConnectionPart(reader, key, sign, seen) ||
    (isWholeLine(reader, key, seen) && isCertain(text));
  return judged(reader, { start: valueFrom, end: seen }, isSure, endOfMark);
}

/** The value, unless it is empty, a mark of ours, a stand-in, or not likely enough. */
function judged(reader: Reader, range: Range, isSure: boolean, endOfMark: EndOfMark): Range | undefined {
  const { start, end } = range;
  if (end <= start || endOfMark(start) === end) return undefined;
  const text = reader.text.slice(start, Math.min(end, start + weakValueCharactersMax + 1));
  if (isPlaceholder(text)) return undefined;
  return isSure || isLikely(text) ? range : undefined;
}

function readQuoted(reader: Reader, quoteAt: number, from: number, endOfMark: EndOfMark): Range | undefined {
  const quote = reader.text.slice(quoteAt, from);
  let at = from;
  for (;;) {
    const code = reader.at(at);
    const markEnd = code === bracket ? endOfMark(at) : at;
    if (markEnd > at) at = markEnd;
    else if (code < 0 || code === 10 || reader.text.startsWith(quote, at)) break;
    else at += code === 0x5c && quote.length === 1 ? 2 : 1;
  }
  return judged(reader, { start: from, end: Math.min(at, reader.text.length) }, true, endOfMark);
}

/** True if a quote was the end of a text, not the beginning of a value: `"Token:", token`; or if it holds a name. */
function isCodeAfterQuote(reader: Reader, { start, end }: Range): boolean {
  return /^[,);+\]} ]/.test(reader.text.charAt(start)) ||
    isNameOfSecret(reader.text.slice(start, Math.min(end, start + 65)));
}

/** Where a quote ends that begins at a place: plain, or escaped within a string. */
function endOfQuote(reader: Reader, at: number): number {
  let end = at;
  while (end - at < 3 && reader.at(end) === 0x5c) end += 1;
  const code = reader.at(end);
  return code === 0x22 || code === 0x27 || (code === 0x60 && end === at) ? end + 1 : at;
}

/** Where a run ends that stops at a kind of character; marks are gone over whole. */
function runTo(
  reader: Reader,
  from: number,
  isEnd: (code: number) => boolean,
  { endOfMark, max = Infinity }: { readonly endOfMark: EndOfMark; readonly max?: number },
): number {
  const { text } = reader;
  let at = from;
  while (at - from < max) {
    const code = at < text.length ? text.charCodeAt(at) : reader.at(at);
    const markEnd = code === bracket ? endOfMark(at) : at;
    if (markEnd > at) at = markEnd;
    else if (code < 0 || isEnd(code)) return at;
    else at += 1;
  }
  return at;
}

/** `Password=…;` between other parts of a connection string. */
function isConnectionPart(reader: Reader, key: Key, sign: Sign, end: number): boolean {
  const after = reader.at(end);
  return sign.kind === "equals" && (key.name === "Password" || key.name === "Pwd" || key.name === "PWD") &&
    reader.at(key.start - 1) === 0x3b && (after < 0 || after === 0x3b || isQuote(after));
}

/** True if nothing but name and value stand on the line, as in YAML and properties. */
function isWholeLine(reader: Reader, key: Key, end: number): boolean {
  const after = reader.at(reader.run(end, isInlineBlank, blanksMax));
  return (after < 0 || isLineEnd(after)) && isFirstOnLine(reader, key.start);
}

/** True if no more than signs stand before a place on its line: space, the dash of a list, the arrows of logs. */
function isFirstOnLine(reader: Reader, place: number): boolean {
  let at = place - 1;
  while (place - at < keyCharactersMax && isLineSign(reader.at(at))) at -= 1;
  const before = reader.at(at);
  return before < 0 || isLineEnd(before);
}

function isLineSign(code: number): boolean {
  return isInlineBlank(code) || code === 0x2d || code === 0x3c || code === 0x3e || code === 0x2a ||
    code === 0x7c;
}

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13;
}

function withoutBlanks(reader: Reader, start: number, end: number): number {
  let at = end;
  while (at > start && isBlank(reader.at(at - 1))) at -= 1;
  return at;
}

function mayBeginHeader(reader: Reader, start: number): boolean {
  return isQuote(reader.at(start - 1)) || isFirstOnLine(reader, start);
}

function isHeaderEnd(code: number): boolean {
  return isLineEnd(code) || isQuote(code);
}

function isQueryEnd(code: number): boolean {
  return isBlank(code) || isQuote(code) || code === 0x26 || code === 0x23 || code === 0x3c || code === 0x3e;
}

function isTokenEnd(code: number): boolean {
  return isBlank(code) || isQuote(code) || code === 0x3b || code === 0x26;
}

function isQuote(code: number): boolean {
  return code === 0x22 || code === 0x27 || code === 0x60;
}

function isInlineBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function hasLower(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isLower(text.charCodeAt(at))) return true;
  return false;
}
