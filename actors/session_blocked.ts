/** The pure rules by which a child's session tells its task that it waits for a person, or that nobody could be asked. */
import type { Outgoing } from "../schemas/message.ts";
import type { QuestionResult } from "./question.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { ended, isTurnDone } from "./session_rules.ts";
import { isOwn } from "./session_tasks.ts";

/** What a child's session does about what it tells its task. */
export interface BlockedStep {
  readonly changes: Partial<Pick<SessionContext, "toldBlocked">>;
  readonly posts: readonly Outgoing[];
}

/** Tells the task of a change: whether anything here, or in a child of it, waits for a person. */
export function tellBlocked(context: SessionContext): BlockedStep {
  const { parent, questions, blockedTasks = [], toldBlocked = false } = context;
  const isBlocked = questions.length > 0 || blockedTasks.length > 0;
  if (parent === undefined || isBlocked === toldBlocked) return { changes: {}, posts: [] };
  const type = isBlocked ? "child.blocked" : "child.unblocked";
  return {
    changes: { toldBlocked: isBlocked },
    posts: [{ kind: "message", to: parent.task, message: { type } }],
  };
}

/** A question ended without a person: the task is told, so that the parent's model learns of it (ask 15). */
export function tellUnasked({ parent, questions }: SessionContext, event: SessionEvent): readonly Outgoing[] {
  if (parent === undefined || isTurnDone(event)) return [];
  const { actorId, output } = ended(event);
  const { via, by } = output as QuestionResult;
  const isUnasked = via === "expired" || via === "unavailable" || by?.kind === "program";
  if (!isUnasked) return [];
  const question = questions.find(({ id }) => id === actorId);
  const tool = question?.tool ?? question?.rule ?? "a server";
  return [{ kind: "message", to: parent.task, message: { type: "child.unasked", tool: tool.slice(0, 256) } }];
}

/** A task of this session waits for a person, or does so no more. One that ended waits for nobody. */
export function noteBlocked(
  context: SessionContext,
  event: SessionEvent,
): Pick<SessionContext, "blockedTasks"> {
  const { blockedTasks = [] } = context;
  const isNews = event.type === "task.blocked" || event.type === "task.unblocked" ||
    event.type === "task.ended";
  if (!isNews || !isOwn(context, event.sender)) return { blockedTasks };
  const others = blockedTasks.filter((task) => task !== event.task);
  return { blockedTasks: event.type === "task.blocked" ? [...others, event.task] : others };
}
