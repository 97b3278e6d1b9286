/**
 * One schedule of a session: gives it a prompt when that is due, again and again or once.
 *
 *   planning -> waiting -> planning | ended; planning | waiting -> ended (schedule.delete, a failure, nothing left)
 *
 * What fell due while nothing ran is done once, however often it was missed. A due time at which the session has not
 * answered the last prompt yet is passed over, so that prompts never pile up. The timer is a durable row: a schedule
 * sleeps until then.
 */
import { assign, enqueueActions, setup } from "xstate";
import type { PortRequest } from "../schemas/effect.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing, ScheduleMessage, Stamp } from "../schemas/message.ts";
import { NextDue, type ScheduleInput, type ScheduleState } from "../schemas/schedule.ts";
import { post, replyTo } from "./outbox.ts";
import { doneOf, failedOf, port } from "./port.ts";

/** What a schedule is told. */
export type ScheduleEvent = ScheduleMessage & Stamp;

/** What a schedule remembers. */
export interface ScheduleContext extends ScheduleInput, ScheduleState {
  /** The next due time lies behind this. */
  readonly afterMs: number;
  /** True from a prompt until the end of its turn is told. */
  readonly isUnanswered: boolean;
}

function newborn(input: ScheduleInput): ScheduleContext {
  const { times, madeAtMs } = input;
  return {
    ...input,
    status: "waiting",
    dueAtMs: times.type === "once" ? times.dueAtMs : null,
    lastFiredAtMs: null,
    fired: 0,
    missed: 0,
    lastOutcome: null,
    afterMs: madeAtMs,
    isUnanswered: false,
  };
}

function planRequest({ times, afterMs, dueAtMs }: ScheduleContext): PortRequest {
  if (times.type === "once") throw new Error("Cannot plan what is due once");
  const { expression, zone } = times;
  const args = { expression, zone, afterMs, actedOnMs: dueAtMs };
  return { port: "schedule.next", effect: "idempotent", args };
}

function timerRequest({ dueAtMs }: ScheduleContext): PortRequest {
  if (dueAtMs === null) throw new Error("Cannot wait for what is never due");
  const args = { dueAtMs, jitterMs: 0, label: "the next prompt is due" };
  return { port: "timer.set", effect: "idempotent", args };
}

/** The state as it stands in the journal: for whoever lists schedules. */
function stateNote(context: ScheduleContext): Outgoing {
  const { status, dueAtMs, lastFiredAtMs, fired, missed, lastOutcome, reason } = context;
  const state = { status, dueAtMs, lastFiredAtMs, fired, missed, lastOutcome };
  return { kind: "note", type: "schedule.state", body: reason === undefined ? state : { ...state, reason } };
}

/** The prompt, and what is noted of it: how late it is, and whether that is since nothing ran. */
function firing({ session, prompt, dueAtMs }: ScheduleContext, at: number): readonly Outgoing[] {
  const lateMs = Math.max(0, at - (dueAtMs ?? at));
  const body = { dueAtMs, lateMs, isOverdue: lateMs >= limits.scheduleOverdueMs };
  return [
    { kind: "note", type: "schedule.fired", body },
    { kind: "message", to: session, message: { type: "session.prompt", text: prompt } },
  ];
}

/** A due time is over, whether or not something was done: the next one lies behind it, also if the clock was set back. */
function passed({ dueAtMs }: ScheduleContext, at: number) {
  return { afterMs: Math.max(at, dueAtMs ?? at) };
}

function nextIn(event: unknown): NextDue | undefined {
  return NextDue.safeParse(doneOf(event).value).data;
}

/** Nothing is under way that could hurt: what is planned or waited for is dropped (K11). */
const deletion = { "schedule.delete": { target: "ended", actions: ["drop", "acknowledge"] } } as const;

/** The behaviour of one schedule. Stops at 1,000 microsteps (K8). */
export const scheduleMachine = setup({
  types: {
    context: {} as ScheduleContext,
    events: {} as ScheduleEvent,
    input: {} as ScheduleInput,
    tags: "" as "rest",
  },
  actors: { port },
  guards: {
    isOnce: ({ context }) => context.times.type === "once",
    isUnanswered: ({ context }) => context.isUnanswered && context.times.type === "cron",
    hasNext: ({ event }) => typeof nextIn(event)?.dueAtMs === "number",
  },
  actions: {
    post,
    plan: assign(({ context, event }) => {
      const { dueAtMs = null, missed = 0 } = nextIn(event) ?? {};
      return { dueAtMs, missed: Math.min(context.missed + missed, Number.MAX_SAFE_INTEGER) };
    }),
    fire: enqueueActions(({ context, enqueue, event }) => {
      const { at } = doneOf(event);
      for (const params of firing(context, at)) enqueue({ type: "post", params });
      enqueue.assign({
        ...passed(context, at),
        lastFiredAtMs: at,
        fired: context.fired + 1,
        lastOutcome: null,
        isUnanswered: true,
      });
    }),
    passOver: assign(({ context, event }) => ({
      ...passed(context, doneOf(event).at),
      missed: context.missed + 1,
    })),
    finish: assign({ status: "done", dueAtMs: null }),
    fail: assign(({ event }) => ({
      status: "failed" as const,
      dueAtMs: null,
      reason: failedOf(event).failure.message,
    })),
    drop: assign({ status: "deleted", dueAtMs: null }),
    noteAnswer: assign(({ context, event }) =>
      event.type === "session.answered" && event.from === context.session
        ? { isUnanswered: false, lastOutcome: event.outcome }
        : {}
    ),
    note: enqueueActions(({ context, enqueue }) => enqueue({ type: "post", params: stateNote(context) })),
    acknowledge: enqueueActions(({ context, enqueue, event }) => {
      if (event.type !== "schedule.delete") return;
      const params = replyTo(event, "ok", { status: context.status });
      if (params !== undefined) enqueue({ type: "post", params });
    }),
  },
}).createMachine({
  id: "schedule",
  initial: "born",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => newborn(input),
  on: { "session.answered": { actions: ["noteAnswer", "note"] } },
  states: {
    born: { always: [{ guard: "isOnce", target: "waiting" }, { target: "planning" }] },
    planning: {
      invoke: {
        id: "plan",
        src: "port",
        input: ({ context }) => planRequest(context),
        onDone: [
          { guard: "hasNext", target: "waiting", actions: "plan" },
          { target: "ended", actions: ["plan", "finish"] },
        ],
        onError: { target: "ended", actions: "fail" },
      },
      on: deletion,
    },
    waiting: {
      tags: "rest",
      entry: "note",
      invoke: {
        id: "timer",
        src: "port",
        input: ({ context }) => timerRequest(context),
        onDone: [
          { guard: "isUnanswered", target: "planning", actions: "passOver" },
          { guard: "isOnce", target: "ended", actions: ["fire", "finish"] },
          { target: "planning", actions: "fire" },
        ],
        onError: { target: "ended", actions: "fail" },
      },
      on: deletion,
    },
    ended: {
      tags: "rest",
      entry: "note",
      on: { "schedule.delete": { actions: "acknowledge" } },
    },
  },
});
