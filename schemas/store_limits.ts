/** Bounds of the store as its callers meet it: part of `limits`. */
export const storeCallerLimits = {
  /** How long a caller waits for a store that takes nothing, before it is told so. */
  storePatienceMs: 5_000,
} as const;
