/** Keys and values as Deno KV keeps them in its SQLite file: for reading a file without opening it as a store. */
import { deserialize } from "node:v8";
import type { StoreKey } from "./store.ts";

/** What begins a part of a key, and how values are kept. Parts of other kinds we never write. */
const tags = { text: 0x02, number: 0x21 } as const;
const encodings = { serialized: 1, bytes: 3 } as const;
const zero = 0;
/** Stands behind a zero byte that belongs to the text. */
const escaped = 0xff;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** A key in bytes, ordered as the store orders keys. */
export function encodeKey(key: StoreKey): Uint8Array {
  const bytes: number[] = [];
  for (const part of key) {
    if (typeof part === "number") {
      bytes.push(tags.number, ...orderedBytes(part));
      continue;
    }
    bytes.push(tags.text);
    for (const byte of encoder.encode(part)) bytes.push(byte, ...(byte === zero ? [escaped] : []));
    bytes.push(zero);
  }
  return new Uint8Array(bytes);
}

/** The key that these bytes mean, or undefined if they mean none of ours. */
export function decodeKey(bytes: Uint8Array): (string | number)[] | undefined {
  const key: (string | number)[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] === tags.number && at + 9 <= bytes.length) {
      key.push(numberOf(bytes.slice(at + 1, at + 9)));
      at += 9;
    } else if (bytes[at] === tags.text) {
      const end = endOfText(bytes, at + 1);
      const text = end < 0 ? undefined : textOf(bytes.subarray(at + 1, end));
      if (text === undefined) return undefined;
      key.push(text);
      at = end + 1;
    } else return undefined;
  }
  return key;
}

/** The value of a row, or undefined if it is kept in a way that we never use. Throws for bytes that mean no value. */
export function decodeValue(bytes: Uint8Array, encoding: number): unknown {
  if (encoding === encodings.bytes) return bytes;
  return encoding === encodings.serialized ? deserialize(bytes) : undefined;
}

/** Bytes of a number that are ordered as the numbers are: the sign turned over, and all of a negative one. */
function orderedBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  view.setBigUint64(0, bits >> 63n === 1n ? ~bits : bits ^ (1n << 63n));
  return bytes;
}

function numberOf(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer);
  const bits = view.getBigUint64(0);
  view.setBigUint64(0, bits >> 63n === 1n ? bits ^ (1n << 63n) : ~bits);
  return view.getFloat64(0);
}

function endOfText(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== zero) continue;
    if (bytes[at + 1] !== escaped) return at;
    at += 1;
  }
  return -1;
}

function textOf(bytes: Uint8Array): string | undefined {
  const plain = bytes.filter((byte, at) => byte !== escaped || bytes[at - 1] !== zero);
  try {
    return decoder.decode(plain);
  } catch {
    return undefined;
  }
}
