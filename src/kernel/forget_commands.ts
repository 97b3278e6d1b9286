/**
 * Forgets the keys of commands that ended long ago, with their replies: what is sent again by then is another command.
 * The streams keep what was done.
 */
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { keys, prefixes } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import { alone } from "./command.ts";
import type { Kernel, StoredReply } from "./kernel.ts";
import { setRows } from "./set_rows.ts";

/** One pass over a part of the commands. */
export interface ForgetPass {
  /** Where it begins; undefined: at the first one. */
  readonly start: StoreKey | undefined;
  /** Commands that it looks at, at most. */
  readonly rowsMax: number;
  /** Replies that were given at or before this moment are forgotten, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** What a pass did. */
export interface Forgotten {
  readonly count: number;
  /** Where the next pass begins; undefined at the end. */
  readonly next: StoreKey | undefined;
}

interface StoredCommand {
  readonly root: RootAddress;
  /** When it was accepted. */
  readonly at?: number;
}

/** The key of the prompt that comes with a session. Clients' keys have no control characters, so it is nobody else's. */
export function firstPromptKey(key: string): string {
  return `${key}\u001fprompt`;
}

/** Looks at some commands, and forgets those that ended long ago. Resolves once that is durable. */
export async function forgetCommands(kernel: Kernel, pass: ForgetPass): Promise<Forgotten> {
  const found: { readonly key: StoreKey; readonly value: unknown }[] = [];
  const part = { limit: pass.rowsMax + 1, ...(pass.start === undefined ? {} : { start: pass.start }) };
  for await (const row of kernel.journal.listRows(prefixes.commands, part)) found.push(row);
  const looked = found.slice(0, pass.rowsMax);
  const gone = await Promise.all(looked.map((row) => forget(kernel, row, pass.untilMs)));
  return { count: gone.filter(Boolean).length, next: found[pass.rowsMax]?.key };
}

/** True if it was forgotten. Nobody looks the key up meanwhile (K14). */
async function forget(
  kernel: Kernel,
  { key: row, value }: { readonly key: StoreKey; readonly value: unknown },
  untilMs: number,
): Promise<boolean> {
  const { root, at = Infinity } = value as StoredCommand;
  // Most are young: of those nothing more is read. Another runtime's are its own to forget (K17).
  if (at > untilMs || !kernel.journal.ownership.isOurs(root)) return false;
  const [, principal, key] = row.map(String) as [string, string, string];
  return await alone(kernel, row, async () => {
    const reply = await kernel.journal.readReply(principal, key) as StoredReply | undefined;
    // One that is not answered has not ended, however old it is.
    if (reply === undefined || (reply.at ?? at) > untilMs) return false;
    if (await hasFirstPrompt(kernel, principal, key)) return false;
    await setRows(kernel, { sets: [], deletes: [row, keys.reply(principal, key)] });
    return true;
  });
}

/** True while the prompt of a session is kept: one that is begun anew by an old key must not meet that of the first. */
async function hasFirstPrompt(kernel: Kernel, principal: string, key: string): Promise<boolean> {
  const prompt = firstPromptKey(key);
  if (new TextEncoder().encode(prompt).length > limits.commandKeyBytesMax) return false;
  return await kernel.journal.readCommand(principal, prompt) !== undefined;
}
