/** The scripted session, with the process killed at every write of it and at every effect, one place after another. */
import assert from "node:assert/strict";
import { describe, type Verdict } from "./evidence.ts";
import { type Crash, killAt, scriptedPlan } from "./plan.ts";
import { simulate } from "./simulation.ts";

async function survive(crashes: readonly Crash[]): Promise<Verdict> {
  const verdict = await simulate(1, scriptedPlan(crashes));
  assert.ok(verdict.violations.length === 0, describe(verdict));
  assert.equal(verdict.counts.crashes, crashes.length, `not reached: ${JSON.stringify(crashes)}`);
  return verdict;
}

/** The script without a crash: how far there is to count. */
const { seen, counts: { firstCommits, firstApplied } } = await survive([]);

Deno.test("script has every kind of effect, trouble and message, and writes enough to be killed at", () => {
  const wanted = [
    "intent tool.call idempotent",
    "intent tool.call conditional",
    "intent tool.call non_idempotent",
    "outcome tool.call ok",
    "outcome tool.call unknown",
    "outcome tool.call timed_out",
    "outcome tool.call failed",
    "outcome question.ask ok",
    "outcome timer.set ok",
    "note turn.planned parallel",
    "note turn.planned serial",
    "note approval.requested shared",
    "note approval.decided",
    "note cancel_asked",
    "note poisoned",
    "message session.prompt",
    "message session.answered",
    "outcome child.start ok",
  ];
  assert.deepEqual(wanted.filter((name) => !seen.has(name)), []);
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

Deno.test("session survives a take-over at each write while the old process goes on (K16)", async () => {
  for (let n = 1; n <= firstCommits; n++) {
    await survive([{ ...killAt("commit", n, n % 2 === 0 ? "before" : "after"), how: "ghost" }]);
  }
});
