/** Scalars: where they end, and what plain ones are read as. */
import {
  columnOf,
  type Cursor,
  finishLine,
  isBlank,
  isDocumentMarker,
  nextLine,
  peek,
  placeOf,
  refuse,
  rewind,
  skipSpaces,
} from "./cursor.ts";
import type { Place } from "./error.ts";
import type { ScalarShape } from "./node.ts";

/** Plain scalars on which YAML libraries, or versions of YAML, disagree; with what they may also mean. */
const ambiguities: readonly (readonly [RegExp, string])[] = [
  [/^[-+]?0\d[\d_]*(?:[.eE][\d.eE+-]*)?$/, "octal to some YAML libraries and decimal to others"],
  [/^[-+]?0[oObBX][\da-fA-F_]*$/, "a number to some YAML libraries and text to others"],
  [/^[-+]0x[\da-fA-F_]+$/, "a number to some YAML libraries and text to others"],
  [
    /^[-+]?(?=.*_)(?:0x[\da-fA-F_]+|[\d.][\d_]*\.?[\d_]*(?:[eE][-+]?[\d_]+)?)$/,
    "a number to some YAML libraries only",
  ],
  [/^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/, "a number to base 60 for some YAML libraries"],
  [/^[-+]\.\d[\d_]*(?:[eE][-+]?\d+)?$/, "a number to some YAML libraries and text to others"],
  [/^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/, "not a number that JSON knows"],
  [/^=$/, "a special value to some YAML libraries"],
];

const integer = /^(?:[-+]?\d+|0x[\da-fA-F]+)$/;
const fraction = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

/** What the core schema makes of an unquoted scalar, or why it is ambiguous. */
export function resolvePlain(text: string): { readonly shape: ScalarShape } | { readonly ambiguity: string } {
  if (/^(?:|~|null|Null|NULL)$/.test(text)) return { shape: "null" };
  if (/^(?:true|True|TRUE|false|False|FALSE)$/.test(text)) return { shape: "boolean" };
  const found = ambiguities.find(([pattern]) => pattern.test(text));
  if (found) return { ambiguity: found[1] };
  if (integer.test(text) && !Number.isSafeInteger(Number(text))) {
    return { ambiguity: "an integer too large to be exact" };
  }
  if (!integer.test(text) && !fraction.test(text)) return { shape: "string" };
  return Number.isFinite(Number(text)) ? { shape: "number" } : { ambiguity: "a number too large to be read" };
}

/** Resolves an unquoted scalar that began at `place`; refuses an ambiguous one. */
export function shapeOfPlain(cursor: Cursor, text: string, place: Place): ScalarShape {
  const resolved = resolvePlain(text);
  if ("shape" in resolved) return resolved.shape;
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  const advice = resolved.ambiguity.startsWith("octal") ? " or drop the leading zero" : "";
  const reason = `the unquoted ${shown} is ${resolved.ambiguity}; put it in quotes if it is text${advice}`;
  refuse(cursor, "yaml_scalar_ambiguous", reason, place);
}

/** Steps over the rest of a plain scalar on this line, and returns it without spaces at the end. */
export function scanPlainLine(cursor: Cursor, inFlow: boolean): string {
  const { text } = cursor;
  const start = cursor.at;
  for (; cursor.at < text.length; cursor.at += 1) {
    const character = text.charAt(cursor.at);
    if (character === "\n") break;
    if (character === ":" && endsKey(text.charAt(cursor.at + 1), inFlow)) break;
    if (character === "#" && cursor.at > start && isBlank(text.charAt(cursor.at - 1))) break;
    if (inFlow && isFlowMark(character)) break;
  }
  return text.slice(start, cursor.at).trimEnd();
}

/** Steps over a plain scalar, over lines too; further lines must be indented by more than `indent`. */
export function scanPlain(cursor: Cursor, indent: number, inFlow: boolean): string {
  const lines = [scanPlainLine(cursor, inFlow)];
  while (peek(cursor) === "\n") {
    const copy = { ...cursor };
    while (peek(cursor) === "\n") {
      nextLine(cursor);
      skipSpaces(cursor);
    }
    const isOver = peek(cursor) === "" || columnOf(cursor) <= indent || peek(cursor) === "#" ||
      isDocumentMarker(cursor) || (inFlow && (isFlowMark(peek(cursor)) || peek(cursor) === ":"));
    if (isOver) {
      rewind(cursor, copy);
      break;
    }
    lines.push(scanPlainLine(cursor, inFlow));
  }
  return lines.join(" ");
}

/**
 * Steps over a quoted scalar and returns it with its quotes, not decoded. Further lines must be indented by more
 * than `indent`.
 */
export function scanQuoted(cursor: Cursor, indent: number): string {
  const start = cursor.at;
  const place = placeOf(cursor);
  const quote = peek(cursor);
  cursor.at += 1;
  for (;;) {
    const character = peek(cursor);
    if (character === "") refuse(cursor, "yaml_syntax", "the closing quote is missing; add it", place);
    if (character === "\n") {
      nextLine(cursor);
      while (peek(cursor) === " ") cursor.at += 1;
      if (peek(cursor) !== "\n" && peek(cursor) !== "" && columnOf(cursor) <= indent) {
        refuse(
          cursor,
          "yaml_syntax",
          "this line belongs to the quoted text above; indent it more, or close the quote",
        );
      }
    } else if (character === quote && !(quote === "'" && peek(cursor, 1) === "'")) {
      cursor.at += 1;
      return cursor.text.slice(start, cursor.at);
    } else {
      const isPair = (character === quote || (character === "\\" && quote === '"')) &&
        peek(cursor, 1) !== "\n";
      cursor.at += isPair ? 2 : 1;
    }
  }
}

/** Steps over a block scalar (`|` or `>`) whose parent stands at column `indent`. */
export function scanBlockScalar(cursor: Cursor, indent: number): void {
  if (indent < 0) {
    const reason = "a block of text that is the whole document is read in two ways; put it under a key";
    refuse(cursor, "yaml_scalar_ambiguous", reason);
  }
  cursor.at += 1;
  if (peek(cursor) === "-" || peek(cursor) === "+") cursor.at += 1;
  if (/\d/.test(peek(cursor))) {
    refuse(cursor, "yaml_scalar_ambiguous", "a counted indent is read in two ways; write the text in quotes");
  }
  finishLine(cursor, "| or >");
  let contentIndent = 0;
  let blankIndentMax = 0;
  while (peek(cursor) === "\n") {
    const copy = { ...cursor };
    nextLine(cursor);
    while (peek(cursor) === " ") cursor.at += 1;
    const column = columnOf(cursor);
    if (peek(cursor) === "\n" || peek(cursor) === "") {
      if (contentIndent === 0) blankIndentMax = Math.max(blankIndentMax, column);
      continue;
    }
    if (contentIndent === 0) {
      contentIndent = column > indent ? column : Infinity;
      if (blankIndentMax > column) {
        refuse(
          cursor,
          "yaml_syntax",
          "an empty line above has more spaces than this line; remove its spaces",
        );
      }
    }
    if (column < contentIndent || isDocumentMarker(cursor)) {
      rewind(cursor, copy);
      return;
    }
    const end = cursor.text.indexOf("\n", cursor.at);
    cursor.at = end < 0 ? cursor.text.length : end;
  }
}

/** Whether a character has a meaning of its own between `[` and `]` or `{` and `}`. */
export function isFlowMark(character: string): boolean {
  return character !== "" && ",[]{}".includes(character);
}

/** Whether a colon followed by this character ends a key. */
export function endsKey(next: string, inFlow: boolean): boolean {
  return isBlank(next) || (inFlow && isFlowMark(next));
}
