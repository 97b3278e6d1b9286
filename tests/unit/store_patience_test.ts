/** What callers are told while the store takes nothing, and that a scripted session survives every single failure of it. */
import assert from "node:assert/strict";
import { localOperator } from "../../schemas/principal.ts";
import { StoreError } from "../../src/journal/store.ts";
import { ActorApiError } from "../../src/client.ts";
import { answerQuestion } from "../../src/host/answering.ts";
import { openApiStage } from "../support/api_stage.ts";
import type { Fault } from "../support/memory_store.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** A session on a store whose commits hang, or fail as `fault` says, while `isBroken`. */
async function openBlockable(fault: Fault = "hang", options: StageOptions = {}) {
  const state = { isBroken: false };
  const stage = await openStage({
    answers: [{ calls: [{ tool: "pay" }] }, { text: "Done." }],
    tools: [{ name: "pay", effect: "non_idempotent", work: () => Promise.resolve("paid") }],
    store: { faults: () => state.isBroken ? fault : undefined },
    ...options,
  });
  const session = await stage.session();
  return { stage, session, state };
}

/** How a promise stands: its value's absence, or the code of its error. */
function watched(promise: Promise<unknown>): { code: string | undefined } {
  const seen: { code: string | undefined } = { code: undefined };
  promise.then(() => seen.code = "ok", (error: { readonly code?: string }) => seen.code = error.code);
  return seen;
}

async function accept(stage: Stage, session: string, key: string): Promise<{ code: string | undefined }> {
  const given = await settled(stage.world, stage.runtime.prompt(session, "Pay.", key));
  return watched(given.accepted());
}

Deno.test("caller of a store that hangs is told after 5 s that it is busy, nothing is dispatched, and nothing is lost (F07)", async () => {
  const { stage, session, state } = await openBlockable();
  state.isBroken = true;
  const first = await accept(stage, session, "first");
  await stage.world.advance(4_900);
  assert.equal(first.code, undefined, "it waits for 5 s");
  await stage.world.advance(200);
  assert.equal(first.code, "store_busy");
  const late = settled(stage.world, stage.runtime.prompt(session, "Again.", "late"));
  await assert.rejects(late, { code: "store_busy", message: /taken nothing for 5 s: this was not taken on/ });
  await stage.world.advance(10_000);
  assert.deepEqual(stage.ledger, [], "nothing was dispatched");
  state.isBroken = false;
  stage.handle.release(true);
  const again = await settled(stage.world, stage.runtime.prompt(session, "Pay.", "first"));
  assert.equal((await settled(stage.world, again.report)).outcome, "completed");
  const prompts = (await stage.entries(session)).filter(({ type }) => type === "session.prompt");
  assert.deepEqual([prompts.length, stage.ledger.length], [1, 1]);
});

Deno.test("caller of a store whose disk is full is told so after 5 s, and it goes on when there is room (F07)", async () => {
  const { stage, session, state } = await openBlockable(new StoreError("store_full", "the disk is full"));
  state.isBroken = true;
  const first = await accept(stage, session, "first");
  await stage.world.advance(8_000);
  assert.equal(first.code, "store_full");
  state.isBroken = false;
  await stage.world.advance(3_000);
  const again = await settled(stage.world, stage.runtime.prompt(session, "Pay.", "first"));
  assert.equal((await settled(stage.world, again.report)).outcome, "completed");
  assert.equal(stage.ledger.length, 1);
});

Deno.test("answer and new session are refused as busy by a store that hangs, and the same answer again is no other (F07)", async () => {
  const tools = [{
    name: "pay",
    effect: "non_idempotent",
    approval: "prompt",
    work: () => Promise.resolve("paid"),
  }] as const;
  const { stage, session, state } = await openBlockable("hang", { tools });
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Pay."));
  await stage.world.advance(100);
  const [question] = stage.runtime.questions.list();
  assert.ok(question);
  state.isBroken = true;
  const answer = { decision: "allow", by: localOperator, shown: question.shown } as const;
  const given = watched(answerQuestion(stage.runtime, question.id, answer));
  await stage.world.advance(5_100);
  assert.equal(given.code, "store_busy");
  await assert.rejects(stage.session(), { code: "store_busy" });
  assert.deepEqual(stage.ledger, []);
  state.isBroken = false;
  stage.handle.release(true);
  await settled(stage.world, answerQuestion(stage.runtime, question.id, answer));
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  assert.equal(stage.ledger.length, 1);
});

Deno.test("program that sends or spawns while the store hangs is told after 5 s to try again with the same key (F07)", async () => {
  const state = { isBroken: false };
  const stage = await openApiStage({
    answers: [{ text: "Hello" }],
    store: { faults: () => state.isBroken ? "hang" : undefined },
  });
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  state.isBroken = true;
  const asked = [
    client.send({ address, text: "Hi" }, { key: "a" }),
    client.spawn({ agent: "tester" }, { key: "b" }),
  ];
  const refused = Promise.allSettled(asked);
  await stage.world.advance(6_000);
  for (const one of await refused) {
    assert.ok(one.status === "rejected" && one.reason instanceof ActorApiError);
    const { code, retryable, outcome } = one.reason;
    assert.deepEqual([code, retryable, outcome], ["store_busy", true, "unknown"]);
  }
  state.isBroken = false;
  stage.handle.release(true);
  await stage.world.advance(1_000);
  const turn = await stage.run(client.ask({ address, text: "Hi" }, { key: "a" }));
  assert.deepEqual(turn.state === "ended" ? [turn.turn, turn.text] : turn, [1, "Hello"]);
  await stage.run(client.spawn({ agent: "tester" }, { key: "b" }));
  assert.equal((await stage.run(client.list({}))).agents.length, 2);
});

/** One scripted session with calls of every class and a person's answer, to its end. The n-th commit of it fails; false if it has fewer. */
async function play(n: number, fault: Fault): Promise<boolean> {
  const work = () => Promise.resolve("done");
  let started = Infinity;
  let isReached = false;
  const stage = await openStage({
    store: {
      faults: (commit) => {
        if (commit !== started + n) return undefined;
        isReached = true;
        return fault;
      },
    },
    tools: [
      { name: "look", work },
      { name: "book", effect: "conditional", mechanism: "key", work },
      { name: "pay", effect: "non_idempotent", approval: "prompt", work },
    ],
    answers: [
      { calls: [{ tool: "look" }, { tool: "book" }] },
      { calls: [{ tool: "pay" }] },
      { text: "Done." },
    ],
  });
  started = stage.handle.commits.length;
  const report = await through(stage, converse(stage));
  assert.equal(report.outcome, "completed");
  assert.deepEqual(stage.ledger.map(({ tool }) => tool), ["look", "book", "pay"], "each is done once");
  const [session] = stage.runtime.listRoots().filter(({ kind }) => kind === "session");
  await through(stage, stage.runtime.journal.writer.idle());
  const address = session?.address ?? "";
  const types = (await stage.entries(address)).map(({ kind, type }) => `${kind} ${type}`);
  const count = (name: string) => types.filter((type) => type === name).length;
  assert.deepEqual(
    ["input session.prompt", "outcome tool.call", "outcome question.ask", "reply ok"].map(count),
    [1, 3, 1, 1],
    "all of it is in the journal, once",
  );
  assert.equal((await stage.replay(address)).divergence, undefined);
  return isReached;
}

async function converse(stage: Stage): Promise<TurnReport> {
  const session = await stage.session();
  const { accepted, report } = await stage.runtime.prompt(session, "Go", "key");
  await accepted();
  return await report;
}

/** Waits while time passes; whoever is asked allows. */
async function through<T>({ world, runtime }: Stage, promise: Promise<T>): Promise<T> {
  let isOver = false;
  promise.then(() => isOver = true, () => isOver = true);
  for (let waited = 0; !isOver; waited++) {
    assert.ok(waited < 200, "it does not end");
    await world.advance(100);
    for (const { id, shown } of runtime.questions.list()) {
      runtime.questions.answer(id, { decision: "allow", by: localOperator, shown });
    }
  }
  return await promise;
}

for (
  const [fault, id] of [["throw_before", "F05"], ["throw_after", "F06"], ["refuse", "F08"]] as const
) {
  Deno.test(`session ends well, and does everything once, whichever of its commits fails: ${fault} (${id})`, async () => {
    let n = 1;
    while (await play(n, fault)) n += 1;
    assert.ok(n > 5, `${n} commits`);
  });
}
