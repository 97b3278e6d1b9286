/** The status of a typed result, from the outcome and whether the adapter was told to act. */
import assert from "node:assert/strict";
import { InvocationOutcome } from "../../schemas/invocation.ts";
import { toolStatus } from "../../actors/tool_status.ts";

Deno.test("tool status maps every outcome: what failed before its adapter was told to act is invalid (DM-43, DM-44)", () => {
  const table = Object.fromEntries(
    InvocationOutcome.options.map((
      outcome,
    ) => [outcome, [toolStatus(outcome, false), toolStatus(outcome, true)]]),
  );
  assert.deepEqual(table, {
    succeeded: ["succeeded", "succeeded"],
    completed_with_error: ["failed", "failed"],
    failed: ["invalid", "failed"],
    denied: ["denied", "denied"],
    invalid: ["invalid", "invalid"],
    not_found: ["not_found", "not_found"],
    timed_out: ["timed_out", "timed_out"],
    canceled: ["canceled", "canceled"],
    unknown: ["unknown", "unknown"],
  });
});
