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
  /** Pause after a look at a whole family for `watch view: state`, in milliseconds, and how many times as long as the look. */
  statePauseMs: 50,
  statePauseRatio: 9,
  /** How often a program may promise to show that it is there, in milliseconds. */
  heartbeatMsMin: 1_000,
  heartbeatMsMax: 3_600_000,
  /** A program counts as gone after so many times its own `every_ms` without a heartbeat. */
  heartbeatsMissedMax: 3,
  /** Requests of one pipe that are open at once. */
  rpcRequestsMax: 32,
  /** Requests of one connection by HTTP that are worked on at once; what comes above waits (F34). */
  requestsAtOnceMax: 32,
  /** Answers that wait for a slow reader of a pipe, in bytes; with more of them, nothing is read. */
  rpcUnwrittenBytesMax: 1_048_576,
  /** Bytes of such events (F33). */
  watchBytesMax: 1_048_576,
  /** Time that a watcher who was told `slow_consumer` has to read what waits for it, in milliseconds. */
  slowWatcherMs: 5_000,
  /** Time without a word after which a watcher is shown that the connection stands, in milliseconds. */
  heartbeatMs: 15_000,
  /** Pause before a watcher comes again, in milliseconds. */
  watchRetryMs: 1_000,
  /** Time for all headers of a request, in milliseconds. */
  headersMs: 10_000,
  /** Time for the body of a request, in milliseconds (B12). */
  bodyMs: 30_000,
  /** Connections at once. What comes above is closed at once. */
  connectionsMax: 4_096,
  /** Arrays and objects inside each other in a body (GA-25). */
  bodyDepthMax: 64,
  /** Requests a second of one principal to one agent by one route, and how many may come at once (GA-51). */
  rate: { perSecond: 20, burst: 40 },
  /** Refused tokens a second of one peer, and how many may come at once (B15). */
  refusedTokens: { perSecond: 1, burst: 10 },
  /** Rates that are kept in mind; the oldest is forgotten. */
  ratesMax: 10_000,
  /** Time for what was accepted when the server is asked to end, in milliseconds (F03). */
  drainMs: 10_000,
  /** The same when it is asked again, in milliseconds (F04). */
  hurriedDrainMs: 1_000,
  /** How long a key is kept at least, with its reply, from the reply on, in milliseconds: a day. */
  keyKeptMs: 86_400_000,
  /** Keys that are looked at in one go, to forget the old ones, and the pause between two goes, in milliseconds. */
  keyPassRowsMax: 500,
  keyPassPauseMs: 1_000,
  /** Pause before the keys are looked at from the beginning again, in milliseconds. */
  keyRoundMs: 3_600_000,
  /** How long a quiet moment is waited for, in milliseconds. */
  keyQuietMsMax: 60_000,
  /** Sessions that one MCP client may be told of. */
  mcpSubscriptionsMax: 64,
  /** Shortest time between two notices that the same session has gone on, in milliseconds. */
  mcpNoticesMs: 100,
  /** Characters of a session as a resource of MCP; of a longer one its end. */
  mcpTranscriptCharactersMax: 1_048_576,
  /** Time for the last words to those who still wait after that, in milliseconds. */
  farewellMs: 500,
} as const;
