/** Secrets with parts: JSON Web Tokens, private keys as PEM, passwords in URLs, values of the Authorization header. */
import { redactBounds } from "./bounds.ts";
import { isAlphanumeric, isBlank, isDigit, isUpper, isUrlSafe, isWord, type Reader } from "./reader.ts";
import { isPlaceholder } from "./value_looks.ts";

interface Place {
  readonly start: number;
  readonly end: number;
}

const partCharactersMax = 8_192;

/** Three parts of base64url between dots (RFC 7515), or five (RFC 7516); the first begins as `{"` does. */
export function readJsonWebToken(reader: Reader, start: number, anchorEnd: number): Place | undefined {
  if (isWord(reader.at(start - 1))) return undefined;
  let end = reader.run(anchorEnd, isUrlSafe, partCharactersMax);
  if (end - start < 16) return undefined;
  let parts = 1;
  for (; parts < 5 && reader.at(end) === 0x2e; parts++) {
    const stop = reader.run(end + 1, isUrlSafe, partCharactersMax);
    // Only the key of an encrypted one may be empty. A dot behind the third part may end a sentence.
    if (stop === end + 1 && parts !== 1) break;
    end = stop;
  }
  return parts >= 3 && end - start >= 36 ? { start, end } : undefined;
}

/** From `-----BEGIN … PRIVATE KEY-----` to its end (RFC 7468); without an end, as far as keys reach. */
export function readPrivateKey(reader: Reader, start: number, anchorEnd: number): Place | undefined {
  const labelEnd = reader.run(anchorEnd, (code) => isUpper(code) || isDigit(code) || code === 32, 64);
  const label = reader.text.slice(anchorEnd, labelEnd);
  if (!reader.has(labelEnd, "-----") || !/PRIVATE KEY(?: BLOCK)?$/.test(label)) return undefined;
  const from = labelEnd + 5;
  const most = from + redactBounds.heldCharactersMax;
  const close = `-----END ${label}-----`;
  const at = reader.text.slice(from, most).indexOf(close);
  // In code that only speaks of keys, a quote follows.
  const bodyEnd = reader.run(from, isKeyBody, redactBounds.heldCharactersMax);
  if (bodyEnd === from) return undefined;
  if (at >= 0) return { start, end: from + at + close.length };
  return { start, end: bodyEnd };
}

/** Base64, its line ends, also escaped, and the headers of encrypted keys. */
function isKeyBody(code: number): boolean {
  return isToken68(code) || isBlank(code) || code === 0x5c || code === 0x3a || code === 0x2c;
}

const authorityCharactersMax = 512;

/** The password of `scheme://user:password@host` (RFC 3986), or a token in the place of the user. */
export function readUrlPassword(reader: Reader, _: number, from: number): Place | undefined {
  let colon = -1;
  let end = -1;
  for (let at = from; at - from < authorityCharactersMax; at++) {
    const code = reader.at(at);
    if (
      code < 0 || isBlank(code) || code === 0x22 || code === 0x27 || code === 0x60 || code === 0x3c ||
      code === 0x3e
    ) {
      break;
    }
    if (code === 0x40) end = at;
    else if (code === 0x3a && colon < 0) colon = at;
    // A path begins, unless this is a password that should have been encoded: no port looks like one.
    else if (code === 0x2f || code === 0x3f || code === 0x23) {
      if (end >= 0 || colon < 0 || isPort(reader.text.slice(colon + 1, at))) break;
    }
  }
  if (end < 0) return undefined;
  if (colon >= 0 && colon < end) {
    const isNone = end === colon + 1 || isPlaceholder(reader.text.slice(colon + 1, end));
    return isNone ? undefined : { start: colon + 1, end };
  }
  const user = reader.text.slice(from, end);
  return user.length >= 16 && /[0-9]/.test(user) && !/[^A-Za-z0-9_-]/.test(user)
    ? { start: from, end }
    : undefined;
}

function isPort(text: string): boolean {
  return /^[0-9]{0,5}$/.test(text);
}

/** The token behind `Bearer` (RFC 6750). */
export function readBearer(reader: Reader, start: number, from: number): Place | undefined {
  if (isWord(reader.at(start - 1))) return undefined;
  const end = reader.run(from, isToken68, 4_096);
  const text = reader.text.slice(from, Math.min(end, from + 256));
  const isLikely = text.length >= 12 && (/[0-9]/.test(text) || text.length >= 24) && new Set(text).size >= 8;
  return isLikely ? { start: from, end } : undefined;
}

/** What stands behind `Basic` (RFC 7617), if it is a user, a colon and a password. */
export function readBasic(reader: Reader, start: number, from: number): Place | undefined {
  if (isWord(reader.at(start - 1))) return undefined;
  const end = reader.run(from, isToken68, 1_024);
  return basicPassword(reader.text.slice(from, end)) === undefined ? undefined : { start: from, end };
}

/** The password in the credentials of HTTP's Basic; undefined if they are none. */
export function basicPassword(credentials: string): string | undefined {
  if (credentials.length < 8) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.fromBase64(credentials));
    const colon = text.indexOf(":");
    return colon < 0 ? undefined : text.slice(colon + 1);
  } catch {
    return undefined;
  }
}

function isToken68(code: number): boolean {
  return isAlphanumeric(code) || (code >= 0x2d && code <= 0x2f) || code === 0x2b || code === 0x3d ||
    code === 0x5f ||
    code === 0x7e;
}
