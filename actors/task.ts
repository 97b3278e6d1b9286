/**
 * One background task, from its birth to its one ending.
 *
 *   opening -> queued -> running -> ended; queued -> ended; for child agents see `actors/task_agent_states.ts`
 *
 * Its session lets it begin, and is told how it ended: by a letter in the commit of that ending, so exactly once,
 * whatever runs or stops meanwhile (DM-122). Who cancels is answered at the end, when nothing of the task is left; all
 * that ask meanwhile share the one cancel (DM-104). Keeps K11: `running` is left only by the port's own outcome.
 */
import { assign, enqueueActions, sendTo, setup } from "xstate";
import type { Budget } from "../schemas/budget.ts";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Stamp } from "../schemas/message.ts";
import type { TaskInput, TaskMessage, TaskOutcome, TaskStatus } from "../schemas/task.ts";
import type { Failure } from "../schemas/failure.ts";
import { post } from "./outbox.ts";
import { doneOf, failedOf, port } from "./port.ts";
import * as agent from "./task_agent.ts";
import * as close from "./task_agent_close.ts";
import { agentStates, waitingChild } from "./task_agent_states.ts";
import * as questions from "./task_questions.ts";
import * as rules from "./task_rules.ts";

/** What a task is told. */
export type TaskEvent = TaskMessage & Stamp;

/** What a task remembers. */
export interface TaskContext extends TaskInput, questions.ChildQuestions {
  readonly status: TaskStatus;
  readonly turn: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly outcome: TaskOutcome | null;
  readonly failure: Failure | null;
  /** Who asked for its end, and is answered then. */
  readonly waiting: readonly CommandRef[];
  readonly cancelAsked: boolean;
  /** What is known of the child that the task runs; absent for other work. */
  readonly child?: agent.ChildState;
  /** What the child may spend. */
  readonly budget?: Budget;
  /** Since when its end is waited for, in milliseconds since the epoch. */
  readonly closeAt?: number;
}

/** When something came back from the world. */
function timeOf(event: unknown): number {
  const { at, output, error } = event as {
    readonly at?: number;
    readonly output?: { readonly at: number };
    readonly error?: { readonly at: number };
  };
  return at ?? output?.at ?? error?.at ?? 0;
}

/** The behaviour of one task. Stops at 1,000 microsteps (K8). */
export const taskMachine = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    input: {} as TaskInput,
    tags: "" as "rest",
  },
  actors: { port },
  guards: {
    isBlockedChange: ({ context, event }) => questions.isChange(context, event),
    isOfChild: ({ event }) => questions.isOfChild(event),
    isAgent: ({ context }) => context.work.kind === "agent.spawn",
    isAdmitted: ({ context }) => agent.childOf(context).isAdmitted,
    isClosing: ({ context }) => agent.childOf(context).strictness !== null,
    isForced: ({ context }) => agent.childOf(context).strictness === "forced",
    isFromChild: ({ context, event }) => agent.isFromChild(context, event),
    isMoreAwaited: ({ context, event }) => agent.isMoreAwaited(context, event),
    isOneAnswer: ({ context, event }) =>
      agent.isFromChild(context, event) && agent.workOf(context).scope === "task",
    isStricter: ({ context, event }) => close.isStricter(context, event),
  },
  actions: {
    post,
    noteAccepted: assign(({ event }) => agent.accepted(event)),
    noteRefused: assign(({ context, event }) => agent.refused(context, event)),
    noteUnopened: assign(({ context }) => agent.unopened(context)),
    noteMade: assign(({ context }) => agent.made(context)),
    noteClose: assign(({ context, event }) => close.closeAsked(context, event)),
    noteOver: assign(({ context, event }) => close.over(context, timeOf(event))),
    noteForced: assign(({ context, event }) => close.forced(context, timeOf(event))),
    noteAcknowledged: assign(({ context }) => close.acknowledged(context)),
    noteClosed: assign(({ context, event }) => close.closed(context, event)),
    noteUnclosed: assign(({ context, event }) => close.unclosed(context, timeOf(event))),
    noteLost: assign(({ context, event }) => close.lost(context, event)),
    noteAnswered: assign(({ context, event }) => agent.answered(context, event)),
    noteResting: assign(({ context }) => agent.unadmitted(context)),
    noteWaiting: assign(({ context }) => agent.waiting(context)),
    keepPrompt: assign(({ context, event }) => agent.keepPrompt(context, event)),
    noteChildAdmitted: assign(({ context, event }) => agent.admitted(context, event)),
    sendPrompts: enqueueActions(({ context, enqueue }) => {
      for (const params of agent.prompts(context)) enqueue({ type: "post", params });
      enqueue.assign(agent.prompted(context));
    }),
    sendNow: enqueueActions(({ context, enqueue, event }) => {
      for (const params of agent.sendNow(context, event)) enqueue({ type: "post", params });
      enqueue.assign(agent.sentNow(context));
    }),
    answerSend: enqueueActions(({ context, enqueue, event }) => {
      for (const params of agent.sent(event, agent.isCrowded(context))) enqueue({ type: "post", params });
    }),
    refuseSend: enqueueActions(({ context, enqueue, event }) => {
      for (const params of agent.refuseSend(context, event)) enqueue({ type: "post", params });
    }),
    closeChild: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: close.closeChild(context) });
    }),
    tellRested: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: agent.rested(context) });
    }),
    tellResumed: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: agent.resumed(context) });
    }),
    noteBlocked: assign(({ event }) => questions.blocked(event)),
    noteUnasked: assign(({ context, event }) => questions.unasked(context, event)),
    tellOwner: enqueueActions(({ context, enqueue, event }) => {
      enqueue({ type: "post", params: questions.tellOwner(context, event) });
    }),
    announce: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: rules.opened(context) });
    }),
    record: enqueueActions(({ context, enqueue }) => {
      enqueue({ type: "post", params: rules.recordNote(context) });
    }),
    noteAdmitted: assign(({ event }) => rules.admitted(event)),
    noteCancel: assign(({ context, event }) => rules.cancelAsked(context, event)),
    noteUnbegun: assign(({ context, event }) => rules.unbegun(context, event)),
    cancelPort: sendTo("work", { type: "port.cancel" }),
    noteDone: assign(({ context, event }) => rules.done(context, doneOf(event))),
    noteFailed: assign(({ context, event }) => rules.failed(context, failedOf(event))),
    tellEnd: enqueueActions(({ context, enqueue }) => {
      for (const params of rules.endPosts(context)) enqueue({ type: "post", params });
      enqueue.assign({ waiting: [] });
    }),
    answerEnded: enqueueActions(({ context, enqueue, event }) => {
      for (const params of rules.lateCancel(context, event)) enqueue({ type: "post", params });
    }),
  },
}).createMachine({
  id: "task",
  initial: "opening",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({
    ...input,
    status: "queued" as const,
    turn: null,
    startedAt: null,
    endedAt: null,
    outcome: null,
    failure: null,
    waiting: [],
    cancelAsked: false,
    ...(input.work.kind === "agent.spawn" ? { child: agent.newborn } : {}),
  }),
  on: {
    "task.send": { actions: "refuseSend" },
    "child.blocked": { guard: "isBlockedChange", actions: ["noteBlocked", "record", "tellOwner"] },
    "child.unblocked": { guard: "isBlockedChange", actions: ["noteBlocked", "record", "tellOwner"] },
    "child.unasked": { guard: "isOfChild", actions: "noteUnasked" },
  },
  states: {
    opening: {
      entry: ["record", "announce"],
      always: [{ guard: "isAgent", target: "asking" }, { target: "queued" }],
    },
    ...agentStates,
    queued: {
      tags: "rest",
      on: {
        ...waitingChild,
        "task.admitted": [
          { guard: "isAgent", target: "working", actions: "noteChildAdmitted" },
          { target: "running", actions: ["noteAdmitted", "record"] },
        ],
        "task.refused": { target: "ended", actions: "noteRefused" },
        "task.cancel": [
          { guard: "isAgent", target: "closing", actions: "noteClose" },
          { target: "ended", actions: ["noteCancel", "noteUnbegun"] },
        ],
      },
    },
    running: {
      invoke: {
        id: "work",
        src: "port",
        input: ({ context }) => rules.workRequest(context),
        onDone: { target: "ended", actions: "noteDone" },
        onError: { target: "ended", actions: "noteFailed" },
      },
      on: { "task.cancel": { actions: ["noteCancel", "cancelPort"] } },
    },
    ended: {
      tags: "rest",
      entry: ["record", "tellEnd"],
      on: {
        "task.cancel": { actions: "answerEnded" },
        "task.close": { actions: "answerEnded" },
      },
    },
  },
});
