/** Whether, how often and how soon something is tried again (AR-25..29): by what a repeat would do, then by the failure. */
import type { PortArgs } from "../schemas/effect.ts";
import type { Failure } from "../schemas/failure.ts";
import { remedyOf } from "../schemas/failure_kind.ts";
import { limits } from "../schemas/limits.ts";
import type { EffectClass } from "../schemas/tool.ts";

/** Attempts that a class allows, the first included. */
export function attemptsMax(effect: EffectClass): number {
  switch (effect) {
    case "idempotent":
      return limits.attemptsIdempotentMax;
    case "conditional":
      return limits.attemptsConditionalMax;
    case "non_idempotent":
      return 1;
  }
}

/** True if what failed may be tried again: by its kind, and if the other side does not ask to be left alone for longer. */
export function mayHelp(why: Failure, effect: EffectClass): boolean {
  if (!why.retryable || (why.retryAfterMs ?? 0) > limits.retryAfterMsMax) return false;
  switch (remedyOf(why).retry) {
    case "soon":
      return true;
    case "idempotent":
      return effect === "idempotent";
    case "never":
      return false;
  }
}

/** An attempt that failed, and when. */
interface TriedInVain {
  readonly at: number;
  readonly attempt: number;
  readonly why: Failure | null;
  readonly label: string;
}

/** The wait before the attempt after `attempt`: as long as the other side asks, then 0.5 s doubling, at most 30 s, full jitter. */
export function waitAfter({ at, attempt, why, label }: TriedInVain): PortArgs<"timer.set"> {
  const jitterMs = Math.min(limits.backoffFirstMs * 2 ** (attempt - 1), limits.backoffMsMax);
  return { dueAtMs: at + Math.min(why?.retryAfterMs ?? 0, limits.retryAfterMsMax), jitterMs, label };
}

/** The same for a model: 1 s doubling, at most 30 s, or as long as it asks; and up to 1 s that the performer draws (LC-30). */
export function modelWaitAfter({ at, attempt, why, label }: TriedInVain): PortArgs<"timer.set"> {
  const { modelRetryFirstMs, modelRetryMsMax, modelRetryJitterMs: jitterMs, retryAfterMsMax } = limits;
  const ownMs = Math.min(modelRetryFirstMs * 2 ** (attempt - 1), modelRetryMsMax);
  const askedMs = Math.min(why?.retryAfterMs ?? 0, retryAfterMsMax);
  return { dueAtMs: at + Math.max(ownMs, askedMs), jitterMs, label };
}
