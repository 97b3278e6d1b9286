/** What holds for the plan of every answer. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { planStages } from "../../actors/batch.ts";

const calls = fc.array(fc.boolean(), { maxLength: 64 }).map((flags) =>
  flags.map((parallelSafe, index) => ({ ordinal: `call/2.${index}`, parallelSafe }))
);

// Proves CM-88..91.
Deno.test("batch plans every call once, in order, and never an unsafe one with another", () => {
  fc.assert(fc.property(calls, (all) => {
    const { stages } = planStages(all, { turn: 1, round: 2 });
    const members = stages.flatMap((stage) => stage.members);
    assert.deepEqual(members.map((member) => member.ordinal), all.map((call) => call.ordinal));
    assert.deepEqual(members.map((member) => member.position), all.map((_, index) => index));
    assert.equal(new Set(members.map((member) => member.nodeKey)).size, all.length);
    assert.equal(new Set(stages.map((stage) => stage.joinKey)).size, stages.length);
    for (const [index, stage] of stages.entries()) {
      const isSafe = stage.members.every((member) => all[member.position]?.parallelSafe);
      assert.ok(stage.members.length === 1 || isSafe);
      assert.equal(stage.kind === "parallel_safe_group", isSafe);
      assert.equal(stage.dispatch === "parallel", stage.members.length > 1);
      assert.equal(stage.stageIndex, index);
      // Adjacent safe calls are never apart.
      const before = stages[index - 1];
      assert.ok(before === undefined || stage.kind === "serial_group" || before.kind === "serial_group");
    }
  }));
});
