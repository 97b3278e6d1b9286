/** Which model a turn asks, how often the same one, and when another one instead (AR-22..29). */
import type { PortArgs, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure, reworded } from "../schemas/failure.ts";
import { kindOf, remedyOf } from "../schemas/failure_kind.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { ModelChanged, ModelRetried } from "../schemas/retry.ts";
import { attemptsMax, mayHelp, modelWaitAfter, waitAfter } from "./retry.ts";
import type { TurnContext } from "./turn_context.ts";
import { toldLess } from "./turn_schema.ts";

/** What the model is asked in this step: only what is new, the rest is in the journal. */
export function generate(
  context: TurnContext,
  reservation: Pick<PortArgs<"model.generate">, "maxOutputTokens" | "budget">,
): PortRequestOf<"model.generate"> {
  return {
    port: "model.generate",
    effect: "idempotent",
    args: {
      model: modelOf(context),
      turn: context.turn,
      step: context.step,
      catalog: context.catalog,
      append: [...context.append],
      toolChoice: "auto",
      ...reservation,
      ...(context.attempt === 1 ? {} : { attempt: context.attempt }),
      ...continuationOf(context),
      ...toldLess(context),
      ...(context.compactedIn === context.step ? { compact: true } : {}),
    },
    deadlineAtMs: context.at + limits.modelCallDurationMs,
  };
}

/** Why the model is asked although it was before, in this turn (LC-31). */
function continuationOf(
  { recovery, continuation = null, attempt, fallback, waits = 0, step }: TurnContext,
): Pick<PortArgs<"model.generate">, "continuation"> {
  if (continuation?.reason === "output_repair") return { continuation };
  if (recovery === undefined) return {};
  if (continuation !== null) return { continuation };
  if (attempt > 1 || fallback > 0 || waits > 0) return { continuation: { reason: "transport_retry" } };
  return step === 0 ? {} : { continuation: { reason: "tool_result_continuation" } };
}

/** The model that is asked now: the agent's own, or the fallback that the turn has come to. */
export function modelOf({ model, fallbacks, fallback }: TurnContext): string {
  return fallback === 0 ? model : fallbacks?.[fallback - 1] ?? model;
}

/** The wait before the model is asked again. */
export function backOff(context: TurnContext): PortRequestOf<"timer.set"> {
  const { at, attempt, failure: why, turn, step } = context;
  const label = `turn ${turn} step ${step} model`;
  const args = context.recovery === undefined
    ? waitAfter({ at, attempt, why, label })
    : modelWaitAfter({ at, attempt: attempt - (context.triedBefore ?? 0), why, label });
  return { port: "timer.set", effect: "idempotent", args };
}

/** True if the same model may be asked again: it changes nothing outside, so only the failure decides (AR-26, AR-29). */
export function mayRetryModel({ attempt, triedBefore = 0, waits = 0 }: TurnContext, why: Failure): boolean {
  // Who has waited for longer asks once, and waits again.
  if (waits > 0) return false;
  return attempt - triedBefore < attemptsMax("idempotent") && mayHelp(why, "idempotent");
}

/** True if another model may answer instead: one is left, and this one was not to be had. A refusal is no such thing (AR-24). */
export function mayChangeModel({ fallbacks = [], fallback }: TurnContext, why: Failure): boolean {
  const { degrade } = remedyOf(why);
  return fallback < fallbacks.length && (degrade === "other_model" || degrade === "configured_model");
}

/** The record of another attempt at the same model (AR-28). */
export function retryNote(context: TurnContext): Outgoing {
  const body: ModelRetried = {
    operation: "model_generate",
    idempotency: "idempotent",
    attempt: context.attempt + 1,
    // After a wait that somebody ended all tries are there again.
    maxAttempts: (context.triedBefore ?? 0) + attemptsMax("idempotent"),
    lastErrorCode: context.failure?.code ?? "model_failed",
    turn: context.turn,
    step: context.step,
    model: modelOf(context),
  };
  return { kind: "note", type: "model.retried", body };
}

/** The record of a change of models. */
export function changeNote(context: TurnContext): Outgoing {
  const why = context.failure ?? failure("model_failed", "");
  const body: ModelChanged = {
    turn: context.turn,
    step: context.step,
    from: modelOf(context),
    to: modelOf({ ...context, fallback: context.fallback + 1 }),
    lastErrorCode: why.code,
    kind: kindOf(why),
  };
  return { kind: "note", type: "model.changed", body };
}

/** What a turn forgets of its tries once there is an answer. Turns that know nothing of waits go on not knowing. */
export function answered(
  { recovery, continuation = null }: TurnContext,
): Pick<TurnContext, "attempt" | "triedBefore" | "waits" | "wait" | "continuation"> {
  if (recovery === undefined) return { attempt: 1, ...(continuation === null ? {} : { continuation: null }) };
  return { attempt: 1, triedBefore: 0, waits: 0, wait: null, continuation: null };
}

/** True if the conversation is too long, and was not made shorter in this turn. */
export function mayCompact({ recovery, compactedIn }: TurnContext, why: Failure): boolean {
  return recovery !== undefined && compactedIn === undefined && remedyOf(why).degrade === "shorter_context";
}

/** The same step again, with a shorter conversation. */
export function compacted({ attempt, step, continuation }: TurnContext): Partial<TurnContext> {
  const parts = continuation?.parts;
  return {
    attempt: attempt + 1,
    compactedIn: step,
    continuation: { reason: "compact_retry", ...(parts === undefined ? {} : { parts }) },
    failure: null,
  };
}

/** Why the model was asked in vain, and what was tried. */
export function failureOf({ compactedIn }: TurnContext, why: Failure): Failure {
  const isStillTooLong = compactedIn !== undefined && remedyOf(why).degrade === "shorter_context";
  if (!isStillTooLong) return why;
  return reworded(why, `${why.message}; old results were left out already: begin another session`);
}
