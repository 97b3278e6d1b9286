/** What a cancel does to a call in each of its states (K11). */
import assert from "node:assert/strict";
import { type CallSketch, effectOf, endingOf, failedCall, startCall, toolReturn } from "../support/calls.ts";
import type { FailureSketch } from "../support/desk.ts";

const asked: CallSketch = { tool: { approvalPolicy: "prompt" } };
const unknown: FailureSketch = { status: "unknown", code: "tool_outcome_unknown", retryable: false };

Deno.test("invocation canceled while a person is asked ends at once and withdraws its question", () => {
  const call = startCall(asked);
  call.cancel();
  assert.deepEqual(endingOf(call), ["canceled", "canceled", "tool_canceled"]);
  assert.deepEqual(call.reports().map((report) => report.type), ["question.open", "question.withdraw"]);
  assert.deepEqual(call.kinds(), []);
});

// Proves K11.
Deno.test("invocation canceled while it runs tells its port and waits for what really happened", () => {
  for (const effect of ["idempotent", "conditional", "non_idempotent"] as const) {
    const call = startCall(effectOf(effect));
    call.cancel();
    assert.deepEqual([call.state(), call.pending(), call.desk.asks[0]?.cancelAsked], [
      "running",
      ["tool.call"],
      true,
    ]);
    call.cancel();
    assert.equal(call.state(), "running");
    call.settle("tool.call", toolReturn("too late"));
    assert.deepEqual(endingOf(call), ["succeeded", "succeeded", undefined], effect);
  }
});

// Proves K11.
Deno.test("invocation canceled while it runs makes no further attempt", () => {
  const endings: readonly (readonly [CallSketch, FailureSketch, string])[] = [
    [{}, { status: "canceled", code: "tool_canceled" }, "canceled"],
    [{}, {}, "failed"],
    [effectOf("conditional", "key"), {}, "failed"],
    [effectOf("conditional", "key"), unknown, "needsOperator"],
    [effectOf("conditional", "verify"), unknown, "verifying"],
    [effectOf("non_idempotent"), unknown, "needsOperator"],
  ];
  for (const [sketch, failure, state] of endings) {
    const call = startCall(sketch);
    call.cancel();
    call.fail("tool.call", failure);
    assert.equal(call.state(), state, JSON.stringify([sketch, failure]));
  }
});

Deno.test("invocation canceled between two attempts ends without the next one", () => {
  const call = failedCall({}, {});
  call.cancel();
  assert.deepEqual(endingOf(call), ["canceled", "canceled", "tool_canceled"]);
  assert.deepEqual([call.pending(), call.desk.asks.at(-1)?.state], [[], "dropped"]);
});

// Proves K11: `canceled` says that nothing was applied.
Deno.test("invocation canceled while an attempt may have been applied is never canceled for certain", () => {
  const call = failedCall(effectOf("conditional", "key"), unknown);
  assert.equal(call.state(), "backingOff");
  call.cancel();
  assert.equal(call.state(), "needsOperator");
});

Deno.test("invocation canceled while it looks up its effect waits for the answer, then stops", () => {
  for (const [applied, state] of [[true, "succeeded"], [false, "failed"]] as const) {
    const call = failedCall(effectOf("conditional", "verify"), unknown);
    call.cancel();
    assert.deepEqual([call.state(), call.pending()], ["verifying", ["tool.verify"]]);
    call.settle("tool.verify", { applied });
    assert.equal(call.state(), state);
  }
});

Deno.test("invocation canceled while the operator is asked ends as unknown and withdraws its question", () => {
  const call = failedCall(effectOf("non_idempotent"), unknown);
  call.cancel();
  assert.deepEqual(endingOf(call), ["unknown", "unknown", "outcome_abandoned"]);
  assert.deepEqual(call.reports().map((report) => report.type), ["question.open", "question.withdraw"]);
});
