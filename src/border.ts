/** The border for text: measured before it is parsed, so that no text can hurt whoever reads it (B102, B103). */
import { isJson, type Json } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";

/** Why a text was not let in. */
export type BorderErrorCode =
  | "json_invalid"
  | "json_too_deep"
  | "json_too_large"
  | "line_not_text"
  | "line_too_long";

/** A text that was not let in. The message never shows any of it: it may be a secret. */
export class BorderError extends Error {
  override readonly name = "BorderError";
  readonly code: BorderErrorCode;
  constructor(code: BorderErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Bounds of one text. By default those of everything that comes from outside. */
export interface BorderBounds {
  /** Bytes as UTF-8. */
  readonly bytesMax?: number;
  /** Arrays and objects inside each other. */
  readonly depthMax?: number;
  /** Values, counted over all levels. */
  readonly nodesMax?: number;
}

const quote = 0x22;
const backslash = 0x5c;
/** Digits in a row that can still be a finite number. */
const digitsMax = 300;

/** Parses a JSON text that came from outside. Throws {@linkcode BorderError} before anything large or deep is built. */
export function readJson(text: string, bounds: BorderBounds = {}): Json {
  checkBytes(text, bounds.bytesMax ?? limits.jsonBytesMax);
  const { mayOverflow } = scan(text, {
    depthMax: bounds.depthMax ?? limits.jsonDepthMax,
    nodesMax: bounds.nodesMax ?? limits.jsonNodesMax,
  });
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BorderError("json_invalid", "The text is no JSON: correct it");
  }
  // Only such a text can hold a number out of range or a key with an escape (schemas/json.ts).
  if ((mayOverflow || text.includes("\\")) && !isJson(value)) {
    throw new BorderError(
      "json_invalid",
      "The text holds a number out of range, or a key with a quote, backslash or control character: change it",
    );
  }
  return value;
}

function checkBytes(text: string, bytesMax: number): void {
  // UTF-8 has at most 3 bytes for a UTF-16 unit, so most texts are decided without encoding.
  if (text.length * 3 <= bytesMax) return;
  if (text.length <= bytesMax && new TextEncoder().encode(text).length <= bytesMax) return;
  throw new BorderError("json_too_large", `The text has more than ${bytesMax} bytes: send less`);
}

/** Walks the text once, with a counter for a stack: depth cannot hurt it. Whether it is JSON is the parser's matter. */
function scan(
  text: string,
  { depthMax, nodesMax }: { readonly depthMax: number; readonly nodesMax: number },
): { readonly mayOverflow: boolean } {
  let depth = 0;
  let nodes = 1;
  let digits = 0;
  let mayOverflow = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > digitsMax) mayOverflow = true;
      continue;
    }
    // An exponent: `e` or `E` right behind a digit.
    if (digits > 0 && (code | 0x20) === 0x65) mayOverflow = true;
    digits = 0;
    if (code === quote) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) {
      nodes += 1;
      if (++depth > depthMax) {
        throw new BorderError("json_too_deep", `The text nests more than ${depthMax} deep: send it flatter`);
      }
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
    else if (code === 0x2c) nodes += 1;
    if (nodes > nodesMax) {
      throw new BorderError("json_too_large", `The text holds more than ${nodesMax} values: send less`);
    }
  }
  return { mayOverflow };
}

/** Index of the quote that ends the string which begins at `start`; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

const newline = 10;

/** Cuts a stream of bytes into lines. Holds at most one line of the allowed length and one chunk. */
export class LineSplitter {
  /** Longest line from now on, in bytes. */
  bytesMax: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** The lines that `chunk` completes, as they are asked for. Throws `line_too_long` and `line_not_text`. */
  *take(chunk: Uint8Array): Iterable<string> {
    let rest = chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      this.#add(rest.subarray(0, end));
      yield this.#line();
      rest = rest.subarray(end + 1);
    }
    // Copied: the chunk's buffer is used again for the next read.
    this.#add(rest.slice());
  }

  /** What stands behind the last line end, if anything does. */
  end(): string | undefined {
    return this.#length === 0 ? undefined : this.#line();
  }

  #add(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.bytesMax) {
      throw new BorderError(
        "line_too_long",
        `The line has more than ${this.bytesMax} bytes: send less at once`,
      );
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #line(): string {
    const bytes = new Uint8Array(this.#length);
    let offset = 0;
    for (const part of this.#parts) {
      bytes.set(part, offset);
      offset += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new BorderError("line_not_text", "The line is not UTF-8 text");
    }
  }
}
