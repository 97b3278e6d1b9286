/** The pure rules that the connection machine consults: whether it may open, what it asks for, what it tells. */
import {
  McpGreeting,
  McpListing,
  type PortDone,
  type PortFailed,
  type PortRequestOf,
} from "../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { McpDeclaration } from "../schemas/manifest.ts";
import type { ConnectionContext, ConnectionEvent, ConnectionInput } from "./connection.ts";
import { connectScope, isSameScope } from "./policy/approval_scope.ts";
import { connectMs } from "./package_runner.ts";
import { doneOf, failedOf } from "./port.ts";
import type { QuestionInput, QuestionResult } from "./question.ts";
import { variableRefusal } from "./variable_names.ts";

/** What a connection remembers before anything happened. */
export function newborn(input: ConnectionInput): ConnectionContext {
  return {
    ...input,
    at: 0,
    next: null,
    isApproved: false,
    isAwaited: false,
    isClosing: false,
    launch: 0,
    greeting: null,
    listing: null,
    failure: null,
    failedAtMs: 0,
    isFailing: false,
    isCanceled: false,
    interruptions: 0,
    waiters: [],
    closers: [],
  };
}

/** What stands in the way of opening, before anybody is asked; null if nothing does. */
export function obstacle({ declaration }: Pick<ConnectionContext, "declaration">): Failure | null {
  const { server, manifest, gate, problem } = declaration;
  if (!manifest.enabled) {
    return failure("mcp_disabled", `The server "${server}" is switched off in its manifest`);
  }
  if (problem !== undefined) return problem;
  const refusal = variableRefusal(declaration);
  if (refusal !== null) return refusal;
  if (gate === "denied") {
    return failure(
      "mcp_connect_denied",
      `The server "${server}" is not started: the host's policy forbids it`,
    );
  }
  return null;
}

/** True if a person must be asked before the server is started (DM-54, DM-55). */
export function needsApproval({ declaration, isApproved }: ConnectionContext): boolean {
  return declaration.gate === "prompt" && !isApproved;
}

/** The question to a person. */
export function connectQuestion(context: ConnectionContext): QuestionInput {
  const { server, manifest, preview, origin } = context.declaration;
  return {
    subject: {
      kind: "connect",
      invocation: "connect",
      tool: `mcp.${server}`,
      title: `Start the MCP server ${server}`,
      risk: manifest.risk,
      reason: `${origin} asks to start it; it runs with your rights`,
      preview,
      rule: connectScope(context.declaration).rule,
    },
    openMs: limits.questionOpenMs,
    at: context.at,
  };
}

/** What a person answered. */
export function answerIn(event: ConnectionEvent): QuestionResult {
  if (!("output" in event)) throw new Error(`Cannot treat "${event.type}" as the end of a question`);
  return event.output;
}

/** Why a server is not started of which a person was asked. */
export function denial(context: ConnectionContext, { via }: QuestionResult): Failure {
  const { server } = context.declaration;
  const why = {
    answered: "the answer was no",
    expired: "nobody answered in time",
    unavailable: "nobody is there to be asked; troupe trust, for this workspace, lets it start unasked",
    withdrawn: "nobody wants it any more",
  };
  return failure("mcp_connect_denied", `The server "${server}" is not started: ${why[via]}`);
}

/** One more start: what the one before left is forgotten. */
export function launched({ launch }: ConnectionContext): Partial<ConnectionContext> {
  return {
    launch: launch + 1,
    greeting: null,
    listing: null,
    failure: null,
    isFailing: false,
    isCanceled: false,
    isParking: false,
    staleBy: null,
  };
}

/** The start and the handshake. Harmful until looked up: a process may be left (CM-119). */
export function connect({ declaration, launch, at }: ConnectionContext): PortRequestOf<"mcp.connect"> {
  return {
    port: "mcp.connect",
    effect: "conditional",
    mechanism: "verify",
    args: { declaration, launch },
    deadlineAtMs: at + connectMs(declaration.manifest, launch),
  };
}

/** The list of the server's tools. */
export function list({ declaration, launch, greeting, at }: ConnectionContext): PortRequestOf<"mcp.list"> {
  const { capabilities } = greeting ?? {};
  return {
    port: "mcp.list",
    effect: "idempotent",
    args: { declaration, launch, ...(capabilities === undefined ? {} : { capabilities }) },
    deadlineAtMs: at + limits.mcpListMs,
  };
}

/** The wait for what the server does by itself: pending as long as the connection lives. */
export function watch(
  { launch, staleBy = null, subscriptions = [] }: ConnectionContext,
): PortRequestOf<"mcp.watch"> {
  const stale = staleBy === null ? {} : { stale: true as const };
  const subscribed = subscriptions.length === 0 ? {} : { subscriptions: [...subscriptions] };
  return {
    port: "mcp.watch",
    effect: "idempotent",
    args: { launch, ...stale, idleMs: limits.mcpIdleParkMs, ...subscribed },
  };
}

/** The end of the server, once the calls in flight have ended or it took too long. */
export function close({ launch, drainMs }: ConnectionContext): PortRequestOf<"mcp.close"> {
  return { port: "mcp.close", effect: "idempotent", args: { launch, drainMs: drainMs ?? limits.mcpDrainMs } };
}

/** Who answered the handshake; null if the performer gave back something else. */
export function greetingIn(event: unknown): McpGreeting | null {
  return McpGreeting.safeParse(doneOf(event).value).data ?? null;
}

/** What the server offers; null if the performer gave back something else. */
export function listingIn(event: unknown): McpListing | null {
  return McpListing.safeParse(doneOf(event).value).data ?? null;
}

/** When something came back, and why it failed, if it did. */
export function failedIn(event: unknown): Pick<ConnectionContext, "at" | "failure"> {
  const failed = failedOf(event);
  return { at: failed.at, failure: failed.failure };
}

/** When an effect came back, however it ended. */
export function settledAt(event: unknown): number {
  const { output, error } = event as { readonly output?: PortDone; readonly error?: PortFailed };
  return (output ?? error)?.at ?? 0;
}

/** Why a greeting or a listing that is none ends the connection. */
export function fault({ declaration, greeting }: ConnectionContext): Failure {
  const { server } = declaration;
  return greeting === null
    ? failure("mcp_connect_failed", `The greeting of "${server}" came back as something else`)
    : failure("mcp_list_invalid", `The tools of "${server}" came back as something else`);
}

/** True if closing shall end in failure. One of an old declaration says nothing of that which takes its place. */
export function isFailing({ isFailing: hasFailed, next }: ConnectionContext): boolean {
  return hasFailed && next === null;
}

/** True if a process may be left of a start: only closing makes sure. */
export function isUncertain(event: unknown): boolean {
  const { status } = failedOf(event);
  return status === "unknown" || status === "canceled";
}

/** True if a start, or the listing after it, was cut off, as a restart does: it is tried again, but not for ever. */
export function isCutOff({ interruptions }: ConnectionContext, event: unknown): boolean {
  const isCut = isUncertain(event) || failedOf(event).failure.code === "interrupted";
  return isCut && interruptions + 1 < limits.attemptsConditionalMax;
}

/** Why those who wait get nothing from a connection that was closed. */
export function closed({ declaration }: ConnectionContext): Failure {
  return retryableFailure(
    "mcp_connection_closed",
    `The connection to "${declaration.server}" was closed before it was ready`,
  );
}

/** True if a declaration says anything new. */
export function isOther(context: ConnectionContext, event: ConnectionEvent): boolean {
  if (event.type !== "connection.declare") return false;
  const known = context.next ?? context.declaration;
  return JSON.stringify(known) !== JSON.stringify(event.declaration);
}

/** The declaration in an event. */
export function declarationIn(event: ConnectionEvent): McpDeclaration {
  if (event.type !== "connection.declare") throw new Error(`Cannot take a declaration from "${event.type}"`);
  return event.declaration;
}

/** Another declaration takes the place of this one; what was allowed for the old one is not allowed for it (DM-62). */
export function withNext({ declaration, next }: ConnectionContext): Partial<ConnectionContext> {
  if (next === null) return {};
  const isSame = isSameScope(connectScope(next), connectScope(declaration));
  return {
    declaration: next,
    next: null,
    failure: null,
    ...(isSame ? {} : { isApproved: false, subscriptions: [] }),
  };
}
