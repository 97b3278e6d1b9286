/** Which model a turn asks, how often the same one, and when another one instead (AR-22..29). */
import type { PortArgs, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { kindOf, remedyOf } from "../schemas/failure_kind.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { ModelChanged, ModelRetried } from "../schemas/retry.ts";
import { attemptsMax, mayHelp, waitAfter } from "./retry.ts";
import type { TurnContext } from "./turn_context.ts";

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
    },
    deadlineAtMs: context.at + limits.modelCallDurationMs,
  };
}

/** The model that is asked now: the agent's own, or the fallback that the turn has come to. */
function modelOf({ model, fallbacks, fallback }: TurnContext): string {
  return fallback === 0 ? model : fallbacks?.[fallback - 1] ?? model;
}

/** The wait before the model is asked again. */
export function backOff(context: TurnContext): PortRequestOf<"timer.set"> {
  const { at, attempt, failure: why, turn, step } = context;
  const label = `turn ${turn} step ${step} model`;
  return { port: "timer.set", effect: "idempotent", args: waitAfter({ at, attempt, why, label }) };
}

/** True if the same model may be asked again: it changes nothing outside, so only the failure decides (AR-26, AR-29). */
export function mayRetryModel({ attempt }: TurnContext, why: Failure): boolean {
  return attempt < attemptsMax("idempotent") && mayHelp(why, "idempotent");
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
    maxAttempts: attemptsMax("idempotent"),
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
