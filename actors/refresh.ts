/**
 * When the tools of servers are asked for again, and what is noted of it (AR-15). Whatever is heard in between only
 * marks what is known as stale: it is asked for once, before the next turn, so that many notices cost one list and no
 * turn that runs sees a change.
 */
import { limits } from "../schemas/limits.ts";
import type { CommandRef, Outgoing } from "../schemas/message.ts";
import type { RefreshRule } from "../schemas/refresh.ts";
import type { ConnectionContext, ConnectionEvent } from "./connection.ts";
import { doneOf } from "./port.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";

/** What a connection remembers of its list. Contexts of earlier releases have none of it. */
export interface ListState {
  /** Why the list is to be asked for again before it counts. */
  readonly staleBy?: RefreshRule | null;
  readonly listedAtMs?: number;
  /** True once a refused call made the list be asked for and nothing was new: the next one does not. */
  readonly isRefetched?: boolean;
  /** When a refused call made the list be asked for, if nothing else did since. */
  readonly refetchedAtMs?: number | null;
}

/** What a session remembers of its catalog's age. Contexts of earlier releases have none of it. */
export interface StaleState {
  readonly staleBy?: RefreshRule;
  /** True if something became stale since the renewal at hand was asked for. */
  readonly isStaleAgain?: boolean;
  readonly renewedAtMs?: number;
}

/** True if the server said that its list changed, rather than ended. */
export function isListChanged(event: unknown): boolean {
  const { value } = doneOf(event);
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    (value as { readonly type?: unknown }).type === "list_changed";
}

/** True if what is known of the tools does not count any more. */
export function isListOld(
  { staleBy = null, listedAtMs }: ConnectionContext,
  event: ConnectionEvent,
): boolean {
  if (staleBy !== null) return true;
  return listedAtMs !== undefined && "at" in event && event.at - listedAtMs >= limits.mcpListAgeMs;
}

/** Why a list that is old is asked for. */
export function oldListRule({ staleBy = null }: ConnectionContext): ListState {
  return { staleBy: staleBy ?? "age" };
}

/** True if a refused call has made the list be asked for already, and it was the same, or that was a moment ago. */
export function isRefetched(
  { isRefetched = false, refetchedAtMs = null }: ConnectionContext,
  event: ConnectionEvent,
): boolean {
  if (event.type !== "connection.refresh" || event.rule !== "call_refused") return false;
  return isRefetched || (refetchedAtMs !== null && event.at - refetchedAtMs < limits.mcpFailureHoldMs);
}

/** Why the list is asked for now. */
export function refreshRule(event: ConnectionEvent): ListState {
  return event.type === "connection.refresh" ? { staleBy: event.rule } : {};
}

/** Answers a command that wants the list of a connection that is not open: its next start asks for it anyway. */
export function notOpen(event: ConnectionEvent): readonly Outgoing[] {
  const command: CommandRef | undefined = "command" in event ? event.command : undefined;
  return command === undefined
    ? []
    : [{ kind: "reply", command, status: "ok", value: { result: "not_open" } }];
}

/** What is known of a list that just came, and the note that says why it was asked for. */
export function listed(
  context: ConnectionContext,
  before: ConnectionContext["listing"],
): { readonly state: ListState; readonly note: Outgoing } {
  const { staleBy = null, launch, listing, at, declaration } = context;
  const rule = staleBy ?? (launch > 1 ? "reconnect" : "connect");
  const isSame = before !== null && before.offer === listing?.offer;
  const body = {
    server: declaration.server,
    rule,
    tools: listing?.tools ?? 0,
    ...(before === null ? {} : { same: isSame }),
  };
  return {
    state: {
      staleBy: null,
      listedAtMs: at,
      isRefetched: rule === "call_refused" && isSame,
      refetchedAtMs: rule === "call_refused" ? at : null,
    },
    note: { kind: "note", type: "connection.listed", body },
  };
}

/** Tells the catalog that what it has of this server does not count any more. */
export function staleOffer({ catalog }: ConnectionContext, rule: RefreshRule): Outgoing {
  return { kind: "message", to: catalog, message: { type: "connection.stale", rule } };
}

/** True if servers are to be asked before the next turn: something is stale, or all of it is old. */
export function mustRenew(context: SessionContext, atMs: number): boolean {
  if (context.queue.length === 0) return false;
  const { isStale, servers, renewedAtMs = atMs } = context;
  return isStale || (servers.length > 0 && atMs - renewedAtMs >= limits.mcpListAgeMs);
}

/** The note of a renewal: which rule made the session ask. */
export function renewalNote({ isStale, staleBy = "declared" }: SessionContext, renewal: number): Outgoing {
  return { kind: "note", type: "catalog.renewing", body: { renewal, rule: isStale ? staleBy : "age" } };
}

/** Something that the session's catalog was made from does not count any more. */
export function madeStale(event: SessionEvent): Pick<SessionContext, "isStale"> & StaleState {
  if (event.type !== "catalog.stale") throw new Error(`Cannot treat "${event.type}" as "catalog.stale"`);
  return { isStale: true, staleBy: event.rule, isStaleAgain: true };
}

/** What holds once a renewal was answered: a server that failed is tried again (DM-58), and so is what changed since. */
export function renewed(
  { staleBy, isStaleAgain = false }: SessionContext,
  { hasFailed, atMs }: { readonly hasFailed: boolean; readonly atMs: number },
): Pick<SessionContext, "isStale"> & StaleState {
  if (isStaleAgain && staleBy !== undefined) return { isStale: true, staleBy, renewedAtMs: atMs };
  return { isStale: hasFailed, staleBy: hasFailed ? "failed" : "declared", renewedAtMs: atMs };
}
