/** Whether every failure has one kind, and every kind means what it should for retry, fallback and end (AR-25). */
import assert from "node:assert/strict";
import { attemptsMax, mayHelp } from "../../actors/retry.ts";
import { failure, FailureCode, retryableFailure } from "../../schemas/failure.ts";
import { FailureKind, failureKinds, kindOf, remedies, remedyOf } from "../../schemas/failure_kind.ts";
import { limits } from "../../schemas/limits.ts";
import { ModelErrorCode } from "../../schemas/script.ts";
import { EffectClass } from "../../schemas/tool.ts";
import { ModelError } from "../../src/model/provider.ts";

Deno.test("failure kinds mean for retry, fallback and end what was agreed on, row by row (AR-25)", () => {
  const rows = FailureKind.options.map((kind) => [kind, ...Object.values(remedies[kind])].join(" "));
  assert.deepEqual(rows, [
    "rate_limit soon other_model after_attempts",
    "transient_network soon other_model after_attempts",
    "server_error soon other_model after_attempts",
    "authentication_or_quota never configured_model report",
    "context_too_long never shorter_context report",
    "schema_not_supported never hide_tool report",
    "call_invalid never never to_model",
    "server_lost idempotent remove_tools report",
    "policy_refusal never never final",
    "user_refusal never never final",
    "canceled never never final",
    "other never never report",
  ]);
});

Deno.test("failure codes have one kind each, and every kind has a code that stands for it (AR-25)", () => {
  assert.deepEqual(Object.keys(failureKinds).sort(), [...FailureCode.options].sort());
  assert.deepEqual(new Set(Object.values(failureKinds)), new Set(FailureKind.options));
  const stand = {
    model_rate_limited: "rate_limit",
    model_unreachable: "transient_network",
    model_server_failed: "server_error",
    model_login_failed: "authentication_or_quota",
    model_quota_exceeded: "authentication_or_quota",
    model_context_exceeded: "context_too_long",
    model_schema_unsupported: "schema_not_supported",
    model_refused: "policy_refusal",
    tool_unknown: "call_invalid",
    arguments_invalid: "call_invalid",
    mcp_connection_lost: "server_lost",
    policy_denied: "policy_refusal",
    approval_denied: "user_refusal",
    refused_before: "user_refusal",
    turn_canceled: "canceled",
    tool_canceled: "canceled",
  } as const;
  for (const [code, kind] of Object.entries(stand)) {
    assert.equal(kindOf({ code: code as FailureCode }), kind, code);
  }
});

// Never for non_idempotent, never at the bound, else only for three kinds, and for a lost server if a repeat harms nobody.
Deno.test("retry depends on the class first, then on the kind; nothing else is tried again (AR-29)", () => {
  assert.deepEqual(EffectClass.options.map(attemptsMax), [5, 3, 1]);
  const soon = ["rate_limit", "transient_network", "server_error"];
  for (const code of FailureCode.options) {
    const kind = kindOf({ code });
    // Whatever a failure says of itself: its kind has the last word.
    const eager = { ...failure(code, "x"), retryable: true };
    assert.equal(mayHelp(eager, "conditional"), soon.includes(kind), code);
    assert.equal(mayHelp(eager, "idempotent"), [...soon, "server_lost"].includes(kind), code);
    assert.equal(mayHelp(failure(code, "x"), "idempotent"), false, code);
  }
});

Deno.test("retry is left alone by who asks for a longer wait than the bound (AR-25)", () => {
  const busy = retryableFailure("model_rate_limited", "x");
  const asking = (retryAfterMs: number) => mayHelp({ ...busy, retryAfterMs }, "idempotent");
  assert.deepEqual([0, limits.retryAfterMsMax, limits.retryAfterMsMax + 1].map(asking), [true, true, false]);
});

Deno.test("failure that says that a retry may help is of a kind of which that is true", () => {
  for (const code of ModelErrorCode.options) {
    const { failure: why } = new ModelError(code, "x");
    assert.equal(why.retryable, remedyOf(why).retry !== "never", code);
  }
  // @ts-expect-error: a refusal is of no kind that a retry may help.
  assert.equal(retryableFailure("approval_denied", "x").retryable, true);
});
