/** Bounds of how turns go on after failures of their models. */
export const recoveryLimits = {
  /** The first wait between two tries of a model call, which doubles; the longest; and what is added by chance. */
  modelRetryFirstMs: 1_000,
  modelRetryMsMax: 30_000,
  modelRetryJitterMs: 1_000,
  /** The shortest wait for a provider that asks to be left alone. Milliseconds. */
  rateLimitMsMin: 1_000,
  /** How often an answer that was cut off is gone on with (LC-30). */
  truncationsMax: 3,
} as const;
