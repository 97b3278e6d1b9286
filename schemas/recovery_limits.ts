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
  /** Of a conversation that is too long: the newest results that stay, and the shortest that is worth a reference. */
  compactionResultsKept: 2,
  compactionCharactersMin: 400,
  /** Results of which the note of it tells one by one. */
  compactionNotedMax: 100,
  /** Tools of one turn that a model is not told of, since it does not take their schemas. */
  toolsHiddenMax: 16,
  /** Requests to one provider at once, unless its configuration says otherwise (CM-117). */
  modelRequestsAtOnceDefault: 8,
  /** How long a provider is left alone that had too many requests and does not say for how long. Milliseconds. */
  modelCoolDownMs: 5_000,
  /** The longest cool-down that a request waits for in memory: else its turn waits, in the journal. Milliseconds. */
  admissionCoolDownMsMax: 60_000,
  /** How many requests wait for one provider, and for how long. Milliseconds. */
  admissionQueueMax: 10_000,
  admissionWaitMsMax: 600_000,
} as const;
