/** A child that is given one goal: what it may do, what comes back, and how often it is told of. */
import assert from "node:assert/strict";
import {
  call,
  childModel,
  children,
  delegate,
  firstResult,
  notices,
  openFamily,
  play,
  results,
} from "../support/family.ts";

Deno.test("delegate_task runs a child in a session of its own, returns its answer as evidence, once (DM-113, DM-125, DM-128)", async () => {
  const stage = await openFamily({
    answers: [{ calls: [delegate("Count the files")] }, { text: "there are 3" }],
  });
  const session = await stage.session();
  const report = await play(stage, session);
  assert.equal(report.outcome, "completed", JSON.stringify(report));
  const result = await firstResult(stage, session);
  assert.equal(result["answer"], "counted: 3");
  assert.equal(result["task_status"], "succeeded");
  assert.equal(result["close_state"], "closed");
  const [child] = await children(stage, session);
  assert.equal(child?.status, "succeeded");
  assert.notEqual(child?.agent.child, session);
  assert.deepEqual(await notices(stage, session), []);
  const replayed = await stage.replay(child?.agent.child ?? "");
  assert.equal(replayed.divergence, undefined);
  void [call, childModel, results];
});
