/** Whether the calls of an answer are planned as they should: which together, which alone, in what order. */
import assert from "node:assert/strict";
import { planStages } from "../../actors/batch.ts";
import { limits } from "../../schemas/limits.ts";

/** `S` is a parallel-safe call, `u` an unsafe one; the ordinals are their places. */
function plan(pattern: string) {
  const calls = [...pattern].map((one, index) => ({ ordinal: `call/0.${index}`, parallelSafe: one === "S" }));
  return planStages(calls, { turn: 3, round: 0 });
}

function shape(pattern: string): string {
  return plan(pattern).stages.map((stage) => stage.members.map((member) => pattern[member.position]).join(""))
    .join(" ");
}

// Proves CM-88.
Deno.test("batch puts adjacent parallel-safe calls into one stage and every other call alone", () => {
  assert.equal(shape("SSuSuuSSS"), "SS u S u u SSS");
  assert.equal(shape("uuu"), "u u u");
  assert.deepEqual(plan("SSu").stages.map((stage) => stage.kind), ["parallel_safe_group", "serial_group"]);
});

// Proves CM-90.
Deno.test("batch dispatches one member serially and more in parallel", () => {
  assert.deepEqual(plan("SuSS").stages.map((stage) => stage.dispatch), ["serial", "serial", "parallel"]);
});

// Proves CM-90, CM-94: the whole plan is data, so it can stand in the journal before a call starts.
Deno.test("batch names batch, round, stages, positions, nodes, joins and successor", () => {
  assert.deepEqual(JSON.parse(JSON.stringify(plan("Su"))), {
    batchId: "turn/3/batch/0",
    roundIndex: 0,
    stages: [
      {
        kind: "parallel_safe_group",
        dispatch: "serial",
        stageIndex: 0,
        members: [{ ordinal: "call/0.0", position: 0, nodeKey: "turn/3/batch/0/node/0" }],
        joinKey: "turn/3/batch/0/join/0",
        barrier: "wait_all",
      },
      {
        kind: "serial_group",
        dispatch: "serial",
        stageIndex: 1,
        members: [{ ordinal: "call/0.1", position: 1, nodeKey: "turn/3/batch/0/node/1" }],
        joinKey: "turn/3/batch/0/join/1",
        barrier: "wait_all",
      },
    ],
    successor: "turn/3/step/1",
  });
});

// Proves CM-89.
Deno.test("batch makes every stage wait for all its members", () => {
  assert.ok(plan("SSuS").stages.every((stage) => stage.barrier === "wait_all"));
});

// Proves CM-91: positions are the model's order, whatever finishes first.
Deno.test("batch keeps the model's order in the positions", () => {
  const positions = plan("SuSSu").stages.flatMap((stage) => stage.members.map((member) => member.position));
  assert.deepEqual(positions, [0, 1, 2, 3, 4]);
});

Deno.test("batch holds a call that does not claim parallel safety for unsafe", () => {
  assert.equal(shape("u"), "u");
  assert.deepEqual(plan("").stages, []);
});

// K8: at most about 100 children under one parent.
Deno.test("batch of the largest answer fits under one parent", () => {
  const largest = plan("S".repeat(limits.modelCallsPerAnswerMax));
  assert.equal(largest.stages.length, 1);
  assert.ok((largest.stages[0]?.members.length ?? 0) <= limits.childrenMax);
});
