/** What a session and its children may spend, what they spent, and the ledger that holds both. */
import { z } from "zod";
import { limits } from "./limits.ts";

const count = z.int().min(0).max(limits.budgetCountMax);

/**
 * What may be spent in all. A field that is absent has no bound. Tokens are those of the model's input and output;
 * children are counted with their own children.
 */
export const Budget = z.strictObject({
  tokens: z.int().min(1).max(limits.budgetTokensMax).exactOptional(),
  /** To the billionth of a dollar. */
  cost_usd: z.number().positive().max(limits.budgetCostUsdMax).exactOptional(),
  /** The time in which turns run, also while they wait. Milliseconds. */
  wall_ms: z.int().min(1).max(limits.budgetWallMsMax).exactOptional(),
  tool_calls: count.exactOptional(),
  processes: count.exactOptional(),
  children: count.exactOptional(),
});
/** What may be spent in all. */
export type Budget = z.infer<typeof Budget>;

/** The fields of a budget. */
export const BudgetField = z.enum(["tokens", "cost_usd", "wall_ms", "tool_calls", "processes", "children"]);
/** A field of a budget. */
export type BudgetField = z.infer<typeof BudgetField>;

const spent = z.int().min(0).default(0);

/** What was spent, with that of children that have ended. */
export const Spent = z.strictObject({
  tokens: spent,
  cost_usd: z.number().min(0).default(0),
  wall_ms: spent,
  tool_calls: spent,
  processes: spent,
  children: spent,
  /** How often a model was asked; of how many its provider told the tokens, and the cost. */
  model_calls: spent,
  counted_calls: spent,
  priced_calls: spent,
});
/** What was spent. */
export type Spent = z.infer<typeof Spent>;

/** What may be spent, what was, and what children hold that still run: by the child, each a part of the budget. */
export const Ledger = z.strictObject({
  budget: Budget,
  spent: Spent,
  reserved: z.record(z.string().max(limits.idBytesMax), Budget),
});
/** What may be spent, what was, and what children hold. */
export type Ledger = z.infer<typeof Ledger>;
