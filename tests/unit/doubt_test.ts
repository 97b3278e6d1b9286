/** Whether a call that repeats one of which nobody knows the outcome is held for a person (R10). */
import assert from "node:assert/strict";
import { localOperator } from "../../schemas/principal.ts";
import { answerQuestion } from "../../src/host/answering.ts";
import type { OpenQuestion } from "../../src/effects/question_ask.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

function pay(text: string) {
  return { calls: [{ tool: "pay", arguments: { text } }] };
}

/** A session whose first call breaks off after it was begun; each further one of the tool is paid. */
function options(answers: readonly unknown[]): StageOptions {
  let calls = 0;
  const work = () => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error("The line broke")) : Promise.resolve("paid");
  };
  return { answers, tools: [{ name: "pay", effect: "non_idempotent", work }] };
}

async function question({ world, runtime }: Stage): Promise<OpenQuestion> {
  await world.settle();
  const [open, another] = runtime.questions.list();
  assert.ok(open !== undefined && another === undefined);
  return open;
}

async function answer(stage: Stage, decision: "abandon" | "allow" | "deny"): Promise<void> {
  const { id, shown } = await question(stage);
  await settled(
    stage.world,
    answerQuestion(stage.runtime, id, { decision, by: localOperator, shown, note: "as it seems" }),
  );
  await stage.world.settle();
}

Deno.test("call that repeats one of unknown outcome is held for approval, with the open one shown (R10)", async () => {
  const stage = await openStage(options([pay("10"), pay("10"), { text: "Done." }]));
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Pay."));
  await answer(stage, "abandon");
  const { subject } = await question(stage);
  assert.equal(subject.kind, "approval");
  assert.match(
    subject.reason,
    /made before, as turn\/1\/call\/0\.0, and its outcome is unknown: it may have happened/,
  );
  assert.equal(stage.ledger.length, 1, "nothing was sent again");
  await answer(stage, "deny");
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  assert.equal(stage.ledger.length, 1);
  const judged = (await stage.entries(session)).filter(({ type }) => type === "invocation.judged").at(-1);
  assert.match(JSON.stringify(judged?.body), /"check":"doubt"/);
});

Deno.test("call that repeats one of unknown outcome is held in later turns and after a restart, and no other call is (R10)", async () => {
  const script = [pay("10"), { text: "Done." }, pay("20"), pay("10"), { text: "Again." }];
  const play = options(script);
  const first = await openStage(play);
  const session = await first.session();
  const before = await settled(first.world, first.runtime.prompt(session, "Pay."));
  await answer(first, "abandon");
  await settled(first.world, before.report);
  first.crash();
  const { disk, world, ledger } = first;
  const stage = await openStage({ ...play, disk, world, ledger });
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Pay both."));
  const { subject } = await question(stage);
  assert.deepEqual([subject.kind, ledger.length], ["approval", 2], "the other call was made unasked");
  assert.match(subject.reason, /turn\/1\/call\/0\.0/);
  await answer(stage, "allow");
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  assert.equal(ledger.length, 3);
  assert.equal((await stage.replay(session)).divergence, undefined);
});
