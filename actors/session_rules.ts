/** The pure rules that the session machine consults: catalogs, servers, notices, replies. */
import type { Failure } from "../schemas/failure.ts";
import type { Outgoing, SessionServer } from "../schemas/message.ts";
import { replyTo } from "./outbox.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { doubtsIn } from "./doubt.ts";
import type { TurnResult } from "./turn_context.ts";

type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { readonly type: T }>;

/** An event of the one type that its transition is for. */
export function expect<T extends SessionEvent["type"]>(event: SessionEvent, type: T): EventOf<T> {
  if (event.type !== type) throw new Error(`Cannot treat "${event.type}" as "${type}"`);
  return event as EventOf<T>;
}

/** A child that ended: its event's type carries the child's id, so it cannot be told by an exact name. */
export function ended(event: SessionEvent): EventOf<"xstate.done.actor.turn"> {
  if (!event.type.startsWith("xstate.done.actor.")) {
    throw new Error(`Cannot treat "${event.type}" as an ending`);
  }
  return event as EventOf<"xstate.done.actor.turn">;
}

/** A new catalog counts from the next turn on. Grants name the entry that they were given for, so they need no care. */
export function withCatalog(event: SessionEvent): Pick<SessionContext, "issued" | "refusal"> {
  return { issued: expect(event, "catalog.issued").catalog, refusal: null };
}

/** True if a server failed, which is tried again before the next turn (DM-58). Only the answer that a turn waits for counts. */
export function hasFailedServer(event: SessionEvent): boolean {
  return expect(event, "catalog.issued").servers.some(({ failure: why }) => why !== undefined);
}

/** True if the catalog answers the renewal that this session asked for last. */
export function isRenewed(context: SessionContext, event: SessionEvent): boolean {
  const isAnswer = event.type === "catalog.issued" || event.type === "catalog.refused";
  return isAnswer && event.renewal > 0 && event.renewal === context.renewal;
}

/** Asks the catalog for the tools of all servers. */
export function renewCatalog(context: SessionContext, renewal: number): Outgoing {
  const servers = context.servers.map(({ connection, declaration }) => ({
    connection,
    server: declaration.server,
  }));
  return { kind: "message", to: context.catalog, message: { type: "catalog.renew", renewal, servers } };
}

/** The servers that were declared. */
export function serversIn(event: SessionEvent): readonly SessionServer[] {
  return expect(event, "session.servers").servers;
}

/** What connections are told of other servers: those that are gone end, the others learn how they are declared. */
export function redeclare(context: SessionContext, next: readonly SessionServer[]): readonly Outgoing[] {
  const kept = new Set(next.map(({ connection }) => connection));
  const gone = context.servers.filter(({ connection }) => !kept.has(connection));
  const closing = gone.map(({ connection }): Outgoing => ({
    kind: "message",
    to: connection,
    message: { type: "connection.close", reason: "The server is no longer declared" },
  }));
  const known = new Map(context.servers.map((server) => [server.connection, JSON.stringify(server)]));
  const other = next.filter((server) => known.get(server.connection) !== JSON.stringify(server));
  const declaring = other.map(({ connection, declaration }): Outgoing => ({
    kind: "message",
    to: connection,
    message: { type: "connection.declare", declaration: declaration as never },
  }));
  return [...closing, ...declaring];
}

/** The servers hold from now on; the next turn asks them for their tools, as they may be others than last time. */
export function withServers(
  context: SessionContext,
  next: readonly SessionServer[],
): Pick<SessionContext, "servers" | "nextServers" | "isStale" | "refusal"> {
  const isSame = context.refusal === null && JSON.stringify(context.servers) === JSON.stringify(next);
  return {
    servers: next,
    nextServers: null,
    isStale: context.isStale || !isSame || next.length > 0,
    refusal: null,
  };
}

/** Why no catalog was issued. */
export function refusalIn(event: SessionEvent): Failure {
  return expect(event, "catalog.refused").failure;
}

/** True if the news is of the session's own catalog. */
export function isOfCatalog({ catalog }: SessionContext, event: SessionEvent): boolean {
  return "child" in event && event.child === catalog;
}

/** Why there will never be another catalog. One that only this runtime keeps away from is there again in the next. */
export function lostIn(event: SessionEvent): Partial<Pick<SessionContext, "lost" | "refusal">> {
  const { failure: why, lasting } = expect(event, "child.quarantined");
  return lasting ? { lost: why } : { refusal: why };
}

/** True if no turn can begin any more. */
export function hasNoCatalog({ lost = null }: SessionContext): boolean {
  return lost !== null;
}

/** When an event was written; a child that ended says so in its output. */
export function timeOf(event: SessionEvent): number {
  if ("output" in event) return event.output.at;
  return "at" in event ? event.at : 0;
}

/** The runtime that an event came to; 0 for what a child says, which no grant was ever given in. */
export function epochOf(event: SessionEvent): number {
  if ("output" in event) return 0;
  return "epoch" in event ? event.epoch : 0;
}

/** What a turn left behind that ended. */
export function turnOf(event: SessionEvent): TurnResult {
  return ended(event).output as TurnResult;
}

/** Calls whose outcome nobody knows, as the turn leaves them that has ended. */
export function doubtsLeft(event: SessionEvent): Pick<SessionContext, "doubts"> {
  return doubtsIn(turnOf(event));
}

/** True if the child that ended is the turn, not a question. */
export function isTurnDone(event: SessionEvent): boolean {
  return "actorId" in event && event.actorId.startsWith("turn/");
}

/** The word that is enough for a command. */
export function wordFor({ type }: SessionEvent): string {
  return type === "session.revoke" ? "revoked" : "declared";
}

/** Answers a command that needs no more than a word. */
export function acknowledge(event: SessionEvent, word: string): readonly Outgoing[] {
  if (!("seq" in event)) return [];
  const reply = replyTo(event, "ok", { result: word });
  return reply === undefined ? [] : [reply];
}

/** Passes a text on to another session as a prompt; its answer comes back as `session.answered`. */
export function relay(context: SessionContext, event: SessionEvent): readonly Outgoing[] {
  const { to, text } = expect(event, "session.relay");
  const message: Outgoing = {
    kind: "message",
    to,
    message: { type: "session.prompt", text, replyTo: context.address },
  };
  return [message, ...acknowledge(event, "relayed")];
}
