/** Brings mail to roots: awake ones at once, sleeping ones after they are woken; keeps the mailbox's bound (K13, K15). */
import type { InputBody } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { throughJson } from "../canonical.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import type { InboxRow } from "../journal/journal.ts";
import type { StoreKey } from "../journal/store.ts";
import type { LiveRoot } from "./live_root.ts";
import { type Kernel, KernelError } from "./kernel.ts";
import type { Mail } from "./mail.ts";
import { schedule } from "./pump.ts";
import { wake } from "./wake.ts";

/** Between two tries to read what a message needs, in milliseconds. */
const readBackoffMs = { first: 50, max: 2_000 } as const;

/** Puts mail into a root's mailbox, waking the root if it sleeps. */
export function deliver(kernel: Kernel, address: RootAddress, mail: Mail): void {
  // A root that another runtime took over hears there what is to be heard.
  if (kernel.stopped !== undefined || !kernel.journal.ownership.isOurs(address)) return;
  const root = kernel.roots.get(address);
  if (root !== undefined) {
    root.mailbox.push(mail);
    makeReady(kernel, root);
    return;
  }
  const parked = kernel.parked.get(address);
  if (parked === undefined) kernel.parked.set(address, [mail]);
  else parked.push(mail);
  wake(kernel, address);
}

/** Puts a client's message into a mailbox. Throws `mailbox_full`: only inputs are bounded, never outcomes (K15). */
export function offer(kernel: Kernel, address: RootAddress, mail: Mail): void {
  const waiting = kernel.roots.get(address)?.mailbox ?? kernel.parked.get(address) ?? [];
  if (waiting.length >= limits.mailboxMessagesMax) {
    throw new KernelError(
      "mailbox_full",
      `"${address}" has ${waiting.length} messages waiting: try again later`,
    );
  }
  deliver(kernel, address, mail);
}

/** Marks a root as ready to run, once. */
export function makeReady(kernel: Kernel, root: LiveRoot): void {
  if (root.mailbox.length === 0 || root.held || root.isReady) return;
  root.isReady = true;
  kernel.ready.push(root);
  schedule(kernel);
}

/** One message on its way between two roots, as its inbox row says. */
export interface Letter {
  readonly key: StoreKey;
  readonly to: RootAddress;
  readonly from: RootAddress;
  readonly message: InputBody["message"];
}

/** Names an inbox row in the set of claimed rows. */
export function claimOf(key: StoreKey): string {
  return JSON.stringify(key);
}

/** The row of a claim is gone for good. While rows are being listed the claim stays: the list may be older. */
export function unclaim({ claimed, looks }: Kernel, key: StoreKey): void {
  if (looks.count > 0) looks.spent.add(claimOf(key));
  else claimed.delete(claimOf(key));
}

/** Lists inbox rows; whatever is taken and deleted meanwhile is not brought a second time (K13). */
export async function* lookAtLetters({ journal, claimed, looks }: Kernel): AsyncIterable<InboxRow> {
  looks.count += 1;
  try {
    yield* journal.listInbox();
  } finally {
    looks.count -= 1;
    if (looks.count === 0) {
      for (const claim of looks.spent) claimed.delete(claim);
      looks.spent.clear();
    }
  }
}

/**
 * Brings a durable message to its receiver, once: a row that is claimed already is on its way. A machine may look
 * something up only after it was loaded, so the letter that names it waits, and those after it behind it (K13).
 */
export function bring(kernel: Kernel, letter: Letter): Promise<void> {
  const { key, to, from } = letter;
  const claim = claimOf(key);
  // The row of another runtime's root is found by that runtime.
  if (kernel.claimed.has(claim) || !kernel.journal.ownership.isOurs(to)) return Promise.resolve();
  kernel.claimed.add(claim);
  const message = throughJson(letter.message);
  const hand = () => deliver(kernel, to, { kind: "input", body: { message, sender: from }, inbox: key });
  const hash = shelvedHashIn({ kind: "input", type: message.type, body: { message } });
  const before = kernel.bringing.get(to);
  if (hash === undefined && before === undefined) return Promise.resolve(hand());
  const load = () => hash === undefined ? undefined : loadSurely(kernel, hash);
  const brought = Promise.resolve(before).then(load).then(hand).finally(() => {
    if (kernel.bringing.get(to) === brought) kernel.bringing.delete(to);
  });
  kernel.bringing.set(to, brought);
  return brought;
}

/** Loads what a message names, however long the store cannot be read: without it the message would be understood otherwise. */
async function loadSurely(kernel: Kernel, hash: string): Promise<void> {
  const { clock, log } = kernel.seams;
  for (let waitMs = readBackoffMs.first; kernel.stopped === undefined; waitMs *= 2) {
    try {
      return await kernel.loadShelved(hash);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log({ level: "warning", event: "blob_unreadable", detail: { hash, message } });
    }
    await clock.sleepUntil(clock.now() + Math.min(waitMs, readBackoffMs.max));
  }
}
