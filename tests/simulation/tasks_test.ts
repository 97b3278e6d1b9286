/** Background tasks, with the process killed at every write and at every effect, and by chance: each ends and is told once. */
import assert from "node:assert/strict";
import { describe, type Verdict } from "./evidence.ts";
import { type Crash, killAt, planOf, scriptedPlan } from "./plan.ts";
import { simulate } from "./simulation.ts";

async function survive(crashes: readonly Crash[]): Promise<Verdict> {
  const verdict = await simulate(1, scriptedPlan(crashes, { play: "tasks" }));
  assert.ok(verdict.violations.length === 0, describe(verdict));
  assert.equal(verdict.counts.crashes, crashes.length, `not reached: ${JSON.stringify(crashes)}`);
  return verdict;
}

const { seen, counts: { firstCommits, firstApplied } } = await survive([]);

Deno.test("play has tasks that end well, and tasks of whose end nobody knows", () => {
  const wanted = ["intent task.run non_idempotent", "outcome task.run ok", "outcome task.run unknown"];
  assert.deepEqual(wanted.filter((name) => !seen.has(name)), []);
  assert.ok(firstCommits > 15 && firstApplied >= 6, `${firstCommits} commits, ${firstApplied} effects`);
});

for (const when of ["before", "after"] as const) {
  Deno.test(`task ends once and is told of once, whatever write is the last ${when} a kill (DM-122, DM-123, CM-119)`, async () => {
    for (let n = 1; n <= firstCommits; n++) await survive([killAt("commit", n, when)]);
  });
}

Deno.test("task ends once and is told of once, whatever effect was the last before a kill (DM-122, DM-123)", async () => {
  for (let n = 1; n <= firstApplied; n++) await survive([killAt("performance", n, "after")]);
});

Deno.test("task ends once and is told of once through the crashes and faults of 20 seeds (DM-122, DM-123)", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const verdict = await simulate(seed, { ...planOf(seed, {}), play: "tasks" });
    assert.ok(verdict.violations.length === 0, describe(verdict));
  }
});
