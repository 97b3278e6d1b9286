/** Bounds of leases, where several runtimes share one store (K17, GA-45). */
export const leaseLimits = {
  /** Age at which a lease is over that nobody renewed. */
  leaseMs: 30_000,
  leaseBeatMs: 10_000,
  /** Pause between two looks for roots whose runtime is gone. */
  leaseScanMs: 5_000,
  /** Roots that one look takes over. */
  leaseScanRootsMax: 100,
  /** Pause between two looks for letters of other runtimes: the longest that a letter lies. */
  leaseLettersMs: 1_000,
  /** Checks of one commit, beside that of the runtime's own line: one a root, two for a new one. */
  leaseChecksMax: 99,
  /** Line of a runtime that is this old, and owns nothing, is forgotten. */
  leaseLineAgeMsMax: 86_400_000,
} as const;
