/** Cells of the crash table on a real file: the same store that people have, opened anew for every life (F01). */
import assert from "node:assert/strict";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { cutAt } from "../support/cutting_store.ts";
import type { CrashScene } from "../support/crash_scene.ts";
import { assertDispatched, assertTakenOver, type Kind, sceneOf } from "./crash/cells.ts";

/** How a call comes to a point of the table, and how often it was applied by then. */
interface Way {
  readonly point: string;
  readonly applied: 0 | 1;
  readonly come: (scene: CrashScene) => Promise<void>;
}

const ways: readonly Way[] = [
  {
    point: "P5",
    applied: 0,
    come: (scene) => scene.giveUntil(cutAt("intent", "tool.call", "after")),
  },
  {
    point: "P6",
    applied: 0,
    come: async (scene) => {
      scene.target.conduct = "lose";
      await scene.give();
      await scene.until("the request", () => scene.target.received.length === 1);
    },
  },
  {
    point: "P7",
    applied: 1,
    come: async (scene) => {
      scene.target.conduct = "swallow";
      await scene.give();
      await scene.until("the effect", () => scene.target.applied.length === 1);
    },
  },
  {
    point: "P8",
    applied: 1,
    come: (scene) => scene.giveUntil(cutAt("outcome", "tool.call", "before")),
  },
];

const cells: readonly (readonly [Kind, readonly string[]])[] = [
  ["non_idempotent", ["P5", "P6", "P7", "P8"]],
  ["conditional by key", ["P7", "P8"]],
  ["conditional by verify", ["P5", "P7"]],
  ["idempotent", ["P8"]],
];

for (const [kind, points] of cells) {
  for (const { point, applied, come } of ways.filter((way) => points.includes(way.point))) {
    Deno.test(`${point} ${kind}, on a KV file: it goes on by its class (F01)`, async () => {
      const folder = await Deno.makeTempDir({ prefix: "troupe-" });
      try {
        const scene = await sceneOf(kind, { openStore: () => openKvStore(`${folder}/store.db`) });
        await come(scene);
        scene.crash();
        await assertDispatched(scene);
        assert.equal(scene.target.applied.length, applied);
        scene.target.conduct = "answer";
        await assertTakenOver(scene, kind, applied);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
}
