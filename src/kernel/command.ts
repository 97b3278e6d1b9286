/** Commands of clients: a key makes a repeat harmless; `accepted` and `reply` are two acknowledgements (K14). */
import type { RootAddress } from "../../schemas/ids.ts";
import type { InputBody } from "../../schemas/entry.ts";
import type { CommandRef } from "../../schemas/message.ts";
import { canonicalJson } from "../../schemas/json.ts";
import type { TraceId } from "../../schemas/trace.ts";
import { throughJson } from "../canonical.ts";
import { keys } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import { type Kernel, KernelError, type PendingCommand, type StoredReply } from "./kernel.ts";
import { patiently, refuseWhileBlocked } from "./patience.ts";
import { reach } from "./reach.ts";
import { claimOf, offer } from "./route.ts";

/** One command: to whom, what, and under which key. */
export interface Command {
  readonly root: RootAddress;
  readonly message: InputBody["message"];
  readonly ref: CommandRef;
  /** True if the key was minted for this command alone: nobody can have used it before, so nothing is looked up. */
  readonly isFresh?: boolean;
  /** The trace that it belongs to. A repeat may have another one: it is the same command. */
  readonly trace?: TraceId | undefined;
}

/** How it is asked whether a command was accepted. */
export interface AcceptedOptions {
  /** False for who only wants to hear of a store that takes nothing: then the writer need not hurry. Default true. */
  readonly hurry?: boolean;
}

/** The two acknowledgements of a command. */
export interface Acknowledgements {
  readonly ref: CommandRef;
  /**
   * Resolves once the command is durable; rejects as `store_busy` if the store takes nothing for 5 s. Asking for it makes
   * the writer hurry; who waits for the reply need not.
   */
  readonly accepted: (options?: AcceptedOptions) => Promise<void>;
  /** Resolves once its reply is durable, maybe many cranks and restarts later. */
  readonly reply: Promise<StoredReply>;
}

interface StoredCommand {
  readonly hash: string;
  readonly root: RootAddress;
}

/**
 * Gives a command to a root. The same key and content again: the stored or coming reply, nothing is done twice. The
 * same key with other content throws `idempotency_key_reuse`.
 */
export async function submit(kernel: Kernel, command: Command): Promise<Acknowledgements> {
  const { root, ref } = command;
  const message = throughJson(command.message);
  if (!kernel.journal.ownership.isOurs(root)) await reachFor(kernel, command);
  if (command.isFresh === true) {
    refuseUnusable(kernel, root);
    return enter(kernel, { ...command, message }, "", keys.command(ref.principal, ref.key));
  }
  const hash = await hashOf(kernel, { root, message });
  const key = keys.command(ref.principal, ref.key);
  return await alone(kernel, key, async () => {
    const known = kernel.pendingCommands.get(claimOf(key)) ??
      await kernel.journal.readCommand(ref.principal, ref.key) as StoredCommand | undefined;
    if (known !== undefined) return await repeat(kernel, command, hash, known);
    refuseUnusable(kernel, root);
    return enter(kernel, { ...command, message }, hash, key);
  });
}

/** What two uses of a key are compared by. */
export function hashOf(kernel: Kernel, content: unknown): Promise<string> {
  return kernel.seams.digest(new TextEncoder().encode(canonicalJson(content)));
}

/** One look-up of a key at a time: what a second one reads must not be older than what the first one led to (K14). */
export async function alone<T>(kernel: Kernel, key: StoreKey, run: () => Promise<T>): Promise<T> {
  const claim = claimOf(key);
  while (kernel.lookUps.has(claim)) await kernel.lookUps.get(claim);
  const lookUp = Promise.withResolvers<void>();
  kernel.lookUps.set(claim, lookUp.promise);
  try {
    return await run();
  } finally {
    kernel.lookUps.delete(claim);
    lookUp.resolve();
  }
}

/** A command for a root that is held elsewhere is refused, unless it was answered already: then that is the answer (CM-121). */
async function reachFor(kernel: Kernel, { root, ref }: Command): Promise<void> {
  try {
    await reach(kernel, root);
  } catch (error) {
    const isAnswered = await kernel.journal.readReply(ref.principal, ref.key) !== undefined;
    if (!isAnswered) throw error;
  }
}

/** The refusal of a key that was used for something else. */
export function reused(key: string): KernelError {
  return new KernelError("idempotency_key_reuse", `Key "${key}" was used for another command: use a new key`);
}

function enter(kernel: Kernel, command: Command, hash: string, key: StoreKey): Acknowledgements {
  refuseWhileBlocked(kernel);
  const { root, message, ref, trace } = command;
  const pending = kernel.pendingCommands;
  const accepted = Promise.withResolvers<void>();
  accepted.promise.catch(() => {});
  const stored: PendingCommand = { hash, root, accepted: accepted.promise, refuse: accepted.reject };
  const reply = waitForReply(kernel, root, keys.reply(ref.principal, ref.key));
  pending.set(claimOf(key), stored);
  try {
    offer(kernel, root, {
      kind: "input",
      body: { message, command: ref, ...(trace === undefined ? {} : { trace }) },
      commandRow: { key, value: { hash, root } },
      onAccepted: () => {
        pending.delete(claimOf(key));
        accepted.resolve();
      },
    });
  } catch (error) {
    pending.delete(claimOf(key));
    kernel.replyWaiters.delete(claimOf(keys.reply(ref.principal, ref.key)));
    throw error;
  }
  return { ref, accepted: hurried(kernel, accepted.promise), reply };
}

function hurried(kernel: Kernel, accepted: Promise<void>): Acknowledgements["accepted"] {
  return ({ hurry = true } = {}) => {
    if (hurry) kernel.journal.writer.urge();
    return patiently(kernel, accepted);
  };
}

async function repeat(
  kernel: Kernel,
  command: Command,
  hash: string,
  known: StoredCommand | PendingCommand,
): Promise<Acknowledgements> {
  const { ref } = command;
  if (known.hash !== hash) throw reused(ref.key);
  const accepted = hurried(kernel, "accepted" in known ? known.accepted : Promise.resolve());
  // Wait first, look second: a reply that becomes durable in between is then seen one way or the other.
  const key = keys.reply(ref.principal, ref.key);
  const reply = waitForReply(kernel, command.root, key);
  const stored = await kernel.journal.readReply(ref.principal, ref.key) as StoredReply | undefined;
  // Its crank is over, so nobody else would ever tell those who wait.
  if (stored !== undefined) settleReply(kernel, key, stored);
  else if (kernel.records.get(command.root)?.status === "quarantined") refuseWaiting(kernel, command.root);
  return { ref, accepted, reply };
}

function refuseUnusable(kernel: Kernel, root: RootAddress): void {
  const record = kernel.records.get(root);
  if (record === undefined) throw new KernelError("root_not_found", `No actor has the address "${root}"`);
  if (record.status === "quarantined") throw quarantined(kernel, root);
}

function quarantined(kernel: Kernel, root: RootAddress): KernelError {
  const reason = kernel.records.get(root)?.reason ?? "no reason was recorded";
  return new KernelError("root_quarantined", `"${root}" is quarantined: ${reason}`);
}

/** Tells everybody who waits for a root that was quarantined, or taken over: nothing will come from it here. */
export function refuseWaiting(kernel: Kernel, root: RootAddress, why = quarantined(kernel, root)): void {
  for (const [claim, pending] of kernel.pendingCommands) {
    if (pending.root !== root) continue;
    kernel.pendingCommands.delete(claim);
    pending.refuse(why);
  }
  for (const [name, waiters] of kernel.replyWaiters) {
    if (waiters[0]?.root !== root) continue;
    kernel.replyWaiters.delete(name);
    for (const waiter of waiters) waiter.reject(why);
  }
}

function waitForReply(kernel: Kernel, root: RootAddress, key: StoreKey): Promise<StoredReply> {
  const { promise, resolve, reject } = Promise.withResolvers<StoredReply>();
  const name = claimOf(key);
  const waiters = kernel.replyWaiters.get(name);
  if (waiters === undefined) kernel.replyWaiters.set(name, [{ root, resolve, reject }]);
  else waiters.push({ root, resolve, reject });
  // Nobody has to wait: an unwatched rejection at shutdown is no fault.
  promise.catch(() => {});
  return promise;
}

/** Tells everybody who waits for a reply that it is durable. */
export function settleReply(kernel: Kernel, key: StoreKey, reply: StoredReply): void {
  const name = claimOf(key);
  const waiters = kernel.replyWaiters.get(name) ?? [];
  kernel.replyWaiters.delete(name);
  for (const waiter of waiters) waiter.resolve(reply);
}
