/** How far calls are, read off the journal of a real run while it goes on. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { TrackedCalls } from "../../src/records/tracked_calls.ts";
import { openStage, settled, type ToolSketch } from "../support/stage.ts";

const tools: readonly ToolSketch[] = [
  {
    name: "slow",
    parallelSafe: true,
    work: async (use) => {
      use.notifications.push("1 of 2");
      await use.clock.sleepUntil(use.clock.now() + 500, use.signal);
      use.notifications.push("2 of 2");
      await use.clock.sleepUntil(use.clock.now() + 500, use.signal);
      return String(use.update({ slow: "was here" }) ?? "slow result");
    },
  },
  { name: "quick", parallelSafe: true, work: () => Promise.resolve("quick result") },
  { name: "last", work: (use) => use.clock.sleepUntil(use.clock.now() + 500, use.signal).then(() => "end") },
];

/** A session that is watched from its first entry on. */
async function watched(answers: readonly unknown[]) {
  const stage = await openStage({ answers, tools });
  const tracked = new TrackedCalls();
  const session = await stage.session();
  stage.runtime.watch((event) => {
    if (event.type === "progress" && event.progress.type === "tool") {
      tracked.hear(event.id, event.progress.message);
    }
  });
  let seen = 0;
  const look = async () => {
    const entries = await stage.entries(session);
    for (const entry of entries.slice(seen)) tracked.take(entry);
    seen = entries.length;
    return tracked.calls.map(({ name, progress, notice }) => [name, progress, notice ?? ""].join(" ").trim());
  };
  return { stage, session, tracked, look };
}

Deno.test("call is tracked: queued, executing, completed, yielded, with its safety, notices, result and changes (LC-17)", async () => {
  const { stage, session, tracked, look } = await watched([
    { calls: ["slow", "quick", "last"].map((tool) => ({ tool })) },
    { text: "finished" },
  ]);
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.advance(100);
  assert.deepEqual(await look(), ["slow executing 1 of 2", "quick completed", "last queued"]);
  await stage.world.advance(600);
  assert.deepEqual(await look(), ["slow executing 2 of 2", "quick completed", "last queued"]);
  await stage.world.advance(500);
  assert.deepEqual(await look(), ["slow completed", "quick completed", "last executing"]);
  await stage.world.advance(1_000);
  await settled(stage.world, report);
  assert.deepEqual(await look(), ["slow yielded", "quick yielded", "last yielded"]);
  const [slow, quick, last] = tracked.calls;
  assert.deepEqual(tracked.calls.map(({ id }) => id), [0, 1, 2].map((index) => `turn/1/call/0.${index}`));
  assert.deepEqual([slow?.isParallelSafe, quick?.isParallelSafe, last?.isParallelSafe], [true, true, false]);
  assert.deepEqual([slow?.changes, quick?.changes], [[{ slow: "was here" }], []]);
  assert.equal(slow?.result?.["model"], "slow result");
});

Deno.test("call that was never made is yielded as a refusal, a stopped one is completed, a host's is given to it", async () => {
  const { stage, session, look } = await watched([
    { calls: [{ tool: "nowhere" }, { tool: "quick" }] },
    { calls: [{ tool: "last" }] },
  ]);
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.advance(100);
  assert.deepEqual(await look(), ["nowhere yielded", "quick yielded", "last executing"]);
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await stage.world.advance(10_000);
  await settled(stage.world, report);
  assert.equal((await look()).at(-1), "last completed");
  const call = { tool: "quick", arguments: {} };
  await settled(stage.world, (await settled(stage.world, stage.runtime.call(session, call))).report);
  assert.deepEqual(await look(), ["nowhere yielded", "quick yielded", "last completed", "quick yielded"]);
});

Deno.test("call is tracked alike from the whole journal and as it comes", async () => {
  const { stage, session, tracked, look } = await watched([
    { calls: ["quick", "slow"].map((tool) => ({ tool })) },
    { text: "finished" },
  ]);
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
  for (let waits = 0; waits < 5; waits++) {
    await stage.world.advance(300);
    await look();
  }
  await settled(stage.world, report);
  await look();
  const later = new TrackedCalls();
  for (const entry of await stage.entries(session) as readonly Entry[]) later.take(entry);
  assert.deepEqual(later.calls, tracked.calls);
});
