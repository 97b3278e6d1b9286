/** Sizes of rows before they reach the store, so that no commit is refused for its size (B131). */
import { checkedKeyBytes } from "./keys.ts";
import { StoreError, type StoreKey } from "./store.ts";

/** Limits of Deno KV, measured on 2.9.6; other stores must hold at least as much. */
export const storeLimits = {
  valueBytesMax: 65_536,
  commitMutationsMax: 1_000,
  commitChecksMax: 100,
  commitBytesMax: 819_200,
  commitKeyBytesMax: 81_920,
} as const;

/** An upper bound of the stored size of a value: V8's serialisation, two bytes a character outside Latin-1. */
export function valueBytes(value: unknown): number {
  if (value instanceof Uint8Array) return value.length;
  return 4 + partBytes(value);
}

function partBytes(value: unknown): number {
  switch (typeof value) {
    case "string":
      return 6 + (isLatin1(value) ? value.length : 2 * value.length);
    case "number":
      return 9;
    case "boolean":
    case "undefined":
      return 1;
    case "object":
      break;
    default:
      // A store would refuse it at every try, and the writer tries for ever.
      throw new TypeError(`Cannot store a ${typeof value}: rows hold JSON values and bytes`);
  }
  if (value === null) return 1;
  let bytes = 12;
  if (Array.isArray(value)) {
    for (const item of value) bytes += partBytes(item);
  } else {
    for (const [name, item] of Object.entries(value)) bytes += partBytes(name) + partBytes(item);
  }
  return bytes;
}

function isLatin1(text: string): boolean {
  // deno-lint-ignore no-control-regex -- The range is meant: every character of one byte.
  return !/[^\x00-\xff]/.test(text);
}

/** Refuses a row whose value no store takes, with `value_too_large`. Returns the size of key and value. */
export function rowBytes(key: StoreKey, value: unknown): number {
  const bytes = valueBytes(value);
  if (bytes > storeLimits.valueBytesMax) {
    throw new StoreError(
      "value_too_large",
      `Cannot store row "${String(key[0])}": ${bytes} bytes, at most ${storeLimits.valueBytesMax} fit`,
    );
  }
  return bytes + checkedKeyBytes(key);
}
