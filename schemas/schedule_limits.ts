/** Bounds of schedules: part of all bounds, which are compared in `limits.ts`. */
export const scheduleLimits = {
  /** Schedules of one session that wait. */
  schedulesPerSessionMax: 32,
  schedulePromptCharactersMax: 8_000,
  /** How far ahead a schedule that is due once may lie. Milliseconds. */
  scheduleAheadMsMax: 5 * 366 * 86_400_000,
  /** From so late on it is said that nothing ran when a prompt was due. Milliseconds. */
  scheduleOverdueMs: 60_000,
  /** Missed due times that are counted one by one. */
  scheduleMissedCountedMax: 1_000,
  /** Entries at the end of a schedule's stream in which its state is looked for before all are read. */
  scheduleTailEntries: 64,
} as const;
