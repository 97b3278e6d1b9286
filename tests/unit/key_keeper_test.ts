/** How long the keys of commands are kept, and that none is forgotten whose command goes on. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { ApiScope } from "../../schemas/api_scope.ts";
import { localOperator } from "../../schemas/principal.ts";
import { KeyKeeper } from "../../src/api/key_keeper.ts";
import { ActorApiError } from "../../src/client.ts";
import { examine } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import { forgetCommands } from "../../src/kernel/forget_commands.ts";
import { type ApiStage, openApiStage } from "../support/api_stage.ts";
import { digestNow } from "../support/world.ts";

const dayMs = apiLimits.keyKeptMs;
/** A turn that waits for a person. */
const asking = {
  tools_of_agent: ["clarify"],
  answers: [{ calls: [{ tool: "clarify", arguments: { question: "Which?" } }] }, { text: "Late" }],
};

function keeperOn(stage: ApiStage): KeyKeeper {
  const keeper = new KeyKeeper({ runtime: stage.runtime, seams: stage.world.seams });
  keeper.begin();
  return keeper;
}

/** True while a key of the stage's program is kept. */
function isKept(stage: ApiStage, key: string): boolean {
  return stage.disk.get(keys.command("program:p1", key)) !== null;
}

async function findingsOn(stage: ApiStage): Promise<readonly string[]> {
  const digest = (bytes: Uint8Array) => Promise.resolve(digestNow(bytes));
  const { findings } = await stage.run(examine(stage.disk.open(), digest, { now: stage.world.now() }));
  return findings.map(({ code }) => code);
}

Deno.test("a key is the same command for a day after its reply, and another one then; its session stays (B10)", async () => {
  const stage = await openApiStage({ answers: [{ text: "One" }, { text: "Two" }] });
  const keeper = keeperOn(stage);
  const client = stage.client();
  const spawn = async () =>
    (await stage.run(client.spawn({ agent: "tester", name: "n" }, { key: "s" }))).address;
  const address = await spawn();
  const ask = (text: string) => stage.run(client.ask({ address, text }, { key: "a" }));
  const first = await ask("Hi");
  await stage.world.advance(dayMs - 2 * apiLimits.keyRoundMs);
  assert.deepEqual(await ask("Hi"), first);
  await assert.rejects(
    ask("Ho"),
    (error) => error instanceof ActorApiError && error.code === "idempotency_key_reuse",
  );
  await stage.world.advance(4 * apiLimits.keyRoundMs);
  assert.deepEqual([isKept(stage, "s"), isKept(stage, "a")], [false, false]);
  assert.equal(stage.disk.get(keys.reply("program:p1", "a")), null);
  assert.equal(await spawn(), address);
  const again = await ask("Ho");
  assert.equal(again.state === "ended" && again.text, "Two");
  assert.deepEqual(await findingsOn(stage), []);
  keeper.stop();
});

Deno.test("no key is forgotten while its command goes on, nor within a day of its end, nor a session's before its prompt's", async () => {
  const stage = await openApiStage(asking);
  const keeper = keeperOn(stage);
  const spawn = { agent: "tester", prompt: "Hi" };
  const { address } = await stage.run(stage.client().spawn(spawn, { key: "s" }));
  const both = () => [isKept(stage, "s"), isKept(stage, "s\u001fprompt")];
  // As if it had gone on for a day.
  const untilMs = stage.world.now();
  const order = { start: undefined, rowsMax: 9, untilMs };
  assert.equal((await stage.run(forgetCommands(stage.runtime.kernel, order))).count, 0);
  await stage.world.advance(50 * 60_000);
  const person = stage.client({ principal: localOperator, scopes: new Set(ApiScope.options) });
  const [question] = (await stage.run(person.questions({ address }))).questions;
  assert.ok(question !== undefined);
  await stage.run(person.answer({ question: question.id, decision: "decline", shown: question.shown }));
  await stage.world.advance(dayMs - 20 * 60_000);
  assert.deepEqual(both(), [true, true]);
  assert.equal((await stage.run(stage.client().spawn(spawn, { key: "s" }))).address, address);
  await stage.world.advance(apiLimits.keyRoundMs);
  assert.deepEqual(both(), [true, false]);
  await stage.world.advance(apiLimits.keyRoundMs);
  assert.deepEqual(both(), [false, false]);
  keeper.stop();
});

Deno.test("keys are looked at a few at a time, each once in a round", async () => {
  const stage = await openApiStage({});
  const client = stage.client();
  for (let n = 0; n < 7; n++) await stage.run(client.spawn({ agent: "tester" }, { key: `k${n}` }));
  const untilMs = stage.world.now();
  const pass = (start: Parameters<typeof forgetCommands>[1]["start"]) =>
    stage.run(forgetCommands(stage.runtime.kernel, { start, rowsMax: 3, untilMs }));
  const counts: number[] = [];
  let next: Parameters<typeof pass>[0];
  do {
    const done = await pass(next);
    counts.push(done.count);
    next = done.next;
  } while (next !== undefined);
  assert.deepEqual(counts, [3, 3, 1]);
  assert.deepEqual(await findingsOn(stage), []);
});

Deno.test("what is asked again while its key is forgotten is the old command or a new one, and never half of each", async () => {
  const seen = new Set<string>();
  for (let steps = 0; steps < 40; steps++) {
    const stage = await openApiStage({ answers: [{ text: "One" }, { text: "Two" }] });
    const client = stage.client();
    const { address } = await stage.run(client.spawn({ agent: "tester" }, { key: "s" }));
    const ask = () => client.ask({ address, text: "Hi" }, { key: "a" });
    await stage.run(ask());
    const order = { start: undefined, rowsMax: 9, untilMs: stage.world.now() };
    const forgetting = forgetCommands(stage.runtime.kernel, order);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    const [turn] = await stage.run(Promise.all([ask(), forgetting]));
    const asked = [turn, await stage.run(ask())].map((one) => one.state === "ended" ? one.text : one.state);
    const prompts = (await stage.entries(address)).filter(({ type }) => type === "session.prompt").length;
    seen.add(asked.join());
    // The old command, or the old one and then a new one, or a new one: and each was given once.
    assert.deepEqual([asked.join(), prompts], [asked.join(), 2]);
    assert.deepEqual(await findingsOn(stage), []);
  }
  assert.deepEqual([...seen].sort(), ["One,Two", "Two,Two"]);
});
