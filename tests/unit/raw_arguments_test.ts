/** Arguments that held a secret: performed as the model wrote them, and nowhere but in memory (design.md section 8). */
import assert from "node:assert/strict";
import { localOperator } from "../../schemas/principal.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Made up by the model: no secret of the host, but one by its looks. */
const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const answers = [{ calls: [{ tool: "post", arguments: { text: token } }] }, { text: "finished" }];

/** A stage whose tool writes down what it was called with, and says it again. */
async function stageWith(got: unknown[], options: StageOptions & { readonly hang?: boolean } = {}) {
  const { hang = false, ...rest } = options;
  return await openStage({
    answers,
    ...rest,
    tools: rest.tools ?? [{
      name: "post",
      work: (_use, input) => {
        got.push(input);
        return hang ? new Promise(() => {}) : Promise.resolve(`posted ${token}`);
      },
    }],
  });
}

function toolFor(got: unknown[], changes: object) {
  return [{
    name: "post",
    work: (_use: unknown, input: unknown) => {
      got.push(input);
      return new Promise<string>(() => {});
    },
    ...changes,
  }];
}

async function outcomesOf(stage: Stage, session: Awaited<ReturnType<Stage["session"]>>) {
  const entries = await stage.entries(session);
  return entries.filter(({ kind, type }) => kind === "outcome" && type === "tool.call")
    .map(({ body }) => body as { readonly status: string; readonly failure?: { readonly code: string } });
}

Deno.test("call whose arguments hold a secret is made with it, and no entry, progress or result has it (DM-49)", async () => {
  const got: unknown[] = [];
  const password = "correct horse 22"; // Only the name of its field tells.
  const written = { text: token, password };
  const stage = await stageWith(got, {
    answers: [{ calls: [{ tool: "post", arguments: written }] }, { text: "finished" }],
    tools: [{
      name: "post",
      properties: { password: { type: "string" } },
      work: (use, input) => {
        got.push(input);
        use.notifications.push(`sending ${password}`);
        return Promise.resolve(`posted ${token} with ${password}`);
      },
    }],
  });
  const session = await stage.session();
  const heard: unknown[] = [];
  stage.runtime.watch((event) => heard.push(event));
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "post it"));
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  assert.deepEqual(got, [written]);
  const journal = JSON.stringify(await stage.entries(session));
  const all = `${journal}${JSON.stringify(heard)}`;
  for (const hidden of [token, password]) assert(!all.includes(hidden), hidden);
  assert.match(journal, /"arguments":\{"text":"\[redacted\]","password":"\[redacted\]"\}.*"redacted":true/);
  assert.match(journal, /posted \[redacted\] with \[redacted\]/);
  // Replay has the journal alone, and asks for the same.
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("question about a call shows its redacted form, and the granted call is made with what the model wrote", async () => {
  const got: unknown[] = [];
  const tools = [{
    name: "post",
    effect: "non_idempotent" as const,
    approval: "prompt" as const,
    work: (_use: unknown, input: unknown) => Promise.resolve(String(got.push(input))),
  }];
  const stage = await stageWith(got, { tools });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "post it"));
  await stage.world.settle();
  const [question] = stage.runtime.questions.list();
  assert(question !== undefined);
  assert.equal(question.subject.preview, '{"text": "[redacted]"}');
  assert(!JSON.stringify(question).includes(token));
  stage.runtime.questions.answer(question.id, {
    decision: "allow",
    by: localOperator,
    shown: question.shown,
  });
  await settled(stage.world, report);
  assert.deepEqual(got, [{ text: token }]);
});

Deno.test("call whose secret a crash took is not made again: failed if a repeat harms nobody, else a person decides", async () => {
  for (const effect of ["idempotent", "non_idempotent", "conditional"] as const) {
    const got: unknown[] = [];
    const changes = { effect, ...(effect === "conditional" ? { mechanism: "key" as const } : {}) };
    const first = await stageWith(got, { tools: toolFor(got, changes) });
    const session = await first.session();
    const prompt = await settled(first.world, first.runtime.prompt(session, "post it"));
    prompt.report.catch(() => {});
    for (let turns = 0; got.length === 0 && turns < 100; turns++) await first.world.settle();
    await first.world.advance(20); // Nobody waits for the intent to be on the disk.
    first.crash();
    const second = await stageWith(got, { disk: first.disk, tools: toolFor(got, changes) });
    await second.world.advance(5_000); // A key may be tried again: it finds nothing to send, and the doubt stays.
    assert.equal(got.length, 1, "the call was made again");
    const [outcome] = await outcomesOf(second, session);
    if (effect === "idempotent") assert.equal(outcome?.failure?.code, "arguments_gone");
    else {
      assert.equal(outcome?.status, "unknown");
      assert.equal(second.runtime.questions.list()[0]?.subject.kind, "uncertain");
    }
    assert.equal((await second.replay(session)).divergence, undefined);
  }
});

Deno.test("call that waited for a person over a restart has certainly not happened, and says what is gone", async () => {
  const got: unknown[] = [];
  const tools = toolFor(got, { effect: "non_idempotent", approval: "prompt" });
  const first = await stageWith(got, { tools });
  const session = await first.session();
  const prompt = await settled(first.world, first.runtime.prompt(session, "post it"));
  prompt.report.catch(() => {});
  await first.world.settle();
  assert.equal(first.runtime.questions.list().length, 1);
  first.crash();
  const second = await stageWith(got, { disk: first.disk, tools });
  for (let turns = 0; second.runtime.questions.list().length === 0 && turns < 100; turns++) {
    await second.world.settle();
  }
  const [question] = second.runtime.questions.list();
  assert(question !== undefined);
  second.runtime.questions.answer(question.id, {
    decision: "allow",
    by: localOperator,
    shown: question.shown,
  });
  for (let turns = 0; turns < 100; turns++) await second.world.settle();
  const [outcome] = await outcomesOf(second, session);
  assert.deepEqual([outcome?.status, outcome?.failure?.code, got.length], ["failed", "arguments_gone", 0]);
});

Deno.test("arguments are checked without the secret before a person is asked, and with it before anything is begun", async () => {
  const got: unknown[] = [];
  const password = { type: "string", pattern: "^[a-z0-9]+$" };
  const stage = await stageWith(got, {
    tools: [{
      name: "post",
      properties: { password },
      work: (_use, input) => Promise.resolve(String(got.push(input))),
    }],
    answers: [
      // The mark does not fit the pattern; what the model wrote does.
      { calls: [{ tool: "post", arguments: { password: "hunter22" } }] },
      { calls: [{ tool: "post", arguments: { text: token, secret: "hunter22" } }] },
      { calls: [{ tool: "post", arguments: { password: 87654321 } }] },
      { text: "finished" },
    ],
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "post it"));
  await settled(stage.world, report);
  assert.deepEqual(got, [{ password: "hunter22" }]);
  const journal = JSON.stringify(await stage.entries(session));
  assert.match(journal, /invalid: The arguments of \W+post\W+ do not fit its schema: arguments\.secret/);
  assert.match(
    journal,
    /"arguments_invalid".{0,80}do not fit its schema: arguments\.password: must be string/,
  );
});

Deno.test("raw arguments are given to exactly their call, and are gone with the next answer, the call or the turn", () => {
  const shelf = new RawArguments();
  const root = "session/ses_1";
  const call = { ordinal: "call/0.0", name: "post", shown: { text: "[redacted]" } };
  const keep = () => shelf.keep(root, [{ ...call, raw: { text: token } }]);
  keep();
  assert.deepEqual(shelf.of(root, call), { text: token });
  for (
    const other of [
      { ...call, ordinal: "call/0.1" },
      { ...call, name: "look" },
      { ...call, shown: { text: "[redacted] and more" } },
    ]
  ) assert.equal(shelf.of(root, other), undefined);
  assert.equal(shelf.of("session/ses_2", call), undefined);
  shelf.drop(root, call.ordinal);
  assert.equal(shelf.of(root, call), undefined);
  keep();
  shelf.keep(root, []);
  assert.equal(shelf.size, 0);
  keep();
  const reply = { kind: "reply", type: "reply", body: { value: { turn: 1 } } };
  shelf.observe(root, [{ ...reply, body: { value: { result: "canceling" } } } as never]);
  assert.equal(shelf.size, 1);
  shelf.observe(root, [reply as never]);
  assert.equal(shelf.size, 0);
  for (let number = 0; number < 300; number++) {
    shelf.keep(`session/ses_${number}`, [{ ...call, raw: { text: token } }]);
  }
  assert.equal(shelf.size, 256);
});

Deno.test("host's call whose arguments hold a secret is refused, and no entry has it (DM-49, DM-50)", async () => {
  const got: unknown[] = [];
  const stage = await stageWith(got);
  const session = await stage.session();
  for (const given of [{ text: token }, { text: "plain", password: "correct horse 22" }]) {
    const call = { tool: "post", arguments: given };
    const { report } = await settled(stage.world, stage.runtime.call(session, call));
    assert.equal((await settled(stage.world, report)).call?.outcome, "invalid");
  }
  assert.deepEqual(got, []);
  const journal = JSON.stringify(await stage.entries(session));
  assert.match(journal, /arguments_secret/);
  for (const hidden of [token, "correct horse 22"]) assert(!journal.includes(hidden), hidden);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});
