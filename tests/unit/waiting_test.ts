/** Whether a turn whose model is not to be had waits, says for what, survives a restart, goes on, and can be stopped. */
import assert from "node:assert/strict";
import type { SessionContext } from "../../actors/session_context.ts";
import { recoveryOf } from "../../actors/session_waiting.ts";
import { ModelRetried } from "../../schemas/retry.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { type Patience, Recovery, TurnWait, TurnWaitEnded } from "../../schemas/recovery.ts";
import { Script } from "../../schemas/script.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { readStandingWait } from "../../src/why/standing_wait.ts";
import { performersWith } from "../support/model_performers.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

interface Waiting {
  readonly stage: Stage;
  readonly session: RootAddress;
  /** How the prompt was answered so far: outcome, failure and text. */
  told(): string;
}

/** Begins a session with this patience, whose model plays these answers, and prompts it. */
async function begin(
  answers: readonly unknown[],
  waits: Patience,
  options: StageOptions = {},
): Promise<Waiting> {
  const stage = await openStage({ answers, recovery: Recovery.parse({ waits }), ...options });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go", "the-prompt"));
  let told = "";
  report.then(({ outcome, failure, text }) => told = [outcome, failure?.code ?? text].join(" "));
  await stage.world.settle();
  return { stage, session, told: () => told };
}

function notesOf(entries: readonly Entry[], type: string): readonly Entry[] {
  return entries.filter((entry) => entry.kind === "note" && entry.type === type);
}

async function waitsOf({ stage, session }: Pick<Waiting, "stage" | "session">): Promise<readonly TurnWait[]> {
  return notesOf(await stage.entries(session), "turn.waiting").map(({ body }) => TurnWait.parse(body));
}

async function endsOf({ stage, session }: Pick<Waiting, "stage" | "session">): Promise<readonly string[]> {
  return notesOf(await stage.entries(session), "turn.wait_ended").map(({ body }) =>
    TurnWaitEnded.parse(body).by
  );
}

/** How often its model was asked. */
async function requestsOf({ stage, session }: Pick<Waiting, "stage" | "session">): Promise<number> {
  const entries = await stage.entries(session);
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate").length;
}

/** Asks for a resumption; gives how it was answered, once it is. */
async function resume({ stage, session }: Pick<Waiting, "stage" | "session">): Promise<() => string> {
  const { accepted, reply } = await settled(
    stage.world,
    stage.runtime.send(session, { type: "session.resume" }),
  );
  await settled(stage.world, accepted());
  let told = "";
  reply.then(({ status, value }) => told = `${status} ${JSON.stringify(value)}`);
  await stage.world.settle();
  return () => told;
}

const minute = 60_000;

Deno.test("turn whose model stays overloaded waits 30 s, then 60 s, then for a person, each noted with its error (CM-113)", async () => {
  const waiting = await begin([{ fail: { code: "model_server_failed", message: "Busy" } }], "manual");
  await waiting.stage.world.advance(minute);
  await waiting.stage.world.advance(10 * minute);
  const waits = await waitsOf(waiting);
  const lastError = { code: "model_server_failed", message: "Busy", retryable: true };
  const fixed = {
    turn: 1,
    step: 0,
    model: "scripted/test",
    kind: "provider_overloaded",
    maximum: 2,
    lastError,
  };
  const category = "external_dependency_blocked";
  assert.deepEqual(waits.map(({ nextRetryAtMs: _, ...rest }) => rest), [
    { ...fixed, category, reason: category, strategy: "automatic", attempt: 1 },
    { ...fixed, category, reason: category, strategy: "automatic", attempt: 2 },
    { ...fixed, category, reason: "manual_recovery_required", strategy: "manual", attempt: 2 },
  ]);
  const entries = await waiting.stage.entries(waiting.session);
  const begun = notesOf(entries, "turn.waiting").map(({ at }) => at);
  const delays = waits.map(({ nextRetryAtMs }, at) => nextRetryAtMs && nextRetryAtMs - (begun[at] ?? 0));
  assert.deepEqual(delays, [30_000, 60_000, null]);
  assert.deepEqual([await endsOf(waiting), waiting.told()], [["timer", "timer"], ""]);
  assert.equal((await waiting.stage.replay(waiting.session, { strict: true })).divergence, undefined);
});

Deno.test("turn waits as its failure's row says: how often, how long, and longer if the provider asks for it (CM-113)", async () => {
  const rows: readonly (readonly [failed: object, kind: string, delays: readonly (number | null)[]])[] = [
    [{ code: "model_rate_limited" }, "provider_rate_limited", [15_000, 30_000, null]],
    [{ code: "model_rate_limited", retry_after_ms: 100 }, "provider_rate_limited", [1_000, 1_000, null]],
    [{ code: "model_rate_limited", retry_after_ms: 300_000 }, "provider_rate_limited", [
      300_000,
      300_000,
      null,
    ]],
    [{ code: "model_unreachable" }, "provider_unreachable", [30_000, 60_000, null]],
    [{ code: "model_quota_exceeded" }, "provider_credits_exhausted", [null]],
    [{ code: "model_login_failed" }, "provider_auth_expired", [null]],
    [{ code: "model_answer_invalid" }, "invalid_tool_call_contract", [5_000, null]],
  ];
  for (const [fail, kind, delays] of rows) {
    const waiting = await begin([{ fail }], "manual");
    await waiting.stage.world.advance(30 * minute);
    const entries = await waiting.stage.entries(waiting.session);
    const told = notesOf(entries, "turn.waiting").map(({ at, body }) => {
      const { nextRetryAtMs, kind } = TurnWait.parse(body);
      return [kind, nextRetryAtMs && nextRetryAtMs - at];
    });
    assert.deepEqual(told, delays.map((delay) => [kind, delay]), JSON.stringify(fail));
    assert.equal(waiting.told(), "", "a person may still let it go on");
  }
});

Deno.test("turn waits only as long as its session is to: not at all, or while it goes on by itself (CM-113)", async () => {
  const down = [{ fail: { code: "model_server_failed" } }];
  const never = await begin(down, "never");
  await never.stage.world.advance(minute);
  assert.deepEqual([await waitsOf(never), never.told()], [[], "failed model_server_failed"]);
  const automatic = await begin(down, "automatic");
  await automatic.stage.world.advance(10 * minute);
  assert.deepEqual((await waitsOf(automatic)).map(({ strategy }) => strategy), ["automatic", "automatic"]);
  assert.equal(automatic.told(), "failed model_server_failed");
  // What no time and no person helps is not waited for.
  const refused = await begin([{ fail: { code: "model_refused" } }], "manual");
  assert.deepEqual([await waitsOf(refused), refused.told()], [[], "failed model_refused"]);
});

Deno.test("turn that waits for its provider goes on by itself once that is there again, with all that it did (CM-113)", async () => {
  const answers = [
    { calls: [{ tool: "look" }] },
    { fail: { code: "model_unreachable", times: 6 }, text: "Done" },
  ];
  const waiting = await begin(answers, "manual", { tools: [{ name: "look" }] });
  await waiting.stage.world.advance(10 * minute);
  assert.deepEqual([waiting.told(), await endsOf(waiting)], ["completed Done", ["timer", "timer"]]);
  assert.equal(waiting.stage.ledger.length, 1);
});

Deno.test("turn that waits for a person goes on when it is resumed, and both who asked are answered (CM-113)", async () => {
  const waiting = await begin([{ fail: { code: "model_login_failed", times: 1 }, text: "In" }], "manual");
  await waiting.stage.world.advance(60 * minute);
  assert.equal(waiting.told(), "");
  const told = await resume(waiting);
  assert.match(told(), /^ok .*"outcome":"completed"/);
  assert.deepEqual([waiting.told(), await endsOf(waiting)], ["completed In", ["operator"]]);
  assert.match((await resume(waiting))(), /^failed .*turn_not_waiting/);
  assert.equal((await waiting.stage.replay(waiting.session, { strict: true })).divergence, undefined);
});

Deno.test("turn that is resumed has all its tries again, and may be resumed before its time is over (CM-113)", async () => {
  const waiting = await begin([{ fail: { code: "model_server_failed" } }], "manual");
  await waiting.stage.world.advance(20_000);
  assert.equal((await waitsOf(waiting)).length, 1);
  await resume(waiting);
  await waiting.stage.world.advance(20_000);
  assert.deepEqual([await requestsOf(waiting), await endsOf(waiting)], [10, ["operator"]]);
  assert.deepEqual((await waitsOf(waiting)).map(({ attempt }) => attempt), [1, 1]);
  // No try is beyond those that there are.
  const tries = notesOf(await waiting.stage.entries(waiting.session), "model.retried").map(({ body }) => {
    const { attempt, maxAttempts } = ModelRetried.parse(body);
    return `${attempt} of ${maxAttempts}`;
  });
  assert.deepEqual(tries, [
    "2 of 5",
    "3 of 5",
    "4 of 5",
    "5 of 5",
    "7 of 10",
    "8 of 10",
    "9 of 10",
    "10 of 10",
  ]);
});

Deno.test("wait outlives its process: it ends when it would have, and so does one for a person (CM-113)", async () => {
  const answers = [{ fail: { code: "model_server_failed", times: 7 }, text: "Up" }];
  const first = await begin(answers, "manual");
  await first.stage.world.advance(20_000);
  const [until] = (await waitsOf(first)).map(({ nextRetryAtMs }) => nextRetryAtMs ?? 0);
  assert.ok(until);
  first.stage.crash();
  const { world, disk } = first.stage;
  const stage = await openStage({ answers, world, disk });
  const again = { stage, session: first.session };
  assert.equal((await waitsOf(again)).length, 1);
  await world.advance(until - world.now() - 1);
  assert.deepEqual(await endsOf(again), []);
  await world.advance(2_000);
  assert.deepEqual(await endsOf(again), ["timer"]);
  await world.advance(2 * minute);
  assert.deepEqual((await waitsOf(again)).map(({ strategy }) => strategy), [
    "automatic",
    "automatic",
    "manual",
  ]);
  stage.crash();
  const last = { stage: await openStage({ answers, world, disk }), session: first.session };
  await world.advance(60 * minute);
  const told = await resume(last);
  assert.match(told(), /^ok .*"outcome":"completed"/);
  // Who gave the prompt before the crash and gives it again hears of its end.
  const { report } = await settled(world, last.stage.runtime.prompt(first.session, "Go", "the-prompt"));
  assert.equal((await settled(world, report)).text, "Up");
});

Deno.test("cancel ends a wait: nothing is tried again, and nobody can resume the step (CM-115)", async () => {
  for (const code of ["model_server_failed", "model_login_failed"]) {
    const waiting = await begin([{ fail: { code, times: 1_000 }, text: "Late" }], "manual");
    await waiting.stage.world.advance(20_000);
    assert.equal((await waitsOf(waiting)).length, 1);
    const { stage: { world, runtime }, session } = waiting;
    await settled(world, runtime.send(session, { type: "session.cancel", reason: "Enough" }));
    await world.settle();
    assert.deepEqual([waiting.told(), await endsOf(waiting)], ["canceled turn_canceled", ["cancel"]]);
    const asked = await requestsOf(waiting);
    await world.advance(60 * minute);
    assert.match((await resume(waiting))(), /^failed .*turn_not_waiting/);
    await world.advance(60 * minute);
    assert.equal(await requestsOf(waiting), asked, "no timer comes back");
    assert.equal((await waiting.stage.replay(session, { strict: true })).divergence, undefined);
  }
});

Deno.test("answer that comes after its turn was stopped changes nothing (CM-115)", async () => {
  const held = Promise.withResolvers<void>();
  const provider: ModelProvider = {
    ...createScriptedProvider(Script.parse({ answers: [] })),
    async *generate() {
      await held.promise;
      yield { type: "text_delta", text: "Late" };
      yield { type: "done", finishReason: "stop" };
    },
  };
  const performers = performersWith({ tools: [], ledger: [], providerOf: () => provider });
  const waiting = await begin([], "manual", { runtime: { performers } });
  const { stage: { world, runtime }, session } = waiting;
  await settled(world, runtime.send(session, { type: "session.cancel", reason: "Enough" }));
  await world.settle();
  held.resolve();
  await world.advance(minute);
  assert.equal(waiting.told(), "canceled turn_canceled");
  const entries = await waiting.stage.entries(session);
  assert.equal(entries.some(({ kind, type }) => kind === "outcome" && type === "model.generate"), false);
});

Deno.test("wait is found however much was written since it began, and gone once it ended (CM-113)", async () => {
  const waiting = await begin([{ fail: { code: "model_login_failed", times: 1 }, text: "In" }], "manual");
  const { stage, session } = waiting;
  const found = async () => {
    await settled(stage.world, stage.runtime.journal.writer.idle());
    return (await settled(stage.world, readStandingWait(stage.runtime.journal, session)))?.kind;
  };
  assert.equal(await found(), "provider_auth_expired");
  for (let more = 0; more < 300; more++) {
    await settled(stage.world, stage.runtime.prompt(session, `More ${more}`));
  }
  await stage.world.settle();
  const entries = await stage.entries(session);
  const began = notesOf(entries, "turn.waiting")[0]?.seq ?? 0;
  assert.ok(entries.length - began > 256);
  assert.equal(await found(), "provider_auth_expired");
  await resume(waiting);
  assert.equal(await found(), undefined);
});

Deno.test("wait is no way round a budget: its time ends the turn (CM-113)", async () => {
  const waiting = await begin([{ fail: { code: "model_login_failed" } }], "manual", {
    agent: { budget: { wall_ms: minute } },
  });
  await waiting.stage.world.advance(2 * minute);
  assert.deepEqual([waiting.told(), await endsOf(waiting)], ["failed budget_exhausted", ["budget"]]);
});

Deno.test("child agent waits for no person: its parent is told that it failed", () => {
  const patient = Recovery.parse({});
  const parent = { task: "task/tsk_1", session: "session/ses_1", path: ["a"], depth: 1 };
  const context = (given: object) => ({ recovery: patient, ...given }) as unknown as SessionContext;
  assert.deepEqual(recoveryOf(context({})), { recovery: patient });
  assert.deepEqual(recoveryOf(context({ parent })), { recovery: { waits: "automatic" } });
});
