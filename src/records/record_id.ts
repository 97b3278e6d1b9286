/** Ids of records: opaque, the same wherever the same journal is read (CM-19). */
import type { Seams } from "../seams.ts";

const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Id of the installation of stores that were made before they had one. */
export const unnamedInstallation = `ins_${"0".repeat(26)}`;

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

/** Id of an invocation: the same for all its attempts, which are known by the first intent of its effect. */
export function invocationId(digest: Seams["digest"], session: string, first: string): Promise<string> {
  return recordId(digest, "inv", [session, first]);
}
