/** What the model costs that answers a server during a call: counted by the call, and bounded by its turn's budget. */
import type { Spent } from "../schemas/budget.ts";
import type { Sample } from "../schemas/call_pause.ts";
import { exhaustion, leftOf, nothing, plus, spend } from "./budget.ts";
import type { InvocationContext } from "./invocation_context.ts";
import { spentBy } from "./turn_budget.ts";

/** Why the model is not asked: the server had its share, or nothing is left. Calls of one stage know nothing of each other's. */
export function sampleRefusal(
  { ledger, spent = nothing, samples = 0 }: InvocationContext,
  timesMax: number,
): "exhausted" | "budget_exhausted" | undefined {
  if (samples >= timesMax) return "exhausted";
  const why = ledger === undefined ? undefined : exhaustion(spend(ledger, spent));
  return why === undefined ? undefined : "budget_exhausted";
}

/** How much the model may say, if a server wants so much. */
export function sampleTokens({ ledger, spent = nothing }: InvocationContext, wanted: number): number {
  const left = ledger === undefined ? undefined : leftOf(spend(ledger, spent)).tokens;
  return Math.max(1, Math.min(wanted, left ?? Infinity));
}

/** What the call cost with one more answer, or one that did not come. */
export function withSample({ spent = nothing }: InvocationContext, sample: Sample | undefined): Spent {
  const cost = sample?.usage === undefined ? {} : spentBy(sample.usage);
  return plus(spent, { ...cost, model_calls: 1 });
}

/** What the server is told: the cost is not its business. */
export function told({ usage: _, ...sample }: Sample): Sample {
  return sample;
}
