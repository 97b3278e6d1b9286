/** How turns end, as those who wait for them are told (DM-133). */
import assert from "node:assert/strict";
import { neededBy } from "../../actors/turn_ending.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { failure } from "../../schemas/failure.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const payment = { calls: [{ tool: "pay" }] };
const look = { calls: [{ tool: "look" }] };
const looking = { name: "look" } as const;

function breaksOff(): Promise<never> {
  return Promise.reject(new Error("The line broke"));
}

/** A harmful call that breaks off after it was begun. */
const inDoubt = { tools: [{ name: "pay", effect: "non_idempotent", work: breaksOff }, looking] } as const;
const asking = { tools: [{ name: "pay", approval: "prompt" }, looking] } as const;

interface Played {
  readonly stage: Stage;
  readonly session: RootAddress;
  readonly report: Promise<TurnReport>;
}

async function play(options: StageOptions): Promise<Played> {
  const stage = await openStage(options);
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await stage.world.settle();
  return { stage, session, report };
}

async function answer({ world, runtime }: Stage, decision: Decision): Promise<void> {
  const [open] = runtime.questions.list();
  assert.ok(open !== undefined);
  const given = { decision, by: localOperator, shown: open.shown, note: "seen at the counter" };
  await settled(world, runtime.questions.answer(open.id, given));
  await world.settle();
}

async function ended({ stage, report }: Played) {
  const { outcome, failure: why, text } = await settled(stage.world, report);
  return { outcome, code: why?.code, message: why?.message ?? "", text };
}

Deno.test("turn that stops after a call of which nobody knows the outcome is unknown, whatever stopped it (DM-133)", async () => {
  const failed = await play({ ...inDoubt, answers: [payment, look] });
  await answer(failed.stage, "abandon");
  const end = await ended(failed);
  assert.deepEqual([end.outcome, end.code], ["unknown", "script_exhausted"]);
  assert.match(end.message, /the outcome of "pay" \(turn\/1\/call\/0\.0\) is unknown, it may have happened/);
  assert.equal((await failed.stage.replay(failed.session, { strict: true })).divergence, undefined);

  const canceled = await play({ ...inDoubt, answers: [payment] });
  const message = { type: "session.cancel", reason: "enough" } as const;
  await settled(canceled.stage.world, canceled.stage.runtime.send(canceled.session, message));
  const stopped = await ended(canceled);
  assert.deepEqual([stopped.outcome, stopped.code], ["unknown", "turn_canceled"]);
});

Deno.test("turn whose model was told of an unknown outcome and answered has completed, and one whose call was settled fails as it did (DM-133)", async () => {
  const told = await play({ ...inDoubt, answers: [payment, { text: "I do not know whether it was paid" }] });
  await answer(told.stage, "abandon");
  assert.deepEqual(await ended(told), {
    outcome: "completed",
    code: undefined,
    message: "",
    text: "I do not know whether it was paid",
  });
  const settledCall = await play({ ...inDoubt, answers: [payment] });
  await answer(settledCall.stage, "mark_applied");
  assert.equal((await ended(settledCall)).outcome, "failed");
});

Deno.test("host's call of which nobody knows the outcome makes its turn unknown (DM-133)", async () => {
  const stage = await openStage({ ...inDoubt, answers: [] });
  const session = await stage.session();
  const call = { tool: "pay", arguments: {} };
  const { report } = await settled(stage.world, stage.runtime.call(session, call));
  await stage.world.settle();
  await answer(stage, "abandon");
  const { outcome, call: reported, failure: why } = await settled(stage.world, report);
  assert.deepEqual([outcome, reported?.outcome, why?.code], ["unknown", "unknown", "tool_outcome_unknown"]);
});

Deno.test("turn whose model ends it because a person was needed and nobody was there says what is needed (DM-133)", async () => {
  const answers = [payment, { text: "Somebody must allow the payment" }];
  const alone = await play({ ...asking, answers, hasAnswerer: () => false });
  const end = await ended(alone);
  assert.deepEqual([end.outcome, end.code, end.text], [
    "needs_user",
    "approval_unavailable",
    "Somebody must allow the payment",
  ]);
  assert.match(end.message, /^"pay" needed a person\. Nobody is there .*: ask again while somebody is there/);
  assert.equal((await alone.stage.replay(alone.session, { strict: true })).divergence, undefined);
  // Who stands in for nobody is nobody; a person who says no was there.
  const denied = await play({ ...asking, answers });
  const { questions } = denied.stage.runtime;
  questions.deny(questions.list()[0]?.id ?? "", { kind: "program", id: "no-answerer" }, "Nobody is there");
  assert.equal((await ended(denied)).outcome, "needs_user");
  const refused = await play({ ...asking, answers });
  await answer(refused.stage, "deny");
  assert.equal((await ended(refused)).outcome, "completed");
});

Deno.test("turn whose model found another way, or broke off, does not need a person (DM-133)", async () => {
  const other = await play({
    ...asking,
    answers: [payment, look, { text: "Done otherwise" }],
    hasAnswerer: () => false,
  });
  assert.equal((await ended(other)).outcome, "completed");
  const broken = await play({ ...asking, answers: [payment], hasAnswerer: () => false });
  const end = await ended(broken);
  assert.deepEqual([end.outcome, end.code], ["failed", "script_exhausted"]);
});

Deno.test("host's call that needs a person while nobody is there makes its turn need one (DM-133)", async () => {
  const stage = await openStage({ ...asking, answers: [], hasAnswerer: () => false });
  const session = await stage.session();
  const { report } = await settled(
    stage.world,
    stage.runtime.call(session, { tool: "pay", arguments: {} }),
  );
  const { outcome, call } = await settled(stage.world, report);
  assert.deepEqual([outcome, call?.outcome, call?.failure?.code], [
    "needs_user",
    "denied",
    "approval_unavailable",
  ]);
});

Deno.test("turn needs a person for a login, and for a question that nobody answered, but for no other failure (DM-133)", () => {
  const result: InvocationResult = {
    ordinal: "call/0.0",
    callId: "",
    name: "docs",
    outcome: "failed",
    attempts: 1,
  };
  const login = failure("mcp_login_required", 'The server "docs" wants a login: troupe mcp login docs');
  assert.deepEqual(neededBy([{ ...result, failure: login }]), {
    ...login,
    message:
      '"docs" needed a person. The server "docs" wants a login: troupe mcp login docs: log in, then ask again',
  });
  assert.match(neededBy([{ ...result, unasked: true }])?.message ?? "", /"docs" asked a person, and nobody/);
  assert.equal(neededBy([{ ...result, failure: failure("tool_failed", "no") }]), null);
});

Deno.test("turn whose session is taken out of service is lost to whoever waits, and so is a prompt behind it (DM-133)", async () => {
  const stage = await openStage({ ...asking, answers: [payment] });
  const session = await stage.session();
  const give = (text: string, key: string) => settled(stage.world, stage.runtime.prompt(session, text, key));
  const first = await give("Go", "first");
  const second = await give("And then", "second");
  await settled(stage.world, first.accepted());
  await settled(stage.world, second.accepted());
  await stage.world.settle();
  quarantine(stage.runtime.kernel, session, "an operator said so");
  const reports = [await settled(stage.world, first.report), await settled(stage.world, second.report)];
  assert.deepEqual(reports.map(({ turn, outcome, failure: why }) => [turn, outcome, why?.code]), [
    [1, "lost", "root_quarantined"],
    [0, "lost", "root_quarantined"],
  ]);
  assert.match(reports[0]?.failure?.message ?? "", /an operator said so; troupe log shows how far it came/);
  // Who asks again under the same key is told the same; a new prompt is refused.
  const again = await give("Go", "first");
  assert.equal((await settled(stage.world, again.report)).outcome, "lost");
  await assert.rejects(give("More", "third"), { code: "root_quarantined" });
});

Deno.test("turn whose session only this runtime keeps away from is not lost: its key is told of it later (DM-133)", async () => {
  const stage = await openStage({ ...asking, answers: [payment] });
  const session = await stage.session();
  const { accepted, report } = await settled(stage.world, stage.runtime.prompt(session, "Go", "first"));
  await settled(stage.world, accepted());
  await stage.world.settle();
  quarantine(stage.runtime.kernel, session, "it cannot be read here", false);
  await assert.rejects(settled(stage.world, report), { code: "root_quarantined" });
});
