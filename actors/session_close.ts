/** The pure rules by which a child's session ends: its turn, its tasks and its connections with it (CM-104, DM-128). */
import type { CloseStrictness } from "../schemas/child_agent.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Outgoing } from "../schemas/message.ts";
import { sessionLedger, toldSpent } from "./session_budget.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";

/** How a session is being ended. */
export interface Closing {
  readonly strictness: CloseStrictness;
  readonly reason: string;
  /** Commands that are answered once it has ended. */
  readonly waiting?: readonly CommandRef[];
}

/**
 * True if a message may end the session, or tell it something that only its parent may: a child listens to its own task
 * only (CM-107), any other session to commands, never to other actors.
 */
export function isFromAbove({ parent }: SessionContext, event: SessionEvent): boolean {
  if (parent === undefined) return commandOf(event) !== undefined;
  return "sender" in event && event.sender === parent.task;
}

function commandOf(event: SessionEvent): CommandRef | undefined {
  return "command" in event ? event.command ?? undefined : undefined;
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
export function closeAsked(context: SessionContext, event: SessionEvent): Pick<SessionContext, "closing"> {
  if (event.type !== "session.close") return {};
  const { strictness, reason } = event;
  const command = commandOf(event);
  const waiting = [...context.closing?.waiting ?? [], ...(command === undefined ? [] : [command])];
  return { closing: { strictness, reason, ...(waiting.length === 0 ? {} : { waiting }) } };
}

/** Tells everybody who waits that the session has ended; who asks for it once more hears it at once. */
export function tellClosed(context: SessionContext, event: SessionEvent): readonly Outgoing[] {
  const command = event.type === "session.close" ? commandOf(event) : undefined;
  const commands = command === undefined ? context.closing?.waiting ?? [] : [command];
  return [
    ...tellTask(context, "session.closed"),
    ...commands.map((one): Outgoing => ({ kind: "reply", command: one, status: "ok", value: "closed" })),
  ];
}

/** True if the session's end is asked for by a command, which waits for its answer. */
export function isCommanded({ parent }: SessionContext, event: SessionEvent): boolean {
  return parent === undefined && commandOf(event) !== undefined;
}

/** True if no more may wait for the end. */
export function hasWaiting({ closing }: SessionContext): boolean {
  return (closing?.waiting ?? []).length >= limits.cancelsWaitingMax;
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
      message: { type: "connection.close", reason: "The session ends" },
    })),
  ];
}

/** A wish that is nobody's to have is noted; a task that comes too late may not begin. */
export function refuseLetter(event: SessionEvent): readonly Outgoing[] {
  const command = commandOf(event);
  if (command !== undefined && event.type === "session.close") {
    const busy = failure("cancels_waiting", "Too many wait for the end of this session: ask again later");
    return [{ kind: "reply", command, status: "failed", value: { failure: { ...busy } } }];
  }
  const sender = "sender" in event ? event.sender ?? null : null;
  if (event.type !== "task.opened" || sender === null) {
    return [{ kind: "note", type: "session.letter_refused", body: { message: event.type, sender } }];
  }
  const why = failure("session_closed", "Its session is being ended: nothing more is begun");
  return [{ kind: "message", to: sender, message: { type: "task.refused", failure: { ...why } } }];
}
