/** What a child agent may spend: a part of its parent's budget, which holds it until the child has ended. */
import type { Ledger, Spent } from "../schemas/budget.ts";
import type { Failure } from "../schemas/failure.ts";
import type { RootAddress } from "../schemas/ids.ts";
import type { Outgoing } from "../schemas/message.ts";
import { release, releasedNote, reserve, reservedNote, share } from "./budget.ts";

/** A child that is to be let begin. */
export interface NewChild {
  readonly child: RootAddress;
  /** Its task, which waits for the word. */
  readonly to: RootAddress;
  readonly turn: number;
  /** How many children may run at once. */
  readonly running: number;
}

/** A ledger, and what is told of its change. */
export interface LedgerStep {
  readonly ledger: Ledger;
  readonly posts: readonly Outgoing[];
}

/** Carves the child's part out and lets it begin; or refuses it, if too little is left. */
export function beginChild(ledger: Ledger, { child, to, turn, running }: NewChild): LedgerStep {
  const shared = share(ledger, { running });
  if (!shared.ok) return { ledger, posts: [refusal(to, shared.failure)] };
  const reserved = reserve(ledger, child, shared.share);
  if (!reserved.ok) return { ledger, posts: [refusal(to, reserved.failure)] };
  const message = { type: "task.accepted", turn, budget: { ...shared.share } };
  const posts: Outgoing[] = [reservedNote(child, shared.share), { kind: "message", to, message }];
  return { ledger: reserved.ledger, posts };
}

/** Tells a task that its child may not begin. */
export function refusal(to: RootAddress, why: Failure): Outgoing {
  return { kind: "message", to, message: { type: "task.refused", failure: { ...why } } };
}

/** What the child did not spend comes back. Undefined if this ledger holds nothing for it. */
export function endChild(ledger: Ledger, child: RootAddress, spent: Partial<Spent>): LedgerStep | undefined {
  if (!Object.hasOwn(ledger.reserved, child)) return undefined;
  return { ledger: release(ledger, child, spent), posts: [releasedNote(child, spent)] };
}
