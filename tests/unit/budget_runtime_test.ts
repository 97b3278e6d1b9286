/** Whether a budget holds in a runtime: through crashes, restarts and replay, and by the clock. */
import assert from "node:assert/strict";
import type { Budget, Spent } from "../../schemas/budget.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { readBudget } from "../../src/records/budget_fold.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

const look = { tool: "look", arguments: {} };

function usage(inputTokens: number, costUsd?: number) {
  return { inputTokens, outputTokens: 0, ...(costUsd === undefined ? {} : { costUsd }) };
}

const options = {
  answers: [
    { text: "one", calls: [look], usage: usage(300, 0.25) },
    { text: "two", calls: [look], usage: usage(300) },
    { text: "three", calls: [look], usage: usage(500) },
    { text: "never", usage: usage(1) },
  ],
  tools: [{ name: "look" }],
} satisfies StageOptions;

function openBudget(budget: Budget, more: StageOptions = {}): Promise<Stage> {
  return openStage({ ...options, agent: { budget }, ...more });
}

async function report(stage: Stage, session: RootAddress) {
  const given = await settled(stage.world, stage.runtime.prompt(session, "go"));
  return await settled(stage.world, given.report);
}

async function told(stage: Stage, session: RootAddress) {
  const entries = await stage.entries(session);
  return await readBudget((async function* () {
    yield entries;
  })());
}

Deno.test("runtime ends a turn whose budget is used up, and reports its latest words with the reason", async () => {
  const stage = await openBudget({ tokens: 1_000 });
  const session = await stage.session();
  const { outcome, text, failure, steps } = await report(stage, session);
  assert.deepEqual([outcome, text, failure?.code, steps], ["failed", "three", "budget_exhausted", 3]);
  assert.equal((await report(stage, session)).failure?.code, "budget_exhausted");
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  await settled(stage.world, stage.runtime.stop());
});

Deno.test("runtime tells what a session spent, at rest and while a turn runs", async () => {
  const held = Promise.withResolvers<string>();
  let calls = 0;
  const tools = [{ name: "look", work: () => ++calls === 2 ? held.promise : Promise.resolve("seen") }];
  const stage = await openBudget({ tokens: 2_000, tool_calls: 9 }, { tools });
  const session = await stage.session();
  const given = await settled(stage.world, stage.runtime.prompt(session, "go"));
  await stage.world.advance(1_000);
  const running = await told(stage, session);
  assert.deepEqual([running.turn, running.spent.tokens, running.spent.tool_calls, running.spent.cost_usd], [
    1,
    600,
    2,
    0.25,
  ]);
  assert.deepEqual(running.left, { tokens: 1_400, tool_calls: 7 });
  held.resolve("seen");
  assert.equal((await settled(stage.world, given.report)).outcome, "completed");
  const { spent, turn } = await told(stage, session);
  const { tokens, tool_calls, model_calls, priced_calls } = spent;
  assert.deepEqual([turn, tokens, tool_calls, model_calls, priced_calls], [undefined, 1_101, 3, 4, 1]);
  await settled(stage.world, stage.runtime.stop());
});

Deno.test("runtime forgets nothing that was spent when it is killed, in the middle of a turn and between turns", async () => {
  const work = () => new Promise<string>(() => {});
  const first = await openBudget({ tokens: 1_000 }, { tools: [{ name: "look", work }] });
  const session = await first.session();
  await settled(first.world, first.runtime.prompt(session, "go"));
  await settled(first.world, first.runtime.journal.writer.idle());
  first.crash();
  const second = await openBudget({ tokens: 1_000 }, { disk: first.disk, world: first.world });
  await second.world.advance(1_000);
  const { spent, left } = await told(second, session);
  assert.deepEqual([spent.tokens, left.tokens], [1_100, 0]);
  second.crash();
  const third = await openBudget({ tokens: 1_000 }, { disk: first.disk, world: first.world });
  assert.equal((await report(third, session)).failure?.code, "budget_exhausted");
  assert.equal((await told(third, session)).spent.tokens, 1_100);
  await settled(third.world, third.runtime.stop());
});

Deno.test("runtime ends a turn when its wall time is over, also if it was down at that moment", async () => {
  const work = () => new Promise<string>(() => {});
  const first = await openBudget({ wall_ms: 60_000 }, { tools: [{ name: "look", work }] });
  const session = await first.session();
  const given = await settled(first.world, first.runtime.prompt(session, "go", "key"));
  await first.world.advance(30_000);
  first.crash();
  given.report.catch(() => {});
  await first.world.advance(90_000);
  const second = await openBudget({ wall_ms: 60_000 }, {
    disk: first.disk,
    world: first.world,
    tools: [{ name: "look", work }],
  });
  await second.world.advance(10_000);
  const again = await settled(second.world, second.runtime.prompt(session, "go", "key"));
  const { outcome, failure, text } = await settled(second.world, again.report);
  assert.deepEqual([outcome, failure?.code, text], ["failed", "budget_exhausted", "one"]);
  assert.ok((await told(second, session)).spent.wall_ms >= 120_000);
  await settled(second.world, second.runtime.stop());
});

Deno.test("runtime asks a model within a budget only once the intent is on the disk (K9)", async () => {
  let isHanging = false;
  for (const [budget, isAsked] of [[{ tokens: 1_000 }, false], [{ tool_calls: 5 }, true]] as const) {
    const stage = await openBudget(budget, { store: { faults: () => isHanging ? "hang" : undefined } });
    const session = await stage.session();
    isHanging = true;
    const heard: string[] = [];
    stage.runtime.watch((event) => void heard.push(event.type));
    const giving = stage.runtime.prompt(session, "go");
    giving.catch(() => {});
    await stage.world.settle();
    assert.equal(heard.includes("progress"), isAsked, JSON.stringify(budget));
    stage.crash();
    isHanging = false;
  }
});

Deno.test("runtime gives another session's answer to the model with the reason why it is only a part", async () => {
  const stage = await openBudget({ tokens: 500 });
  const [asker, asked] = [await stage.session(), await stage.session()];
  const relayed = await settled(
    stage.world,
    stage.runtime.send(asker, { type: "session.relay", to: asked, text: "go" }),
  );
  await settled(stage.world, relayed.reply);
  await stage.world.advance(1_000);
  const answered = (await stage.entries(asker)).find(({ type }) => type === "session.answered");
  const { message } = answered?.body as unknown as {
    readonly message: { readonly text: string; readonly outcome: string; readonly spent: Spent };
  };
  assert.deepEqual([message.outcome, message.text, message.spent.tokens], ["failed", "two", 600]);
  await report(stage, asker);
  const texts = await settled(stage.world, transcriptOf(stage, asker));
  assert.match(
    texts.find((text) => text.startsWith("[answer from")) ?? "",
    /outcome failed, budget_exhausted: .*600 of 500 tokens.*\]\ntwo$/s,
  );
  await settled(stage.world, stage.runtime.stop());
});

async function transcriptOf({ runtime }: Stage, session: RootAddress): Promise<readonly string[]> {
  for await (const { kind, type, cause, body } of runtime.journal.readEntries(session)) {
    if (kind !== "intent" || type !== "model.generate") continue;
    const intent = `${cause}.${(body as { readonly n: number }).n}`;
    return (await runtime.conversations.transcript(session, intent)).map(({ text }) => text);
  }
  return [];
}
