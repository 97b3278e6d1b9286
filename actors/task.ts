/**
 * One background task, from its birth to its one ending.
 *
 *   opening -> queued -> running -> ended; queued -> ended
 *
 * Its session lets it begin, and is told how it ended: by a letter in the commit of that ending, so exactly once,
 * whatever runs or stops meanwhile (DM-122). Who cancels is answered at the end, when nothing of the task is left; all
 * that ask meanwhile share the one cancel (DM-104). Keeps K11: `running` is left only by the port's own outcome.
 */
import { assign, enqueueActions, sendTo, setup } from "xstate";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Stamp } from "../schemas/message.ts";
import type { TaskInput, TaskMessage, TaskOutcome, TaskStatus } from "../schemas/task.ts";
import type { Failure } from "../schemas/failure.ts";
import { post } from "./outbox.ts";
import { doneOf, failedOf, port } from "./port.ts";
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
  },
  actions: {
    post,
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
  }),
  on: {
    "child.blocked": { guard: "isBlockedChange", actions: ["noteBlocked", "record", "tellOwner"] },
    "child.unblocked": { guard: "isBlockedChange", actions: ["noteBlocked", "record", "tellOwner"] },
    "child.unasked": { guard: "isOfChild", actions: "noteUnasked" },
  },
  states: {
    opening: { entry: ["record", "announce"], always: { target: "queued" } },
    queued: {
      tags: "rest",
      on: {
        "task.admitted": { target: "running", actions: ["noteAdmitted", "record"] },
        "task.cancel": { target: "ended", actions: ["noteCancel", "noteUnbegun"] },
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
      on: { "task.cancel": { actions: "answerEnded" } },
    },
  },
});
