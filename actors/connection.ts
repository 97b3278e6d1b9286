/**
 * One MCP server in the scope of one session: started when it is needed, asked for its tools, watched, closed.
 *
 *   idle -> gating -> (asking ->) connecting -> listing -> ready -> recovering | draining -> closed | idle
 *   gating | asking | connecting -> failed | backoff; connecting | listing -> closing -> closed | failed | backoff |
 *   quarantined | gating; listing -> draining; ready -> quarantined; backoff -> idle (its timer)
 *   closed | recovering | failed -> gating (connection.open); ready -> listing again, if the list does not count any more
 *
 * Opening is answered exactly once: to every command that asked, and to the catalog. Calls are not made here: an
 * invocation makes its own, by the port `mcp.call`, through whatever this connection keeps open.
 */
import { limits } from "../schemas/limits.ts";
import * as health from "./connection_health.ts";
import * as rules from "./connection_rules.ts";
import { connectionSetup } from "./connection_setup.ts";

export type { ConnectionContext, ConnectionEvent, ConnectionInput } from "./connection_context.ts";

/** However the ending came out. */
const afterClosing = [
  { guard: "isWornOutFailing", target: "quarantined", actions: ["noteSettled", "noteQuarantine"] },
  { guard: "isDrifted", target: "quarantined", actions: ["noteSettled", "noteHeld"] },
  { guard: "isMisdeclared", target: "failed", actions: "noteSettled" },
  { guard: "isFailing", target: "backoff", actions: "noteSettled" },
  { guard: "isReopening", target: "gating", actions: ["noteSettled", "farewell"] },
  { guard: "isParked", target: "idle", actions: ["noteSettled", "takeNext"] },
  { target: "closed", actions: "noteSettled" },
] as const;

/** Another declaration needs another server. */
const drainIfOther = [
  { guard: "isOther", target: "draining", actions: ["noteTime", "noteNext", "acknowledge"] },
  { actions: "acknowledge" },
] as const;

/** Nothing runs: whoever wants the server has it started. */
const atRest = {
  "connection.open": { target: "gating", actions: ["noteTime", "noteWaiter"] },
  "connection.close": { actions: ["noteTime", "noteCloser", "farewell"] },
  "connection.declare": { actions: ["noteTime", "noteNext", "takeNext", "acknowledge"] },
} as const;

/** Nothing runs, and nothing is started before time, a person or another declaration changes that. */
const heldBack = {
  "connection.open": { actions: ["noteTime", "noteWaiter", "answerFailed"] },
  "connection.close": { actions: ["noteTime", "noteCloser", "farewell"] },
  "connection.refresh": [
    { guard: "isRetry", target: "gating", actions: ["noteTime", "noteWaiter", "forgive"] },
    { actions: "answerNotOpen" },
  ],
  "connection.declare": [
    {
      guard: "isOther",
      target: "idle",
      actions: ["noteTime", "noteNext", "takeNext", "forgive", "acknowledge"],
    },
    { actions: "acknowledge" },
  ],
} as const;

/** The behaviour of one connection. Stops at 1,000 microsteps (K8). */
export const connectionMachine = connectionSetup.createMachine({
  id: "connection",
  initial: "idle",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => rules.newborn(input),
  // Where nothing else is said, wishes are noted, and looked at once the state is left.
  on: {
    "connection.open": [
      { guard: "isCrowded", actions: "refuseCommand" },
      { actions: ["noteTime", "noteWaiter"] },
    ],
    "connection.close": [
      { guard: "isCrowded", actions: "refuseCommand" },
      { actions: ["noteTime", "noteCloser"] },
    ],
    "connection.declare": [
      { guard: "isOther", actions: ["noteTime", "noteNext", "acknowledge"] },
      { actions: "acknowledge" },
    ],
    "connection.refresh": { actions: "answerNotOpen" },
    "connection.subscribe": { actions: ["noteSubscription", "acknowledge"] },
    "connection.unsubscribe": { actions: ["noteSubscription", "acknowledge"] },
  },
  states: {
    idle: {
      tags: "rest",
      on: atRest,
    },
    gating: {
      entry: "takeNext",
      always: [
        { guard: "hasObstacle", target: "failed", actions: "noteObstacle" },
        { guard: "needsApproval", target: "asking" },
        { target: "connecting", actions: "launch" },
      ],
    },
    asking: {
      entry: "openQuestion",
      exit: "endQuestion",
      on: {
        "xstate.done.actor.question": [
          { guard: "isAllowed", target: "connecting", actions: ["noteAnswer", "allow", "launch"] },
          { target: "failed", actions: ["noteAnswer", "noteDenial"] },
        ],
        "connection.close": { target: "closed", actions: ["noteTime", "noteCloser"] },
        "connection.declare": [
          { guard: "isOther", target: "gating", actions: ["noteTime", "noteNext", "acknowledge"] },
          { actions: "acknowledge" },
        ],
      },
    },
    connecting: { // Left only by the port's own outcome (K11).
      invoke: {
        id: "connect",
        src: "port",
        input: ({ context }) => rules.connect(context),
        onDone: [
          { guard: "isCanceled", target: "closing", actions: "noteSettled" },
          { guard: "isNoGreeting", target: "closing", actions: ["noteSettled", "noteFault", "noteFailing"] },
          { target: "listing", actions: ["noteSettled", "noteGreeting"] },
        ],
        onError: [
          { guard: "isCanceled", target: "closing", actions: "noteSettled" },
          { guard: "isCutOff", target: "closing", actions: ["noteSettled", "noteInterruption"] },
          { guard: "isUncertain", target: "closing", actions: ["noteFailure", "noteFailing"] },
          { target: "unready", actions: "noteFailure" },
        ],
      },
      on: {
        "connection.close": [
          { guard: "isCrowded", actions: "refuseCommand" },
          { actions: ["noteTime", "noteCloser", "cancelConnect"] },
        ],
        "connection.declare": [
          { guard: "isOther", actions: ["noteTime", "noteNext", "acknowledge", "cancelConnect"] },
          { actions: "acknowledge" },
        ],
      },
    },
    listing: {
      invoke: {
        id: "list",
        src: "port",
        input: ({ context }) => rules.list(context),
        onDone: [
          { guard: "isNoListing", target: "closing", actions: ["noteSettled", "noteFault", "noteFailing"] },
          {
            target: "ready",
            actions: ["noteSettled", "noteListing", "noteRecovered", "openSession", "answerReady"],
          },
        ],
        onError: [
          { guard: "isCutOff", target: "closing", actions: ["noteSettled", "noteInterruption"] },
          {
            guard: "isCrash",
            target: "closing",
            actions: ["noteListingCrash", "noteFailure", "noteFailing"],
          },
          { target: "closing", actions: ["noteFailure", "noteFailing"] },
        ],
      },
      on: {
        "connection.close": { target: "draining", actions: ["noteTime", "noteCloser"] },
        "connection.declare": drainIfOther,
      },
    },
    ready: {
      tags: "rest",
      invoke: {
        id: "watch",
        src: "port",
        input: ({ context }) => rules.watch(context),
        onDone: [
          {
            guard: "isListChanged",
            target: "ready",
            reenter: true,
            actions: ["noteSettled", "noteListChanged"],
          },
          { guard: "isUpdated", target: "ready", reenter: true, actions: ["noteSettled", "tellUpdated"] },
          { guard: "isIdle", target: "draining", actions: ["noteSettled", "noteParking"] },
          {
            guard: "isLastCrash",
            target: "quarantined",
            actions: ["noteCrash", "noteQuarantine", "clearSession", "tellLost"],
          },
          { target: "recovering", actions: ["noteCrash", "clearSession", "tellFailed", "tellLost"] },
        ],
        onError: { target: "recovering", actions: ["noteFailure", "clearSession", "tellLost"] },
      },
      on: {
        "connection.open": [
          { guard: "isListOld", target: "listing", actions: ["noteTime", "noteWaiter", "noteListOld"] },
          { actions: ["noteTime", "noteWaiter", "answerReady"] },
        ],
        "connection.refresh": [
          { guard: "isRefetched", actions: "acknowledge" },
          { guard: "isCrowded", actions: "refuseCommand" },
          { target: "listing", actions: ["noteTime", "noteWaiter", "noteRefresh"] },
        ],
        "connection.close": { target: "draining", actions: ["noteTime", "noteCloser"] },
        "connection.declare": drainIfOther,
      },
    },
    recovering: { // Lost: the calls in flight have ended by their class; whoever wants the server next opens it anew.
      tags: "rest",
      on: { ...atRest, "connection.close": { target: "closed", actions: ["noteTime", "noteCloser"] } },
    },
    draining: { // Takes no calls any more, and waits for those in flight, but not for long.
      exit: "clearSession",
      invoke: {
        id: "close",
        src: "port",
        input: ({ context }) => rules.close(context),
        onDone: afterClosing,
        onError: afterClosing,
      },
    },
    closing: { // Ends what could not be used, or what may be left of a start.
      exit: "clearSession",
      invoke: {
        id: "close",
        src: "port",
        input: ({ context }) => rules.close(context),
        onDone: afterClosing,
        onError: afterClosing,
      },
    },
    closed: {
      tags: "rest",
      entry: ["takeNext", "answerClosed", "farewell"],
      on: atRest,
    },
    unready: {
      always: [
        { guard: "isOfConfiguration", target: "failed" },
        { target: "backoff" },
      ],
    },
    failed: { // What its declaration says cannot work here, or may not be done.
      tags: "rest",
      entry: ["noteFailed", "answerFailed", "farewell"],
      on: {
        ...heldBack,
        "connection.open": [
          { guard: "isHeld", actions: ["noteTime", "noteWaiter", "answerFailed"] },
          { target: "gating", actions: ["noteTime", "noteWaiter"] },
        ],
      },
    },
    backoff: { // Whoever wants the server is answered from memory; then exactly one may try.
      tags: "rest",
      entry: ["noteFailed", "answerFailed", "farewell"],
      invoke: {
        id: "timer",
        src: "port",
        input: ({ context }) => health.backOff(context),
        onDone: { target: "idle", actions: "noteSettled" },
        onError: { target: "idle", actions: "noteSettled" },
      },
      on: heldBack,
    },
    quarantined: { // Ended by itself too often, or is another one: a person or another declaration has it started again.
      tags: "rest",
      entry: ["tellFailed", "answerFailed", "farewell"],
      on: {
        ...heldBack,
        "connection.open": [
          { guard: "isApprovable", target: "gating", actions: ["noteTime", "noteWaiter"] },
          heldBack["connection.open"],
        ],
      },
    },
  },
});
