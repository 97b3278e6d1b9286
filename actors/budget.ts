/**
 * Ledgers of budgets: what is left, what a child gets of it, what comes back from it. Every ledger is local to one
 * session: a child's budget is carved out of its parent's, and what it did not spend comes back when it has ended. So
 * the tree never spends more than the budget of its root by more than one call in flight per branch.
 */
import { type Budget, BudgetField, type Ledger, type Spent } from "../schemas/budget.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";

/** A number for some of the fields. */
export type Amounts = { readonly [F in BudgetField]?: number };

/** A part of a budget, or why there is none. */
export type Shared =
  | { readonly ok: true; readonly share: Budget }
  | { readonly ok: false; readonly failure: Failure };

/** A ledger with another child's part in it, or why there is none. */
export type Reserved =
  | { readonly ok: true; readonly ledger: Ledger }
  | { readonly ok: false; readonly failure: Failure };

const fields = BudgetField.options;

/** Fields that a model call needs: without them a turn cannot go on. Of the others, only single calls are refused. */
const needed = ["tokens", "cost_usd", "wall_ms"] as const satisfies readonly BudgetField[];

/** Nothing spent. */
export const nothing: Spent = {
  tokens: 0,
  cost_usd: 0,
  wall_ms: 0,
  tool_calls: 0,
  processes: 0,
  children: 0,
  model_calls: 0,
  counted_calls: 0,
  priced_calls: 0,
};

/** A ledger in which nothing is spent. Without a budget it only counts. */
export function openLedger(budget: Budget = {}): Ledger {
  return { budget, spent: nothing, reserved: {} };
}

/** The stricter of two budgets, field by field. */
export function strictest(one: Budget = {}, other: Budget = {}): Budget {
  const both = fields.flatMap((field): [BudgetField, number][] => {
    const bounds = [one[field], other[field]].filter((bound) => bound !== undefined);
    return bounds.length === 0 ? [] : [[field, Math.min(...bounds)]];
  });
  return Object.fromEntries(both);
}

/** True if anything is bounded. */
export function isBounded({ budget }: Ledger): boolean {
  return fields.some((field) => budget[field] !== undefined);
}

/** What is left of every field that has a bound: neither spent, nor held by a child. Never less than 0. */
export function leftOf(ledger: Ledger): Amounts {
  const { budget, spent } = ledger;
  if (!isBounded(ledger)) return {};
  const held = heldOf(ledger);
  return amounts((field) => {
    const bound = budget[field];
    return bound === undefined ? undefined : Math.max(0, rounded(bound - spent[field] - held[field]));
  });
}

/** What all children hold that still run. */
export function heldOf({ reserved }: Ledger): Readonly<Record<BudgetField, number>> {
  const parts = Object.values(reserved);
  const sum = (field: BudgetField) => rounded(parts.reduce((all, part) => all + (part[field] ?? 0), 0));
  return Object.fromEntries(fields.map((field) => [field, sum(field)])) as Record<BudgetField, number>;
}

/**
 * The budget of a turn, or of all that is still to come: what is left. Undefined if a field that a model call needs is
 * used up; other fields may be 0.
 */
export function restOf(ledger: Ledger): Budget | undefined {
  return exhaustion(ledger) === undefined ? leftOf(ledger) : undefined;
}

/** Commits what was spent. It has happened, so it is never refused. */
export function spend(ledger: Ledger, more: Partial<Spent>): Ledger {
  return { ...ledger, spent: plus(ledger.spent, more) };
}

/** The sum of what was spent. */
export function plus(spent: Spent, more: Partial<Spent>): Spent {
  const sum = (key: keyof Spent) => rounded(spent[key] + (more[key] ?? 0));
  return {
    tokens: sum("tokens"),
    cost_usd: sum("cost_usd"),
    wall_ms: sum("wall_ms"),
    tool_calls: sum("tool_calls"),
    processes: sum("processes"),
    children: sum("children"),
    model_calls: sum("model_calls"),
    counted_calls: sum("counted_calls"),
    priced_calls: sum("priced_calls"),
  };
}

/** Takes over what was spent and is held in a part of this budget that is at its end: a turn's, in its session's. */
export function absorb(ledger: Ledger, { spent, reserved }: Ledger): Ledger {
  return { ...spend(ledger, spent), reserved: { ...ledger.reserved, ...reserved } };
}

/**
 * What a new child gets: of each field the asked part; where nothing is asked, an equal share of what is left, for the
 * parent and each of the `running` children that may run, the new one included. The child itself counts as one child.
 * Refused with `budget_exceeded` if that is more than what is left, or less than a model call needs.
 */
export function share(
  ledger: Ledger,
  { asked = {}, running = 1 }: { readonly asked?: Budget; readonly running?: number } = {},
): Shared {
  const left = leftOf(ledger);
  if (left.children === 0) return refused("children", 1, 0);
  const rest: Amounts = left.children === undefined ? left : { ...left, children: left.children - 1 };
  const parts = amounts((field) => {
    const most = rest[field];
    return asked[field] ?? (most === undefined ? undefined : partOf(field, most, Math.max(1, running)));
  });
  for (const field of fields) {
    const [part, most] = [parts[field], rest[field]];
    if (part === undefined || most === undefined) continue;
    const isTooLittle = part <= 0 && (needed as readonly BudgetField[]).includes(field);
    if (part > most || isTooLittle) return refused(field, Math.max(part, smallest(field)), most);
  }
  return { ok: true, share: parts };
}

/** Holds a part for a child, which counts as one. Refused with `budget_exceeded` if it is more than what is left. */
export function reserve(ledger: Ledger, child: string, part: Budget): Reserved {
  if (Object.hasOwn(ledger.reserved, child)) return { ok: true, ledger };
  const left = leftOf(ledger);
  if (left.children === 0) return refused("children", 1, 0);
  for (const field of fields) {
    const most = field === "children" && left.children !== undefined ? left.children - 1 : left[field];
    const asked = part[field];
    // A child without a bound could spend what its parent may not.
    if (most !== undefined && (asked === undefined || asked > most)) {
      return refused(field, asked ?? Infinity, most);
    }
  }
  if (Object.keys(ledger.reserved).length >= limits.budgetSharesMax) {
    return refused("children", limits.budgetSharesMax + 1, limits.budgetSharesMax);
  }
  const reserved = { ...ledger.reserved, [child]: part };
  return { ok: true, ledger: { ...spend(ledger, { children: 1 }), reserved } };
}

/** A child has ended: what it spent is committed, the rest of its part comes back. Once: a child that holds nothing is unknown. */
export function release(ledger: Ledger, child: string, spent: Partial<Spent>): Ledger {
  if (!Object.hasOwn(ledger.reserved, child)) return ledger;
  const { [child]: _, ...reserved } = ledger.reserved;
  return { ...spend(ledger, spent), reserved };
}

/** The record that a child holds a part from now on: `troupe budget` reads it. */
export function reservedNote(child: string, part: Budget): Outgoing {
  return { kind: "note", type: "budget.reserved", body: { child, share: { ...part } } };
}

/** The record that a child has ended, and gave back what it did not spend. */
export function releasedNote(child: string, spent: Partial<Spent>): Outgoing {
  return { kind: "note", type: "budget.released", body: { child, spent: { ...spent } } };
}

/** Why no model can be asked any more: the first field that is used up, with its figures. Undefined while one can. */
export function exhaustion(ledger: Ledger, of: readonly BudgetField[] = needed): Failure | undefined {
  const left = leftOf(ledger);
  const field = of.find((one) => left[one] === 0);
  if (field === undefined) return undefined;
  const { budget, spent } = ledger;
  const held = heldOf(ledger)[field];
  const rest = held === 0 ? "" : `, ${held} held by children`;
  return failure(
    "budget_exhausted",
    `The budget of the session is used up: ${spent[field]} of ${
      amountText(field, budget[field] ?? 0)
    } spent${rest}; begin a session with a larger budget`,
  );
}

const units: { readonly [F in BudgetField]: string } = {
  tokens: "tokens",
  cost_usd: "USD",
  wall_ms: "ms of wall time",
  tool_calls: "tool calls",
  processes: "processes",
  children: "children",
};

function amountText(field: BudgetField, amount: number): string {
  return `${amount} ${units[field]}`;
}

/** A refusal of what would cost more than what is left. */
export function exceeded(field: BudgetField, asked: number, left: number): Failure {
  const wanted = Number.isFinite(asked) ? `${asked} wanted` : "wanted without a bound";
  return failure(
    "budget_exceeded",
    `The budget of the session leaves ${amountText(field, left)}, ${wanted}: go on with less, or without`,
  );
}

function refused(
  field: BudgetField,
  asked: number,
  left: number,
): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: exceeded(field, asked, left) };
}

function partOf(field: BudgetField, left: number, running: number): number {
  const part = left / (running + 1);
  return field === "cost_usd" ? Math.floor(part * costScale) / costScale : Math.floor(part);
}

/** Costs are counted in billionths of a dollar, so that sums are exact. */
const costScale = 1_000_000_000;

function smallest(field: BudgetField): number {
  return field === "cost_usd" ? 1 / costScale : 1;
}

/** Whole numbers stay what they are. */
function rounded(amount: number): number {
  return Number.isInteger(amount) ? amount : Math.round(amount * costScale) / costScale;
}

function amounts(of: (field: BudgetField) => number | undefined): Amounts {
  const known: { [F in BudgetField]?: number } = {};
  for (const field of fields) {
    const amount = of(field);
    if (amount !== undefined) known[field] = amount;
  }
  return known;
}
