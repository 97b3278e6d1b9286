/** From when on the doctor says something of what stands around a store. */
export const doctorBounds = {
  /** Free space of the disk below which the doctor says that it is low. */
  diskFreeBytesLow: 100 * 1_048_576,
  /** Size from which on a write-ahead log is told of. */
  writeAheadLogBytesLarge: 64 * 1_048_576,
  /** How long a blob that nothing names is kept: the entry that names it may still come. */
  orphanKeptMs: 24 * 3_600_000,
  /** Left-over processes that are named; the rest is counted. */
  processesNamedMax: 20,
} as const;
