/** Makes a root by a command: the same key again, or the same name, yields the root that is there (K14). */
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { CommandRef } from "../../schemas/message.ts";
import { keys } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import { alone, hashOf, reused } from "./command.ts";
import type { Kernel, StoredReply } from "./kernel.ts";
import { setRows } from "./set_rows.ts";

/** Rows that must be set in the commit of the birth. */
export type BirthRows = readonly { readonly key: StoreKey; readonly value: Json }[];

/** A root that is wanted once. */
export interface BirthCommand {
  readonly ref: CommandRef;
  /** What is asked for: another content under the same key is refused. */
  readonly content: unknown;
  /** The address that it gets if it is new. */
  readonly address: RootAddress;
  /** What the principal calls it: whoever asks for a name that is there gets that one, whatever else is asked for. */
  readonly name?: string | undefined;
  /** Makes it; resolves once it is durable, with the rows. */
  readonly make: (rows: BirthRows) => Promise<unknown>;
}

/** A root that is there. */
export interface Made {
  readonly address: RootAddress;
  /** False if it was there before this command. */
  readonly isNew: boolean;
}

interface Stored {
  readonly hash: string;
  readonly root: RootAddress;
}

/** Makes a root once. Throws `idempotency_key_reuse`. */
export async function createOnce(kernel: Kernel, command: BirthCommand): Promise<Made> {
  const { ref: { principal, key }, name } = command;
  const hash = await hashOf(kernel, command.content);
  return await alone(kernel, keys.command(principal, key), async () => {
    const known = await kernel.journal.readCommand(principal, key) as Stored | undefined;
    if (known !== undefined) {
      if (known.hash !== hash) throw reused(key);
      const reply = await kernel.journal.readReply(principal, key) as StoredReply | undefined;
      return { address: known.root, isNew: reply?.value === true };
    }
    if (name === undefined) return await make(kernel, command, hash, []);
    const row = keys.named(principal, name);
    return await alone(kernel, row, async () => {
      const named = await kernel.journal.readRow(row) as { readonly root: RootAddress } | undefined;
      if (named === undefined) {
        return await make(kernel, command, hash, [{ key: row, value: { root: command.address } }]);
      }
      const sets = rowsOf(kernel, command, { hash, root: named.root, isNew: false });
      await setRows(kernel, { sets, deletes: [] });
      return { address: named.root, isNew: false };
    });
  });
}

async function make(
  kernel: Kernel,
  command: BirthCommand,
  hash: string,
  rows: BirthRows,
): Promise<Made> {
  const { address } = command;
  await command.make([...rows, ...rowsOf(kernel, command, { hash, root: address, isNew: true })]);
  return { address, isNew: true };
}

/** The command and its reply: whether it made the root. */
function rowsOf(
  kernel: Kernel,
  { ref: { principal, key } }: BirthCommand,
  { hash, root, isNew }: Stored & { readonly isNew: boolean },
): BirthRows {
  const at = kernel.seams.clock.now();
  const reply = { status: "ok", value: isNew, root, seq: 1, at };
  return [
    { key: keys.command(principal, key), value: { hash, root, seq: 1, at } },
    { key: keys.reply(principal, key), value: reply },
  ];
}
