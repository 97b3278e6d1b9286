/** The scripted session, with the process killed at every write of it and at every effect, one place after another. */
import assert from "node:assert/strict";
import { type Counts, describe } from "./evidence.ts";
import { type Crash, killAt, scriptedPlan } from "./plan.ts";
import { simulate } from "./simulation.ts";

async function survive(crashes: readonly Crash[]): Promise<Counts> {
  const verdict = await simulate(1, scriptedPlan(crashes));
  assert.ok(verdict.violations.length === 0, describe(verdict));
  assert.equal(verdict.counts.crashes, crashes.length, `not reached: ${JSON.stringify(crashes)}`);
  return verdict.counts;
}

/** How far there is to count. The script without a crash has everything that the issue asks for. */
const { firstCommits, firstApplied } = await survive([]);

Deno.test("script has enough writes and effects to be worth a kill at each", () => {
  assert.ok(firstCommits > 35, `${firstCommits} commits`);
  assert.ok(firstApplied >= 12, `${firstApplied} effects`);
});

for (const when of ["before", "after"] as const) {
  Deno.test(`session survives a kill ${when} each of its writes takes hold (K1, K13, K14, K16, R6)`, async () => {
    for (let n = 1; n <= firstCommits; n++) await survive([killAt("commit", n, when)]);
  });
}

Deno.test("session survives a kill between performing and recording of each effect (R2, R3, table of kernel.md)", async () => {
  for (let n = 1; n <= firstApplied; n++) await survive([killAt("performance", n, "after")]);
});

Deno.test("session survives a second kill in the recovery from the first (K7, K20)", async () => {
  // After the last writes there is nothing left to recover, and no second commit.
  for (let n = 3; n < firstCommits - 2; n += 2) {
    await survive([killAt("commit", n, "after"), killAt("commit", 2, n % 4 === 1 ? "before" : "after")]);
  }
});
