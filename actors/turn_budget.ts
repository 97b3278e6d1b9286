/** The budget in a turn: what its model calls and its tools may still cost, what they did, and how it ends the turn. */
import type { Budget, Ledger, Spent } from "../schemas/budget.ts";
import type { CatalogEntry } from "../schemas/catalog.ts";
import type { PortArgs, PortDone, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { InvocationRequest, InvocationResult } from "../schemas/invocation.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { ModelAnswer, Usage } from "../schemas/model.ts";
import { exceeded, exhaustion, isBounded, leftOf, openLedger, spend } from "./budget.ts";
import { judgedNote } from "./judgement.ts";
import { beginChild, endChild, type LedgerStep } from "./child_budget.ts";
import { entryNamed, entryOf } from "./library.ts";
import type { TurnContext, TurnEvent } from "./turn_context.ts";

/** The ledger of a turn; snapshots of earlier releases have none, and only count. */
export function ledgerOf({ ledger }: Pick<TurnContext, "ledger">): Ledger {
  return ledger ?? openLedger();
}

/** Why the turn may not ask its model now. */
export function modelRefusal(context: TurnContext): Failure | undefined {
  return exhaustion(withTime(context));
}

/** What a model call may cost: how long its answer may be, and, if that is bounded, all that is left. */
export function reservation(
  context: TurnContext,
): Pick<PortArgs<"model.generate">, "maxOutputTokens" | "budget"> {
  const { tokens, cost_usd: cost } = leftOf(ledgerOf(context));
  const maxOutputTokens = Math.max(1, Math.min(context.maxOutputTokens, tokens ?? Infinity));
  if (tokens === undefined && cost === undefined) return { maxOutputTokens };
  const budget: Budget = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(cost === undefined ? {} : { cost_usd: cost }),
  };
  return { maxOutputTokens, budget };
}

/** A model is asked: whatever becomes of it, nobody can say that it cost nothing. */
export function withAsk(context: TurnContext): Pick<TurnContext, "ledger" | "asked"> {
  return { ledger: spend(ledgerOf(context), { model_calls: 1 }), asked: context.step };
}

/** A model answered: what it cost is committed; its words are kept for the case that they are the last ones. */
export function withAnswer(context: TurnContext, done: PortDone): Pick<TurnContext, "ledger" | "partial"> {
  const { usage, text } = done.value as unknown as ModelAnswer;
  const ledger = spend(ledgerOf(context), spentBy(usage));
  if (text === "" || !isBounded(ledger)) return { ledger };
  return { ledger, partial: { intent: done.intent, text: text.slice(0, limits.partialCharactersMax) } };
}

/** What a call that ended used up besides: models answered its server; and a command that never began was no process. */
export function withEnding(
  context: TurnContext,
  { attempts, name }: InvocationResult,
  spent: Partial<Spent> = {},
): Pick<TurnContext, "ledger"> {
  const isUnbegun = attempts === 0 && startsProcess(entryNamed(context.catalog.hash, name));
  return { ledger: spend(ledgerOf(context), isUnbegun ? { ...spent, processes: -1 } : spent) };
}

/** What a model call cost. A provider that counts no tokens, or tells no cost, is counted as such. */
export function spentBy({ inputTokens, outputTokens, costUsd }: Usage): Partial<Spent> {
  const tokens = inputTokens + outputTokens;
  return {
    tokens,
    counted_calls: tokens > 0 ? 1 : 0,
    ...(costUsd === undefined ? {} : { cost_usd: costUsd, priced_calls: 1 }),
  };
}

/** The calls of a stage that the budget allows, in the model's order, and those that it does not. */
export interface Afforded {
  readonly ledger: Ledger;
  readonly requests: readonly InvocationRequest[];
  readonly refused: readonly InvocationResult[];
  readonly notes: readonly Outgoing[];
}

/**
 * Counts the calls of a stage as they are bound: each once, however often it is tried; those of tools that there are
 * not cost nothing. What the budget does not allow is denied, each with a result of its own, and not run.
 */
export function afford(context: TurnContext, requests: readonly InvocationRequest[]): Afforded {
  let ledger = ledgerOf(context);
  const allowed: InvocationRequest[] = [];
  const refused: InvocationResult[] = [];
  const notes: Outgoing[] = [];
  for (const request of requests) {
    const entry = request.entry === undefined ? undefined : entryOf(request.entry);
    const why = request.entry === undefined ? undefined : callRefusal(ledger, entry);
    if (why === undefined) {
      if (request.entry !== undefined) ledger = withCall(ledger, entry);
      allowed.push(request);
    } else {
      refused.push(deniedBy(request, why));
      notes.push(budgetNote(request, why));
    }
  }
  return { ledger, requests: allowed, refused, notes };
}

function withCall(ledger: Ledger, entry: CatalogEntry | undefined): Ledger {
  return spend(ledger, { tool_calls: 1, processes: startsProcess(entry) ? 1 : 0 });
}

function callRefusal(ledger: Ledger, entry: CatalogEntry | undefined): Failure | undefined {
  const { tool_calls: calls, processes } = leftOf(ledger);
  if (calls === 0) return exceeded("tool_calls", 1, 0);
  return processes === 0 && startsProcess(entry) ? exceeded("processes", 1, 0) : undefined;
}

/** True for the tool that starts commands. */
function startsProcess(entry: CatalogEntry | undefined): boolean {
  return entry?.adapter === "builtin" && entry.definition.name === "terminal";
}

function deniedBy({ ordinal, callId, name }: InvocationRequest, why: Failure): InvocationResult {
  return { ordinal, callId, name, outcome: "denied", failure: why, attempts: 0 };
}

function budgetNote(request: InvocationRequest, { message: why }: Failure): Outgoing {
  return judgedNote(request, "deny", [{ check: "budget", verdict: "deny", by: "budget", why }]);
}

/** The ledger once a child has begun or ended, and what is told of that. */
export function withChildren(context: TurnContext, event: TurnEvent): LedgerStep {
  const ledger = ledgerOf(context);
  if (event.type === "turn.child_begun") return beginChild(ledger, event.wanted);
  if (event.type !== "turn.child_ended") return { ledger, posts: [] };
  return endChild(ledger, event.child, event.spent) ?? { ledger, posts: [] };
}

/** The timer that ends the turn when its wall time is over; undefined if that has no bound. */
export function wallTimer({ at, turn, ledger }: TurnContext): PortRequestOf<"timer.set"> | undefined {
  const left = ledger === undefined ? undefined : leftOf(ledger).wall_ms;
  if (left === undefined) return undefined;
  const args = { dueAtMs: at + left, jitterMs: 0, label: `turn ${turn} wall time` };
  return { port: "timer.set", effect: "idempotent", args };
}

/** The wall time is over: what was going on is stopped, and the turn ends. */
export function expired(context: TurnContext, event: object): Pick<TurnContext, "at" | "failure"> {
  const { at } = "output" in event ? event.output as PortDone : (event as { readonly error: PortDone }).error;
  const late = { ...context, at: Math.max(context.at, at) };
  return { at: late.at, failure: exhaustion(withTime(late), ["wall_ms"]) ?? overdue };
}

/** Only if the clock was set back meanwhile, or the timer failed: the turn ends all the same. */
const overdue = failure(
  "budget_exhausted",
  "The wall time that the budget left to the turn is over; begin a session with a larger budget",
);

/** True if the budget ended the turn. */
export function isSpent({ failure: why }: Pick<TurnContext, "failure">): boolean {
  return why?.code === "budget_exhausted";
}

/** The ledger at the end of the turn, and, if the budget ended it, the latest words of its model. */
export function settlement(context: TurnContext): {
  readonly ledger: Ledger;
  readonly text: string;
  readonly answer: string | null;
} {
  const { text, answer, partial } = context;
  const ledger = withTime(context);
  if (!isSpent(context)) return { ledger, text, answer };
  return { ledger, text: partial?.text ?? "", answer: partial?.intent ?? null };
}

/** The ledger with the time since the turn began. A clock that was set back takes nothing away. */
function withTime(context: TurnContext): Ledger {
  const ledger = ledgerOf(context);
  const { startedAt = context.at, at } = context;
  return spend(ledger, { wall_ms: Math.max(0, Math.round(at - startedAt)) });
}
