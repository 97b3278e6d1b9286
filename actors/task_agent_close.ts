/** The pure rules by which a task ends the child agent that it runs, and how its own end follows (CM-104). */
import type { CloseStrictness } from "../schemas/child_agent.ts";
import type { PortRequestOf } from "../schemas/effect.ts";
import type { Spent } from "../schemas/budget.ts";
import { failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { TaskEnd } from "../schemas/task.ts";
import type { TaskContext, TaskEvent } from "./task.ts";
import { childOf, summaryOf, withChild, workOf } from "./task_agent.ts";
import { cancelAsked, ended } from "./task_rules.ts";

/** How long the child's end is waited for. Durable: a restart waits for what is left. */
export function patience(context: TaskContext): PortRequestOf<"timer.set"> {
  const { strictness, closeAt = 0 } = { ...childOf(context), closeAt: context.closeAt };
  const ms = strictness === "forced" ? limits.childForceMs : limits.childGraceMs;
  const args = { dueAtMs: closeAt + ms, jitterMs: 0, label: "the end of a child agent" };
  return { port: "timer.set", effect: "idempotent", args };
}

/** Somebody wants the child to end: asked for twice, the stricter counts. A cancel is the strictest. */
export function closeAsked(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  if (event.type !== "task.close" && event.type !== "task.cancel") return {};
  const asked: CloseStrictness = event.type === "task.cancel" ? "forced" : event.strictness;
  const { strictness, close } = childOf(context);
  return {
    waiting: cancelAsked(context, event).waiting ?? context.waiting,
    cancelAsked: context.cancelAsked || event.type === "task.cancel",
    closeAt: event.at,
    ...withChild(context, {
      strictness: strictness === "forced" ? "forced" : asked,
      close: close === "open" ? "requested" : close,
    }),
  };
}

/** True if a wish for the end is stricter than the one that is carried out. */
export function isStricter(context: TaskContext, event: TaskEvent): boolean {
  const isForced = event.type === "task.cancel" ||
    (event.type === "task.close" && event.strictness === "forced");
  return isForced && childOf(context).strictness !== "forced";
}

/** The one answer has come: nothing keeps the child. */
export function over(context: TaskContext, at: number): Partial<TaskContext> {
  return { closeAt: at, ...withChild(context, { strictness: "graceful", close: "requested" }) };
}

/** It did not end by itself in time: it is made to. */
export function forced(context: TaskContext, at: number): Partial<TaskContext> {
  return { closeAt: at, ...withChild(context, { strictness: "forced" }) };
}

/** Tells the child to end. */
export function closeChild(context: TaskContext): Outgoing {
  const { strictness, answers } = childOf(context);
  const reason = answers > 0 && !context.cancelAsked ? "Its work is done" : "Its parent wants it to end";
  const message = { type: "session.close", strictness: strictness ?? "forced", reason };
  return { kind: "message", to: workOf(context).child, message };
}

/** The child takes no prompts any more. */
export function acknowledged(context: TaskContext): Partial<TaskContext> {
  return withChild(context, { close: "acknowledged" });
}

/** The child has ended: how its work ended follows from its latest answer, or from who ended it. */
export function closed(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const { observed, failure: why, spent } = childOf(context);
  const told = event.type === "session.closed" ? event.spent ?? spent : spent;
  const status = endOf(context);
  const isCut = observed === "running" || observed === "waiting" || observed === "idle";
  return {
    ...ended(event.at, { status, summary: summaryOf(context) }),
    failure: status === "failed" ? why : null,
    ...withChild(context, { close: "closed", spent: told, ...(isCut ? { observed: "interrupted" } : {}) }),
  };
}

function endOf(context: TaskContext): TaskEnd {
  const { outcome } = childOf(context);
  if (outcome === "completed" && workOf(context).scope === "task") return "succeeded";
  if (context.cancelAsked || outcome === null || outcome === "canceled") return "canceled";
  if (outcome === "completed") return "succeeded";
  return outcome === "lost" || outcome === "unknown" ? "lost" : "failed";
}

/** The child did not end in time, and is watched no more. */
export function unclosed(context: TaskContext, at: number): Partial<TaskContext> {
  const seconds = limits.childForceMs / 1_000;
  const why = failure(
    "child_not_closed",
    `The child agent did not end within ${seconds} s: look at what its session does`,
  );
  return {
    ...ended(at, { status: "lost", summary: why.message }),
    failure: why,
    ...withChild(context, { close: "failed", observed: "interrupted", spent: worst(context) }),
  };
}

/** What nobody can tell any more is counted as spent: the whole part, so that the tree never spends more than its root may. */
function worst(context: TaskContext): Partial<Spent> {
  return { ...childOf(context).spent, ...context.budget };
}

/** Nothing more will come of the child: its session is out of service. */
export function lost(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const reason = event.type === "child.lost" ? event.reason : "no reason is known";
  const why = failure("child_lost", `The child agent is lost, its session is out of service: ${reason}`);
  return {
    ...ended(event.at, { status: "lost", summary: why.message }),
    failure: why,
    ...withChild(context, { close: "failed", observed: "interrupted", spent: worst(context) }),
  };
}
