/** Bounds that only make sense beside each other (I12). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";

Deno.test("limits fit into each other, from a value to a commit", () => {
  assert.ok(limits.entryBodyBytesMax < limits.packedValueBytesMax);
  assert.ok(limits.blobChunkBytes <= limits.packedValueBytesMax);
  assert.ok(limits.packedValueBytesMax < 65_536, "a value of Deno KV");
  assert.ok(2 * limits.blobChunkBytes < limits.groupBytesMax, "a group holds a blob's chunk and more");
  assert.ok(limits.unitBytesMax < limits.groupBytesMax, "a unit is never split over commits (K1)");
  assert.ok(limits.groupBytesMax < 819_200 && limits.groupMutationsMax < 1_000, "a commit of Deno KV");
  assert.ok(limits.modelCallsPerAnswerMax < limits.childrenMax && limits.childrenMax < limits.crankAsksMax);
  assert.ok(limits.inlineValueBytesMax < limits.packedValueBytesMax);
});

// Proves CM-93, DM-17: 64 rounds by default, 90 the most.
Deno.test("limits keep the rounds of a turn", () => {
  assert.deepEqual([limits.roundsPerTurnDefault, limits.roundsPerTurnMax], [64, 90]);
});

Deno.test("limits are positive, and defaults lie below their maximum", () => {
  for (const [name, value] of Object.entries(limits)) assert.ok(value > 0, name);
  assert.ok(
    limits.backoffFirstMs < limits.backoffMsMax && limits.restartBackoffFirstMs < limits.restartBackoffMsMax,
  );
  assert.ok(limits.toolCallDurationMsDefault < limits.toolCallDurationMsMax);
  assert.ok(limits.attemptsConditionalMax < limits.attemptsIdempotentMax);
});
