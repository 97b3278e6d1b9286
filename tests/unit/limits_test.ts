/** Bounds that only make sense beside each other (I12). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { OutputPolicy } from "../../schemas/tool.ts";
import { builtinTools } from "../../src/tools/builtin.ts";

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

// Proves DM-17: written out, so that nobody changes a number unseen.
Deno.test("limits keep what a model is shown of a result, by default and of each built-in tool", () => {
  const { toolOutputCharactersMax, readFileCharactersDefault, searchResultsMax } = limits;
  assert.deepEqual([toolOutputCharactersMax, readFileCharactersDefault, searchResultsMax], [
    12_000,
    20_000,
    50,
  ]);
  assert.deepEqual(OutputPolicy.parse({}), { modelCharactersMax: 12_000 });
  for (const [name, { definition }] of builtinTools) {
    assert.equal(
      definition.outputPolicy.modelCharactersMax,
      ["read_file", "skill_view"].includes(name) ? 20_000 : 12_000,
      name,
    );
  }
});

// Proves DM-57 and DM-58, as numbers.
Deno.test("limits keep how many servers start at once, and how long a failed one is left alone", () => {
  assert.deepEqual([limits.mcpConnectsAtOnceMax, limits.mcpFailureHoldMs], [4, 30_000]);
});

Deno.test("limits are positive, and defaults lie below their maximum", () => {
  for (const [name, value] of Object.entries(limits)) assert.ok(value > 0, name);
  assert.ok(
    limits.backoffFirstMs < limits.backoffMsMax && limits.restartBackoffFirstMs < limits.restartBackoffMsMax,
  );
  assert.ok(limits.toolCallDurationMsDefault < limits.toolCallDurationMsMax);
  assert.ok(limits.attemptsConditionalMax < limits.attemptsIdempotentMax);
});
