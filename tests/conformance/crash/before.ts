/** The crash table before the dispatch, P0 to P4: nothing was sent, nothing is lost, and nobody is asked twice (F01). */
import assert from "node:assert/strict";
import type { Entry } from "../../../schemas/entry.ts";
import { localOperator } from "../../../schemas/principal.ts";
import { answerQuestion } from "../../../src/host/answering.ts";
import { cutAt } from "../../support/cutting_store.ts";
import { assertCharged, assertTakenOver, calls, row, sceneOf } from "./cells.ts";

row(
  "P0",
  "before its intent is durable nothing is there, and the same command makes it once",
  async (kind) => {
    const scene = await sceneOf(kind);
    scene.store.cut = cutAt("input", "session.prompt", "before");
    const given = await scene.give();
    let isAccepted = false;
    given.accepted().then(() => isAccepted = true, () => {});
    await scene.until("the cut", () => scene.store.isCut);
    await scene.world.advance(1_000);
    scene.crash();
    assert.deepEqual([isAccepted, await scene.bodies("input", "session.prompt")], [false, []]);
    assert.deepEqual(await calls(scene), { all: [], open: [] });
    await scene.start();
    await assertCharged(scene);
    await assertCharged(scene);
    assert.deepEqual([(await scene.bodies("input", "session.prompt")).length, scene.target.applied.length], [
      1,
      1,
    ]);
    await scene.end();
  },
);

row("P1", "proposed, before any gate, it goes on through them and is sent once (R1)", async (kind) => {
  let isStuck = true;
  const look = {
    name: "look",
    work: () => isStuck ? new Promise<string>(() => {}) : Promise.resolve("seen"),
  };
  const answers = [{ calls: [{ tool: "look" }, { tool: "charge" }] }, { text: "Done." }];
  const scene = await sceneOf(kind, { others: [look], answers });
  await scene.give();
  await scene.until("the first call", () => scene.runtime.kernel.running.size > 0 && scene.asked === 1);
  await scene.world.advance(500);
  scene.crash();
  const planned = (await scene.bodies("note", "turn.planned")).join();
  assert.match(planned, /call\/0\.1/, "the call is proposed");
  assert.equal((await calls(scene)).all.length, 1, "only the call before it was begun");
  const judged = await scene.bodies("note", "tool.judged");
  assert.ok(!judged.join().includes("call/0.1"), "no gate was passed");
  isStuck = false;
  await scene.start();
  const { outcome } = await scene.report();
  assert.deepEqual([outcome, scene.told.at(-1)?.endsWith("charged")], ["completed", true]);
  assert.deepEqual([scene.target.received.length, scene.target.applied.length, scene.asked], [1, 1, 2]);
  await scene.end();
});

row(
  "P2",
  "while a person is asked, the same is asked after the restart, until the same time",
  async (kind) => {
    const scene = await sceneOf(kind, { approval: "prompt" });
    await scene.give();
    const before = await scene.question();
    await scene.world.advance(1_000);
    scene.crash();
    assert.deepEqual([await scene.rows("question"), (await calls(scene)).all], [1, []]);
    scene.world.setClock(scene.world.now() + 600_000);
    await scene.start();
    assert.deepEqual(await scene.question(), before);
    await scene.world.advance(10_000);
    assert.deepEqual(scene.target.received, []);
    await scene.answer("allow", before);
    await assertCharged(scene);
    assert.equal(scene.target.applied.length, 1);
    await scene.end();
  },
);

row("P3", "killed before its decision is durable it is undecided, and takes any decision", async (kind) => {
  const scene = await sceneOf(kind, { approval: "prompt" });
  await scene.give();
  const question = await scene.question();
  scene.store.cut = cutAt("outcome", "question.ask", "before");
  const given = { decision: "deny", by: localOperator, shown: question.shown } as const;
  answerQuestion(scene.runtime, question.id, given).catch(() => {});
  await scene.until("the cut", () => scene.store.isCut);
  scene.crash();
  assert.deepEqual([await scene.bodies("outcome", "question.ask"), await scene.rows("question")], [[], 1]);
  await scene.start();
  assert.deepEqual(await scene.question(), question);
  await scene.answer("allow", question);
  await assertCharged(scene);
  assert.deepEqual([scene.target.applied.length, await scene.rows("question")], [1, 0]);
  await scene.end();
});

row(
  "P3",
  "killed once its decision is durable it is decided: the same again is no other, another is refused",
  async (kind) => {
    const scene = await sceneOf(kind, { approval: "prompt" });
    await scene.give();
    const question = await scene.question();
    scene.store.cut = cutAt("outcome", "question.ask", "after");
    const given = { decision: "deny", by: localOperator, shown: question.shown } as const;
    answerQuestion(scene.runtime, question.id, given).catch(() => {});
    await scene.until("the cut", () => scene.store.isCut);
    scene.crash();
    const decided = await scene.bodies("outcome", "question.ask");
    assert.deepEqual([decided.length, await scene.rows("question")], [1, 0]);
    await scene.start();
    await scene.answer("deny", question);
    await assert.rejects(scene.answer("allow", question), { code: "question_answered" });
    assert.equal((await scene.report()).outcome, "completed");
    assert.match(scene.told.join(), /denied: The call was refused/);
    assert.deepEqual([scene.target.received, await scene.bodies("outcome", "question.ask")], [[], decided]);
    await scene.end();
  },
);

// Approval and dispatch are one unit: nothing can change or expire between them, and a restart meets P5.
row("P4", "is no state of the store: what approves it dispatches it, in one commit", async (kind) => {
  const scene = await sceneOf(kind, { approval: "prompt" });
  await scene.give();
  const question = await scene.question();
  let unit: readonly Entry[] = [];
  scene.store.cut = {
    when: "after",
    at: (entries) => {
      if (!entries.some(({ kind, type }) => kind === "outcome" && type === "question.ask")) return false;
      unit = entries;
      return true;
    },
  };
  const given = { decision: "allow", by: localOperator, shown: question.shown } as const;
  answerQuestion(scene.runtime, question.id, given).catch(() => {});
  await scene.until("the cut", () => scene.store.isCut);
  scene.crash();
  const approved = unit.find(({ kind, type }) => kind === "outcome" && type === "question.ask");
  const sent = unit.find(({ kind, type }) => kind === "intent" && type === "tool.call");
  assert.ok(approved !== undefined && sent?.cause === approved.seq, "one crank, so one unit (K1)");
  assert.deepEqual(scene.target.received, []);
  await assertTakenOver(scene, kind, 0);
});
