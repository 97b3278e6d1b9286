/**
 * When a server that failed is tried again (DM-58), and when it is tried no more. A failure is answered from memory while
 * a timer runs; then exactly one attempt is made, by whoever wants the server. One that ends by itself again and again is
 * quarantined: a person asks for it, or declares it otherwise.
 */
import { McpNews, type PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure, type FailureCode } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { ConnectionContext, ConnectionEvent } from "./connection_context.ts";
import { doneOf, failedOf } from "./port.ts";

/** What a connection remembers of its server's health. Contexts of earlier releases have none of it. */
export interface Health {
  /** Failures since the server was ready last. */
  readonly failures?: number;
  /** When it ended by itself, as far as that counts still. */
  readonly crashes?: readonly number[];
  /** When it finished its handshake. */
  readonly greetedAtMs?: number;
  /** The runtime in which it failed last. */
  readonly failedEpoch?: number;
  /** True if it is ended because nobody calls it. */
  readonly isParking?: boolean;
  /** How long calls in flight are waited for at its end. Milliseconds. */
  readonly drainMs?: number | null;
}

/** Failures that only another declaration, or another host, helps against. */
const ofConfiguration: ReadonlySet<FailureCode> = new Set([
  "capability_missing",
  "mcp_connect_denied",
  "mcp_disabled",
  "mcp_transport_unsupported",
  "mcp_variable_missing",
  "mcp_variable_refused",
  "mcp_working_folder_refused",
]);

/** True if trying again cannot help: what the declaration says cannot work here. */
export function isOfConfiguration(why: Failure | null): boolean {
  if (why === null) return false;
  return ofConfiguration.has(why.code) || (why.code === "mcp_connect_failed" && !why.retryable);
}

/**
 * True while a failure of configuration is answered from memory: for ten minutes of one runtime. A denial is always
 * looked at again. Failures that earlier releases kept here are held for 30 s.
 */
export function isHeld(
  { failure: why, failedAtMs, failedEpoch }: ConnectionContext,
  event: ConnectionEvent,
): boolean {
  if (why === null || why.code === "mcp_connect_denied" || !("at" in event)) return false;
  if (failedEpoch !== undefined && event.epoch !== failedEpoch) return false;
  const holdMs = isOfConfiguration(why) ? limits.mcpConfigurationHoldMs : limits.mcpFailureHoldMs;
  return event.at - failedAtMs < holdMs;
}

/** The wait before a failed server may be tried again: doubling, with a bit drawn on top; what it asks for itself wins. */
export function backOff({ at, failure: why, failures = 1 }: ConnectionContext): PortRequestOf<"timer.set"> {
  const hintMs = why?.retryAfterMs;
  const holdMs = Math.min(limits.mcpFailureHoldMs * 2 ** (failures - 1), limits.mcpFailureHoldMsMax);
  const jitterMs = hintMs === undefined ? holdMs / 10 : 0;
  const waitMs = hintMs ?? Math.min(holdMs, limits.mcpFailureHoldMsMax - jitterMs);
  return {
    port: "timer.set",
    effect: "idempotent",
    args: { dueAtMs: at + waitMs, jitterMs, label: `back-off ${failures}` },
  };
}

/** One failure more. */
export function failedOnce({ failures = 0, at, epoch = 0 }: ConnectionContext): Partial<ConnectionContext> {
  return { failures: failures + 1, failedAtMs: at, failedEpoch: epoch };
}

/** The server is ready: failures to start it are forgotten; that it ended by itself is not. */
export const recovered: Health = { failures: 0 };

/** A person asks for it, or it is declared otherwise: everything is forgotten. */
export const forgiven = { failures: 0, crashes: [], failure: null } as const;

/** True if a person asks that a server which is held back be tried now. */
export function isRetry(event: ConnectionEvent): boolean {
  return event.type === "connection.refresh" && event.rule === "manual";
}

/** What a server did by itself; null if it ended with its runtime, or nothing is known. */
export function newsIn(event: unknown): McpNews | null {
  return McpNews.safeParse(doneOf(event).value).data ?? null;
}

/** True if nobody called for long. */
export function isIdle(event: unknown): boolean {
  return newsIn(event)?.type === "idle";
}

/** True if what an effect failed with is that the server ended by itself, not with its runtime. */
export function isCrash(event: unknown): boolean {
  const { status, failure: why } = failedOf(event);
  return status === "failed" && why.code === "mcp_connection_lost";
}

/** The ends that count, with one at `atMs`. A long life in which it served somebody makes up for those before. */
function crashesWith(
  { crashes = [], greetedAtMs }: ConnectionContext,
  { atMs, served }: { readonly atMs: number; readonly served: number },
): readonly number[] {
  const isHealthy = served > 0 && greetedAtMs !== undefined && atMs - greetedAtMs >= limits.mcpHealthyMs;
  const young = isHealthy ? [] : crashes.filter((crashMs) => atMs - crashMs < limits.mcpCrashWindowMs);
  return [...young, atMs].slice(-limits.mcpCrashesMax);
}

/** The server has ended by itself while it was ready: why, and what counts against it now. */
export function crashed(context: ConnectionContext, event: unknown): Partial<ConnectionContext> {
  const { at } = doneOf(event);
  const news = newsIn(event);
  if (news?.type !== "ended") return { at };
  return { at, failure: news.failure, crashes: crashesWith(context, { atMs: at, served: news.served }) };
}

/** The server has ended by itself while its tools were asked for. */
export function crashedListing(context: ConnectionContext, event: unknown): Partial<ConnectionContext> {
  const { at } = failedOf(event);
  return { crashes: crashesWith(context, { atMs: at, served: 0 }) };
}

/** True if a server has ended by itself too often to be started again. */
export function isWornOut({ crashes = [], at }: ConnectionContext): boolean {
  const young = crashes.filter((crashMs) => at - crashMs < limits.mcpCrashWindowMs);
  return young.length >= limits.mcpCrashesMax;
}

/** True if the end that is told makes one too many. */
export function isLastCrash(context: ConnectionContext, event: unknown): boolean {
  return isWornOut({ ...context, ...crashed(context, event) });
}

/** True if a server is held back since most of its tools are not what was approved. */
export function isDrifted(why: Failure | null): boolean {
  return why?.code === "mcp_tools_drifted";
}

/** True if its tools may have been approved meanwhile: that is looked at once in each runtime, and when a person asks. */
export function isApprovable(
  { failure: why, failedEpoch }: ConnectionContext,
  event: ConnectionEvent,
): boolean {
  return isDrifted(why) && "epoch" in event && event.epoch !== failedEpoch;
}

/** Why a server is not started any more. */
export function quarantine({ declaration, failure: why }: ConnectionContext): Failure {
  const minutes = limits.mcpCrashWindowMs / 60_000;
  return failure(
    "mcp_quarantined",
    `The server "${declaration.server}" ended by itself ${limits.mcpCrashesMax} times within ${minutes} minutes and ` +
      `is not started any more: mend it, then change its manifest or ask for its tools by hand. ${
        why?.message ?? ""
      }`.trim(),
  );
}
