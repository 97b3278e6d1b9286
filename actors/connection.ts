/**
 * One MCP server in the scope of one session: started when it is needed, asked for its tools, watched, closed.
 *
 *   idle -> gating -> (asking ->) connecting -> listing -> ready -> closed
 *   gating | asking | connecting -> failed; connecting | listing | ready -> closing -> closed | failed | gating
 *   closed | failed -> gating (connection.open)
 *
 * Opening is answered exactly once: to every command that asked, and to the catalog. Calls are not made here: an
 * invocation makes its own, by the port `mcp.call`, through whatever this connection keeps open.
 */
import { assign, enqueueActions, setup } from "xstate";
import type { McpGreeting, McpListing } from "../schemas/effect.ts";
import type { Failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import type { CommandRef, ConnectionMessage, Stamp } from "../schemas/message.ts";
import * as rules from "./connection_rules.ts";
import { post } from "./outbox.ts";
import { port } from "./port.ts";
import { questionMachine, type QuestionResult } from "./question.ts";

/** What a connection is created with. */
export interface ConnectionInput {
  readonly address: string;
  /** The root that is told what the server offers. */
  readonly catalog: string;
  readonly declaration: McpDeclaration;
}

/** What a connection is told. */
export type ConnectionEvent =
  | (ConnectionMessage & Stamp)
  | { readonly type: "xstate.done.actor.question"; readonly output: QuestionResult };

/** What a connection remembers. */
export interface ConnectionContext extends ConnectionInput {
  /** The time of the latest event. */
  readonly at: number;
  /** A declaration that takes the place of this one once the server has ended. */
  readonly next: McpDeclaration | null;
  /** True once a person has allowed this declaration. */
  readonly isApproved: boolean;
  /** True while somebody waits for an answer to `connection.open`. */
  readonly isAwaited: boolean;
  /** True if it shall be closed, whoever waits. */
  readonly isClosing: boolean;
  /** How often the server was started. */
  readonly launch: number;
  readonly greeting: McpGreeting | null;
  readonly listing: McpListing | null;
  readonly failure: Failure | null;
  readonly failedAtMs: number;
  /** True if closing ends in `failed`, since the server cannot be used. */
  readonly isFailing: boolean;
  /** True once the start at hand was given up: whatever comes of it, it is closed. */
  readonly isCanceled: boolean;
  /** How often starting was cut off since somebody was answered last. */
  readonly interruptions: number;
  readonly waiters: readonly CommandRef[];
  readonly closers: readonly CommandRef[];
}

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
    noteListing: assign(({ event }) => ({ listing: rules.listingIn(event) })),
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
        onDone: { target: "closed", actions: "noteSettled" },
        onError: { target: "closed", actions: "noteFailure" },
      },
      on: {
        "connection.open": { actions: ["noteTime", "noteWaiter", "answerReady"] },
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
