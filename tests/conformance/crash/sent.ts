/** The crash table from the dispatch to the recorded outcome, P5 to P8 and P13: killed there, and started anew (F01). */
import assert from "node:assert/strict";
import { cutAt } from "../../support/cutting_store.ts";
import { examine, salvage } from "../../../src/journal/doctor.ts";
import { MemoryDisk } from "../../support/memory_store.ts";
import { assertDispatched, assertTakenOver, row, sceneOf } from "./cells.ts";

row("P5", "after its dispatch is durable, before any byte, it goes on by its class", async (kind) => {
  const scene = await sceneOf(kind);
  await scene.giveUntil(cutAt("intent", "tool.call", "after"));
  scene.crash();
  await assertDispatched(scene);
  assert.deepEqual(scene.target.received, [], "nothing was sent");
  await assertTakenOver(scene, kind, 0);
});

row("P6", "with its request in flight, it goes on by its class", async (kind) => {
  const scene = await sceneOf(kind);
  scene.target.conduct = "lose";
  await scene.give();
  await scene.until("the request", () => scene.target.received.length === 1);
  scene.crash();
  await assertDispatched(scene);
  assert.deepEqual(scene.target.applied, [], "nothing was applied yet");
  scene.target.conduct = "answer";
  await assertTakenOver(scene, kind, 0);
});

row("P7", "applied and its reply lost, it goes on by its class", async (kind) => {
  const scene = await sceneOf(kind);
  scene.target.conduct = "swallow";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  scene.crash();
  await assertDispatched(scene);
  scene.target.conduct = "answer";
  await assertTakenOver(scene, kind, 1);
});

row("P8", "answered and not recorded, it goes on by its class", async (kind) => {
  const scene = await sceneOf(kind);
  await scene.giveUntil(cutAt("outcome", "tool.call", "before"));
  scene.crash();
  await assertDispatched(scene);
  assert.equal(scene.target.applied.length, 1, "it happened");
  await assertTakenOver(scene, kind, 1);
});

row("P13", "with a part of its result written, it goes on by its class (R12)", async (kind) => {
  const scene = await sceneOf(kind);
  scene.target.text = `charged${" and more".repeat(90_000)}`;
  await scene.giveUntil({
    when: "after",
    at: (_, { sets }) => sets.some(({ key }) => key[0] === "blobc"),
  });
  scene.crash();
  await assertDispatched(scene);
  assert.ok(await scene.rows("blobc") > 0, "chunks are there");
  assert.equal(scene.target.applied.length, 1);
  await assertTakenOver(scene, kind, 1);
});

Deno.test("chunks of a result that was never recorded are nobody's: no entry names them, nothing is wrong, and a salvaged store has none (R12)", async () => {
  const disk = new MemoryDisk();
  const scene = await sceneOf("non_idempotent", { openStore: () => Promise.resolve(disk.open()) });
  scene.target.text = "more ".repeat(140_000);
  await scene.giveUntil({
    when: "after",
    at: (_, { sets }) => sets.some(({ key }) => key[0] === "blobc"),
  });
  scene.crash();
  assert.ok(await scene.rows("blobc") > 0);
  const { digest } = scene.world.seams;
  const { findings } = await examine(disk.open(), digest);
  assert.deepEqual(findings.map(({ code }) => code), ["blobs_orphaned"]);
  const target = new MemoryDisk();
  const saved = await salvage(disk.open(), target.open(), digest);
  assert.deepEqual([saved.cut, target.list({ prefix: ["blobc"] })], [[], []]);
});
