/** The pure rules by which a child's session ends: its turn, its tasks and its connections with it (CM-104, DM-128). */
import type { CloseStrictness } from "../schemas/child_agent.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { Outgoing } from "../schemas/message.ts";
import { sessionLedger, toldSpent } from "./session_budget.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";

/** How a session is being ended. */
export interface Closing {
  readonly strictness: CloseStrictness;
  readonly reason: string;
}

/** True if a message may tell the session something: a child listens to its own task only (CM-107). */
export function isFromAbove({ parent }: SessionContext, event: SessionEvent): boolean {
  return parent !== undefined && "sender" in event && event.sender === parent.task;
}

/** Why a prompt is not taken, whatever there is room for. */
export function refusalOf(context: SessionContext, event: SessionEvent): Failure | undefined {
  if (context.closing !== undefined) {
    return failure("session_closed", "This session is being ended, or has ended: it takes no prompts");
  }
  if (context.parent === undefined || isFromAbove(context, event)) return undefined;
  return failure("session_not_yours", notYours(context.parent.session));
}

/** What is told to whoever speaks to a child that is not his. */
export function notYours(owner: string): string {
  return `This is a child agent's session: only its parent may prompt it; speak to ${owner}`;
}

/** The end is asked for. */
export function closeAsked(event: SessionEvent): Pick<SessionContext, "closing"> {
  if (event.type !== "session.close") return {};
  const { strictness, reason } = event;
  return { closing: { strictness, reason } };
}

/** True if the turn that runs shall not go on. */
export function isForced(event: SessionEvent): boolean {
  return event.type === "session.close" && event.strictness === "forced";
}

/** Tells the child's task how far the end has come. */
export function tellTask(
  context: SessionContext,
  type: "session.closing" | "session.closed",
): readonly Outgoing[] {
  const { parent } = context;
  if (parent === undefined) return [];
  const spent = type === "session.closed" ? { spent: { ...toldSpent(sessionLedger(context)) } } : {};
  return [{ kind: "message", to: parent.task, message: { type, ...spent } }];
}

/** Ends everything that is the session's own. */
export function endOwn({ tasks = [], servers, closing }: SessionContext): readonly Outgoing[] {
  const reason = `Its session ends: ${closing?.reason ?? ""}`;
  return [
    ...tasks.map(({ address }): Outgoing => ({
      kind: "message",
      to: address,
      message: { type: "task.cancel", reason: reason.slice(0, 500) },
    })),
    ...servers.map(({ connection }): Outgoing => ({
      kind: "message",
      to: connection,
      message: { type: "connection.close", reason: "The session of the child agent ends" },
    })),
  ];
}

/** A wish that is nobody's to have is noted; a task that comes too late may not begin. */
export function refuseLetter(event: SessionEvent): readonly Outgoing[] {
  const sender = "sender" in event ? event.sender ?? null : null;
  if (event.type !== "task.opened" || sender === null) {
    return [{ kind: "note", type: "session.letter_refused", body: { message: event.type, sender } }];
  }
  const why = failure("session_closed", "Its session is being ended: nothing more is begun");
  return [{ kind: "message", to: sender, message: { type: "task.refused", failure: { ...why } } }];
}
