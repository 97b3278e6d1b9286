/** Ids of records: opaque, the same wherever the same journal is read (CM-19). */
import type { Seams } from "../seams.ts";

const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Makes the id of a record from what makes it unique: 130 bits of a hash. */
export async function recordId(
  digest: Seams["digest"],
  prefix: "src" | "def" | "imp" | "bnd" | "inv",
  parts: readonly (string | number | null)[],
): Promise<string> {
  const hash = await digest(new TextEncoder().encode(JSON.stringify([prefix, ...parts])));
  const bits = [...hash.slice("sha256:".length)].map((one) => parseInt(one, 16).toString(2).padStart(4, "0"))
    .join("");
  const text = Array.from({ length: 26 }, (_, at) => letters[parseInt(bits.slice(at * 5, at * 5 + 5), 2)])
    .join("");
  return `${prefix}_${text}`;
}
