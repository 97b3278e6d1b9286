/** Random crashes, faults and orders, drawn from seeds: 2,000 of them in the gate, any number by `deno task sim`. */
import assert from "node:assert/strict";
import { everything } from "./coverage.ts";
import { playAll, type Tally } from "./crew.ts";
import { describe } from "./evidence.ts";
import { play } from "./player.ts";
import { simulate } from "./simulation.ts";

const seeds = 2_000;
/** First seed of this run: the same in every gate, unless somebody wants others. */
const from = Number(Deno.env.get("TROUPE_SIM_FROM") ?? 1);

let played: Promise<Tally> | undefined;

/** All seeds, played once for all tests. */
function allSeeds(): Promise<Tally> {
  played ??= playAll({ from, seeds });
  return played;
}

Deno.test(`runtime keeps K1 to K25, R1 to R9, I5 and I16 through the crashes of seeds ${from} to ${from + seeds - 1} (B27)`, async () => {
  console.log(`simulation: seeds ${from} to ${from + seeds - 1}`);
  const { failed, hashes } = await allSeeds();
  assert.deepEqual(failed.map((verdict) => describe(verdict)), []);
  assert.equal(hashes.size, seeds);
});

// A promise about what never happens in the runs would be kept by doing nothing.
Deno.test("seeds meet every kind of crash, fault, effect, ending, decision and late answer (F18, F19)", async () => {
  assert.deepEqual((await allSeeds()).census.missing(everything), []);
});

Deno.test("simulation is the same, to the byte, for the same seed", async () => {
  for (let seed = from; seed < from + 6; seed++) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    assert.equal(first.hash, second.hash, `seed ${seed} wrote something else the second time`);
    assert.deepEqual(first.trace, second.trace);
  }
});

Deno.test("simulation is the same on one thread and on many", async () => {
  const { hashes } = await allSeeds();
  const alone = await play({ from: from + 100, seeds: 20 });
  assert.deepEqual(alone.hashes, alone.hashes.map((_, index) => hashes.get(from + 100 + index)));
});
