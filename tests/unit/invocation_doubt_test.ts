/** Whether a call whose outcome is unknown ends only as what is found out of it (I1, I3). */
import assert from "node:assert/strict";
import type { Decision } from "../../schemas/question.ts";
import { effectOf, endingOf, failedCall, toolReturn } from "../support/calls.ts";
import type { FailureSketch } from "../support/desk.ts";

const unknown: FailureSketch = { status: "unknown", code: "tool_outcome_unknown", retryable: false };
const final: FailureSketch = { retryable: false };

Deno.test("invocation of which nobody knows the outcome repeats by its key, and never on its own otherwise", () => {
  const states = [
    [effectOf("idempotent"), "backingOff"],
    [effectOf("conditional", "key"), "backingOff"],
    [effectOf("conditional", "verify"), "verifying"],
    [effectOf("conditional", "precondition"), "needsOperator"],
    [effectOf("conditional"), "needsOperator"],
    [effectOf("non_idempotent"), "needsOperator"],
    [effectOf("non_idempotent", "key"), "needsOperator"],
  ] as const;
  for (const [sketch, state] of states) {
    assert.equal(failedCall(sketch, unknown).state(), state, JSON.stringify(sketch));
  }
});

// A repeat of an idempotent call harms nobody, so nobody is asked about one.
Deno.test("invocation of an idempotent call is never uncertain: it is repeated, then it has failed", () => {
  const call = failedCall({}, unknown);
  for (let attempt = 2; attempt <= 5; attempt++) {
    call.settle("timer.set", { firedAtMs: 0 });
    call.fail("tool.call", unknown);
  }
  assert.deepEqual([call.state(), call.result()?.attempts, call.reports()], ["failed", 5, []]);
});

Deno.test("invocation that repeats by its key needs a person when its attempts are used up", () => {
  const call = failedCall(effectOf("conditional", "key"), unknown);
  for (let attempt = 2; attempt <= 3; attempt++) {
    call.settle("timer.set", { firedAtMs: 0 });
    assert.equal(call.argsOf("tool.call").key, "1.0");
    call.fail("tool.call", unknown);
  }
  assert.equal(call.state(), "needsOperator");
});

// The outcome `failed` may be written only if nothing may have been applied, whatever a later attempt says (R3, R5).
Deno.test("invocation stays in doubt when a later attempt fails for certain", () => {
  const ends = [final, { status: "timed_out" }, { status: "canceled" }] as const;
  for (const failure of ends) {
    const call = failedCall(effectOf("conditional", "key"), unknown);
    call.settle("timer.set", { firedAtMs: 0 });
    call.fail("tool.call", failure);
    assert.equal(call.state(), "needsOperator", JSON.stringify(failure));
  }
  const again = failedCall(effectOf("non_idempotent"), unknown);
  again.decide("run_again");
  again.fail("tool.call", final);
  assert.equal(again.state(), "needsOperator");
});

Deno.test("invocation is out of doubt once a later attempt under the same key succeeds", () => {
  const call = failedCall(effectOf("conditional", "key"), unknown);
  call.settle("timer.set", { firedAtMs: 0 });
  call.settle("tool.call", toolReturn("charged once"));
  const { outcome, outcomeOf, attempts, via } = call.result() ?? {};
  assert.deepEqual([outcome, outcomeOf, attempts, via], ["succeeded", "3.0", 2, undefined]);
});

Deno.test("invocation that can look up its effect succeeds when it finds it", () => {
  const call = failedCall(effectOf("conditional", "verify"), unknown);
  const request = call.desk.asks.at(-1)?.request;
  assert.deepEqual([request?.port, request?.effect], ["tool.verify", "idempotent"]);
  assert.equal(call.argsOf("tool.verify").key, "1.0");
  call.settle("tool.verify", { applied: true });
  assert.deepEqual(endingOf(call), ["succeeded", "succeeded", undefined]);
  // The look-up is no result of the tool: the model is told in words that it was applied.
  assert.deepEqual([call.result()?.via, call.result()?.outcomeOf], ["verify", undefined]);
});

Deno.test("invocation that looked in vain tries again, and fails only when no attempt is left", () => {
  const call = failedCall(effectOf("conditional", "verify"), unknown);
  for (let attempt = 2; attempt <= 3; attempt++) {
    call.settle("tool.verify", { applied: false });
    assert.equal(call.state(), "backingOff");
    call.settle("timer.set", { firedAtMs: 0 });
    assert.equal(call.argsOf("tool.call").attempt, attempt);
    call.fail("tool.call", unknown);
  }
  call.settle("tool.verify", { applied: false });
  assert.deepEqual(endingOf(call), ["failed", "failed", "tool_failed"]);
  assert.equal(call.result()?.via, "verify");
});

Deno.test("invocation is out of doubt after a look-up: what fails for certain then has failed", () => {
  const call = failedCall(effectOf("conditional", "verify"), unknown);
  call.settle("tool.verify", { applied: false });
  call.settle("timer.set", { firedAtMs: 0 });
  call.fail("tool.call", final);
  assert.deepEqual(endingOf(call), ["failed", "failed", "tool_failed"]);
  assert.equal(call.result()?.via, undefined);
});

Deno.test("invocation whose look-up fails needs a person", () => {
  const call = failedCall(effectOf("conditional", "verify"), unknown);
  call.fail("tool.verify", final);
  assert.equal(call.state(), "needsOperator");
  const open = call.reports().at(-1);
  assert.equal(open?.type === "question.open" && open.subject.kind, "uncertain");
});

Deno.test("invocation whose timer fails ends as its last attempt did", () => {
  const sure = failedCall({}, {});
  sure.fail("timer.set");
  assert.equal(sure.state(), "failed");
  const doubtful = failedCall(effectOf("conditional", "key"), unknown);
  doubtful.fail("timer.set");
  assert.equal(doubtful.state(), "needsOperator");
});

Deno.test("invocation that needs a person does what the operator says", () => {
  const endings: readonly (readonly [Decision, readonly unknown[]])[] = [
    ["mark_applied", ["succeeded", "succeeded", undefined]],
    ["mark_not_applied", ["failed", "failed", "tool_failed"]],
    ["abandon", ["unknown", "unknown", "outcome_abandoned"]],
    ["allow", ["unknown", "unknown", "outcome_abandoned"]],
  ];
  for (const [decision, expected] of endings) {
    const call = failedCall(effectOf("non_idempotent"), unknown);
    call.decide(decision);
    assert.deepEqual(endingOf(call), expected, decision);
    const { via, outcomeOf, attempts } = call.result() ?? {};
    assert.deepEqual([via, outcomeOf, attempts], ["operator", undefined, 1], decision);
  }
});

Deno.test("invocation runs again when the operator says so, as its next attempt with a new deadline", () => {
  const call = failedCall(effectOf("non_idempotent"), unknown);
  call.run.now = 500_000;
  call.decide("run_again");
  assert.deepEqual([call.state(), call.argsOf("tool.call").attempt], ["running", 2]);
  assert.deepEqual([call.argsOf("tool.call").key, call.desk.asks.at(-1)?.request.deadlineAtMs], [
    "1.0",
    530_000,
  ]);
  call.settle("tool.call", toolReturn("done"));
  assert.deepEqual([call.result()?.outcome, call.result()?.via], ["succeeded", undefined]);
});
