/** Flow collections: `[a, b]` and `{ a: 1 }`, over any number of lines. */
import { type Cursor, isDocumentMarker, peek, placeOf, refuse, skipBlanks } from "./cursor.ts";
import type { Place } from "./error.ts";
import { isQuote, scanKey } from "./key.ts";
import type { YamlEntry, YamlNode } from "./node.ts";
import { endsKey, isFlowMark, scanPlain, scanQuoted, shapeOfPlain } from "./scalar.ts";

/** Steps over the collection that opens here, as the `depth`-th around each other. */
export function scanFlow(cursor: Cursor, depth: number): YamlNode {
  checkDepth(cursor, depth);
  return peek(cursor) === "[" ? scanFlowList(cursor, depth) : scanFlowMap(cursor, depth);
}

/** Refuses a collection that is nested too deep. */
export function checkDepth(cursor: Cursor, depth: number): void {
  if (depth <= cursor.depthMax) return;
  refuse(cursor, "yaml_too_deep", `more than ${cursor.depthMax} collections inside each other; flatten them`);
}

/** Refuses the marks with which a value cannot begin, and those whose meaning is not accepted. */
export function checkStart(cursor: Cursor, inFlow: boolean): void {
  const mark = peek(cursor);
  if (mark === "&" || mark === "*") {
    const reason = "anchors (&) and aliases (*) are not accepted; repeat the value, or put text in quotes";
    refuse(cursor, "yaml_alias_refused", reason);
  }
  if (mark === "!") {
    refuse(cursor, "yaml_tag_refused", "tags (!) are not accepted; remove it, or put text in quotes");
  }
  const isOpen = inFlow && endsKey(peek(cursor, 1), true);
  if (mark === "?" && (isOpen || endsKey(peek(cursor, 1), false))) {
    refuse(cursor, "yaml_key_refused", "keys written with ? are not accepted; write `key: value`");
  }
  if (mark === ":" && (isOpen || endsKey(peek(cursor, 1), false))) {
    refuse(
      cursor,
      "yaml_key_refused",
      "the key before this colon is missing; write it, or put text in quotes",
    );
  }
  const isRefused = mark !== "" && ("%@`#,]}".includes(mark) || (inFlow && (mark === "|" || mark === ">")));
  if (isRefused || (isOpen && mark === "-")) {
    refuse(cursor, "yaml_syntax", `a value cannot begin with ${mark}; put text in quotes`);
  }
}

function scanFlowList(cursor: Cursor, depth: number): YamlNode {
  const place = placeOf(cursor);
  const items: YamlNode[] = [];
  cursor.at += 1;
  while (!closes(cursor, "]", place)) {
    items.push(scanFlowNode(cursor, depth));
    skipBlanks(cursor);
    if (peek(cursor) === ":") {
      refuse(cursor, "yaml_syntax", "a key stands in a list; write { key: value }, or put text in quotes");
    }
    separate(cursor, "]");
  }
  return { kind: "list", place, items };
}

function scanFlowMap(cursor: Cursor, depth: number): YamlNode {
  const place = placeOf(cursor);
  const entries = new Map<string, YamlEntry>();
  cursor.at += 1;
  while (!closes(cursor, "}", place)) {
    if (peek(cursor) === "{" || peek(cursor) === "[") {
      const reason = "a collection cannot be a key; put a text like {{ this }} in quotes";
      refuse(cursor, "yaml_key_refused", reason);
    }
    checkStart(cursor, true);
    const { key, place: keyPlace, isQuoted } = scanKey(cursor, entries, true);
    const hasValue = peek(cursor) === ":" && (isQuoted || endsKey(peek(cursor, 1), true));
    if (hasValue) cursor.at += 1;
    skipBlanks(cursor);
    const isEmpty = !hasValue || peek(cursor) === "," || peek(cursor) === "}";
    const value: YamlNode = isEmpty
      ? { kind: "scalar", place: keyPlace, shape: "null" }
      : scanFlowNode(cursor, depth);
    entries.set(key, { place: keyPlace, value });
    skipBlanks(cursor);
    separate(cursor, "}");
  }
  return { kind: "map", place, entries };
}

function scanFlowNode(cursor: Cursor, depth: number): YamlNode {
  const place = placeOf(cursor);
  const mark = peek(cursor);
  if (mark === "[" || mark === "{") return scanFlow(cursor, depth + 1);
  if (isQuote(mark)) {
    scanQuoted(cursor, -1);
    return { kind: "scalar", place, shape: "string" };
  }
  checkStart(cursor, true);
  const text = scanPlain(cursor, -1, true);
  return { kind: "scalar", place, shape: shapeOfPlain(cursor, text, place) };
}

/** Steps over the closing mark, if it is next. */
function closes(cursor: Cursor, mark: string, opened: Place): boolean {
  skipBlanks(cursor);
  if (peek(cursor) === "") refuse(cursor, "yaml_syntax", `the closing ${mark} is missing; add it`, opened);
  if (isDocumentMarker(cursor)) refuse(cursor, "yaml_syntax", `the closing ${mark} is missing above; add it`);
  if (peek(cursor) !== mark) return false;
  cursor.at += 1;
  return true;
}

/** Steps over a comma; without one the collection must close, or end (which `closes` reports). */
function separate(cursor: Cursor, mark: string): void {
  if (peek(cursor) === ",") {
    cursor.at += 1;
    return;
  }
  if (peek(cursor) === mark || peek(cursor) === "" || isDocumentMarker(cursor)) return;
  const found = isFlowMark(peek(cursor)) ? peek(cursor) : "more text";
  refuse(cursor, "yaml_syntax", `found ${found} where a comma or ${mark} must stand; add it, or use quotes`);
}
