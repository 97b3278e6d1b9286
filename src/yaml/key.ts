/** Keys of maps: always strings, each once. */
import { type Cursor, peek, placeOf, refuse, skipSpaces } from "./cursor.ts";
import type { Place } from "./error.ts";
import type { YamlEntry } from "./node.ts";
import { resolvePlain, scanPlainLine, scanQuoted } from "./scalar.ts";

/** Steps over a key, not over its colon. Refuses one that is no string, or that the map has already. */
export function scanKey(
  cursor: Cursor,
  entries: ReadonlyMap<string, YamlEntry>,
  inFlow: boolean,
): { readonly key: string; readonly place: Place; readonly isQuoted: boolean } {
  const place = placeOf(cursor);
  const isQuoted = isQuote(peek(cursor));
  const key = isQuoted
    ? unquote(cursor, scanQuoted(cursor, -1), place)
    : checkPlainKey(cursor, scanPlainLine(cursor, inFlow), place);
  if (key === "__proto__") {
    refuse(cursor, "yaml_key_refused", "the key __proto__ is not accepted; use another name", place);
  }
  const first = entries.get(key);
  if (first) {
    const reason =
      `the key "${key}" stands here for the second time (first in line ${first.place.line}); keep one`;
    refuse(cursor, "yaml_key_duplicate", reason, place);
  }
  skipSpaces(cursor);
  return { key, place, isQuoted };
}

/** Whether a character opens a quoted scalar. */
export function isQuote(character: string): boolean {
  return character === '"' || character === "'";
}

function checkPlainKey(cursor: Cursor, key: string, place: Place): string {
  if (key === "<<") {
    refuse(cursor, "yaml_merge_refused", "merging maps with << is not accepted; write the keys out", place);
  }
  const resolved = resolvePlain(key);
  if ("shape" in resolved && resolved.shape === "string") return key;
  refuse(cursor, "yaml_key_refused", `the key ${key || "(empty)"} is no string; put it in quotes`, place);
}

function unquote(cursor: Cursor, quoted: string, place: Place): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1).replaceAll("''", "'");
  try {
    return String(JSON.parse(quoted));
  } catch {
    // JSON has the escapes that people use; what only YAML has would need a second decoder here.
    refuse(
      cursor,
      "yaml_key_refused",
      "this key has an escape that JSON does not know; write it plainly",
      place,
    );
  }
}
