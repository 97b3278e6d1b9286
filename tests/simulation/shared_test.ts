/** Runtimes that share a store, in random order, from seeds: killed, stopped, asleep beyond their leases (K17). */
import assert from "node:assert/strict";
import { playShared, type SharedBug } from "./shared.ts";

/** In the gate; `TROUPE_SHARED_SEEDS` plays more. */
const seeds = Number(Deno.env.get("TROUPE_SHARED_SEEDS") ?? 50);
const from = Number(Deno.env.get("TROUPE_SIM_FROM") ?? 1);

Deno.test(`runtimes on one store keep one writer for each root and epoch, and repeat nothing harmful: seeds ${from} to ${from + seeds - 1} (K17, CM-120)`, async () => {
  const seen = { taken: 0, lost: 0, kills: 0, pauses: 0 };
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = await playShared(seed);
    assert.deepEqual(verdict.violations, [], JSON.stringify(verdict));
    for (const what of Object.keys(seen) as (keyof typeof seen)[]) seen[what] += verdict[what];
  }
  // Seeds in which nobody is taken over would prove nothing.
  assert.ok(seen.taken > seeds && seen.lost > seeds / 4, JSON.stringify(seen));
});

for (const bug of ["owner_unchecked", "heartbeat_unchecked"] as const satisfies readonly SharedBug[]) {
  Deno.test(`shared simulation finds a store that does not look at owners: ${bug}`, async () => {
    for (let seed = 1; seed <= 20; seed++) if ((await playShared(seed, bug)).violations.length > 0) return;
    assert.fail("20 seeds found nothing");
  });
}
