/** Tests of the tests: each planted bug is found within a bounded number of seeds, by the rule that it breaks. */
import assert from "node:assert/strict";
import { canaries, type Canary } from "./bugs.ts";
import { planOf } from "./plan.ts";
import { simulate } from "./simulation.ts";

/** Seeds within which a bug must show. */
const seedsMax = 60;

/** The first seed at which one of the expected rules is seen broken, and the rules that were seen broken at all. */
async function hunt(
  { bug, rules, plan, from = 1 }: Canary,
): Promise<{ readonly seed: number; readonly seen: Set<string> }> {
  const seen = new Set<string>();
  for (let seed = from; seed < from + seedsMax; seed++) {
    const drawn = planOf(seed, {});
    const { violations } = await simulate(seed, plan?.(drawn) ?? drawn, bug);
    for (const { rule } of violations) seen.add(rule);
    if (violations.some(({ rule }) => rules.includes(rule))) return { seed, seen };
  }
  return { seed: Infinity, seen };
}

for (const canary of canaries) {
  Deno.test(`simulation finds that ${canary.name} (${canary.of})`, async () => {
    const { seed, seen } = await hunt(canary);
    assert.ok(
      seed < Infinity,
      `not found in ${seedsMax} seeds; expected ${canary.rules.join(" or ")}, seen ${
        [...seen].join(", ") || "nothing"
      }`,
    );
  });
}
