/** Block structure: maps and lists by indentation, and the document around them. */
import {
  columnOf,
  createCursor,
  type Cursor,
  finishLine,
  isBlank,
  isDocumentMarker,
  peek,
  placeOf,
  refuse,
  rewind,
  skipBlanks,
  skipSpaces,
} from "./cursor.ts";
import type { Place } from "./error.ts";
import { checkDepth, checkStart, scanFlow } from "./flow.ts";
import { isQuote, scanKey } from "./key.ts";
import type { YamlEntry, YamlNode } from "./node.ts";
import { endsKey, scanBlockScalar, scanPlain, scanPlainLine, scanQuoted, shapeOfPlain } from "./scalar.ts";

/** What surrounds the value that is scanned next. */
interface Frame {
  /** Column of the collection around it; lines that belong to the value are indented by more. */
  readonly indent: number;
  /** Leftmost column at which a list may begin: a list under a key may stand at the key's column. */
  readonly listIndent: number;
  /** Whether a collection may begin on the line where the frame does, as after `- `. */
  readonly isCompact: boolean;
  /** Collections around it. */
  readonly depth: number;
  /** Place of the value if there is none. */
  readonly empty: Place;
}

/** Scans one document and returns the places of its values; refuses what we do not accept. */
export function scanDocument(text: string, file: string, depthMax: number): YamlNode {
  const cursor = createCursor(text, file, depthMax);
  skipBlanks(cursor);
  if (peek(cursor) === "%" && columnOf(cursor) === 0) {
    refuse(cursor, "yaml_documents_refused", "directives (%) are not accepted; remove the line");
  }
  if (columnOf(cursor) === 0 && text.startsWith("---", cursor.at)) {
    cursor.at += 3;
    finishLine(cursor, "---");
  }
  const root = scanNode(cursor, {
    indent: -1,
    listIndent: 0,
    isCompact: true,
    depth: 0,
    empty: { line: 1, column: 1 },
  });
  skipBlanks(cursor);
  if (isDocumentMarker(cursor)) {
    refuse(
      cursor,
      "yaml_documents_refused",
      "one file holds one document; remove this marker and what follows",
    );
  }
  if (peek(cursor) !== "") refuseLeftover(cursor);
  return root;
}

function scanNode(cursor: Cursor, frame: Frame): YamlNode {
  const { line } = cursor;
  skipBlanks(cursor);
  const column = columnOf(cursor);
  const isFresh = frame.isCompact || cursor.line !== line;
  const isInside = cursor.line === line || column > frame.indent ||
    (isDash(cursor) && column >= frame.listIndent);
  if (peek(cursor) === "" || isDocumentMarker(cursor) || !isInside) {
    return { kind: "scalar", place: frame.empty, shape: "null" };
  }
  if (isDash(cursor)) {
    if (!isFresh) {
      refuse(cursor, "yaml_syntax", "a list cannot begin beside its key; put it on the next line");
    }
    return scanList(cursor, column, frame.depth + 1);
  }
  if (isKeyAhead(cursor, frame.indent)) {
    if (!isFresh) {
      refuse(cursor, "yaml_syntax", "a second `key: value` on one line; put text with a colon in quotes");
    }
    return scanMap(cursor, column, frame.depth + 1);
  }
  return scanValue(cursor, frame);
}

/** A scalar or a flow collection. */
function scanValue(cursor: Cursor, frame: Frame): YamlNode {
  const place = placeOf(cursor);
  const mark = peek(cursor);
  if (mark === "[" || mark === "{") {
    const node = scanFlow(cursor, frame.depth + 1);
    skipSpaces(cursor);
    if (peek(cursor) === ":") {
      refuse(cursor, "yaml_key_refused", "a collection cannot be a key; put text in quotes", place);
    }
    finishLine(cursor, "the closing bracket");
    return node;
  }
  if (isQuote(mark)) {
    scanQuoted(cursor, frame.indent);
    finishLine(cursor, "the closing quote");
    return { kind: "scalar", place, shape: "string" };
  }
  if (mark === "|" || mark === ">") {
    scanBlockScalar(cursor, frame.indent);
    return { kind: "scalar", place, shape: "string" };
  }
  checkStart(cursor, false);
  const text = scanPlain(cursor, frame.indent, false);
  if (peek(cursor) === ":") {
    refuse(
      cursor,
      "yaml_syntax",
      "a colon inside running text; put the text in quotes, or indent the key rightly",
    );
  }
  return { kind: "scalar", place, shape: shapeOfPlain(cursor, text, place) };
}

function scanMap(cursor: Cursor, column: number, depth: number): YamlNode {
  checkDepth(cursor, depth);
  const place = placeOf(cursor);
  const entries = new Map<string, YamlEntry>();
  do {
    if (!isKeyAhead(cursor, column)) refuseLeftover(cursor);
    const { key, place: keyPlace } = scanKey(cursor, entries, false);
    cursor.at += 1;
    const value = scanNode(cursor, {
      indent: column,
      listIndent: column,
      isCompact: false,
      depth,
      empty: keyPlace,
    });
    entries.set(key, { place: keyPlace, value });
  } while (continuesAt(cursor, column));
  return { kind: "map", place, entries };
}

function scanList(cursor: Cursor, column: number, depth: number): YamlNode {
  checkDepth(cursor, depth);
  const place = placeOf(cursor);
  const items: YamlNode[] = [];
  do {
    const itemPlace = placeOf(cursor);
    cursor.at += 1;
    items.push(scanNode(cursor, {
      indent: column,
      listIndent: column + 1,
      isCompact: true,
      depth,
      empty: itemPlace,
    }));
  } while (continuesAt(cursor, column) && isDash(cursor));
  return { kind: "list", place, items };
}

/** Whether the next token stands at `column`; deeper than that it belongs to nothing. */
function continuesAt(cursor: Cursor, column: number): boolean {
  skipBlanks(cursor);
  if (peek(cursor) === "" || isDocumentMarker(cursor)) return false;
  if (columnOf(cursor) > column) refuseLeftover(cursor);
  return columnOf(cursor) === column;
}

function isDash(cursor: Cursor): boolean {
  return peek(cursor) === "-" && isBlank(peek(cursor, 1));
}

/** Whether a quoted or plain key and its colon stand here, on one line. */
function isKeyAhead(cursor: Cursor, indent: number): boolean {
  const copy = { ...cursor };
  if (isQuote(peek(cursor))) scanQuoted(cursor, indent);
  else if (isDash(cursor) || "[{|>&*!%@`".includes(peek(cursor)) || peek(cursor) === "") return false;
  else if (peek(cursor) === "?" && isBlank(peek(cursor, 1))) return false;
  else if (scanPlainLine(cursor, false) === "") return false;
  while (peek(cursor) === " ") cursor.at += 1;
  const isKey = cursor.line === copy.line && peek(cursor) === ":" && endsKey(peek(cursor, 1), false);
  rewind(cursor, copy);
  return isKey;
}

function refuseLeftover(cursor: Cursor): never {
  checkStart(cursor, false);
  const reason = isKeyAhead(cursor, -1) || isDash(cursor)
    ? "this line is indented differently from the lines that it belongs to; align it with them"
    : "this is neither a `key: value` nor an item of the list; indent it, or put it in quotes";
  refuse(cursor, "yaml_syntax", reason);
}
