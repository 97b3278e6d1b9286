/** Limits of the actor API. */
export const apiLimits = {
  /** Bytes of one request's body (GA-25). */
  bodyBytesMax: 1_048_576,
  /** Longest `wait_ms` of an `ask`; who needs longer asks again with the same key. */
  askWaitMsMax: 600_000,
  /** Sessions in one page of `list`. */
  listPageMax: 200,
  /** Sessions that `tree` reads, the newest. */
  treeSessionsMax: 50,
  /** Events that wait for a slow watcher before it is told `slow_consumer`. */
  watchEventsMax: 1_000,
  /** How often a program may promise to show that it is there, in milliseconds. */
  heartbeatMsMin: 1_000,
  heartbeatMsMax: 3_600_000,
  /** A program counts as gone after so many times its own `every_ms` without a heartbeat. */
  heartbeatsMissedMax: 3,
  /** Requests of one pipe that are open at once. */
  rpcRequestsMax: 32,
  /** Answers that wait for a slow reader of a pipe, in bytes; with more of them, nothing is read. */
  rpcUnwrittenBytesMax: 1_048_576,
  /** How long a runtime that stops waits for what it has accepted. */
  drainMs: 10_000,
  /** The same, once somebody is in a hurry. */
  hurriedDrainMs: 1_000,
} as const;
