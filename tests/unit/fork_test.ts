/** Forks in a whole runtime: where they may begin, what they share, what they do not take over, and that they go on. */
import assert from "node:assert/strict";
import type { CheckpointBody, Entry } from "../../schemas/entry.ts";
import type { ForkReport } from "../../schemas/fork.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import type { ForkOrder } from "../../src/forks.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import { readBudget } from "../../src/records/budget_fold.ts";
import { firstDue } from "../../src/effects/schedule_next.ts";
import { pagesOf, replayStream } from "../../src/stream_replay.ts";
import { call, children, openFamily, play } from "../support/family.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Its library is loaded before virtual time begins: reading a file takes time of another kind. */
await firstDue({ expression: "* * * * *", zone: "UTC" }, 0);

const answers = [
  { text: "I look.", calls: [{ tool: "look" }] },
  { text: "First answer" },
  { text: "Second answer" },
];

function fork(stage: Stage, order: ForkOrder): Promise<ForkReport> {
  return settled(stage.world, stage.runtime.forkSession(order));
}

async function refusal(stage: Stage, order: ForkOrder): Promise<{ code: string; message: string }> {
  const before = stage.runtime.listRoots().length;
  const refused = await fork(stage, order).then(
    () => assert.fail("was forked"),
    (error: KernelError) => error,
  );
  assert.equal(stage.runtime.listRoots().length, before);
  return refused;
}

/** The last entries of all cranks. */
function bordersOf(entries: readonly Entry[]): readonly number[] {
  const firsts = entries.filter(({ seq, cause }) => seq === cause).map(({ seq }) => seq);
  return [...firsts.slice(1).map((seq) => seq - 1), entries.length];
}

/** Replays a stream in every way, its origin included. */
async function replayed(
  stage: Stage,
  root: RootAddress,
  report: ForkReport,
  change = (entry: Entry) => entry,
) {
  const entries = (await stage.entries(root)).map(change);
  return await settled(
    stage.world,
    replayStream({
      address: root,
      pages: pagesOf(entries),
      digest: stage.world.seams.digest,
      loadShelved: (hash) => loadShelved(stage.runtime.journal, hash),
      strict: true,
      origin: report.origin,
    }),
  );
}

async function told(stage: Stage, root: RootAddress): Promise<readonly string[]> {
  const messages = await settled(stage.world, stage.runtime.conversations.transcript(root, "1.0"));
  return messages.map(({ role, text }) => `${role} ${text.split("\n").at(-1)}`);
}

async function played(options: StageOptions = {}) {
  const stage = await openStage({ tools: [{ name: "look" }], answers, ...options });
  const session = await stage.session();
  await play(stage, session, "Look");
  return { stage, session, entries: await stage.entries(session) };
}

Deno.test("fork goes on live from every border of its origin, with the same conversation, and replays as a whole (K24)", async () => {
  const { stage, session, entries } = await played();
  const borders = bordersOf(entries);
  assert.ok(borders.length >= 6, JSON.stringify(borders));
  for (const at of borders) {
    const report = await fork(stage, { session, at });
    assert.deepEqual([report.origin.address, report.origin.seq], [session, at]);
    const own = await stage.entries(report.session);
    assert.deepEqual(own.slice(0, at), entries.slice(0, at), `at ${at}`);
    assert.equal((own[at]?.body as unknown as CheckpointBody).origin?.hash, report.origin.hash);
    assert.deepEqual(stage.runtime.kernel.roots.get(report.session)?.shape().open, []);
    const asked = stage.ledger.length;
    const { outcome, failure } = await play(stage, report.session, "Another way");
    assert.equal(outcome, "completed", `at ${at}: ${JSON.stringify(failure)}`);
    assert.ok(stage.ledger.length >= asked);
    const { divergence, skipped } = await replayed(stage, report.session, report);
    assert.deepEqual([divergence, skipped], [undefined, 0], `at ${at}`);
  }
  // The original has learned nothing of all that.
  assert.deepEqual(await stage.entries(session), entries);
});

Deno.test("fork before a bad answer gives the model the same words up to there, and another prompt (K24)", async () => {
  const { stage, session, entries } = await played();
  const last = entries.findLast(({ kind, type }) => kind === "outcome" && type === "model.generate")!;
  const report = await fork(stage, { session, at: last.seq - 1, title: "Another wording" });
  await play(stage, report.session, "Be brief");
  const [prompted, ...rest] = await told(stage, report.session);
  assert.deepEqual([prompted, ...rest], [
    "user Look",
    "assistant I look.",
    "tool look is done",
    "user Be brief",
    "assistant First answer",
  ]);
  assert.equal(stage.ledger.length, 1);
  const record = stage.runtime.listRoots().find(({ address }) => address === report.session);
  assert.deepEqual([record?.title, record?.origin], ["Another wording", report.origin]);
});

Deno.test("fork can ask another model, and has the rights of its origin otherwise (K24)", async () => {
  const scripts = {
    "scripted/other": { answers: [{ text: "one" }, { text: "two" }, { text: "by the other" }] },
  };
  const { stage, session, entries } = await played({ scripts, agent: { capabilities: ["fs.read"] } });
  const report = await fork(stage, { session, at: entries.length, model: "scripted/other" });
  assert.equal((await play(stage, report.session, "Again")).text, "by the other");
  assert.equal((await play(stage, session, "Again")).text, "Second answer");
  const contextOf = (root: RootAddress) => {
    const { context } = stage.runtime.kernel.roots.get(root)?.persisted() as never as {
      context: { agent: object; mode: string; scope: unknown; principal: unknown };
    };
    return { ...context.agent, model: "", mode: context.mode, scope: context.scope, by: context.principal };
  };
  assert.deepEqual(contextOf(report.session), contextOf(session));
});

Deno.test("fork is refused between two borders, and names both; behind the end it names the last entry (K24)", async () => {
  const { stage, session, entries } = await played();
  const borders = bordersOf(entries);
  for (const { seq: at } of entries.filter(({ seq }) => !borders.includes(seq))) {
    const { code, message } = await refusal(stage, { session, at });
    const near = [borders.findLast((seq) => seq < at), borders.find((seq) => seq > at)];
    assert.equal(code, "fork_misplaced");
    assert.match(message, new RegExp(`fork it at ${near.filter((seq) => seq !== undefined).join(" or ")}$`));
  }
  const beyond = await refusal(stage, { session, at: entries.length + 1 });
  assert.deepEqual([beyond.code, beyond.message.endsWith(`its last entry is ${entries.length}`)], [
    "entry_not_found",
    true,
  ]);
  assert.equal((await refusal(stage, { session: "session/ses_x", at: 1 })).code, "root_not_found");
});

Deno.test("fork is refused where a call is under way that could hurt, and cancels it only if that is wanted (K24)", async () => {
  for (const effect of ["non_idempotent", "conditional"] as const) {
    const gate = Promise.withResolvers<string>();
    const tool = { name: "pay", effect, mechanism: "key" as const, work: () => gate.promise };
    const { mechanism: _none, ...plain } = tool;
    const stage = await openStage({
      tools: [effect === "conditional" ? tool : plain],
      answers: [{ calls: [{ tool: "pay" }] }, { text: "Paid" }, { text: "Well" }],
    });
    const session = await stage.session();
    const { report: turn } = await settled(stage.world, stage.runtime.prompt(session, "Pay"));
    await stage.world.settle();
    const at = (await stage.entries(session)).length;
    const { code, message } = await refusal(stage, { session, at });
    assert.equal(code, "fork_unsettled");
    assert.match(message, /tool\.call \d+\.0, call\/0\.0, pay is under way there/);
    const report = await fork(stage, { session, at, settle: true });
    assert.deepEqual(report.settled.map(({ harmful }) => harmful), [true]);
    assert.deepEqual(report.closed, [{ kind: "turn", name: "turn/1" }]);
    const outcome = (await stage.entries(report.session)).findLast(({ kind }) => kind === "outcome");
    const { status, failure } = outcome?.body as { status: string; failure: { code: string } };
    assert.deepEqual([status, failure.code], ["canceled", "forked"]);
    assert.equal((await replayed(stage, report.session, report)).divergence, undefined);
    // It is made once, and its outcome belongs to the original alone.
    gate.resolve("done");
    assert.equal((await settled(stage.world, turn)).text, "Paid");
    assert.equal(stage.ledger.length, 1);
    assert.equal((await play(stage, report.session, "And?")).outcome, "completed");
    assert.equal(stage.ledger.length, 1);
  }
});

Deno.test("fork closes an open question, which stays open in the original and is answered there (K24)", async () => {
  const stage = await openStage({
    tools: [{ name: "pay", effect: "non_idempotent", approval: "prompt" }],
    answers: [{ calls: [{ tool: "pay" }] }, { text: "Paid" }],
  });
  const session = await stage.session();
  const { report: turn } = await settled(stage.world, stage.runtime.prompt(session, "Pay"));
  await stage.world.settle();
  const [question] = stage.runtime.questions.list();
  const report = await fork(stage, { session, at: (await stage.entries(session)).length });
  assert.deepEqual(report.closed.map(({ kind }) => kind), ["turn", "question"]);
  assert.deepEqual(stage.runtime.questions.list().map(({ id }) => id), [question?.id]);
  const answer = { decision: "always_allow_for_session", by: localOperator, shown: question?.shown } as const;
  await settled(stage.world, stage.runtime.questions.answer(question?.id ?? "", answer));
  assert.equal((await settled(stage.world, turn)).text, "Paid");
  assert.equal((await replayed(stage, report.session, report)).divergence, undefined);
  // An answer for the whole session is for that session: its fork asks again.
  const later = await fork(stage, { session, at: (await stage.entries(session)).length });
  assert.deepEqual(later.closed.map(({ kind }) => kind), ["grant"]);
  const { context } = stage.runtime.kernel.roots.get(later.session)?.persisted() as never as {
    context: { grants: unknown[] };
  };
  assert.deepEqual(context.grants, []);
});

Deno.test("fork leaves child agents to the original, tells its model, and holds no part of the budget for them (K24)", async () => {
  // Parent and child play one script: what the one calls besides is refused to the other.
  const profiles = {
    main: { allowed_tool_names: ["subagent_*"] },
    worker: { allowed_tool_names: ["hold"], default_subagent: true },
  };
  const stage = await openFamily({
    answers: [
      { calls: [call("subagent_spawn", { content: "Count" }), call("hold")] },
      { text: "begun" },
      { text: "heard" },
    ],
    tools: [{ name: "hold", timeoutMs: 100_000, work: () => new Promise(() => {}) }],
    agent: { profiles, budget: { tokens: 1_000_000, tool_calls: 100 } },
  });
  const session = await stage.session();
  await play(stage, session);
  await stage.world.settle();
  const [child] = await children(stage, session);
  const before = await readBudget(stage.runtime.journal.readPages(session));
  assert.equal(Object.keys(before.reserved).length, 1);
  const report = await fork(stage, { session, at: (await stage.entries(session)).length });
  assert.deepEqual(report.closed, [{ kind: "child", name: child?.address }]);
  const after = await readBudget(stage.runtime.journal.readPages(report.session));
  assert.deepEqual([after.reserved, after.spent, after.turn], [{}, before.spent, undefined]);
  assert.equal(after.left.tool_calls, 100 - before.spent.tool_calls);
  await play(stage, report.session, "What of it?");
  const news = (await settled(stage.world, stage.runtime.conversations.transcript(report.session, "1.0")))
    .filter(({ role, text }) => role === "user" && text.startsWith("[news"));
  assert.match(news[0]?.text ?? "", new RegExp(`${child?.id}.* ended as canceled`));
  // The child goes on, and hears nothing.
  const entries = await stage.entries(child?.address ?? "");
  assert.deepEqual(entries.filter(({ type }) => type === "task.cancel"), []);
  assert.equal((await children(stage, session))[0]?.status, "running");
  assert.deepEqual(await children(stage, report.session), []);
  const { code } = await refusal(stage, { session: child?.agent.child ?? "", at: 1 });
  assert.equal(code, "session_not_yours");
});

Deno.test("fork spends no time that passed since the entry that it was forked at (K24)", async () => {
  const { stage, session } = await played({ agent: { budget: { wall_ms: 1_000_000 } } });
  const { seq } = (await stage.entries(session)).find(({ type }) => type === "turn.exposed")!;
  await stage.world.advance(3_600_000);
  const report = await fork(stage, { session, at: seq });
  const { spent, turn } = await readBudget(stage.runtime.journal.readPages(report.session));
  assert.deepEqual([spent.wall_ms, turn], [0, undefined]);
  assert.equal((await play(stage, report.session, "Go on")).outcome, "completed");
});

Deno.test("fork outlives a crash, and one that was cut short is no session (K24)", async () => {
  const { stage, session, entries } = await played();
  const report = await fork(stage, { session, at: entries.length });
  const cut = stage.runtime.forkSession({ session, at: entries.length }).catch(() => {});
  await Promise.race([cut, new Promise<void>((resolve) => queueMicrotask(resolve))]);
  stage.crash();
  const again = await openStage({ world: stage.world, disk: stage.disk, tools: [{ name: "look" }], answers });
  const forks = again.runtime.listRoots().filter(({ origin }) => origin !== undefined);
  assert.deepEqual(forks.map(({ address }) => address), [report.session]);
  assert.equal((await play(again, report.session, "Go on")).text, "Second answer");
  assert.equal((await replayed(again, report.session, report)).divergence, undefined);
});

Deno.test("fork whose common entries are others than those of its origin does not replay (K24)", async () => {
  const { stage, session, entries } = await played();
  const report = await fork(stage, { session, at: entries.length });
  const { divergence } = await replayed(
    stage,
    report.session,
    report,
    (entry) => entry.type === "turn.exposed" ? { ...entry, at: entry.at + 1 } : entry,
  );
  assert.deepEqual([divergence?.seq, divergence?.expected], [entries.length, report.origin.hash]);
  assert.match(divergence?.what ?? "", new RegExp(`those of ${session}$`));
});

Deno.test("fork where nobody knows what a call did ends its turn without asking, and leaves the doubt to the original (K24)", async () => {
  const tools = [{
    name: "pay",
    effect: "non_idempotent" as const,
    work: () => new Promise<string>(() => {}),
  }];
  const script = { tools, answers: [{ calls: [{ tool: "pay" }] }, { text: "Well" }] };
  const first = await openStage(script);
  const session = await first.session();
  await settled(first.world, first.runtime.prompt(session, "Pay"));
  await first.world.settle();
  first.crash();
  const stage = await openStage({ ...script, world: first.world, disk: first.disk });
  await stage.world.settle();
  const [question] = stage.runtime.questions.list();
  assert.equal(question?.subject.kind, "uncertain");
  const report = await fork(stage, { session, at: (await stage.entries(session)).length });
  assert.deepEqual(report.closed.map(({ kind }) => kind), ["turn", "question"]);
  assert.deepEqual(report.settled.map(({ harmful }) => harmful).includes(true), false);
  assert.deepEqual(stage.runtime.questions.list().map(({ id }) => id), [question?.id]);
  assert.equal((await replayed(stage, report.session, report)).divergence, undefined);
  assert.equal((await play(stage, report.session, "And?")).outcome, "completed");
});

Deno.test("fork is prompted by no schedule of its origin (K24)", async () => {
  const { stage, session, entries } = await played();
  const draft = {
    times: { type: "cron" as const, expression: "*/5 * * * *", zone: "UTC" },
    prompt: "Look again",
  };
  const made = await settled(stage.world, stage.runtime.schedules.of(session, "k").create(draft));
  assert.ok("id" in made, JSON.stringify(made));
  const report = await fork(stage, { session, at: entries.length });
  const name = `schedule/${made.id}@${session.slice("session/".length)}`;
  assert.deepEqual(report.closed, [{ kind: "schedule", name }]);
  const { length } = await stage.entries(report.session);
  await stage.world.advance(600_000);
  const own = await stage.entries(report.session);
  assert.deepEqual(own.slice(length).filter(({ type }) => type === "session.prompt"), []);
  assert.ok((await stage.entries(session)).length > entries.length);
});

Deno.test("fork keeps the state hashes of its origin, of large messages too (K24, K25)", async () => {
  const text = "long ".repeat(2_000);
  const { stage, session } = await played({ answers: [{ text }, { text }] });
  await play(stage, session, text);
  const entries = await stage.entries(session);
  const report = await fork(stage, { session, at: entries.length });
  const own = await stage.entries(report.session);
  assert.deepEqual(own.slice(0, entries.length), entries);
  // Bodies of this size are blobs (K18).
  const isLarge = ({ body }: Entry) => JSON.stringify(body).length > limits.entryBodyBytesMax;
  assert.ok(entries.some((entry) => entry.state !== undefined && isLarge(entry)));
});
