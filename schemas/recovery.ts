/**
 * How a turn goes on after its model failed: what it waits for once it does not ask again by itself at once, why it asks
 * once more, and what a session waits for, in one word (CM-113, CM-114, LC-31).
 */
import { z } from "zod";
import { Failure, FailureCode } from "./failure.ts";
import { IntentId } from "./ids.ts";
import { recoveryLimits } from "./recovery_limits.ts";

/** How long a turn waits: not at all, while it goes on by itself, or until a person lets it go on. */
export const Patience = z.enum(["never", "automatic", "manual"]);
/** How long a turn waits. */
export type Patience = z.infer<typeof Patience>;

/** How turns of a session go on after failures of the model. Sessions of earlier releases have none: their turns fail. */
export const Recovery = z.strictObject({ waits: Patience.default("manual") });
/** How turns of a session go on after failures of the model. */
export type Recovery = z.infer<typeof Recovery>;

/** Failures after which a turn may wait. */
export const WaitKind = z.enum([
  "provider_overloaded",
  "provider_unreachable",
  "provider_rate_limited",
  "provider_credits_exhausted",
  "provider_auth_expired",
  "invalid_tool_call_contract",
]);
/** A failure after which a turn may wait. */
export type WaitKind = z.infer<typeof WaitKind>;

/** Where the fault lies: outside, or in what the model answered. */
export const WaitCategory = z.enum(["external_dependency_blocked", "contract_error"]);
/** Where the fault lies. */
export type WaitCategory = z.infer<typeof WaitCategory>;

/** Who ends a wait: time, or a person. */
export const WaitStrategy = z.enum(["automatic", "manual"]);
/** Who ends a wait. */
export type WaitStrategy = z.infer<typeof WaitStrategy>;

/** What is done about one kind of failure. */
export interface WaitRule {
  readonly category: WaitCategory;
  /** How often the model is asked again by itself. */
  readonly retriesMax: number;
  /** The wait before the first of them; the second is waited for twice as long, and so on. Milliseconds. */
  readonly delayMs: number;
}

const outside = "external_dependency_blocked";

/** What is done about every kind. Leave one out and this does not compile. */
export const waitRules: { readonly [K in WaitKind]: WaitRule } = {
  provider_overloaded: { category: outside, retriesMax: 2, delayMs: 30_000 },
  provider_unreachable: { category: outside, retriesMax: 2, delayMs: 30_000 },
  provider_rate_limited: { category: outside, retriesMax: 2, delayMs: 15_000 },
  provider_credits_exhausted: { category: outside, retriesMax: 0, delayMs: 0 },
  provider_auth_expired: { category: outside, retriesMax: 0, delayMs: 0 },
  invalid_tool_call_contract: { category: "contract_error", retriesMax: 1, delayMs: 5_000 },
};

/** The kind of wait that a failure of the model asks for; a code that is not here is never waited for. */
export const waitKinds: { readonly [code in FailureCode]?: WaitKind } = {
  model_server_failed: "provider_overloaded",
  model_unreachable: "provider_unreachable",
  model_timed_out: "provider_unreachable",
  model_rate_limited: "provider_rate_limited",
  model_quota_exceeded: "provider_credits_exhausted",
  model_login_failed: "provider_auth_expired",
  model_answer_invalid: "invalid_tool_call_contract",
};

/** What a session can wait for (CM-114). */
export const WaitReason = z.enum([
  /** A person is to say something: what a server or a tool asked. */
  "human_interaction",
  /** Child agents and other tasks are to end. */
  "subagent_barrier",
  /** Another root of the session is out of service, or held after a crash. */
  "agent_unavailable",
  /** A person is to set something right, or to say what became of a call. */
  "manual_recovery_required",
  /** A person is to allow a call. */
  "policy_gate",
  /** The same is tried again after a while. */
  "retryable_failure",
  /** Something outside is not to be had: it is tried again after a while. */
  "external_dependency_blocked",
]);
/** What a session can wait for. */
export type WaitReason = z.infer<typeof WaitReason>;

/** A turn that waits, since its model failed (CM-113): the body of the note `turn.waiting`. */
export const TurnWait = z.strictObject({
  turn: z.int().min(1),
  step: z.int().min(0),
  model: z.string().max(200),
  reason: WaitReason,
  category: WaitCategory,
  kind: WaitKind,
  strategy: WaitStrategy,
  /** Which automatic retry comes next; of a wait for a person, how many there were. */
  attempt: z.int().min(0),
  maximum: z.int().min(0),
  /** In milliseconds since the epoch; null if only a person ends the wait. */
  nextRetryAtMs: z.number().nullable(),
  lastError: Failure,
});
/** A turn that waits. */
export type TurnWait = z.infer<typeof TurnWait>;

/** What ended a wait. */
export const WaitEnd = z.enum(["timer", "operator", "cancel", "budget"]);
/** What ended a wait. */
export type WaitEnd = z.infer<typeof WaitEnd>;

/** Body of the note `turn.wait_ended`. */
export const TurnWaitEnded = z.strictObject({
  turn: z.int().min(1),
  step: z.int().min(0),
  by: WaitEnd,
});
/** Body of the note `turn.wait_ended`. */
export type TurnWaitEnded = z.infer<typeof TurnWaitEnded>;

/** Why a turn asks its model once more (LC-31). No hooks are there, so that nothing yields `stop_hook_continuation`. */
export const ContinuationReason = z.enum([
  "tool_result_continuation",
  "max_tokens_recovery",
  "compact_retry",
  "transport_retry",
  "stop_hook_continuation",
  "budget_continuation",
  /** Its answer did not have the form that the agent says. */
  "output_repair",
]);
/** Why a turn asks its model once more. */
export type ContinuationReason = z.infer<typeof ContinuationReason>;

/** Why a request to the model is not the first of its turn. */
export const Continuation = z.strictObject({
  reason: ContinuationReason,
  /** The answers that the next one goes on with, if they were cut off: their text comes before it. */
  parts: z.array(IntentId).max(recoveryLimits.truncationsMax).exactOptional(),
});
/** Why a request to the model is not the first of its turn. */
export type Continuation = z.infer<typeof Continuation>;
