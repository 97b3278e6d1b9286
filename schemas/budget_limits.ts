/** Bounds of what a budget may allow: part of `limits`. */
export const budgetLimits = {
  budgetTokensMax: 1_000_000_000_000,
  budgetCostUsdMax: 1_000_000,
  /** A year. */
  budgetWallMsMax: 31_536_000_000,
  /** Calls of tools, processes, children. */
  budgetCountMax: 1_000_000_000,
  /** Children of one session that hold a part of its budget at once. */
  budgetSharesMax: 1_000,
  /** The latest text of a turn with a budget, kept for those who wait if the budget ends it. */
  partialCharactersMax: 8_000,
} as const;
