/** The secret that opens a door. */
import { checkPartOf, ownPrefix } from "../redact/own_tokens.ts";
import type { Seams } from "../seams.ts";

const tokenBits = 256;

/**
 * Draws a secret of 256 bits. Not from the seams: their chance may be a test's seed, and nothing that is replayed ever
 * depends on a secret.
 */
export async function createToken(): Promise<string> {
  const key = await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256", length: tokenBits }, true, [
    "sign",
  ]);
  const bytes = new Uint8Array(await crypto.subtle.exportKey("raw", key));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The secret of a door in the form that is issued to programs: prefix, check part, and 256 bits. */
export async function createApiToken(): Promise<string> {
  const body = await createToken();
  return `${ownPrefix}${checkPartOf(body)}${body}`;
}

/** True if both are the same secret. Compares digests, all of them to the end, so that time tells nothing. */
export async function isSameToken(left: string, right: string, digest: Seams["digest"]): Promise<boolean> {
  const encoder = new TextEncoder();
  return isSameDigest(...await Promise.all([digest(encoder.encode(left)), digest(encoder.encode(right))]));
}

/** True if both digests are the same. Looks at all of them. */
export function isSameDigest(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
