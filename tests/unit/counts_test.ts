/** What a turn costs in things that can be counted: the same on every machine, so a loss of speed shows here first. */
import assert from "node:assert/strict";
import { openStage, settled, type ToolSketch } from "../support/stage.ts";

/** What one turn cost. */
interface Cost {
  readonly flushes: number;
  readonly entries: number;
  readonly bytes: number;
}

/** One scripted turn after a first one, which pays for what a session needs once. */
async function costOf(steps: readonly number[], tool: Omit<ToolSketch, "name">): Promise<Cost> {
  const call = { tool: "echo", arguments: { text: "hello" } };
  const turn = [...steps.map((calls) => ({ calls: Array(calls).fill(call) })), { text: "Done" }];
  const stage = await openStage({
    script: { capabilities: { parallelToolCalls: true }, answers: [...turn, ...turn] },
    tools: [{ name: "echo", ...tool }],
  });
  const session = await stage.session();
  const costs: Cost[] = [];
  for (const _ of ["first", "measured"]) {
    const { writer } = stage.runtime.journal;
    const { commits, entries, bytes } = writer.counters;
    const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
    assert.equal((await settled(stage.world, report)).outcome, "completed");
    await settled(stage.world, writer.idle());
    const after = writer.counters;
    costs.push({
      flushes: after.commits - commits,
      entries: after.entries - entries,
      bytes: after.bytes - bytes,
    });
  }
  return costs[1] as Cost;
}

const read = { effect: "idempotent", parallelSafe: true } as const;
const write = { effect: "non_idempotent", parallelSafe: true } as const;

/** All calls in one step. */
function together(calls: number): readonly number[] {
  return [calls];
}

/** One call a step. */
function apart(calls: number): readonly number[] {
  return Array<number>(calls).fill(1);
}

Deno.test("turn costs one flush however many harmless calls it makes (K10)", async () => {
  for (const steps of [together(1), together(10), together(64), apart(10)]) {
    assert.equal((await costOf(steps, read)).flushes, 1, `${steps}`);
  }
});

Deno.test("turn costs one more flush for every stage of calls that could hurt (K9)", async () => {
  assert.equal((await costOf(together(1), write)).flushes, 2);
  assert.equal((await costOf(together(10), write)).flushes, 2);
  assert.equal((await costOf(apart(10), write)).flushes, 11);
  // Calls that may not run side by side are a stage each.
  assert.equal((await costOf(together(10), { effect: "non_idempotent" })).flushes, 11);
});

Deno.test("turn writes three entries a call, three a step, and five of its own", async () => {
  for (const steps of [together(1), together(10), apart(10)]) {
    const calls = steps.reduce((sum, one) => sum + one, 0);
    assert.equal((await costOf(steps, read)).entries, 3 * calls + 3 * steps.length + 5, `${steps}`);
  }
});

Deno.test("turn writes few bytes a call: the conversation is not written again", async () => {
  const ten = await costOf(together(10), read);
  const fifty = await costOf(together(50), read);
  const tenSteps = await costOf(apart(10), read);
  const thirtySteps = await costOf(apart(30), read);
  const aCall = (fifty.bytes - ten.bytes) / 40;
  assert.ok(aCall < 1_100, `a call of a step: ${aCall}`);
  assert.ok(ten.bytes / 10 < 1_500, `ten calls: ${ten.bytes / 10} each`);
  // A step of its own costs an answer, a plan and a request more, never the steps before it.
  const aStep = (thirtySteps.bytes - tenSteps.bytes) / 20;
  assert.ok(aStep < 2_500, `a step of one call: ${aStep}`);
  assert.ok(aStep < tenSteps.bytes / 10, `later steps cost no more than earlier ones: ${aStep}`);
});
