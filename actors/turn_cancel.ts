/** The pure rules by which a turn stops its calls, or one of them, and reports how each ended. */
import type { AnyActorRef } from "xstate";
import type { InvocationResult } from "../schemas/invocation.ts";
import type { InvocationEvent } from "./invocation_context.ts";
import type { TurnContext, TurnEvent, TurnReport } from "./turn_context.ts";
import { callNamed } from "./turn_rules.ts";

/** What a turn does about what it stops in one step. */
export interface CancelStep {
  readonly changes: Partial<Pick<TurnContext, "at" | "cancelAsked" | "stopping" | "undecided">>;
  /** Calls that are asked to end. */
  readonly asked: readonly string[];
  readonly reports: readonly TurnReport[];
}

/** What a step about cancels needs of a machine: its queue of actions, and whose child it is. */
interface Acting {
  readonly enqueue: {
    assign(changes: CancelStep["changes"]): void;
    sendTo(to: string | AnyActorRef, event: InvocationEvent | TurnReport): void;
  };
  /** A turn that nobody began reports to nobody. */
  readonly self: { readonly _parent?: AnyActorRef };
}

/** Does what a step about cancels says, all in one commit. `at`: when it was asked for, as far as anything is. */
export function act({ enqueue, self }: Acting, at: number, { changes, asked, reports }: CancelStep): void {
  enqueue.assign(changes);
  for (const ordinal of asked) enqueue.sendTo(ordinal, { type: "invocation.cancel", at });
  for (const report of reports) if (self._parent !== undefined) enqueue.sendTo(self._parent, report);
}

/** All calls that run are asked to end, those that were asked before once more: a person may have been asked since. */
export function cancelAll({ live }: TurnContext): CancelStep {
  return { changes: { cancelAsked: true, stopping: [...live] }, asked: live, reports: [] };
}

/** One call is asked to end; one that does not run is not there. */
export function cancelCall(context: TurnContext, event: TurnEvent): CancelStep {
  if (event.type !== "turn.cancel_call") throw new Error(`Cannot cancel a call by "${event.type}"`);
  const { ordinal } = event;
  if (!context.live.includes(ordinal)) {
    const report: TurnReport = { type: "turn.call_stopped", ordinal, name: "", outcome: null };
    return { changes: {}, asked: [], reports: [report] };
  }
  const stopping = [...new Set([...context.stopping ?? [], ordinal])];
  return { changes: { stopping }, asked: [ordinal], reports: [] };
}

/** A call ended: whoever wanted that learns how, and perhaps that the others wait for a person. */
export function callEnded(context: TurnContext, { ordinal, name, outcome }: InvocationResult): CancelStep {
  const { stopping = [], undecided = [] } = context;
  if (!stopping.includes(ordinal)) return { changes: {}, asked: [], reports: [] };
  const without = (ordinals: readonly string[]) => ordinals.filter((other) => other !== ordinal);
  const changes = { stopping: without(stopping), undecided: without(undecided) };
  const after = { ...context, ...changes, live: without(context.live) };
  const report: TurnReport = { type: "turn.call_stopped", ordinal, name, outcome };
  return { changes, asked: [], reports: isAllUndecided(after) ? [report, undecidedIn(after)] : [report] };
}

/** A call that was to be stopped may have happened, and a person is asked: nothing of it runs any more. */
export function questionOpened(context: TurnContext, event: TurnEvent): CancelStep {
  const isDoubt = event.type === "question.open" && event.subject.kind === "uncertain";
  const { stopping = [], undecided = [] } = context;
  if (!isDoubt || !stopping.includes(event.ordinal)) return { changes: {}, asked: [], reports: [] };
  const changes = { undecided: [...undecided, event.ordinal] };
  return { changes, asked: [], reports: [undecidedIn({ ...context, ...changes })] };
}

/** A person has said what became of a call: it goes on, or ends. */
export function decided({ undecided = [] }: TurnContext, event: TurnEvent): CancelStep["changes"] {
  if (event.type !== "turn.decided" || !undecided.includes(event.ordinal)) return {};
  return { undecided: undecided.filter((ordinal) => ordinal !== event.ordinal) };
}

function isAllUndecided({ cancelAsked, live, undecided = [] }: TurnContext): boolean {
  return cancelAsked && live.length > 0 && live.every((ordinal) => undecided.includes(ordinal));
}

function undecidedIn(context: TurnContext): TurnReport {
  const calls = (context.undecided ?? []).map((ordinal) => ({ ordinal, name: callNamed(context, ordinal) }));
  return { type: "turn.undecided", calls, isAll: isAllUndecided(context) };
}
