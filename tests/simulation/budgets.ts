/** Budgets of the play: which sessions have one, what a model call costs, and whether they were kept (I16). */
import { nothing, plus } from "../../actors/budget.ts";
import { spentBy } from "../../actors/turn_budget.ts";
import { Budget, Spent } from "../../schemas/budget.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { Usage } from "../../schemas/model.ts";
import { peek } from "../../src/peek.ts";
import type { Complain } from "./evidence.ts";
import type { Case } from "./judges.ts";
import { wasDurable } from "./outside.ts";
import type { Plan } from "./plan.ts";

/** What every answer of the model costs. */
export const callUsage: Usage = { inputTokens: 60, outputTokens: 40, costUsd: 0.1 };

/**
 * The budget of the session with this index. In the script it is large enough to change nothing but what waits for the
 * disk; of drawn plays every third has scarce ones. Not drawn by the dice of the play: it stays what it is without.
 */
export function budgetOf({ play, seed }: Pick<Plan, "play" | "seed">, index: number): Budget | undefined {
  if (play === "script") {
    return index === 0 ? { tokens: 100_000, tool_calls: 1_000, wall_ms: 86_400_000 } : undefined;
  }
  if (seed % 3 !== 0 || index > 1) return undefined;
  return {
    ...(seed % 2 === 0 ? { tokens: 100 + 150 * (seed % 5) } : { cost_usd: 0.1 * (1 + seed % 4) }),
    ...(seed % 4 < 2 ? { tool_calls: seed % 7 } : {}),
    ...(seed % 9 === 0 ? { wall_ms: 3_000 + 1_000 * (seed % 11) } : {}),
  };
}

/**
 * I16: no session asks its model once its budget is used up, so it never spends more than one call too much; no more
 * calls are made than it allows; what it tells to have spent is what its journal shows, whatever happened in between; a
 * model call within a budget starts after its intent is on the disk.
 */
export function judgeBudgets({ evidence, streams, complain }: Case): void {
  for (const [root, entries] of streams) {
    const budget = Budget.safeParse(peek(entries[0]?.body, "input", "budget")).data;
    if (root.startsWith("session/")) judgeSession(root, entries, { budget: budget ?? {}, complain });
  }
  for (const performed of evidence.outside.performed) {
    if (performed.port !== "model.generate" || wasDurable(performed)) continue;
    const [created] = streams.get(performed.root) ?? [];
    const { tokens, cost_usd: cost } = Budget.safeParse(peek(created?.body, "input", "budget")).data ?? {};
    if (tokens === undefined && cost === undefined) continue;
    complain("I16", `${performed.key} was asked within a budget before it was durable`);
  }
}

interface Bound {
  readonly budget: Budget;
  readonly complain: Complain;
}

function judgeSession(root: string, entries: readonly Entry[], { budget, complain }: Bound): void {
  const calls = new Set<string>();
  let [spent, turn] = [nothing, ""];
  for (const { kind, type, body, seq } of entries) {
    if (kind === "note" && type === "tools.bound") turn = String(peek(body, "execution"));
    if (kind === "intent" && type === "model.generate") {
      for (const field of ["tokens", "cost_usd"] as const) {
        if (spent[field] < (budget[field] ?? Infinity)) continue;
        complain(
          "I16",
          `${root} asks its model at ${seq} with ${spent[field]} of ${budget[field]} ${field} spent`,
        );
      }
    }
    if (kind === "intent" && type === "tool.call") calls.add(`${turn} ${peek(body, "args", "invocation")}`);
    if (kind === "outcome" && type === "model.generate" && peek(body, "status") === "ok") {
      spent = plus(spent, spentBy(callUsage));
    }
    // What a child spent is its parent's from the child's end on.
    if (kind === "note" && type === "budget.released") {
      const { tokens = 0, cost_usd: cost = 0 } = Spent.partial().parse(peek(body, "spent"));
      spent = plus(spent, { ...nothing, tokens, cost_usd: cost });
    }
    const told = kind === "reply" ? peek(body, "value", "spent") : peek(body, "message", "spent");
    if (told === undefined || (kind !== "reply" && kind !== "message")) continue;
    const { tokens, cost_usd: cost } = Spent.parse(told);
    if (tokens === spent.tokens && cost === spent.cost_usd) continue;
    complain(
      "I16",
      `${root} tells ${tokens} tokens and ${cost} USD at ${seq}, its journal ${spent.tokens} and ${spent.cost_usd}`,
    );
  }
  if (calls.size <= (budget.tool_calls ?? Infinity)) return;
  complain("I16", `${root} made ${calls.size} calls with a budget for ${budget.tool_calls}`);
}
