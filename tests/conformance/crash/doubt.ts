/** The crash table where an outcome is in doubt, P11, P12 and P14: looked up, decided by a person, or canceled (F01). */
import assert from "node:assert/strict";
import { localOperator } from "../../../schemas/principal.ts";
import { answerQuestion } from "../../../src/host/answering.ts";
import { cutAt } from "../../support/cutting_store.ts";
import type { CrashScene } from "../../support/crash_scene.ts";
import { calls, foundOut, type Kind, row, sceneOf, unknown } from "./cells.ts";

/** A call that was applied, its reply lost with the process. */
async function cutOff(kind: Kind): Promise<CrashScene> {
  const scene = await sceneOf(kind);
  scene.target.conduct = "swallow";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  scene.crash();
  return scene;
}

row("P11", "killed while it is looked up, it is looked up again and never sent again", async (kind) => {
  const scene = await cutOff(kind);
  scene.target.looking = "lose";
  for (let life = 1; life <= 2; life++) {
    await scene.start();
    await scene.until("the look-up", () => scene.target.looks === life);
    scene.crash();
    assert.equal((await scene.bodies("intent", "tool.verify")).length, 1, "one intent, however many lives");
    assert.deepEqual(await scene.bodies("outcome", "tool.verify"), []);
  }
  scene.target.looking = "answer";
  await scene.start();
  assert.equal((await scene.report()).outcome, "completed");
  const { target } = scene;
  assert.deepEqual([scene.told, target.looks, target.received.length, target.applied.length], [
    [foundOut],
    3,
    1,
    1,
  ]);
  await scene.end();
}, ["conditional by verify"]);

row("P11", "is not reached: nothing of this kind is ever looked up", async (kind) => {
  const scene = await cutOff(kind);
  scene.target.conduct = "answer";
  await scene.start();
  if (kind === "non_idempotent") {
    await scene.answer("mark_applied", await scene.question(), "seen on the bill");
  }
  assert.equal((await scene.report()).outcome, "completed");
  assert.deepEqual([scene.target.looks, await scene.bodies("intent", "tool.verify")], [0, []]);
  await scene.end();
}, ["idempotent", "conditional by key", "non_idempotent"]);

/** A call of which only a person can say how it goes on. It was applied, and nobody knows. */
async function inDoubt(kind: Kind): Promise<CrashScene> {
  const scene = await sceneOf(kind);
  scene.target.conduct = "break";
  scene.target.looking = "fail";
  await scene.give();
  return scene;
}

const undecided: readonly Kind[] = ["conditional by key", "conditional by verify", "non_idempotent"];

row(
  "P12",
  "killed while a person is asked and before the decision is durable, it takes any decision",
  async (kind) => {
    const scene = await inDoubt(kind);
    const asked = await scene.question();
    const sent = scene.target.received.length;
    await scene.world.advance(1_000);
    scene.crash();
    assert.equal(await scene.rows("question"), 1);
    await scene.start();
    assert.deepEqual(await scene.question(), asked);
    scene.store.cut = cutAt("outcome", "question.ask", "before");
    const by = localOperator;
    const given = { decision: "mark_applied", by, shown: asked.shown, note: "seen" } as const;
    answerQuestion(scene.runtime, asked.id, given).catch(() => {});
    await scene.until("the cut", () => scene.store.isCut);
    scene.crash();
    assert.deepEqual(await scene.bodies("outcome", "question.ask"), []);
    await scene.start();
    await scene.answer("mark_not_applied", await scene.question(), "not on the bill");
    assert.equal((await scene.report()).outcome, "completed");
    assert.match(scene.told.join(), /failed: The call was begun but not applied/);
    assert.equal(scene.target.received.length, sent);
    await scene.end();
  },
  undecided,
);

row(
  "P12",
  "killed once the decision is durable, it is decided: again it is no other, another is refused (R11)",
  async (kind) => {
    const scene = await inDoubt(kind);
    const asked = await scene.question();
    const sent = scene.target.received.length;
    scene.store.cut = cutAt("outcome", "question.ask", "after");
    const given = {
      decision: "mark_applied",
      by: localOperator,
      shown: asked.shown,
      note: "on the bill",
    } as const;
    answerQuestion(scene.runtime, asked.id, given).catch(() => {});
    await scene.until("the cut", () => scene.store.isCut);
    scene.crash();
    const [decided = "{}", another] = await scene.bodies("outcome", "question.ask");
    const { value: { decision, by, note } } = JSON.parse(decided);
    assert.deepEqual([decision, by, note, another], [
      "mark_applied",
      localOperator,
      "on the bill",
      undefined,
    ]);
    await scene.start();
    await scene.answer("mark_applied", asked);
    await assert.rejects(scene.answer("run_again", asked), { code: "question_answered" });
    assert.equal((await scene.report()).outcome, "completed");
    assert.deepEqual([scene.told, scene.target.received.length], [[foundOut], sent]);
    assert.deepEqual(await scene.bodies("outcome", "question.ask"), [decided]);
    await scene.end();
  },
  undecided,
);

row("P12", "is not reached: a repeat harms nobody, so nobody is asked", async (kind) => {
  const scene = await cutOff(kind);
  scene.target.conduct = "break";
  await scene.start();
  assert.equal((await scene.report()).outcome, "completed");
  assert.match(scene.told.join(), /^failed: /);
  assert.deepEqual([await scene.bodies("intent", "question.ask"), scene.runtime.questions.list()], [[], []]);
  await scene.end();
}, ["idempotent"]);

/** A call that was applied, whose cancel is durable, and whose process was killed before anything more was known. */
async function canceled(kind: Kind): Promise<CrashScene> {
  const scene = await sceneOf(kind);
  scene.target.conduct = "mute";
  await scene.give();
  await scene.until("the effect", () => scene.target.applied.length === 1);
  scene.store.cut = cutAt("note", "cancel_asked", "after");
  const message = { type: "session.cancel", reason: "enough" } as const;
  scene.runtime.send(scene.session, message, "cancel").catch(() => {});
  await scene.until("the cut", () => scene.store.isCut);
  scene.crash();
  assert.equal((await calls(scene)).open.length, 1, "its outcome is open");
  assert.equal((await scene.bodies("note", "cancel_asked")).length, 1, "its cancel is durable");
  scene.target.conduct = "answer";
  return scene;
}

row(
  "P14",
  "killed while it is canceled, it is settled by its class and never sent again (R8)",
  async (kind) => {
    const scene = await canceled(kind);
    await scene.start();
    const isUndecided = kind === "conditional by key" || kind === "non_idempotent";
    if (isUndecided) {
      const question = await scene.question();
      assert.equal(question.subject.kind, "uncertain");
      await scene.answer("abandon", question, "let it be");
    }
    const { outcome } = await scene.report();
    const { target } = scene;
    assert.equal(outcome, isUndecided ? "unknown" : "canceled");
    assert.equal(target.looks, kind === "conditional by verify" ? 1 : 0);
    assert.deepEqual([target.received.length, target.applied.length], [1, 1]);
    const [word = ""] = await scene.bodies("outcome", "tool.call");
    assert.match(word, kind === "idempotent" ? /"status":"canceled"/ : /"status":"unknown"/);
    await scene.end();
  },
);

Deno.test("call in doubt that is run again over a restart has its own key and one more attempt, and no more (P12, R11)", async () => {
  const scene = await inDoubt("non_idempotent");
  const asked = await scene.question();
  scene.target.conduct = "answer";
  scene.crash();
  await scene.start();
  await scene.answer("run_again", asked, "the bank says no");
  assert.equal((await scene.report()).outcome, "completed");
  const { received, applied } = scene.target;
  assert.deepEqual([received.length, new Set(received).size, applied.length], [2, 1, 2]);
  await scene.end();
});

Deno.test("call in doubt that is given up over a restart is told as unknown, in words (P12, R9)", async () => {
  const scene = await inDoubt("non_idempotent");
  await scene.question();
  scene.crash();
  await scene.start();
  await scene.answer("abandon", await scene.question(), "nobody knows");
  assert.equal((await scene.report()).outcome, "completed");
  assert.match(scene.told.join(), unknown);
  await scene.end();
});
