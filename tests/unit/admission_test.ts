/** Whether a provider is asked by so many at once, in their order, and left alone once it had too many. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelRequest } from "../../schemas/model.ts";
import { Script } from "../../schemas/script.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { Admission, type Lease } from "../../src/model/admission.ts";
import { ModelError, type ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { performersWith } from "../support/model_performers.ts";
import { openApiStage } from "../support/api_stage.ts";
import { settled, type Stage } from "../support/stage.ts";
import { createRandom, createWorld, type World } from "../support/world.ts";

/** Requests to one provider by number: who was let in, in which order, and who was told to wait. */
class Crowd {
  readonly entered: number[] = [];
  readonly waited: number[] = [];
  readonly refused: string[] = [];
  readonly leases = new Map<number, Lease>();
  readonly #admission: Admission;
  readonly #world: World;
  readonly #signals = new Map<number, AbortController>();

  constructor(world: World, admission: Admission) {
    this.#world = world;
    this.#admission = admission;
  }

  async come(number: number, provider = "a", atOnce = 2): Promise<void> {
    const stop = new AbortController();
    this.#signals.set(number, stop);
    this.#admission.enter({ provider, atOnce, signal: stop.signal, onWait: () => this.waited.push(number) })
      .then((lease) => {
        if (lease === undefined) return;
        this.entered.push(number);
        this.leases.set(number, lease);
      }, (error) => this.refused.push((error as ModelError).failure.code));
    await this.#world.settle();
  }

  async leave(number: number): Promise<void> {
    this.#signals.get(number)?.abort();
    this.leases.get(number)?.release();
    this.leases.delete(number);
    await this.#world.settle();
  }
}

function crowd(): { readonly world: World; readonly admission: Admission; readonly crowd: Crowd } {
  const world = createWorld(1);
  const admission = new Admission(world.seams.clock);
  return { world, admission, crowd: new Crowd(world, admission) };
}

Deno.test("provider is asked by so many at once, the others in the order in which they came (CM-117)", async () => {
  const { world, crowd: one } = crowd();
  for (const number of [1, 2, 3, 4, 5]) await one.come(number);
  assert.deepEqual([one.entered, one.waited], [[1, 2], [3, 4, 5]]);
  await one.come(6, "b");
  assert.deepEqual(one.entered, [1, 2, 6], "another provider has a gate of its own");
  await one.leave(4);
  const lease = one.leases.get(2);
  await one.leave(2);
  lease?.release(); // Twice is once.
  await world.settle();
  assert.deepEqual(one.entered, [1, 2, 6, 3]);
  await one.leave(1);
  assert.deepEqual(one.entered, [1, 2, 6, 3, 5], "who left is not let in");
});

Deno.test("provider that had too many is left alone as long as it asks, by everybody, and no other is (CM-117)", async () => {
  const { world, admission, crowd: one } = crowd();
  admission.coolDown("a", 30_000);
  admission.coolDown("a", 10_000); // A shorter one takes nothing away.
  await one.come(1);
  await one.come(2, "b");
  assert.deepEqual(one.entered, [2]);
  await world.advance(29_999);
  assert.deepEqual(one.entered, [2]);
  await world.advance(1);
  assert.deepEqual(one.entered, [2, 1]);
  admission.coolDown("a", undefined);
  await one.come(3);
  await world.advance(limits.modelCoolDownMs - 1);
  assert.deepEqual(one.entered, [2, 1]);
  await world.advance(1);
  assert.deepEqual(one.entered, [2, 1, 3]);
  // What would take too long is for the journal to keep.
  admission.coolDown("a", limits.admissionCoolDownMsMax + 1);
  await one.come(4);
  assert.deepEqual(one.refused, ["model_rate_limited"]);
  for (const number of [1, 3]) await one.leave(number);
  await world.advance(limits.admissionCoolDownMsMax + 1);
  for (const number of [5, 6, 7]) await one.come(number);
  await world.advance(limits.admissionWaitMsMax);
  assert.deepEqual([one.entered, one.refused.length], [[2, 1, 3, 5, 6], 2]);
});

Deno.test("gate lets in all who stay, and never more at once than it may, whoever comes, leaves or cools it (CM-117)", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { world, admission, crowd: one } = crowd();
    const random = createRandom(seed);
    const present = new Set<number>();
    for (let step = 1; step <= 60; step++) {
      const pick = random();
      const someone = [...present][Math.floor(random() * present.size)];
      if (pick < 0.5) present.add(step) && await one.come(step);
      else if (pick < 0.8 && someone !== undefined) present.delete(someone) && await one.leave(someone);
      else if (pick < 0.9) admission.coolDown("a", Math.floor(random() * 20_000));
      else await world.advance(Math.floor(random() * 10_000));
      assert.ok(one.leases.size <= 2, `seed ${seed}: ${one.leases.size} at once`);
    }
    for (let rounds = 0; present.size > 0; rounds++) {
      assert.ok(rounds < 200, `seed ${seed}: ${[...present]} are never let in`);
      await world.advance(1_000);
      for (const number of one.leases.keys()) present.delete(number) && await one.leave(number);
    }
    await one.come(100);
    await one.come(101);
    assert.ok(one.leases.has(100) && one.leases.has(101), `seed ${seed}: a place was lost`);
  }
});

/** Sessions of one provider that answers by hand, asked through its gate. */
async function openDoor(concurrency: number, answers: readonly unknown[] = []) {
  const asked: { readonly request: ModelRequest; readonly answer: () => void }[] = [];
  const script = createScriptedProvider(Script.parse({ answers }));
  const provider: ModelProvider = {
    ...script,
    concurrency,
    async *generate(request, signal) {
      const held = Promise.withResolvers<void>();
      asked.push({ request, answer: held.resolve });
      if (answers.length > 0) return yield* script.generate(request, signal);
      await held.promise;
      yield { type: "done", finishReason: "stop" };
    },
  };
  const performers = performersWith({ tools: [], ledger: [], providerOf: () => provider, admits: true });
  const stage = await openApiStage({ runtime: { performers } });
  return { stage, asked };
}

async function promptOf(stage: Stage, session: RootAddress): Promise<() => string> {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told = "";
  report.then(({ outcome, failure }) => told = failure?.code ?? outcome);
  await stage.world.settle();
  return () => told;
}

function queuedIn(entries: readonly Entry[]): readonly string[] {
  return entries.filter(({ type }) => type === "model.queued").map(entryText);
}

Deno.test("request that waits to be let in is noted, is no attempt, and has all of its own time (CM-117)", async () => {
  const { stage, asked } = await openDoor(1);
  const [first, second] = [await stage.session(), await stage.session()];
  const told = [await promptOf(stage, first), await promptOf(stage, second)];
  await stage.world.advance(limits.modelCallDurationMs - 1_000);
  assert.equal(asked.length, 1);
  const [note, ...more] = queuedIn(await stage.entries(second));
  assert.match(note ?? "", /^\d+\.\d+ waits to be let in to scripted: 0 wait before it$/);
  assert.deepEqual([more, queuedIn(await stage.entries(first))], [[], []]);
  asked[0]?.answer();
  await stage.world.advance(limits.modelCallDurationMs - 1_000);
  assert.deepEqual(asked.map(({ request }) => request.attempt), [undefined, undefined]);
  asked[1]?.answer();
  await stage.world.settle();
  assert.deepEqual(told.map((one) => one()), ["completed", "completed"]);
  assert.equal((await stage.replay(second, { strict: true })).divergence, undefined);
});

Deno.test("why and tree show a request that waits to be let in, and how many wait before it by now (CM-114, CM-117)", async () => {
  const { stage, asked } = await openDoor(1);
  const client = stage.client();
  const agents: string[] = [];
  for (let each = 0; each < 4; each++) {
    agents.push((await stage.run(client.spawn({ agent: "tester" }))).address);
  }
  for (const agent of agents) await promptOf(stage, agent as RootAddress);
  const shown = async (agent = "") => {
    const { actors } = await stage.run(client.tree({ address: agent }));
    const turn = actors.find(({ name }) => name === "turn/1");
    const { reason } = await stage.run(client.why({ address: `${agent}/turn/1` }));
    const [{ words = "" } = {}] = reason["waits"] as { words?: string }[];
    assert.equal(turn?.waits[0], words);
    return words.replace(/^an answer of the model scripted\/test, for step 0 of turn 1/, "");
  };
  const before = (count: number) =>
    `, which waits to be let in to scripted: ${count} wait before it, for one of 1 places`;
  assert.deepEqual(await Promise.all(agents.map(shown)), ["", before(0), before(1), before(2)]);
  asked[0]?.answer();
  await stage.world.settle();
  assert.deepEqual(await Promise.all(agents.slice(1).map(shown)), ["", before(0), before(1)]);
  await settled(
    stage.world,
    stage.runtime.send(agents[2] as RootAddress, { type: "session.cancel", reason: "Enough" }),
  );
  await stage.world.settle();
  assert.equal(await shown(agents[3]), before(0));
  asked[1]?.answer();
  await stage.world.settle();
  assert.equal(await shown(agents[3]), "");
});

Deno.test("session that is told of too many requests keeps all others from their provider for a while (CM-117)", async () => {
  const fail = { code: "model_rate_limited", retry_after_ms: 20_000, times: 1 };
  const { stage, asked } = await openDoor(8, [{ fail, text: "Done" }]);
  const [first, second] = [await stage.session(), await stage.session()];
  const told = [await promptOf(stage, first), await promptOf(stage, second)];
  // The second one was not asked before the first was refused, or at the same time: its own wait is the gate's.
  const before = asked.length;
  const third = await stage.session();
  told.push(await promptOf(stage, third));
  await stage.world.advance(19_000);
  assert.equal(asked.length, before, "nobody asks meanwhile");
  assert.match(queuedIn(await stage.entries(third))[0] ?? "", /which is left alone until /);
  await stage.world.advance(60_000);
  assert.deepEqual(told.map((one) => one()), ["completed", "completed", "completed"]);
});

Deno.test("turn that is canceled while its request waits to be let in gives its place up (CM-115, CM-117)", async () => {
  const { stage, asked } = await openDoor(1);
  const [first, second, third] = [await stage.session(), await stage.session(), await stage.session()];
  await promptOf(stage, first);
  const told = await promptOf(stage, second);
  const last = await promptOf(stage, third);
  await settled(stage.world, stage.runtime.send(second, { type: "session.cancel", reason: "Enough" }));
  await stage.world.settle();
  assert.equal(told(), "turn_canceled");
  asked[0]?.answer();
  await stage.world.settle();
  assert.equal(asked.length, 2);
  asked[1]?.answer();
  await stage.world.settle();
  assert.equal(last(), "completed");
});
