/** Limits of scripts. */
export const scriptLimits = {
  /** Prepared answers of one conversation. */
  scriptAnswersMax: 10_000,
  /** Conversations that have answers of their own. */
  scriptConversationsMax: 1_000,
} as const;
