/** What a tool that throws leaves behind: one code, one class, and a claim only where it is true (CM-36). */
import assert from "node:assert/strict";
import type { Failure } from "../../schemas/failure.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { openStage, settled } from "../support/stage.ts";

/** How the one call of a turn failed whose tool throws this: status of its outcome, and the failure in the journal. */
async function faultOf(
  thrown: unknown,
  effect: EffectClass,
): Promise<{ readonly status: string; readonly failure: Failure; readonly begun: number }> {
  const work = () => Promise.reject(thrown);
  const stage = await openStage({
    answers: [{ calls: [{ tool: "act" }] }, { text: "Done." }],
    tools: [{ name: "act", effect, work }],
    hasAnswerer: () => true,
  });
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await stage.world.settle();
  const outcomes = (await stage.entries(session)).filter(({ kind, type }) =>
    kind === "outcome" && type === "tool.call"
  );
  assert.equal(outcomes.length, 1);
  const { status, failure } = outcomes[0]?.body as unknown as { status: string; failure: Failure };
  return { status, failure, begun: stage.ledger.length };
}

Deno.test("tool that throws has failed for good, with the class of what it threw (CM-36)", async () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [new Deno.errors.NotFound("SECRET"), "semantic"],
    [new Deno.errors.PermissionDenied("SECRET"), "authorization"],
    [new Deno.errors.NotCapable("SECRET"), "authorization"],
    [new TypeError("SECRET"), "runtime"],
    [new Error("NotFound: permission denied"), "runtime"],
    ["SECRET", "runtime"],
    [undefined, "runtime"],
  ];
  for (const [thrown, classification] of cases) {
    const { status, failure, begun } = await faultOf(thrown, "idempotent");
    assert.deepEqual([status, begun], ["failed", 1]);
    assert.deepEqual(failure, {
      code: "tool_execution_failed",
      message: 'The tool "act" broke off without a result',
      retryable: false,
      classification,
    });
  }
});

// I3: it was begun, so nobody knows; the class is told all the same.
Deno.test("tool that throws after it may have been applied is unknown, whatever it threw (CM-36)", async () => {
  for (const effect of ["conditional", "non_idempotent"] as const) {
    const { status, failure } = await faultOf(new Deno.errors.NotFound("SECRET"), effect);
    const { code, retryable, classification, message } = failure;
    assert.deepEqual([status, code, retryable, classification], [
      "unknown",
      "tool_outcome_unknown",
      false,
      "semantic",
    ]);
    assert.doesNotMatch(message, /SECRET/);
  }
});
