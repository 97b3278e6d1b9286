/** The pure rules that the invocation machine consults: what it asks for, and what an ending means. */
import type { CatalogEntry } from "../schemas/catalog.ts";
import type { PortDone, PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { InvocationOutcome, type InvocationRequest } from "../schemas/invocation.ts";
import type { Json, JsonObject } from "../schemas/json.ts";
import { checkArguments } from "../schemas/json_schema.ts";
import type { Outgoing } from "../schemas/message.ts";
import { limits } from "../schemas/limits.ts";
import { programLimits } from "../schemas/program_limits.ts";
import type { InvocationRetried } from "../schemas/retry.ts";
import { redactedMark } from "../schemas/secret.ts";
import type { EffectClass, Mechanism } from "../schemas/tool.ts";
import type { InvocationContext, InvocationEnding, InvocationEvent } from "./invocation_context.ts";
import { judgedNote, nameDenial, schemaDenial } from "./judgement.ts";
import { entryOf } from "./library.ts";
import { attemptsMax, mayHelp, waitAfter } from "./retry.ts";

/** The exact entry that a request carries, or undefined if the turn's catalog has no tool of that name (DM-13). */
export function entryOfRequest(request: InvocationRequest): CatalogEntry | undefined {
  return request.entry === undefined ? undefined : entryOf(request.entry);
}

/** The entry of a call that has one. */
export function entryIn(context: Pick<InvocationContext, "request">): CatalogEntry {
  const entry = entryOfRequest(context.request);
  if (entry === undefined) {
    throw new Error(`Cannot dispatch "${context.request.name}": it has no catalog entry`);
  }
  return entry;
}

/** The refusal of a name that the catalog does not have, or of an entry that is not the one which was meant (DM-8). */
export function unknownTool(request: InvocationRequest): Failure {
  if (request.entry !== undefined) {
    const why = "its entry is not in the catalog of its turn as it was when the call was made";
    return failure("catalog_mismatch", `Cannot call "${request.entry.name.slice(0, 100)}": ${why}`);
  }
  return failure(
    "tool_unknown",
    `No tool is named "${request.name.slice(0, 100)}": use one of the tools offered`,
  );
}

/** Checks the arguments against the entry's schema; null if they fit. */
export function validate(request: InvocationRequest): Failure | null {
  const entry = entryOfRequest(request);
  if (entry === undefined) return unknownTool(request);
  if (request.hadSecret === true && request.arguments === undefined) {
    return failure(
      "arguments_secret",
      `The arguments of "${request.name}" hold a secret: secrets are never written into calls; leave it out`,
    );
  }
  if (request.arguments === undefined) {
    return failure(
      "arguments_invalid",
      `The arguments of "${request.name}" are not a JSON object with plain keys: send one`,
    );
  }
  // What was taken out is checked by the performer, which alone has it.
  const isOpaque = request.hadSecret === true ? hasMark : undefined;
  const problems = checkArguments(entry.definition.inputSchema, request.arguments, isOpaque);
  if (problems.length === 0) return null;
  return failure(
    "arguments_invalid",
    `The arguments of "${request.name}" do not fit its schema: ${problems.join("; ")}`,
  );
}

function hasMark(value: Json): boolean {
  return typeof value === "string" && value.includes(redactedMark);
}

/** The record of a request that policy was not asked about: its name means nothing, or its arguments do not fit. */
export function refusalNote({ request }: InvocationContext): Outgoing {
  return judgedNote(request, "deny", [entryOfRequest(request) === undefined ? nameDenial : schemaDenial]);
}

/** When the performer gives up on the attempt that is about to start. */
export function deadlineOf(context: InvocationContext): number {
  const { definition: { timeoutMs }, adapter } = entryIn(context);
  if (adapter !== "program" || timeoutMs < programLimits.callMs) return context.at + timeoutMs;
  // Nobody made it shorter: a program gets the time that its arguments ask for, and some more (CM-37).
  const asked = askedMs(context.request.arguments ?? {}) + programLimits.askedExtraMs;
  return context.at + Math.min(Math.max(timeoutMs, asked), limits.toolCallDurationMsMax);
}

/** The time that the arguments of a call ask for, in milliseconds; 0 if they do not. */
function askedMs({ timeout_ms: ms, timeout_seconds: seconds }: JsonObject): number {
  if (typeof ms === "number" && ms > 0) return Math.round(ms);
  return typeof seconds === "number" && seconds > 0 ? Math.round(seconds * 1_000) : 0;
}

function callOf<K extends "tool.call" | "tool.verify" | "mcp.call">(context: InvocationContext, port: K) {
  const entry = entryIn(context);
  if (context.request.entry === undefined) throw new Error("Cannot call a tool without its entry");
  return {
    port,
    effect: port === "tool.verify" ? "idempotent" as const : entry.definition.effectClass,
    ...(entry.definition.mechanism === undefined ? {} : { mechanism: entry.definition.mechanism }),
    args: {
      invocation: context.request.ordinal,
      entry: context.request.entry,
      arguments: context.request.arguments ?? {},
      origin: context.request.origin,
      attempt: context.attempt,
      ...(context.firstIntent === null ? {} : { key: context.firstIntent }),
      ...(context.request.hadSecret === undefined ? {} : { redacted: true as const }),
    },
    deadlineAtMs: port === "tool.verify" ? context.at + entry.definition.timeoutMs : context.deadlineAtMs,
  };
}

/** The effect itself: by the port of what the entry's source is. */
export function toolCall(context: InvocationContext): PortRequestOf<"tool.call"> | PortRequestOf<"mcp.call"> {
  return entryIn(context).adapter === "mcp" ? callOf(context, "mcp.call") : callOf(context, "tool.call");
}

/** A call of an MCP server's tool. */
export function mcpCall(context: InvocationContext): PortRequestOf<"mcp.call"> {
  return callOf(context, "mcp.call");
}

/** The look-up that tells whether an uncertain call was applied. */
export function verifyCall(context: InvocationContext): PortRequestOf<"tool.verify"> {
  return callOf(context, "tool.verify");
}

/** The wait before the next attempt (its jitter is drawn by the performer, K7). */
export function backOff(context: InvocationContext): PortRequestOf<"timer.set"> {
  const { at, attempt, failure: why, request } = context;
  const label = `${request.ordinal} attempt ${attempt + 1}`;
  return { port: "timer.set", effect: "idempotent", args: waitAfter({ at, attempt, why, label }) };
}

/** The record of the attempt that is about to start (AR-28). */
export function retryNote(context: InvocationContext, by?: "operator"): Outgoing {
  const { request, attempt, failure: why } = context;
  const effect = effectOf(context);
  const body: InvocationRetried = {
    ordinal: request.ordinal,
    operation: entryIn(context).adapter === "mcp" ? "mcp_tool_call" : "local_tool_call",
    idempotency: effect,
    attempt: attempt + 1,
    maxAttempts: attemptsMax(effect),
    lastErrorCode: why?.code ?? "tool_outcome_unknown",
    ...(by === undefined ? {} : { by }),
  };
  return { kind: "note", type: "invocation.retried", body };
}

/** What a repeat of the call would do. */
export function effectOf(context: InvocationContext): EffectClass {
  return entryIn(context).definition.effectClass;
}

/** How a repeat is made harmless; undefined for tools that have no such mechanism. */
export function mechanismOf(context: InvocationContext): Mechanism | undefined {
  const { effectClass, mechanism } = entryIn(context).definition;
  return effectClass === "conditional" ? mechanism : undefined;
}

/** True if the effect class allows another attempt and nobody asked to stop. */
export function hasAttemptLeft(context: InvocationContext): boolean {
  return !context.cancelAsked && context.attempt < attemptsMax(effectOf(context));
}

/** True if an attempt may have happened, and a repeat could hurt. */
export function isUncertain(context: InvocationContext, failed: PortFailed): boolean {
  return failed.status === "unknown" && effectOf(context) !== "idempotent";
}

/** True if another attempt may fare better, and this one certainly did not happen or may happen twice (AR-29). */
export function isRetryable(context: InvocationContext, failed: PortFailed): boolean {
  const effect = effectOf(context);
  if (failed.status === "unknown") return effect === "idempotent";
  return failed.status === "failed" && mayHelp(failed.failure, effect);
}

/** True if a tool ran and said no. */
export function isErrorReturn(done: PortDone): boolean {
  return typeof done.value === "object" && done.value !== null && !Array.isArray(done.value) &&
    (done.value as { readonly isError?: unknown }).isError === true;
}

/** What is remembered of a result: whether the tool said no, whether it changes the session's state, and of which tasks it tells. */
export function returned(done: PortDone): Pick<InvocationContext, "isError" | "changesState" | "told"> {
  const isError = isErrorReturn(done);
  const { changes, told } = Object(done.value) as {
    readonly changes?: unknown;
    readonly told?: InvocationContext["told"];
  };
  return {
    isError,
    ...(Array.isArray(changes) && !isError ? { changesState: true } : {}),
    ...(Array.isArray(told) ? { told } : {}),
  };
}

/** True if a verification found the effect. */
export function isApplied(done: PortDone): boolean {
  return typeof done.value === "object" && done.value !== null && !Array.isArray(done.value) &&
    (done.value as { readonly applied?: unknown }).applied === true;
}

/** When something happened, and in which runtime. A cancel says no epoch: nothing is started after it. */
export function momentOf(
  { at, epoch }: { readonly at: number; readonly epoch?: number },
): Pick<InvocationContext, "at"> & Partial<Pick<InvocationContext, "epoch">> {
  return epoch === undefined ? { at } : { at, epoch };
}

/** Why a call that a person was asked about is not made. */
export function refusalOf(event: InvocationEvent): Failure {
  const via = event.type === "question.decided" ? event.via : "withdrawn";
  if (via === "expired") {
    return failure("approval_expired", "Nobody answered in time, so the call was not made");
  }
  if (via === "stale") {
    return failure(
      "approval_stale",
      "The tool was changed while a person was asked about it, so the call was not made: look at it again",
    );
  }
  if (via === "limited") {
    const minutes = limits.questionWindowMs / 60_000;
    return failure(
      "approval_rate_exceeded",
      `A person was asked ${limits.questionsPerWindowMax} times within ${minutes} minutes, so nobody is asked again ` +
        "until some of that time has passed: go on without this call, or end the turn and wait",
    );
  }
  if (via === "unavailable") {
    return failure("approval_unavailable", "Nobody is there to be asked, so the call was not made");
  }
  return failure("approval_denied", "The call was refused. Do not repeat it");
}

/** The ending of an uncertain call that an operator gave up on. */
export function abandoned(): Failure {
  return failure("outcome_abandoned", "The outcome of this call is unknown. Do not repeat it");
}

/** The ending of an uncertain call of which it is known now that it did not happen. */
export function notApplied(): Failure {
  return failure("tool_failed", "The call was begun but not applied");
}

/** The ending of a call that was canceled before it was dispatched. */
export function canceled(): Failure {
  return failure("tool_canceled", "The call was canceled before it was made");
}

/** A tool that asks needs the answer for all that it does; a server that got none may have done without. */
function isUnasked({ unasked }: InvocationContext, ended: InvocationOutcome): boolean {
  return unasked === "tool" || (unasked === "server" && ended !== "succeeded");
}

/** How the invocation ended, for its turn. `outcome` is the output of the final state reached. */
export function resultOf(context: InvocationContext, outcome: unknown): InvocationEnding {
  const ended = InvocationOutcome.parse(outcome);
  const reached = context.firstIntent !== null;
  return {
    ordinal: context.request.ordinal,
    callId: context.request.callId,
    name: context.request.name,
    outcome: ended,
    ...(context.outcomeOf === null ? {} : { outcomeOf: context.outcomeOf }),
    ...(context.failure === null ? {} : { failure: context.failure }),
    attempts: reached ? context.attempt : 0,
    ...(context.changesState === true ? { changesState: true as const } : {}),
    ...(context.told === undefined ? {} : { told: [...context.told] }),
    ...(context.via === null ? {} : { via: context.via }),
    ...(isUnasked(context, ended) ? { unasked: true as const } : {}),
    at: context.at,
    epoch: context.epoch,
    ...(context.spent === undefined ? {} : { spent: context.spent }),
  };
}
