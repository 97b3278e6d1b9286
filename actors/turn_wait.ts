/**
 * The pure rules by which a turn waits once its model was asked in vain as often as that is done at once (CM-113): for
 * time to pass, a few times, and then for a person. A cancel ends every wait, and nothing of it comes back (CM-115).
 */
import type { AnyActorRef } from "xstate";
import type { PortFailed, PortRequestOf } from "../schemas/effect.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import { type TurnWait, type WaitEnd, waitKinds, type WaitRule, waitRules } from "../schemas/recovery.ts";
import type { TurnContext, TurnReport } from "./turn_context.ts";
import { modelOf } from "./turn_model.ts";

/** What the turn waits for after this failure; undefined if it does not wait. */
export function waitAfterFailure(
  context: TurnContext,
  { failure: why, at }: PortFailed,
): TurnWait | undefined {
  const { recovery, waits = 0, turn, step } = context;
  const kind = waitKinds[why.code];
  if (recovery === undefined || recovery.waits === "never" || kind === undefined) return undefined;
  const rule = waitRules[kind];
  const isAutomatic = waits < rule.retriesMax;
  if (!isAutomatic && recovery.waits === "automatic") return undefined;
  return {
    turn,
    step,
    model: modelOf(context),
    reason: isAutomatic ? automaticReason(rule) : "manual_recovery_required",
    category: rule.category,
    kind,
    strategy: isAutomatic ? "automatic" : "manual",
    attempt: isAutomatic ? waits + 1 : waits,
    maximum: rule.retriesMax,
    nextRetryAtMs: isAutomatic ? at + delayOf(rule, waits + 1, why) : null,
    lastError: why,
  };
}

function automaticReason({ category }: WaitRule): TurnWait["reason"] {
  return category === "contract_error" ? "retryable_failure" : category;
}

/** As long as the provider asks, if it does; else longer with each retry. */
function delayOf({ delayMs }: WaitRule, retry: number, { retryAfterMs }: Failure): number {
  return retryAfterMs === undefined ? delayMs * retry : Math.max(retryAfterMs, limits.rateLimitMsMin);
}

/** The timer that ends a wait: it is in the journal, so that a restart changes nothing about when that is. */
export function waitTimer({ wait, turn, step }: TurnContext): PortRequestOf<"timer.set"> {
  const dueAtMs = wait?.nextRetryAtMs ?? null;
  if (dueAtMs === null) throw new Error(`Cannot wait in turn ${turn}: nobody said until when`);
  const label = `turn ${turn} step ${step} wait`;
  return {
    port: "timer.set",
    effect: "idempotent",
    args: { dueAtMs, jitterMs: limits.modelRetryJitterMs, label },
  };
}

/** The record of a wait that begins. */
export function waitNote({ wait }: TurnContext): Outgoing {
  return { kind: "note", type: "turn.waiting", body: { ...wait } };
}

/** What the session learns of it. */
export function waitReport({ wait }: TurnContext): TurnReport {
  if (wait === undefined || wait === null) throw new Error("Cannot report a wait that there is not");
  return { type: "turn.waiting", wait };
}

/** What ended a wait, by the event that did. */
export function endOf({ type }: { readonly type: string }): WaitEnd {
  if (type === "turn.resume") return "operator";
  if (type === "turn.cancel") return "cancel";
  return type.endsWith(".actor.wall") ? "budget" : "timer";
}

/** The record of a wait that is over. */
export function endNote({ turn, step }: TurnContext, by: WaitEnd): Outgoing {
  return { kind: "note", type: "turn.wait_ended", body: { turn, step, by } };
}

/** The time is over: the agent's own model is asked once more, and those behind it if need be. */
export function afterTime(context: TurnContext, at: number): Partial<TurnContext> {
  const { attempt, waits = 0 } = context;
  return { attempt: attempt + 1, waits: waits + 1, fallback: 0, wait: null, failure: null, at };
}

/** Somebody let it go on: all tries are there again. */
export function afterResume(context: TurnContext, at: number): Partial<TurnContext> {
  const { attempt } = context;
  return { attempt: attempt + 1, triedBefore: attempt, waits: 0, fallback: 0, wait: null, failure: null, at };
}

/** Its timer failed, which is no end of a wait: the turn ends with what it waited for. */
export function afterLoss({ wait }: TurnContext): Pick<TurnContext, "failure"> {
  return { failure: wait?.lastError ?? failure("model_failed", "The wait for the model could not be kept") };
}

/** Tells whoever began the turn. A turn that nobody began reports to nobody. */
export function tell(
  enqueue: { sendTo(to: AnyActorRef, event: TurnReport): void },
  self: { readonly _parent?: AnyActorRef },
  report: TurnReport,
): void {
  if (self._parent !== undefined) enqueue.sendTo(self._parent, report);
}
