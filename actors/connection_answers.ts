/** Whom a connection answers, and what: commands that wait for it, and its catalog. */
import { type Failure, type FailureCode, retryableFailure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Outgoing, ServerReport } from "../schemas/message.ts";
import type { ConnectionContext, ConnectionEvent } from "./connection_context.ts";

/** True if one more command cannot wait for its answer (I12). Messages of roots wait for none. */
export function isCrowded({ waiters, closers }: ConnectionContext, event: ConnectionEvent): boolean {
  return commandIn(event).length > 0 && waiters.length + closers.length >= limits.connectionCommandsMax;
}

/** Answers a command that cannot wait. */
export function refuse(event: ConnectionEvent): readonly Outgoing[] {
  const message =
    `${limits.connectionCommandsMax} commands wait for this connection already: try again later`;
  return commandIn(event).map((command) => reply(command, retryableFailure("mailbox_full", message)));
}

/** Answers a command that declares. */
export function acknowledge(event: ConnectionEvent): readonly Outgoing[] {
  return commandIn(event).map((command) => said(command, "accepted"));
}

/** One more who wants the connection: a command is answered, and closing gives way. */
export function withWaiter(
  { waiters }: ConnectionContext,
  event: ConnectionEvent,
): Pick<ConnectionContext, "isAwaited" | "isClosing" | "waiters"> {
  return { isAwaited: true, isClosing: false, waiters: [...waiters, ...commandIn(event)] };
}

/** One more who wants the connection closed, whoever waits for it. */
export function withCloser(
  { closers }: ConnectionContext,
  event: ConnectionEvent,
): Pick<ConnectionContext, "isClosing" | "closers" | "drainMs"> {
  const drainMs = event.type === "connection.close" ? event.drainMs : undefined;
  return {
    isClosing: true,
    closers: [...closers, ...commandIn(event)],
    ...(drainMs === undefined ? {} : { drainMs }),
  };
}

function commandIn(event: ConnectionEvent): readonly CommandRef[] {
  return "command" in event && event.command !== undefined ? [event.command] : [];
}

function said(command: CommandRef, result: string): Outgoing {
  return { kind: "reply", command, status: "ok", value: { result } };
}

function reply(command: CommandRef, why: Failure | null): Outgoing {
  return why === null
    ? said(command, "ready")
    : { kind: "reply", command, status: "failed", value: { failure: { ...why } } };
}

/** What everybody is told once the connection is ready, or certainly is not: those who wait, and the catalog. */
export function answer(context: ConnectionContext, why: Failure | null): readonly Outgoing[] {
  const { listing, catalog, declaration, waiters } = context;
  const isReady = why === null && listing !== null;
  const report: ServerReport = {
    server: declaration.server,
    tools: isReady ? listing.tools : 0,
    rejected: isReady ? listing.rejectedCount : 0,
    ...(why === null ? {} : { failure: why }),
  };
  const message = { type: "connection.offered", report, offer: isReady ? listing.offer : null };
  return [
    ...waiters.map((command) => reply(command, why)),
    { kind: "message", to: catalog, message: message as never },
  ];
}

const denials: ReadonlySet<FailureCode> = new Set(["mcp_connect_denied", "capability_missing"]);

/** The note that the server cannot be used: somebody or something forbids it, it is switched off, or it failed (DM-71). */
export function failedNotes(
  { declaration: { server }, failure: why }: ConnectionContext,
): readonly Outgoing[] {
  if (why === null) return [];
  const { code, message, retryable } = why;
  const what = code === "mcp_disabled" ? "disabled" : denials.has(code) ? "denied" : "failed";
  return [{ kind: "note", type: `mcp.server_${what}`, body: { server, code, message, retryable } }];
}

/** What those are told who wanted the connection closed. */
export function farewell({ closers }: ConnectionContext): readonly Outgoing[] {
  return closers.map((command) => said(command, "closed"));
}
