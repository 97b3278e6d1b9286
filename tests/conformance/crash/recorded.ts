/** The crash table once an outcome is recorded, P9 and P10: it is replayed, and never performed again (F01). */
import assert from "node:assert/strict";
import { openJournalReader } from "../../../src/journal/journal.ts";
import { cutAt } from "../../support/cutting_store.ts";
import { assertCharged, calls, row, sceneOf } from "./cells.ts";

row("P9", "recorded, and nobody told of it, it is told once and not done again (GA-42)", async (kind) => {
  const scene = await sceneOf(kind);
  await scene.giveUntil(cutAt("outcome", "tool.call", "after"));
  scene.crash();
  assert.deepEqual([scene.asked, scene.told], [1, []], "the model heard nothing yet");
  assert.equal((await scene.bodies("outcome", "tool.call")).length, 1);
  await scene.start();
  await assertCharged(scene);
  const { target } = scene;
  assert.deepEqual([target.received.length, target.applied.length, target.looks], [1, 1, 0]);
  assert.deepEqual([(await scene.bodies("outcome", "tool.call")).length, (await calls(scene)).open], [1, []]);
  await scene.end();
});

row("P10", "told, and no snapshot of it written, it is replayed and nothing is dispatched", async (kind) => {
  const scene = await sceneOf(kind);
  await scene.giveUntil({
    when: "before",
    // The model's second answer, so the result of the call was told to it.
    at: (entries) =>
      scene.asked === 2 && entries.some(({ kind, type }) => kind === "outcome" && type === "model.generate"),
  });
  const { store, world } = scene;
  const journal = await openJournalReader({ store, seams: world.seams });
  const snapshot = await journal.readSnapshot(scene.session);
  scene.crash();
  const outcome = (await scene.entries()).find(({ kind, type }) =>
    kind === "outcome" && type === "tool.call"
  );
  assert.ok(outcome !== undefined && (snapshot?.seq ?? 0) < outcome.seq, "no snapshot holds the outcome");
  assert.equal(scene.told.length, 1, "the model was told");
  await scene.start();
  await assertCharged(scene);
  const { target } = scene;
  assert.deepEqual([target.received.length, target.applied.length, target.looks], [1, 1, 0]);
  await scene.end();
});
