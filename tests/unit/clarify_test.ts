/** The tool that asks a person: what is asked and answered, and what the model is told if nobody answers. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { FormContent } from "../../schemas/form.ts";
import type { Decision } from "../../schemas/question.ts";
import type { OpenQuestion } from "../../src/effects/question_ask.ts";
import { clarify } from "../../src/tools/clarify.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";
import { textIn, useIn } from "../support/tools.ts";

const choices = { question: "Which colour?", choices: ["red", "blue"] };

/** A turn whose model asks a person, as far as it gets without one. */
async function asking(given: JsonObject, options: StageOptions = {}) {
  const answers = [{ calls: [{ tool: "clarify", arguments: given }] }, { text: "Done." }];
  const stage = await openStage({ builtins: [clarify], answers, ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Paint it."));
  await stage.world.settle();
  return { stage, session, report };
}

function openIn({ runtime }: Stage): OpenQuestion {
  const [question, ...more] = runtime.questions.list();
  assert.ok(question !== undefined && more.length === 0, `${more.length} more questions`);
  return question;
}

async function give(stage: Stage, decision: Decision, content?: FormContent): Promise<void> {
  const { id, shown } = openIn(stage);
  const filled = content === undefined ? {} : { content };
  await settled(
    stage.world,
    stage.runtime.questions.answer(id, { decision, by: localOperator, shown, ...filled }),
  );
}

type Asking = Awaited<ReturnType<typeof asking>>;

/** What the model was told, once the turn is over. */
async function told({ stage, session, report }: Asking, ended = "completed"): Promise<string> {
  const { outcome } = await settled(stage.world, report);
  assert.equal(outcome, ended);
  const all = await settled(stage.world, stage.runtime.conversations.transcript(session, "9.9"));
  const result = all.find(({ role }) => role === "tool");
  assert.ok(result?.role === "tool" && !result.isError, "not to know is no error");
  return result.text.split("\n").slice(1).join("\n");
}

Deno.test("clarify asks a person in the middle of a turn, who chooses or answers freely (DM-16)", async () => {
  const chosen = await asking(choices);
  const { subject } = openIn(chosen.stage);
  assert.deepEqual([subject.kind, subject.tool, subject.preview], [
    "elicitation",
    "clarify",
    "Which colour?",
  ]);
  assert.match(subject.reason, /the agent asks you/);
  const options = [{ value: "red" }, { value: "blue" }];
  const field = { kind: "choice", name: "answer", required: true, options };
  assert.deepEqual(subject.elicitation, { fields: [field] });
  await assert.rejects(give(chosen.stage, "accept", { answer: "green" }), /must be one of red, blue/);
  await give(chosen.stage, "accept", { answer: "blue" });
  assert.equal(await told(chosen), "The person answered: blue");
  assert.equal((await chosen.stage.replay(chosen.session, { strict: true })).divergence, undefined);
  const free = await asking({ question: "Whose house?" });
  await give(free.stage, "accept", { answer: "Ada's" });
  assert.equal(await told(free), "The person answered: Ada's");
  const { riskLevel, approvalPolicy, capability } = clarify.definition;
  assert.deepEqual([riskLevel, approvalPolicy, capability], ["low", "auto", undefined]);
});

Deno.test("clarify takes at most 4 choices (DM-17)", async () => {
  const handled = async (count: number) => {
    const input = { question: "Which?", choices: Array.from({ length: count }, (_, index) => `${index}`) };
    return [clarify.asks?.(input)?.length, textIn(await clarify.handler(input, useIn(undefined as never)))];
  };
  assert.deepEqual(await handled(5), [undefined, "arguments_invalid"]);
  assert.equal((await handled(4))[0], 1);
  const { stage, report } = await asking({ question: "Which?", choices: ["a", "b", "c", "d", "e"] });
  await settled(stage.world, report);
  assert.deepEqual(stage.runtime.questions.list(), []);
});

Deno.test("clarify tells the model why it has no answer, and the turn goes on, or ends for want of a person (DM-16, DM-133)", async () => {
  const nobody = await asking(choices, { hasAnswerer: () => false });
  assert.match(
    await told(nobody, "needs_user"),
    /^No person answered: nobody is there to be asked\. Go on without/,
  );
  const declined = await asking(choices);
  await give(declined.stage, "decline");
  assert.match(await told(declined), /^The person was asked and declined/);
  const silent = await asking(choices);
  await give(silent.stage, "cancel");
  assert.match(await told(silent), /^The person was asked and said nothing/);
  const late = await asking(choices);
  await late.stage.world.advance(limits.questionOpenMs);
  assert.match(await told(late, "needs_user"), /^No person answered: nobody answered in time/);
  const secret = await asking({
    question: "Which?",
    choices: ["ghp_x9K2mQ7vL4pR8sT1wY6zB3nD5fG0hJcEaUiO", "none"],
  });
  assert.match(await told(secret), /^No person answered: .*looks like a secret/);
});

Deno.test("clarify that is canceled while a person is asked asks nobody any more, and says nothing", async () => {
  const { stage, session, report } = await asking(choices);
  const sent = await settled(
    stage.world,
    stage.runtime.send(session, { type: "session.cancel", reason: "no" }),
  );
  await settled(stage.world, sent.accepted());
  assert.equal((await settled(stage.world, report)).outcome, "canceled");
  assert.deepEqual(stage.runtime.questions.list(), []);
  const last = (await stage.entries(session)).findLast(({ type }) => type === "tool.call");
  assert.deepEqual((last?.body as JsonObject)["failure"], {
    code: "tool_canceled",
    message: "The call was canceled while a person was asked",
    retryable: false,
  });
});

Deno.test("clarify is asked again after a restart, and the answer then given counts (DM-16)", async () => {
  const { stage, session } = await asking(choices);
  await settled(stage.world, stage.runtime.rest());
  stage.crash();
  const answers = [{ calls: [{ tool: "clarify", arguments: choices }] }, { text: "Done." }];
  const after = await openStage({ builtins: [clarify], answers, disk: stage.disk, world: stage.world });
  await after.world.advance(60_000);
  await give(after, "accept", { answer: "red" });
  await after.world.settle();
  const all = await settled(after.world, after.runtime.conversations.transcript(session, "9.9"));
  assert.deepEqual(all.slice(-2).map(({ text }) => text.split("\n").at(-1)), [
    "The person answered: red",
    "Done.",
  ]);
});
