/** Bounds of programs that bring tools over the API (CM-37). */
export const programLimits = {
  /** Longest that a call of a program's tool takes, if nobody says how long. */
  callMs: 300_000,
  /** Longest that a program takes to prepare a model round. */
  prepareMs: 30_000,
  /** What a call gets beyond the time that its arguments ask for. */
  askedExtraMs: 30_000,
  /** Time in which a program whose stream broke comes back, and in which a report after the deadline still counts. */
  leaseGraceMs: 10_000,
  /** Time in which a program that was told of a cancel may still say what it did. */
  cancelGraceMs: 4_000,
  /** What is left beyond the lease for the mailbox itself to say how a call ended. */
  marginMs: 1_000,
  /** Calls that wait for one program, or are with it. */
  callsMax: 256,
  toolsMax: 128,
  /** A program's tools stand in the entries of every catalog that they come into. */
  manifestBytesMax: 131_072,
  /** Reports of one program that are kept in memory with their answers; older ones are found in the store. */
  reportsMax: 1_000,
  /** Age at which a report's row goes. */
  reportAgeMs: 86_400_000,
  /** Longest that a report is held until its outcome is durable. */
  reportWaitMs: 30_000,
} as const;
