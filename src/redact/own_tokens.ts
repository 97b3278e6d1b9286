/** The tokens that this program issues: how they look, so that none of them stays in a text. */
import { isHex, isWord, type Reader } from "./reader.ts";

/** What every token begins with. */
export const ownPrefix = "tr_";

const checkLength = 4;
const bodyLength = 64;

/** Four digits that follow from a token's body: chance makes them fit once in 65,536 times. CRC-16/CCITT-FALSE. */
export function checkPartOf(body: string): string {
  let rest = 0xffff;
  for (let at = 0; at < body.length; at++) {
    rest ^= body.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) rest = (rest & 0x8000) === 0 ? rest << 1 : (rest << 1) ^ 0x1021;
    rest &= 0xffff;
  }
  return rest.toString(16).padStart(checkLength, "0");
}

/** True for a text that is a token by its looks, whether or not one was issued. */
export function looksOwn(text: string): boolean {
  const body = text.slice(ownPrefix.length + checkLength);
  return text.startsWith(ownPrefix) && /^[0-9a-f]{64}$/.test(body) &&
    text.slice(ownPrefix.length, ownPrefix.length + checkLength) === checkPartOf(body);
}

/** Where a token stands that begins at `start`; undefined if it is none. */
export function readOwnToken(
  reader: Reader,
  start: number,
  end: number,
): { readonly start: number; readonly end: number } | undefined {
  if (isWord(reader.at(start - 1))) return undefined;
  const length = checkLength + bodyLength;
  const stop = reader.run(end, isHex, length + 1);
  return stop - end === length && looksOwn(reader.text.slice(start, stop)) ? { start, end: stop } : undefined;
}
