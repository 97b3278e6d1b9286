/** Whether a question is answered once, in time, by a person, about what was shown; and whether that is durable. */
import assert from "node:assert/strict";
import type { Principal } from "../../schemas/principal.ts";
import { localOperator } from "../../schemas/principal.ts";
import { type Decision, offeredDecisions } from "../../schemas/question.ts";
import type { GivenAnswer, OpenQuestion } from "../../src/effects/question_ask.ts";
import { answerQuestion } from "../../src/host/answering.ts";
import { openStage, settled, type Stage, type StageOptions, type ToolSketch } from "../support/stage.ts";

const ada: Principal = { kind: "user", id: "ada" };
const pay = {
  name: "pay",
  effect: "non_idempotent",
  approval: "prompt",
  work: () => Promise.resolve("paid"),
} as const;

/** A session whose model wants to pay, and the question about it. */
async function asking(options: StageOptions = {}) {
  const answers = [
    { text: "", calls: [{ tool: "pay", arguments: { text: "10 to Ada" } }] },
    { text: "Done." },
  ];
  const stage = await openStage({ tools: [pay], answers, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Pay Ada."));
  await stage.world.settle();
  const [question] = stage.runtime.questions.list();
  assert.ok(question);
  return { stage, session, report, question };
}

function give(stage: Stage, question: OpenQuestion, changes: Partial<GivenAnswer> = {}): Promise<void> {
  const answer: GivenAnswer = { decision: "allow", by: localOperator, shown: question.shown, ...changes };
  return settled(stage.world, answerQuestion(stage.runtime, question.id, answer));
}

function refusal(code: string, words: RegExp = /./) {
  return (error: Error & { readonly code?: string }) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    return true;
  };
}

Deno.test("question takes the first of two answers in one instant, and tells the other who won (B24, F27)", async () => {
  for (const [first, second] of [["allow", "deny"], ["deny", "allow"]] as [Decision, Decision][]) {
    const { stage, report, question } = await asking();
    const { questions } = stage.runtime;
    const { id, shown } = question;
    const both = Promise.allSettled([
      questions.answer(id, { decision: first, by: ada, shown }),
      questions.answer(id, { decision: second, by: localOperator, shown }),
    ]);
    const [won, lost] = await settled(stage.world, both);
    assert.equal(won?.status, "fulfilled");
    assert.ok(lost?.status === "rejected");
    refusal("question_answered", new RegExp(`answered already: ${first} by user ada`))(lost.reason);
    await settled(stage.world, report);
    assert.equal(stage.ledger.length, first === "allow" ? 1 : 0);
  }
});

Deno.test("question takes the same answer of the same principal again, also after a restart, as no other (B24)", async () => {
  const { stage, question } = await asking();
  await give(stage, question);
  await give(stage, question);
  await assert.rejects(
    give(stage, question, { by: ada }),
    refusal("question_answered", /allow by operator local/),
  );
  stage.crash();
  const next = await openStage({ disk: stage.disk, world: stage.world, ledger: stage.ledger, tools: [pay] });
  await give(next, question, { shown: undefined });
  await assert.rejects(
    give(next, question, { decision: "deny" }),
    refusal("question_answered", /allow by operator local/),
  );
  assert.equal(stage.ledger.length, 1);
});

Deno.test("question whose answer is acknowledged has it on disk, whatever happens next (F27)", async () => {
  const { stage, session, question } = await asking();
  await give(stage, question, { decision: "deny" });
  stage.crash();
  const next = await openStage({ disk: stage.disk, world: stage.world, ledger: stage.ledger, tools: [pay] });
  assert.deepEqual(next.runtime.questions.list(), []);
  const outcome = (await next.entries(session)).find(({ kind, type }) =>
    kind === "outcome" && type === "question.ask"
  );
  assert.match(JSON.stringify(outcome?.body), /"decision":"deny"/);
});

Deno.test("question takes no answer after it expired, and its call was denied by then (B25)", async () => {
  const { stage, report, question } = await asking();
  await stage.world.advance(3_600_000);
  await settled(stage.world, report);
  await assert.rejects(give(stage, question), refusal("approval_expired", /expired/));
  assert.equal(stage.ledger.length, 0);
});

Deno.test("question takes no answer once its call was canceled (B25)", async () => {
  const { stage, session, report, question } = await asking();
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await settled(stage.world, report);
  assert.deepEqual(stage.runtime.questions.list(), []);
  await assert.rejects(
    give(stage, question),
    refusal("approval_stale", /canceled, or what it was about has changed/),
  );
  assert.equal(stage.ledger.length, 0);
});

Deno.test("question takes no decision that it does not offer, and waits for another one (B20)", async () => {
  const text = "x".repeat(700);
  const answers = [{ text: "", calls: [{ tool: "pay", arguments: { text } }] }, { text: "Done." }];
  const { stage, report, question } = await asking({ answers });
  assert.deepEqual(question.subject.offers, ["allow", "deny"]);
  for (const decision of ["always_allow_for_session", "run_again"] as const) {
    await assert.rejects(give(stage, question, { decision }), refusal("decision_not_offered", /allow, deny/));
  }
  assert.deepEqual(stage.runtime.questions.list(), [question]);
  await give(stage, question, { decision: "deny" });
  await settled(stage.world, report);
  assert.equal(stage.ledger.length, 0);
});

Deno.test("question about a call that may have happened is settled by principal, decision and note, never without one (R11)", async () => {
  const broken = {
    ...pay,
    approval: "auto",
    work: () => Promise.reject(new Error("The line broke")),
  } as const;
  for (const decision of offeredDecisions.uncertain) {
    const { stage, session, question } = await asking({ tools: [broken] });
    for (const note of [undefined, "", " \n"]) {
      const given = note === undefined ? { decision } : { decision, note };
      await assert.rejects(
        give(stage, question, given),
        refusal("note_required", /Say how you know.*--note/),
      );
    }
    assert.deepEqual(stage.runtime.questions.list(), [question]);
    await give(stage, question, { decision, note: "seen on the bill" });
    const told = (await stage.entries(session)).find(({ kind, type }) =>
      kind === "outcome" && type === "question.ask"
    );
    assert.deepEqual((told?.body as unknown as { value: unknown }).value, {
      decision,
      by: localOperator,
      shown: question.shown,
      note: "seen on the bill",
    });
  }
});

Deno.test("question whose call is canceled in the instant of the answer is not answered, and says so (B25, K12)", async () => {
  const { stage, session, report, question } = await asking();
  const { id, shown } = question;
  const canceled = stage.runtime.send(session, { type: "session.cancel", reason: "enough" });
  const answered = answerQuestion(stage.runtime, id, { decision: "allow", by: ada, shown });
  const both = Promise.allSettled([canceled, answered]);
  await stage.world.advance(1_000);
  const [, late] = await both;
  assert.ok(late?.status === "rejected");
  refusal("approval_stale", /its call was canceled/)(late.reason);
  // Nobody is told that it was answered: not who gave the answer, and not who comes later.
  for (const by of [ada, localOperator]) {
    await assert.rejects(give(stage, question, { by }), refusal("approval_stale"));
  }
  await settled(stage.world, report);
  assert.equal(stage.ledger.length, 0);
});

Deno.test("question is answered by persons only, unless the host says otherwise (B26)", async () => {
  for (const kind of ["agent", "program"] as const) {
    const by: Principal = { kind, id: "helpful" };
    const { stage, question } = await asking();
    for (const decision of ["allow", "deny", "always_allow_for_session"] as const) {
      await assert.rejects(
        give(stage, question, { by, decision }),
        refusal("answerer_refused", new RegExp(kind)),
      );
    }
    assert.equal(stage.runtime.questions.list().length, 1);
    const host = await asking({ runtime: { mayAnswer: (principal) => principal.id === "helpful" } });
    await assert.rejects(give(host.stage, host.question), refusal("answerer_refused"));
    await give(host.stage, host.question, { by });
    await settled(host.stage.world, host.report);
    assert.equal(host.stage.ledger.length, 1);
  }
});

Deno.test("question takes no answer that does not say what was shown (B18, K3)", async () => {
  const { stage, question } = await asking();
  await assert.rejects(give(stage, question, { shown: undefined }), refusal("question_unread"));
  await assert.rejects(
    give(stage, question, { shown: `sha256:${"0".repeat(64)}` }),
    refusal("question_changed"),
  );
  assert.equal(stage.runtime.questions.list().length, 1);
});

// The same place in the journal, another call: what a crash before the commit may leave behind (K3).
Deno.test("question takes no answer to what stood at its place before, and what is done is what was shown (B21)", async () => {
  const done: unknown[] = [];
  const work: ToolSketch["work"] = (_use, input) => (done.push(input), Promise.resolve("paid"));
  const askFor = (text: string) => {
    const call = { text: "", calls: [{ tool: "pay", arguments: { text } }] };
    return asking({ tools: [{ ...pay, work }], answers: [call, { text: "Done." }] });
  };
  const { question: small } = await askFor("10 to Ada");
  const { stage, report, question: large } = await askFor("9000 to Eve");
  assert.equal(large.id, small.id);
  await assert.rejects(give(stage, small), refusal("question_changed"));
  assert.deepEqual([done, stage.runtime.questions.list().length], [[], 1]);
  await give(stage, large);
  await settled(stage.world, report);
  assert.deepEqual(done, [{ text: "9000 to Eve" }]);
});

Deno.test("question that nobody asked is not found", async () => {
  const { stage, question } = await asking();
  for (
    const id of [
      `${question.id}9`,
      `${question.id}0`,
      `${question.root}#1.0`,
      `${question.root}#999.0`,
      "x",
      "",
      "#1.0",
      "session/ses_X#1.0",
    ]
  ) {
    await assert.rejects(give(stage, { ...question, id }), refusal("question_not_found"), id);
  }
});

Deno.test("question that is open at a crash is open again, and nothing was done without its answer (B27)", async () => {
  const { stage, session, question } = await asking();
  stage.crash();
  const next = await openStage({
    disk: stage.disk,
    world: stage.world,
    ledger: stage.ledger,
    tools: [pay],
    answers: [{ text: "Done." }],
  });
  await next.world.advance(60_000);
  assert.deepEqual([next.runtime.questions.list(), next.ledger.length], [[question], 0]);
  await give(next, question);
  await next.world.advance(60_000);
  assert.equal(next.ledger.length, 1);
  assert.equal((await next.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("question is asked in every session anew: a grant of one covers no call of another (DM-35)", async () => {
  const call = { text: "", calls: [{ tool: "pay", arguments: { text: "10 to Ada" } }] };
  const { stage, report, question } = await asking({ answers: [call, call, { text: "Done." }] });
  await give(stage, question, { decision: "always_allow_for_session" });
  await settled(stage.world, report);
  assert.equal(stage.ledger.length, 2);
  await settled(stage.world, stage.runtime.prompt(await stage.session(), "Pay Ada."));
  await stage.world.settle();
  assert.equal(stage.runtime.questions.list().length, 1);
  assert.equal(stage.ledger.length, 2);
});

Deno.test("question offers after a restart no grant that was given before it (DM-36)", async () => {
  const call = { text: "", calls: [{ tool: "pay", arguments: { text: "10 to Ada" } }] };
  const answers = [call, call, { text: "Done." }];
  const { stage, session, report, question } = await asking({ answers });
  await give(stage, question, { decision: "always_allow_for_session" });
  await settled(stage.world, report);
  assert.equal(stage.ledger.length, 2);
  stage.crash();
  const next = await openStage({
    disk: stage.disk,
    world: stage.world,
    ledger: stage.ledger,
    tools: [pay],
    answers: [...answers, call, { text: "Done." }],
  });
  await settled(next.world, next.runtime.prompt(session, "Again."));
  await next.world.settle();
  assert.equal(next.runtime.questions.list().length, 1);
  assert.match(next.runtime.questions.list()[0]?.subject.reason ?? "", /started anew since/);
  assert.equal(next.ledger.length, 2);
  assert.equal((await next.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("question about more than its preview holds carries the whole, and its hash is over all of it (B18)", async () => {
  const text = (end: string) => `${"echo harmless; ".repeat(1_400)}${end}`;
  const shownOf = async (end: string) => {
    const answers = [{ text: "", calls: [{ tool: "pay", arguments: { text: text(end) } }] }, {
      text: "Done.",
    }];
    const asked = await asking({ answers });
    const { subject, whole = "" } = asked.question;
    assert.ok(text(end).length > 20_000 && whole.includes(text(end)), "not whole");
    assert.ok(subject.preview.length <= 2_048 && subject.preview.includes(end));
    assert.equal(subject.characters, whole.length);
    return asked;
  };
  const { stage, session, report, question } = await shownOf("rm -rf marker-a");
  const other = await shownOf("rm -rf marker-b");
  assert.notEqual(question.shown, other.question.shown);
  await assert.rejects(give(stage, question, { shown: other.question.shown }), refusal("question_changed"));
  await give(stage, question);
  await settled(stage.world, report);
  assert.equal(stage.ledger.length, 1);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("question is not asked about more than could be shown whole: the call is refused (B18)", async () => {
  const answers = [{ text: "", calls: [{ tool: "pay", arguments: { text: "x".repeat(70_000) } }] }, {
    text: "Done.",
  }];
  const stage = await openStage({ tools: [pay], answers });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Pay Ada."));
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  assert.equal(stage.ledger.length, 0);
  const entries = await stage.entries(session);
  assert.ok(!entries.some(({ type }) => type === "question.ask"));
  const judged = entries.find(({ type }) => type === "invocation.judged");
  assert.match(JSON.stringify(judged?.body), /"check":"shown".*65536 characters/);
  const denied = entries.find(({ type }) => type === "approval.denied");
  assert.match(JSON.stringify(denied?.body), /"code":"approval_too_large"/);
});
