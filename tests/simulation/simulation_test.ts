/** Random crashes, faults and orders, drawn from seeds: 200 of them in the gate, any number by `deno task sim`. */
import assert from "node:assert/strict";
import { describe } from "./evidence.ts";
import { simulate } from "./simulation.ts";

const seeds = 200;
/** First seed of this run: the same in every gate, unless somebody wants others. */
const from = Number(Deno.env.get("TROUPE_SIM_FROM") ?? 1);

Deno.test(`runtime keeps K1 to K25, R1 to R9, I5 and I16 through the crashes of seeds ${from} to ${from + seeds - 1} (B27)`, async () => {
  console.log(`simulation: seeds ${from} to ${from + seeds - 1}`);
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = await simulate(seed);
    assert.ok(verdict.violations.length === 0, describe(verdict));
  }
});

Deno.test("targets that answer late or twice leave evidence, and nothing is broken by it (F18, F19)", async () => {
  let answered = 0;
  for (let seed = from; seed < from + 60 && answered < 3; seed++) {
    const { violations, seen } = await simulate(seed);
    assert.deepEqual(violations, []);
    if (seen.has("note late_outcome ok")) answered += 1;
  }
  assert.ok(answered === 3, `${answered} of 60 seeds have a late answer`);
});

Deno.test("simulation is the same, to the byte, for the same seed", async () => {
  for (let seed = from; seed < from + 6; seed++) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    assert.equal(first.hash, second.hash, `seed ${seed} wrote something else the second time`);
    assert.deepEqual(first.trace, second.trace);
  }
});
