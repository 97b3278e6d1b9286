/**
 * Fingerprints of secrets for the debug view: HMAC-SHA-256 (RFC 2104, FIPS 180-4) with a key of this installation, so
 * that equal secrets can be told and none can be guessed. Own code since marks are made at once, and the platform's
 * HMAC can only be waited for.
 */

const blockBytes = 64;
const keyBytesMin = 16;

/** The first 64 primes; the constants of SHA-256 are fractions of their roots. */
const primes = firstPrimes(64);
const roundConstants = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const firstState = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

/** Gives the first 16 hexadecimal digits of a value's HMAC. */
export type Fingerprint = (value: string) => string;

/** Makes fingerprints under a key. Throws for a key of less than 16 bytes: it could be guessed. */
export function createFingerprint(key: Uint8Array): Fingerprint {
  if (key.length < keyBytesMin) {
    throw new Error(`Cannot make fingerprints with a key of ${key.length} bytes: at least ${keyBytesMin}`);
  }
  const block = new Uint8Array(blockBytes);
  block.set(key.length > blockBytes ? sha256(key) : key);
  const inner = block.map((byte) => byte ^ 0x36);
  const outer = block.map((byte) => byte ^ 0x5c);
  return (value) => {
    const within = sha256(joined(inner, new TextEncoder().encode(value)));
    return sha256(joined(outer, within)).toHex().slice(0, 16);
  };
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}

function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / blockBytes) * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  const state = firstState.slice();
  for (let at = 0; at < padded.length; at += blockBytes) compress(state, view, at);
  const digest = new DataView(new ArrayBuffer(32));
  for (const [index, word] of state.entries()) digest.setUint32(index * 4, word);
  return new Uint8Array(digest.buffer);
}

function compress(state: Uint32Array, view: DataView, from: number): void {
  const words = new Uint32Array(64);
  const word = (index: number) => words[index] ?? 0;
  for (let index = 0; index < 16; index++) words[index] = view.getUint32(from + index * 4);
  for (let index = 16; index < 64; index++) {
    const [early, late] = [word(index - 15), word(index - 2)];
    const small = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const large = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[index] = word(index - 16) + small + word(index - 7) + large;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < 64; index++) {
    const choice = (e & f) ^ (~e & g);
    const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + (roundConstants[index] ?? 0) +
      word(index);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + value;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 0x1_0000_0000);
}

function firstPrimes(count: number): readonly number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  }
  return found;
}
