/** The installation's key for fingerprints of secrets: beside the store, made once, for its owner's eyes alone (DM-51). */
import { createToken } from "../door/token.ts";
import { realStorePath } from "../journal/store_file.ts";

/** Why there is no key: fingerprints are then left out, and everything else goes on. */
export type KeyProblem = "others may read its file" | "its file cannot be used";

const hexDigits = /^[0-9a-f]{64}\n?$/;
const keyMode = 0o600;

/**
 * Reads the key of the store at `location`, `<store>.key`; makes it if there is none. The caller holds the store's lock,
 * so nobody else makes one. The key never leaves this machine: without it a fingerprint tells nothing of a value.
 */
export async function readFingerprintKey(location: string): Promise<Uint8Array | KeyProblem> {
  const path = `${await realStorePath(location)}.key`;
  try {
    const text = await readOrMake(path);
    const { mode } = await Deno.stat(path);
    if (((mode ?? 0) & 0o077) !== 0) return "others may read its file";
    return hexDigits.test(text) ? Uint8Array.fromHex(text.trim()) : "its file cannot be used";
  } catch {
    return "its file cannot be used";
  }
}

async function readOrMake(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const made = `${await createToken()}\n`;
  // Never half written, never readable by others, and never over a key that is there.
  const draft = `${path}.${Deno.pid}`;
  await Deno.writeTextFile(draft, made, { mode: keyMode });
  await Deno.rename(draft, path);
  return made;
}
