/** A call that its server carries out as a task: what is asked for, and what each ending means. */
import assert from "node:assert/strict";
import { PortOutcome } from "../../schemas/effect.ts";
import { type CallSketch, effectOf, endingOf, startCall, toolReturn } from "../support/calls.ts";
import type { FailureSketch } from "../support/desk.ts";
import { callInTask, pausedCall, taskHandle } from "../support/tasks.ts";

const harmful = effectOf("non_idempotent");
const gone: FailureSketch = { status: "unknown", code: "mcp_task_unknown" };

Deno.test("invocation whose call became a task looks after it under its own deadline, and makes no other call (CM-34)", () => {
  const call = startCall({ ...harmful, entry: { adapter: "mcp" } });
  const [made] = call.desk.asks;
  call.settle("mcp.call", pausedCall());
  assert.deepEqual([call.state(), call.pending(), call.result()], ["awaitingTask", ["mcp.task"], undefined]);
  const [, look] = call.desk.asks;
  assert.deepEqual(
    [look?.request.effect, look?.request.deadlineAtMs],
    ["idempotent", made?.request.deadlineAtMs],
  );
  assert.deepEqual(call.argsOf("mcp.task").task, taskHandle());
  assert.deepEqual(call.argsOf("mcp.task").entry, call.argsOf("mcp.call").entry);
  call.settle("mcp.task", toolReturn("done"));
  assert.deepEqual(endingOf(call), ["succeeded", "succeeded", undefined]);
  // The model is given what the look yielded, and the call was made once.
  assert.deepEqual([call.result()?.outcomeOf, call.result()?.attempts], [look?.id, 1]);
  assert.equal(call.kinds().filter((kind) => kind === "mcp.call").length, 1);
});

Deno.test("invocation whose task ended with an error of its tool is completed with error", () => {
  const call = callInTask(harmful);
  call.settle("mcp.task", toolReturn("no", true));
  assert.deepEqual(endingOf(call), ["completedWithError", "completed_with_error", undefined]);
});

// Proves I3: whatever a look failed with, also by the kernel's own word, the task may have been applied.
Deno.test("invocation never takes a task that brought no result for one that did nothing, unless a repeat harms nobody", () => {
  for (const status of ["failed", "timed_out", "canceled", "unknown"] as const) {
    for (const retryable of [true, false]) {
      const call = callInTask(harmful);
      call.fail("mcp.task", { status, retryable });
      assert.deepEqual([call.state(), call.result()], ["needsOperator", undefined], status);
    }
  }
  const ends: readonly (readonly [FailureSketch, string])[] = [
    [{ status: "canceled", retryable: false }, "canceled"],
    [{ status: "timed_out", retryable: false }, "timedOut"],
    [{ status: "failed", retryable: false }, "failed"],
  ];
  for (const [failure, state] of ends) {
    const call = callInTask(effectOf("idempotent"));
    call.fail("mcp.task", failure);
    assert.equal(call.state(), state);
  }
});

Deno.test("invocation whose task is gone is called again only if its class allows it, and as a new attempt", () => {
  const classes: readonly (readonly [CallSketch, string])[] = [
    [effectOf("idempotent"), "backingOff"],
    [effectOf("conditional", "key"), "backingOff"],
    [effectOf("conditional", "verify"), "verifying"],
    [harmful, "needsOperator"],
  ];
  for (const [sketch, state] of classes) {
    const call = callInTask(sketch);
    call.fail("mcp.task", gone);
    assert.equal(call.state(), state);
  }
  const again = callInTask(effectOf("conditional", "key"));
  again.fail("mcp.task", gone);
  again.settle("timer.set", { firedAtMs: 2_000 });
  const { attempt, key } = again.argsOf("mcp.call");
  assert.deepEqual([attempt, key], [2, again.desk.asks[0]?.id]);
});

// Proves K11.
Deno.test("invocation canceled while its task works tells the port, and waits for what the server says", () => {
  const call = callInTask(harmful);
  call.cancel();
  assert.deepEqual([call.state(), call.pending(), call.desk.asks[1]?.cancelAsked], [
    "awaitingTask",
    ["mcp.task"],
    true,
  ]);
  call.settle("mcp.task", toolReturn("it was done"));
  assert.deepEqual(endingOf(call), ["succeeded", "succeeded", undefined]);
  const doubtful = callInTask(harmful);
  doubtful.cancel();
  doubtful.fail("mcp.task", { status: "canceled", code: "tool_canceled", retryable: false });
  assert.deepEqual([doubtful.state(), doubtful.result()], ["needsOperator", undefined]);
});

Deno.test("outcome of a call that became a task is stored as it is, and outcomes of earlier releases still are", () => {
  const made = { id: "3.0", attempt: 1, status: "ok" } as const;
  assert.deepEqual(PortOutcome.parse({ ...made, value: pausedCall() }).value, pausedCall());
  assert.ok(PortOutcome.safeParse({ ...made, value: toolReturn("done") }).success);
});
