/**
 * One supervisor: restarts root actors that crash, with others if the strategy says so, until it is too often.
 *
 *   idle -> deciding -> (stopping ->) backingOff -> starting -> idle; deciding -> quarantining | idle
 *
 * Endings are handled one after another: what arrives meanwhile waits in its order. The decisions are in
 * `restart.ts`; nothing here knows a strategy. Whoever depends on a child hears of it: see `dependents.ts`.
 */
import { assign, enqueueActions, setup } from "xstate";
import { failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing, Stamp, SupervisorMessage } from "../schemas/message.ts";
import type { SupervisorPolicy } from "../schemas/supervision.ts";
import { dependentsOf } from "./dependents.ts";
import { post, replyTo } from "./outbox.ts";
import { failedOf, port } from "./port.ts";
import * as rules from "./restart.ts";

/** What a supervisor is created with. */
export interface SupervisorInput {
  readonly address: string;
  readonly policy: SupervisorPolicy;
}

/** What a supervisor is told. */
export type SupervisorEvent = SupervisorMessage & Stamp;

/** What a supervisor remembers. */
export type SupervisorContext = SupervisorInput & rules.Ledger;

/** The plan at hand; its states are entered with one. */
function planOf(context: SupervisorContext): rules.RestartPlan {
  if (context.plan === null) throw new Error(`Cannot go on in "${context.address}": nothing is planned`);
  return context.plan;
}

/** The child that is being stopped or started now. */
function currentOf(context: SupervisorContext) {
  const { current } = planOf(context);
  if (current === null) throw new Error(`Cannot go on in "${context.address}": no child is at hand`);
  return current;
}

function escalation(context: SupervisorContext): Outgoing {
  const { ending, restarts } = planOf(context);
  const { periodMs } = context.policy;
  const why = failure(
    "restart_intensity_exceeded",
    `"${ending.child}" ended again after ${restarts} restarts within ${periodMs} ms: look at it, then start it by hand`,
  );
  const cause = ending.failure === null ? null : { ...ending.failure };
  const body = { child: ending.child, restarts, periodMs, cause, failure: { ...why } };
  return { kind: "note", type: "supervisor.escalated", body };
}

/** What a message brings about besides its effect: a reply if a command brought it, a note if there was no room. */
function taken(event: SupervisorEvent, child: string, hasRoom: boolean): readonly Outgoing[] {
  const reply = replyTo(event, hasRoom ? "ok" : "failed", { result: hasRoom ? "accepted" : "full" });
  const posts: Outgoing[] = reply === undefined ? [] : [reply];
  if (!hasRoom) posts.push({ kind: "note", type: "supervisor.full", body: { child, message: event.type } });
  return posts;
}

/** The behaviour of one supervisor. Stops at 1,000 microsteps (K8). */
export const supervisorMachine = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as SupervisorInput,
    tags: "" as "rest",
  },
  actors: { port },
  guards: {
    hasEnding: ({ context }) => context.queue.length > 0,
    isLeft: ({ context }) => context.plan?.verdict === "leave",
    isTooOften: ({ context }) => context.plan?.verdict === "escalate",
    hasStop: ({ context }) => (context.plan?.stop.length ?? 0) > 0,
    hasStart: ({ context }) => (context.plan?.start.length ?? 0) > 0,
  },
  actions: {
    post,
    addChild: enqueueActions(({ context, enqueue, event }) => {
      if (event.type !== "child.add") return;
      const hasRoom = rules.hasRoomForChild(context, event.child.child);
      enqueue.assign(hasRoom ? rules.addChild(context, event.child) : {});
      for (const params of taken(event, event.child.child, hasRoom)) enqueue({ type: "post", params });
    }),
    removeChild: enqueueActions(({ context, enqueue, event }) => {
      if (event.type !== "child.remove") return;
      enqueue.assign(rules.removeChild(context, event.child));
      for (const params of taken(event, event.child, true)) enqueue({ type: "post", params });
    }),
    queueEnding: enqueueActions(({ context, enqueue, event }) => {
      if (event.type !== "child.crashed" && event.type !== "child.exited") return;
      const ending = {
        child: event.child,
        failure: event.type === "child.crashed" ? event.failure : null,
        at: event.at,
      };
      const hasRoom = rules.hasRoomForEnding(context, event.child);
      enqueue.assign(hasRoom ? rules.queueEnding(context, ending) : {});
      for (const params of taken(event, event.child, hasRoom)) enqueue({ type: "post", params });
    }),
    planNext: assign(({ context }) => rules.planNext(context, context.policy)),
    nextStop: assign(({ context }) => rules.nextStop(context)),
    nextStart: assign(({ context }) => rules.nextStart(context)),
    failStart: assign(({ context, event }) =>
      rules.failStart(context, failedOf(event).failure, failedOf(event).at)
    ),
    noteLeft: enqueueActions(({ context, enqueue }) => {
      const { child, failure: cause } = planOf(context).ending;
      if (cause === null) return;
      const body = { child, failure: { ...cause } };
      enqueue({ type: "post", params: { kind: "note", type: "supervisor.child_left", body } });
    }),
    tellRestarted: enqueueActions(({ context, enqueue }) => {
      const { child } = currentOf(context);
      for (const to of dependentsOf(child)) {
        enqueue({
          type: "post",
          params: { kind: "message", to, message: { type: "child.restarted", child } },
        });
      }
    }),
    tellQuarantined: enqueueActions(({ context, enqueue, event }) => {
      if (event.type !== "child.quarantined") return;
      const { type, child, failure: why, lasting } = event;
      enqueue.assign(rules.removeChild(context, child));
      const message = { type, child, failure: { ...why }, lasting };
      for (const to of dependentsOf(child)) {
        enqueue({ type: "post", params: { kind: "message", to, message } });
      }
    }),
    closePlan: assign(({ context }) => rules.closePlan(context)),
  },
}).createMachine({
  id: "supervisor",
  initial: "idle",
  options: { maxIterations: limits.machineIterationsMax },
  context: ({ input }) => ({ ...input, children: [], restarts: [], queue: [], plan: null }),
  on: {
    "child.add": { actions: "addChild" },
    "child.remove": { actions: "removeChild" },
    "child.crashed": { actions: "queueEnding" },
    "child.exited": { actions: "queueEnding" },
    "child.quarantined": { actions: "tellQuarantined" },
  },
  states: {
    idle: { tags: "rest", always: { guard: "hasEnding", target: "deciding" } },
    deciding: {
      entry: "planNext",
      always: [
        { guard: "isLeft", target: "idle", actions: ["noteLeft", "closePlan"] },
        {
          guard: "isTooOften",
          target: "quarantining",
          actions: { type: "post", params: ({ context }) => escalation(context) },
        },
        { guard: "hasStop", target: "stopping" },
        { target: "backingOff" },
      ],
    },
    stopping: {
      entry: "nextStop",
      invoke: {
        id: "stop",
        src: "port",
        input: ({ context }) => rules.stopRequest(currentOf(context), false),
        // A sibling that cannot be stopped is started over all the same: starting is idempotent.
        onDone: [{ guard: "hasStop", target: "stopping", reenter: true }, { target: "backingOff" }],
        onError: [{ guard: "hasStop", target: "stopping", reenter: true }, { target: "backingOff" }],
      },
    },
    backingOff: {
      invoke: {
        id: "timer",
        src: "port",
        input: ({ context }) => rules.timerRequest(planOf(context)),
        onDone: [{ guard: "hasStart", target: "starting" }, { target: "idle", actions: "closePlan" }],
        onError: [{ guard: "hasStart", target: "starting" }, { target: "idle", actions: "closePlan" }],
      },
    },
    starting: {
      entry: "nextStart",
      invoke: {
        id: "start",
        src: "port",
        input: ({ context }) => rules.startRequest(currentOf(context)),
        onDone: [
          { guard: "hasStart", target: "starting", reenter: true, actions: "tellRestarted" },
          { target: "idle", actions: ["tellRestarted", "closePlan"] },
        ],
        onError: [
          { guard: "hasStart", target: "starting", reenter: true, actions: "failStart" },
          { target: "idle", actions: ["failStart", "closePlan"] },
        ],
      },
    },
    quarantining: {
      invoke: {
        id: "quarantine",
        src: "port",
        input: ({ context }) => rules.stopRequest(currentOf(context), true),
        onDone: { target: "idle", actions: "closePlan" },
        onError: { target: "idle", actions: "closePlan" },
      },
    },
  },
});
