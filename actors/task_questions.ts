/** The pure rules by which the task of a child agent shows that the child waits for a person, or could ask nobody. */
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import { isEnd, type TaskStatus } from "../schemas/task.ts";
import type { TaskContext, TaskEvent } from "./task.ts";

/** What a task remembers of its child's questions. Tasks of earlier releases have none. */
export interface ChildQuestions {
  /** True while the child, or one below it, waits for a person. */
  readonly isBlocked?: boolean;
  /** What was refused because nobody could be asked: the first of them, by tool. */
  readonly unasked?: readonly string[];
  /** How many were. */
  readonly unaskedCount?: number;
}

/** True if the child changed whether it waits; what has ended waits for nobody. */
export function isChange({ status, isBlocked = false }: TaskContext, event: TaskEvent): boolean {
  return !isEnd(status) && isOfChild(event) && isBlocked !== (event.type === "child.blocked");
}

/** True if a session tells: no one else has children's questions. */
export function isOfChild(event: TaskEvent): boolean {
  return event.sender?.startsWith("session/") === true;
}

/** The child waits for a person, or does so no more. */
export function blocked(event: TaskEvent): ChildQuestions {
  return { isBlocked: event.type === "child.blocked" };
}

/** Tells the session above, whose own parent is to see it too. */
export function tellOwner({ owner, id }: TaskContext, event: TaskEvent): Outgoing {
  const type = event.type === "child.blocked" ? "task.blocked" : "task.unblocked";
  return { kind: "message", to: owner, message: { type, task: id } };
}

/** Something was refused because nobody could be asked. */
export function unasked(
  { unasked: known = [], unaskedCount = 0 }: TaskContext,
  event: TaskEvent,
): ChildQuestions {
  if (event.type !== "child.unasked") return {};
  const isNew = !known.includes(event.tool) && known.length < limits.unaskedToolsNamedMax;
  return { unasked: isNew ? [...known, event.tool] : known, unaskedCount: unaskedCount + 1 };
}

/** The status as it is shown. */
export function shownStatus({ status, isBlocked = false }: TaskContext): TaskStatus {
  return isBlocked && status === "running" ? "blocked_needs_user" : status;
}

/** The summary as it is told: what nobody could be asked about comes first, and is never cut off. */
export function toldSummary(
  { unasked: tools = [], unaskedCount = 0 }: ChildQuestions,
  summary: string,
): string {
  if (unaskedCount === 0) return summary;
  const calls = unaskedCount === 1 ? "1 call of it was" : `${unaskedCount} calls of it were`;
  const why = `${calls} refused because nobody could be asked (${tools.join(", ")}). `;
  return `${why}${summary}`.slice(0, limits.taskSummaryCharactersMax);
}
