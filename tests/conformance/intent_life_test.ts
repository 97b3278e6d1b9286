/**
 * Rows of an intent's life that are no cells of the crash table: handed, acknowledged, canceled, dropped, recovered. The
 * others are: 0 is P0, since nothing of a crank that runs is in the store; 2 is P5, 3 is P6 and P7, 4 and 5 are P8, 6 is
 * P9 and P10, c3 is P14. A repeated command is absorbed (GA-42).
 */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { cutAt } from "../support/cutting_store.ts";
import type { CrashScene } from "../support/crash_scene.ts";
import { assertCharged, calls, type Kind, row, sceneOf } from "./crash/cells.ts";

/** The cut at the commit that would make the call's intent durable. */
const beforeIntent = cutAt("intent", "tool.call", "before");

row(
  "row 1",
  "handed to the writer and not durable, it leaves no trace, and nobody knows of an effect (R2, K9)",
  async (kind) => {
    const scene = await sceneOf(kind, { strict: false });
    await scene.giveUntil(beforeIntent);
    await scene.world.advance(1_000);
    const early = kind === "idempotent" ? 1 : 0;
    assert.equal(
      scene.target.applied.length,
      early,
      "only what a repeat cannot harm is begun before it is durable",
    );
    scene.crash();
    assert.deepEqual((await calls(scene)).all, []);
    await scene.start();
    await assertCharged(scene);
    assert.equal(scene.target.applied.length, early + 1);
    if (kind === "idempotent") {
      assert.match(
        scene.target.received[0] ?? "",
        /@\d+$/,
        "its key says that it was early",
      );
    }
    await scene.end();
  },
);

row(
  "row 7",
  "acknowledged, whoever repeats the command gets the same answer, and nothing is done (GA-42)",
  async (kind) => {
    const scene = await sceneOf(kind);
    const { report } = await scene.give();
    const first = await scene.through(report);
    const asked = scene.asked;
    for (let life = 1; life <= 2; life++) {
      scene.crash();
      await scene.start();
      assert.deepEqual(await scene.report(), first);
    }
    assert.deepEqual([scene.target.received.length, scene.asked], [1, asked]);
    await scene.end();
  },
);

/** True for a call that only a person can settle, once it was cut off. */
function isUndecided(kind: Kind): boolean {
  return kind === "conditional by key" || kind === "non_idempotent";
}

/** Asks to stop, without waiting. */
function stop(scene: CrashScene): void {
  scene.runtime.send(scene.session, { type: "session.cancel", reason: "enough" }, "cancel").catch(() => {});
}

row("row c1", "a cancel that is not durable is lost, and whoever repeats it stops the call", async (kind) => {
  const scene = await sceneOf(kind);
  scene.target.conduct = "mute";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  scene.store.cut = cutAt("note", "cancel_asked", "before");
  stop(scene);
  await scene.until("the cut", () => scene.store.isCut);
  scene.crash();
  assert.deepEqual([await scene.bodies("note", "cancel_asked"), (await calls(scene)).open.length], [[], 1]);
  await scene.start();
  // What may be repeated is under way again. A person who is asked already is asked no more: the cancel gives up.
  stop(scene);
  await scene.world.advance(10_000);
  if (kind === "conditional by key") await scene.answer("abandon", await scene.question(), "let it be");
  // A look-up is quick: the call was found, and its turn has ended, before anybody says stop again.
  const ended = kind === "conditional by verify" ? "completed" : isUndecided(kind) ? "unknown" : "canceled";
  assert.equal((await scene.report()).outcome, ended);
  assert.equal((await scene.bodies("input", "session.cancel")).length, 1);
  await scene.end();
});

/** An intent and its cancel, durable in one commit, and the process killed before the effect was begun. */
async function canceledAtOnce(kind: Kind): Promise<CrashScene> {
  const scene = await sceneOf(kind);
  scene.isThinking = true;
  await scene.give();
  await scene.until("the model call", () => scene.asked === 1);
  // Something else is on its way to the disk, so that what comes now goes there together.
  scene.store.hold();
  const { writer } = scene.runtime.journal;
  scene.runtime.send(scene.session, { type: "session.revoke" }, "revoke").catch(() => {});
  await scene.until("the message before", () => writer.unwritten === 2);
  writer.urge();
  await scene.until("the commit before", () => scene.store.isHolding);
  scene.answerModel();
  await scene.until("the call", () => writer.unwritten === 3);
  stop(scene);
  await scene.until("the cancel", () => writer.unwritten === 5);
  scene.store.cut = cutAt("note", "cancel_asked", "after");
  scene.store.release();
  await scene.until("the cut", () => scene.store.isCut);
  scene.crash();
  return scene;
}

/** Lets a commit hold this many entries: the answer with its call and the cancel fit, what follows from them does not. */
async function withGroupsOf<T>(entries: number, run: () => Promise<T>): Promise<T> {
  const { groupEntriesMax } = limits;
  Object.assign(limits, { groupEntriesMax: entries });
  try {
    return await run();
  } finally {
    Object.assign(limits, { groupEntriesMax });
  }
}

row(
  "row c2",
  "canceled before it was begun, both durable, it is settled by its class and never begun",
  async (kind) => {
    const scene = await withGroupsOf(6, () => canceledAtOnce(kind));
    const { all, open } = await calls(scene);
    assert.deepEqual([all.length, open.length], [1, 1], "its intent is durable, and no outcome");
    assert.equal((await scene.bodies("note", "cancel_asked")).length, 1);
    assert.deepEqual(scene.target.received, [], "it was not begun");
    await scene.start();
    if (isUndecided(kind)) await scene.answer("abandon", await scene.question(), "let it be");
    assert.equal((await scene.report()).outcome, isUndecided(kind) ? "unknown" : "canceled");
    assert.deepEqual(scene.target.received, []);
    await scene.end();
  },
);

Deno.test("row d: what was dropped while it was pending is not asked for again (F01)", async () => {
  const scene = await sceneOf("idempotent");
  scene.isThinking = true;
  await scene.give();
  await scene.until("the model call", () => scene.asked === 1);
  stop(scene);
  await scene.until("the drop", () => scene.runtime.kernel.running.size === 0);
  await scene.runtime.journal.writer.idle();
  assert.equal((await scene.bodies("note", "dropped")).length, 1);
  scene.crash();
  await scene.start();
  assert.equal((await scene.report()).outcome, "canceled");
  assert.deepEqual([scene.asked, await scene.bodies("outcome", "model.generate")], [1, []]);
  await scene.end();
});

row(
  "row r",
  "recovery says unknown once, however many starts follow, and asks one person (R6)",
  async (kind) => {
    const scene = await sceneOf(kind);
    scene.target.conduct = "swallow";
    await scene.give();
    await scene.until("the effect", () => scene.target.applied.length === 1);
    scene.crash();
    const ids = new Set<string>();
    for (let life = 1; life <= 3; life++) {
      await scene.start();
      ids.add((await scene.question()).id);
      const said = await scene.bodies("outcome", "tool.call");
      assert.deepEqual([said.length, /"status":"unknown"/.test(said.join())], [1, true]);
      scene.crash();
    }
    assert.deepEqual([ids.size, scene.target.received.length], [1, 1]);
    const [outcome] = (await scene.entries()).filter(({ kind, type }) =>
      kind === "outcome" && type === "tool.call"
    );
    assert.equal(outcome?.epoch, 2, "it is the word of the runtime that took over");
  },
  ["non_idempotent"],
);
