/**
 * One MCP server in the scope of one session: started when it is needed, asked for its tools, watched, closed.
 *
 *   idle -> gating -> (asking ->) connecting -> listing -> ready -> closed
 *   gating | asking | connecting -> failed; connecting | listing | ready -> closing -> closed | failed | gating
 *   closed | failed -> gating (connection.open); ready -> listing again, if the list does not count any more
 *
 * Opening is answered exactly once: to every command that asked, and to the catalog. Calls are not made here: an
 * invocation makes its own, by the port `mcp.call`, through whatever this connection keeps open.
 */
import { assign, enqueueActions, setup } from "xstate";
import { limits } from "../schemas/limits.ts";
import type { ConnectionContext, ConnectionEvent, ConnectionInput } from "./connection_context.ts";
import * as rules from "./connection_rules.ts";
import { post } from "./outbox.ts";
import { port } from "./port.ts";
import { questionMachine } from "./question.ts";
import * as refresh from "./refresh.ts";

export type { ConnectionContext, ConnectionEvent, ConnectionInput } from "./connection_context.ts";

/** However the ending came out. */
const afterClosing = [
  { guard: "isFailing", target: "failed", actions: "noteSettled" },
  { guard: "isReopening", target: "gating", actions: ["noteSettled", "farewell"] },
  { target: "closed", actions: "noteSettled" },
] as const;

/** Another declaration needs another server. */
const closeIfOther = [
  { guard: "isOther", target: "closing", actions: ["noteTime", "noteNext", "acknowledge"] },
  { actions: "acknowledge" },
] as const;

/** The behaviour of one connection. Stops at 1,000 microsteps (K8). */
export const connectionMachine = setup({
  types: {
    context: {} as ConnectionContext,
    events: {} as ConnectionEvent,
    input: {} as ConnectionInput,
    tags: "" as "rest",
  },
  actors: { port, question: questionMachine },
  guards: {
    hasObstacle: ({ context }) => rules.obstacle(context) !== null,
    needsApproval: ({ context }) => rules.needsApproval(context),
    isAllowed: ({ event }) => rules.answerIn(event).decision === "allow",
    isOther: ({ context, event }) => rules.isOther(context, event),
    isHeld: ({ context, event }) => rules.isHeld(context, event),
    isReopening: ({ context }) => context.isAwaited && !context.isClosing,
    isFailing: ({ context }) => rules.isFailing(context),
    isCanceled: ({ context }) => context.isCanceled,
    isCrowded: ({ context, event }) => rules.isCrowded(context, event),
    isNoGreeting: ({ event }) => rules.greetingIn(event) === null,
    isNoListing: ({ event }) => rules.listingIn(event) === null,
    isCutOff: ({ context, event }) => rules.isCutOff(context, event),
    isUncertain: ({ event }) => rules.isUncertain(event),
    isListChanged: ({ event }) => refresh.isListChanged(event),
    isListOld: ({ context, event }) => refresh.isListOld(context, event),
    isRefetched: ({ context, event }) => refresh.isRefetched(context, event),
  },
  actions: {
    post,
    noteTime: assign(({ context, event }) => ({ at: "at" in event ? event.at : context.at })),
    noteAnswer: assign(({ event }) => ({ at: rules.answerIn(event).at })),
    noteSettled: assign(({ event }) => ({ at: rules.settledAt(event) })),
    noteWaiter: assign(({ context, event }) => rules.withWaiter(context, event)),
    noteCloser: assign(({ context, event }) => rules.withCloser(context, event)),
    noteNext: assign(({ event }) => ({ next: rules.declarationIn(event) })),
    takeNext: assign(({ context }) => rules.withNext(context)),
    allow: assign({ isApproved: true }),
    noteObstacle: assign(({ context }) => ({ failure: rules.obstacle(context) })),
    noteDenial: assign(({ context, event }) => ({ failure: rules.denial(context, rules.answerIn(event)) })),
    noteFailure: assign(({ event }) => rules.failedIn(event)),
    noteFault: assign(({ context }) => ({ failure: rules.fault(context) })),
    noteFailing: assign({ isFailing: true }),
    noteInterruption: assign(({ context }) => ({ interruptions: context.interruptions + 1 })),
    noteGreeting: assign(({ event }) => ({ greeting: rules.greetingIn(event) })),
    noteListing: enqueueActions(({ context, enqueue, event }) => {
      const listing = rules.listingIn(event);
      const { state, note } = refresh.listed({ ...context, listing }, context.listing);
      enqueue.assign({ listing, ...state });
      enqueue({ type: "post", params: note });
    }),
    noteListOld: assign(({ context }) => refresh.oldListRule(context)),
    noteRefresh: assign(({ event }) => refresh.refreshRule(event)),
    noteListChanged: enqueueActions(({ context, enqueue }) => {
      enqueue.assign({ staleBy: "list_changed" });
      enqueue({ type: "post", params: refresh.staleOffer(context, "list_changed") });
    }),
    tellLost: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: refresh.staleOffer(context, "disconnect") });
    }),
    answerNotOpen: enqueueActions(({ enqueue, event }) => {
      for (const params of refresh.notOpen(event)) enqueue({ type: "post", params });
    }),
    launch: assign(({ context }) => rules.launched(context)),
    acknowledge: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.acknowledge(event)) enqueue({ type: "post", params });
    }),
    refuseCommand: enqueueActions(({ enqueue, event }) => {
      for (const params of rules.refuse(event)) enqueue({ type: "post", params });
    }),
    openQuestion: enqueueActions(({ context, enqueue }) => {
      enqueue.spawnChild("question", { id: "question", input: rules.connectQuestion(context) });
    }),
    endQuestion: enqueueActions(({ enqueue }) => enqueue.stopChild("question")),
    cancelConnect: enqueueActions(({ enqueue }) => {
      enqueue.sendTo("connect", { type: "port.cancel" });
      enqueue.assign({ isCanceled: true });
    }),
    answerReady: enqueueActions(({ context, enqueue }) => {
      for (const params of rules.answer(context, null)) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    answerFailed: enqueueActions(({ context, enqueue }) => {
      for (const params of rules.answer(context, context.failure)) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    answerClosed: enqueueActions(({ context, enqueue }) => {
      if (!context.isAwaited) return;
      for (const params of rules.answer(context, rules.closed(context))) enqueue({ type: "post", params });
      enqueue.assign({ waiters: [], isAwaited: false, interruptions: 0 });
    }),
    farewell: enqueueActions(({ context, enqueue }) => {
      for (const params of rules.farewell(context)) enqueue({ type: "post", params });
      enqueue.assign({ closers: [], isClosing: false });
    }),
    noteFailedAt: assign(({ context }) => ({ failedAtMs: context.at })),
  },
}).createMachine({
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
  },
  states: {
    idle: {
      tags: "rest",
      on: {
        "connection.open": { target: "gating", actions: ["noteTime", "noteWaiter"] },
        "connection.close": { actions: ["noteTime", "noteCloser", "farewell"] },
        "connection.declare": { actions: ["noteTime", "noteNext", "takeNext", "acknowledge"] },
      },
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
          { target: "failed", actions: "noteFailure" },
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
          { target: "ready", actions: ["noteSettled", "noteListing", "answerReady"] },
        ],
        onError: [
          { guard: "isCutOff", target: "closing", actions: ["noteSettled", "noteInterruption"] },
          { target: "closing", actions: ["noteFailure", "noteFailing"] },
        ],
      },
      on: {
        "connection.close": { target: "closing", actions: ["noteTime", "noteCloser"] },
        "connection.declare": closeIfOther,
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
          { target: "closed", actions: ["noteSettled", "tellLost"] },
        ],
        onError: { target: "closed", actions: ["noteFailure", "tellLost"] },
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
        "connection.close": { target: "closing", actions: ["noteTime", "noteCloser"] },
        "connection.declare": closeIfOther,
      },
    },
    closing: {
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
      on: {
        "connection.open": { target: "gating", actions: ["noteTime", "noteWaiter"] },
        "connection.close": { actions: ["noteTime", "noteCloser", "farewell"] },
        "connection.declare": { actions: ["noteTime", "noteNext", "takeNext", "acknowledge"] },
      },
    },
    failed: {
      tags: "rest",
      entry: ["noteFailedAt", "answerFailed", "farewell"],
      on: {
        "connection.open": [
          { guard: "isHeld", actions: ["noteTime", "noteWaiter", "answerFailed"] },
          { target: "gating", actions: ["noteTime", "noteWaiter"] },
        ],
        "connection.close": { actions: ["noteTime", "noteCloser", "farewell"] },
        "connection.declare": [
          { guard: "isOther", target: "idle", actions: ["noteTime", "noteNext", "takeNext", "acknowledge"] },
          { actions: "acknowledge" },
        ],
      },
    },
  },
});
