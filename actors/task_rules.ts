/** The pure rules that the task machine consults: what is recorded of it, who is told, how it ended. */
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { Json, JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import { isEnd, type TaskEnd, TaskOutcome, type TaskRecord } from "../schemas/task.ts";
import type { TaskContext, TaskEvent } from "./task.ts";
import { childIn, standingOf, unopened } from "./task_agent.ts";
import { shownStatus, toldSummary } from "./task_questions.ts";

/** Tells the session that a task of it wants to begin. */
export function opened({ id, owner, work }: TaskContext): Outgoing {
  const letter = { type: "task.opened", task: id, kind: work.kind };
  if (work.kind !== "agent.spawn") return { kind: "message", to: owner, message: letter };
  const until = work.scope === "turn" ? { until: "turn" } : {};
  return { kind: "message", to: owner, message: { ...letter, ...until, child: work.child } };
}

/** The task as the store tells of it. */
export function recordOf(context: TaskContext): TaskRecord {
  const { id, address, owner, principal, origin, turn, title, scope, detached } = context;
  const { createdAt, startedAt, endedAt, outcome, failure: why } = context;
  return {
    v: 1,
    id,
    address,
    kind: context.work.kind,
    status: shownStatus(context),
    owner,
    principal,
    origin,
    turn,
    title,
    scope: scope ?? null,
    detached,
    createdAt,
    startedAt,
    endedAt,
    summary: toldSummary(context, outcome?.summary ?? ""),
    result: outcome?.result ?? null,
    failure: why,
    ...standingOf(context),
  };
}

/** The note by which the store learns of a change: the kernel keeps its body as a row, in the same commit. */
export function recordNote(context: TaskContext): Outgoing {
  return { kind: "note", type: "task.changed", body: recordOf(context) as unknown as Json };
}

/** What is asked of the world: the work, once. After a crash nobody knows how far it came, so it is not begun again. */
export function workRequest({ id, owner, work }: TaskContext): PortRequestOf<"task.run"> {
  return { port: "task.run", effect: "non_idempotent", args: { task: id, owner, work } };
}

/** The session lets it begin. */
export function admitted(event: TaskEvent): Partial<TaskContext> {
  if (event.type !== "task.admitted") return {};
  return { status: "running", turn: event.turn, startedAt: event.at };
}

/** Somebody wants it to end, and waits for that. */
export function cancelAsked(
  { waiting }: TaskContext,
  event: TaskEvent,
): Partial<TaskContext> {
  if (event.type !== "task.cancel" && event.type !== "task.close") return {};
  const { command } = event;
  const hasRoom = command !== undefined && waiting.length < limits.tasksOpenMax;
  return { cancelAsked: true, waiting: hasRoom ? [...waiting, command] : waiting };
}

/** It was canceled before it began: certainly nothing was done. */
export function unbegun(context: TaskContext, event: TaskEvent): Partial<TaskContext> {
  const outcome = { status: "canceled", summary: "It was canceled before it began" } as const;
  return { ...ended(event.at, outcome), ...unopened(context) };
}

/** Its work ended, and said how. */
export function done(_context: TaskContext, { value, at }: PortDone): Partial<TaskContext> {
  const outcome = TaskOutcome.safeParse(value);
  if (outcome.success) return ended(at, outcome.data);
  const why = failure("task_lost", "Its work ended in a way that this release cannot read");
  return { ...ended(at, { status: "lost", summary: why.message }), failure: why };
}

/** Its work ended without saying how. What may have been done and is not known is lost, never failed (R3). */
export function failed(context: TaskContext, why: PortFailed): Partial<TaskContext> {
  const status = endOf(why);
  const problem: Failure = status === "lost" ? lost(context, why) : why.failure;
  return { ...ended(why.at, { status, summary: problem.message }), failure: problem };
}

function endOf({ status }: PortFailed): TaskEnd {
  if (status === "unknown") return "lost";
  return status === "canceled" ? "canceled" : "failed";
}

function lost({ title }: TaskContext, { failure: why }: PortFailed): Failure {
  if (why.code !== "tool_outcome_unknown") return why;
  return failure(
    "task_lost",
    `The runtime stopped while "${title}" ran: what was left of it was ended; look at what it did before it is run again`,
  );
}

/** The work has ended. */
export function ended(at: number, outcome: TaskOutcome): Partial<TaskContext> {
  const summary = outcome.summary.slice(0, limits.taskSummaryCharactersMax);
  return { status: outcome.status, endedAt: at, outcome: { ...outcome, summary } };
}

/** What the end brings about: the session is told, and everybody who asked for the end is answered. */
export function endPosts(context: TaskContext): readonly Outgoing[] {
  const { id, owner, work, title, status, outcome, silent, waiting } = context;
  if (!isEnd(status)) throw new Error(`Cannot end "${context.address}": it is ${status}`);
  const letter: JsonObject = {
    type: "task.ended",
    task: id,
    kind: work.kind,
    title,
    status,
    summary: toldSummary(context, outcome?.summary ?? ""),
    silent,
    ...childIn(context),
  };
  const replies = waiting.map((command): Outgoing => ({
    kind: "reply",
    command,
    status: "ok",
    value: { status, canceled: status === "canceled" },
  }));
  return [{ kind: "message", to: owner, message: letter as never }, ...replies];
}

/** A cancel of what has ended: nothing is left to stop. */
export function lateCancel({ status }: TaskContext, event: TaskEvent): readonly Outgoing[] {
  if (event.command === undefined) return [];
  return [{ kind: "reply", command: event.command, status: "ok", value: { status, canceled: false } }];
}
