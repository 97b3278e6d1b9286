/** Whether a failing plan is made small: what breaks because of a planted bug needs little to break. */
import assert from "node:assert/strict";
import { canaries } from "./bugs.ts";
import { describe, type Verdict } from "./evidence.ts";
import { killAt, type Plan, planOf } from "./plan.ts";
import { shrink, testOf } from "./shrink.ts";
import { simulate } from "./simulation.ts";

/** A plan with trouble of every kind, and a whole play. */
function wildPlan(seed: number): Plan {
  return {
    ...planOf(seed),
    crashes: [{ ...killAt("commit", 6, "after"), clockMs: 5_000 }, killAt("step", 40, "before")],
    throwing: 0.1,
    landing: 0.5,
    strict: true,
    isUnruly: true,
    theme: "mixed",
    bounds: { snapshotEveryEntries: 3, groupEntriesMax: 4 },
    workload: {},
  };
}

function bugNamed(name: string) {
  const found = canaries.find((canary) => canary.name === name)?.bug;
  if (found === undefined) throw new Error(`There is no planted bug "${name}"`);
  return found;
}

/** The first run that breaks a rule because of a bug. */
async function failing(name: string, planned: (seed: number) => Plan): Promise<Verdict> {
  for (let seed = 1; seed <= 60; seed++) {
    const verdict = await simulate(seed, planned(seed), bugNamed(name));
    if (verdict.violations.length > 0) return verdict;
  }
  throw new Error(`No seed shows that ${name}`);
}

Deno.test("failing seed is shrunk to what its failure needs, and says so as a test", async () => {
  const name = "a command has no row";
  const wild = await failing(name, wildPlan);
  const small = await shrink(wild, bugNamed(name));
  const { plan, violations, trace } = small.verdict;
  assert.equal(violations[0]?.rule, wild.violations[0]?.rule);
  assert.deepEqual(plan.bounds, {});
  assert.deepEqual([plan.throwing, plan.landing, plan.strict], [0, 0, false]);
  assert.ok(plan.crashes.length < 2, JSON.stringify(plan.crashes));
  assert.ok(plan.crashes.every(({ how, clockMs }) => how === "kill" && clockMs === 0));
  assert.equal(plan.workload.commands, 1);
  assert.ok(trace.length < wild.trace.length, `${trace.length} lines of ${wild.trace.length}`);
  // The plan alone is the run.
  const again = await simulate(plan.seed, JSON.parse(JSON.stringify(plan)), bugNamed(name));
  assert.deepEqual(again.trace, trace);
  assert.ok(testOf(small).includes(JSON.stringify(plan)));
});

Deno.test("nothing is taken away that a failure needs", async () => {
  const name = "a root with open intents has no row";
  const small = await shrink(await failing(name, planOf), bugNamed(name));
  // Who is never interrupted has no need of the row.
  assert.ok(small.verdict.plan.crashes.length > 0);
});

Deno.test("run that breaks no rule is not shrunk", async () => {
  const verdict = await simulate(1);
  await assert.rejects(shrink(verdict), /it breaks no rule/);
});

Deno.test("failing run is told by its seed, its plan, the first broken rule and the 50 lines before that", async () => {
  const wild = await failing("a command has no row", wildPlan);
  const { plan, violations: [first] } = wild;
  const lines = describe(wild, "abc123").split("\n");
  assert.equal(lines[0], `swarm seed ${plan.seed} breaks ${first?.rule}: ${first?.message}`);
  assert.equal(lines[1], `again: deno task sim --seeds 1 --from ${plan.seed}, at commit abc123`);
  assert.equal(lines[2], `plan: ${JSON.stringify(plan)}`);
  assert.ok(lines.length > 20 && lines.length <= 53, `${lines.length} lines`);
  assert.match(lines.at(-1) ?? "", new RegExp(` BROKEN ${first?.rule}: `));
});
