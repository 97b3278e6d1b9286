/** Ids of what a call makes: the same call makes the same id, however often it is tried (GA-54). */
import type { Seams } from "../seams.ts";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Characters of a ULID. */
const length = 26;

/** `<prefix>_` and 26 characters that follow from `key` alone. They look like a ULID, and do not sort by time. */
export async function derivedId(prefix: string, key: string, digest: Seams["digest"]): Promise<string> {
  const hex = (await digest(new TextEncoder().encode(`${prefix} ${key}`))).slice("sha256:".length);
  let bits = BigInt(`0x${hex}`);
  let text = "";
  for (let index = 0; index < length; index++) {
    text += alphabet[Number(bits & 31n)];
    bits >>= 5n;
  }
  return `${prefix}_${text}`;
}
