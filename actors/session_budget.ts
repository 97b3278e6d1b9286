/** The budget of a session: which prompts it refuses, what a turn gets of it, and what a turn leaves behind. */
import type { Budget, Ledger, Spent } from "../schemas/budget.ts";
import type { Failure } from "../schemas/failure.ts";
import { absorb, exhaustion, isBounded, leftOf, openLedger, strictest } from "./budget.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { ended } from "./session_rules.ts";
import type { TurnResult } from "./turn_context.ts";

/**
 * The ledger of a session. Before its first turn has ended, also in snapshots of earlier releases, nothing is spent of the
 * stricter of what its agent may spend and of what it was given, field by field.
 */
export function sessionLedger({ ledger, agent, budget }: SessionContext): Ledger {
  return ledger ?? openLedger(strictest(agent.budget, budget));
}

/** Why the first waiting prompt gets no turn: nothing is left. A call of a host asks no model, so it needs only time. */
export function promptRefusal(context: SessionContext): Failure | undefined {
  const [prompt] = context.queue;
  if (prompt === undefined) return undefined;
  const ledger = sessionLedger(context);
  return prompt.call === undefined ? exhaustion(ledger) : exhaustion(ledger, ["wall_ms"]);
}

/** What a turn may spend; nothing if it has no bound. */
export function turnBudget(context: SessionContext): { readonly budget?: Budget } {
  const ledger = sessionLedger(context);
  return isBounded(ledger) ? { budget: leftOf(ledger) } : {};
}

/** The ledger with what the turn spent that has ended, and what children hold that outlive it. */
export function afterTurn(context: SessionContext, event: SessionEvent): Ledger {
  const { ledger } = ended(event).output as TurnResult;
  return ledger === undefined ? sessionLedger(context) : absorb(sessionLedger(context), ledger);
}

/** What was spent, as others are told of it: only what there is. */
export function toldSpent({ spent }: Ledger): Partial<Spent> {
  return Object.fromEntries(Object.entries(spent).filter(([, amount]) => amount > 0));
}
