/** What starts before its unit is durable, and what never does (K3, K9). */
import assert from "node:assert/strict";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { PortRequest } from "../../schemas/effect.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { KernelError } from "../../src/kernel/kernel.ts";
import { sealCatalog } from "../support/calls.ts";
import { toolOf } from "../support/desk.ts";
import type { MemoryStoreOptions } from "../support/memory_store.ts";
import {
  type Act,
  callOf,
  modelCall,
  ok,
  openPuppet,
  type Puppet,
  questionUntil,
  reopen,
  timerAt,
} from "../support/puppet.ts";
import { settled } from "../support/stage.ts";

/** A store whose commits hang while `isHanging` says so. */
function hangingStore() {
  const state = { isHanging: false };
  const store: MemoryStoreOptions = { faults: () => state.isHanging ? "hang" : undefined };
  return { state, store };
}

/** A call of a tool of a sealed catalog. */
function callTo(tool: Partial<ToolDefinition>, entry: Partial<CatalogEntry> = {}): PortRequest {
  const definition = toolOf("look", tool);
  const catalog = sealCatalog([definition], entry);
  const effect = definition.effectClass;
  return callOf(effect, undefined, { entry: { catalog: catalog.hash, name: "look" } });
}

/** The same as a call of a server's tool. */
function toServer(request: PortRequest, more: { readonly redacted?: true } = {}): PortRequest {
  return { ...request, port: "mcp.call", args: { ...request.args, ...more } } as PortRequest;
}

/** Kinds of the effects that were started. */
function started(puppet: Puppet): string[] {
  return puppet.hands.map(({ performance }) => performance.request.port);
}

async function askAll(puppet: Puppet, requests: readonly PortRequest[]): Promise<void> {
  await puppet.act(...requests.map((request, n): Act => ({ do: "ask", id: `a${n}`, request })));
}

Deno.test("kernel starts a model call, a built-in read and an idempotent call of a server before their unit is durable, and nothing else (K9)", async () => {
  const requests: readonly (readonly [name: string, request: PortRequest, isEarly: boolean])[] = [
    ["model", modelCall, true],
    [
      "model with a budget",
      { ...modelCall, args: { ...modelCall.args, budget: { tokens: 5 } } } as PortRequest,
      false,
    ],
    ["read of the runtime", callTo({}), true],
    ["read of troupe", callTo({}, { sourceKind: "troupe" }), true],
    ["read with side effects", callTo({ sideEffects: true }), false],
    ["conditional", callTo({ effectClass: "conditional" }), false],
    ["non-idempotent", callTo({ effectClass: "non_idempotent" }), false],
    ["read of an agent's tool", callTo({}, { sourceKind: "agent", adapter: "authored" }), false],
    ["read of a server", callTo({}, { sourceKind: "mcp", adapter: "mcp" }), false],
    ["call of a server's tool that the operator calls idempotent", toServer(callTo({})), true],
    ["such a call whose arguments held a secret", toServer(callTo({}), { redacted: true }), false],
    ["any other call of a server's tool", toServer(callTo({ effectClass: "non_idempotent" })), false],
    ["conditional call of a server's tool", toServer(callTo({ effectClass: "conditional" })), false],
    ["read without an entry", callOf("idempotent"), false],
    ["look-up", { ...callTo({}), port: "tool.verify" } as PortRequest, false],
  ];
  for (const [name, request, isEarly] of requests) {
    const { state, store } = hangingStore();
    const puppet = await openPuppet({ store });
    state.isHanging = true;
    await askAll(puppet, [request]);
    assert.equal(puppet.hands.length, isEarly ? 1 : 0, name);
    state.isHanging = false;
    puppet.stage.handle.release(true);
    await puppet.stage.world.settle();
    assert.equal(puppet.hands.length, 1, name);
  }
});

// Proves K3: what a person can answer is shown only once it is durable; timers wait, too.
Deno.test("kernel shows no question and sets no timer before its unit is durable", async () => {
  const { state, store } = hangingStore();
  const puppet = await openPuppet({ store });
  const { world, runtime } = puppet.stage;
  state.isHanging = true;
  await askAll(puppet, [questionUntil(world.now() + 60_000), timerAt(world.now() + 1_000)]);
  assert.deepEqual([runtime.questions.list().length, puppet.kernel.running.size], [0, 0]);
  state.isHanging = false;
  puppet.stage.handle.release(true);
  await world.settle();
  assert.deepEqual([runtime.questions.list().length, puppet.kernel.running.size], [1, 2]);
});

// Proves K9.
Deno.test("kernel starts nothing early where durability is strict", async () => {
  const { state, store } = hangingStore();
  const puppet = await openPuppet({ store, strict: true });
  state.isHanging = true;
  await askAll(puppet, [modelCall, callTo({}), toServer(callTo({}))]);
  assert.deepEqual(started(puppet), []);
  state.isHanging = false;
  puppet.stage.handle.release(true);
  await puppet.stage.world.settle();
  assert.deepEqual(started(puppet), ["model.generate", "tool.call", "mcp.call"]);
});

// Proves K3: the position alone leaves the process only once nobody can get it again.
Deno.test("kernel gives an early start its epoch with its id, and every later one the bare id", async () => {
  const { state, store } = hangingStore();
  const puppet = await openPuppet({ store });
  await askAll(puppet, [callOf("idempotent")]);
  assert.equal(puppet.hands[0]?.performance.key, `${puppet.root}#2.0`);
  state.isHanging = true;
  await puppet.act({ do: "ask", id: "m", request: modelCall });
  assert.equal(puppet.hands[1]?.performance.key, `${puppet.root}#4.0@1`);
  state.isHanging = false;
  puppet.stage.handle.release(true);
  await puppet.stage.world.settle();
  const after = await reopen(puppet);
  await after.stage.world.advance(50);
  const keys = after.hands.map(({ performance }) => [performance.key, performance.attempt]).sort();
  assert.deepEqual(keys, [[`${puppet.root}#2.0`, 2], [`${puppet.root}#4.0`, 2]]);
});

/** Answers the one open question. */
function answer(puppet: Puppet, shown?: string): void {
  const [question] = puppet.stage.runtime.questions.list();
  assert.ok(question);
  puppet.stage.runtime.questions.answer(question.id, {
    decision: "allow",
    by: localOperator,
    shown: shown ?? question.shown,
  });
}

// Proves K9: no approval stands before an early start in a unit that is not durable.
Deno.test("kernel starts nothing early behind a person's answer that is not durable", async () => {
  const { state, store } = hangingStore();
  const puppet = await openPuppet({ store });
  await askAll(puppet, [questionUntil(puppet.stage.world.now() + 60_000)]);
  state.isHanging = true;
  answer(puppet);
  await puppet.stage.world.settle();
  await puppet.act({ do: "ask", id: "m", request: modelCall });
  assert.deepEqual([puppet.heard().length, started(puppet)], [3, []]);
  state.isHanging = false;
  puppet.stage.handle.release(true);
  await puppet.stage.world.settle();
  assert.deepEqual(started(puppet), ["model.generate"]);
  // Once the answer is durable, early starts are early again.
  await puppet.hands[0]?.end(ok());
  state.isHanging = true;
  await puppet.act({ do: "ask", id: "n", request: modelCall });
  assert.deepEqual(started(puppet), ["model.generate"]);
});

// Proves K3: an answer is to what was shown, or it is refused.
Deno.test("kernel refuses an answer to something else than what is shown", async () => {
  const puppet = await openPuppet();
  await askAll(puppet, [questionUntil(puppet.stage.world.now() + 60_000)]);
  const { questions } = puppet.stage.runtime;
  const [question] = questions.list();
  assert.ok(question);
  const give = (changes: object, id = question.id) => () =>
    questions.answer(id, { decision: "allow", by: localOperator, shown: question.shown, ...changes });
  const { world } = puppet.stage;
  const refused = (code: string) => (error: KernelError) => error.code === code;
  const refuse = (answer: () => Promise<void>, code: string) =>
    assert.rejects(settled(world, answer()), refused(code));
  await refuse(give({ shown: `sha256:${"0".repeat(64)}` }), "question_changed");
  await refuse(give({ decision: "run_again" }), "decision_not_offered");
  await refuse(give({}, `${puppet.root}#9.9`), "question_not_found");
  await puppet.stage.world.settle();
  assert.deepEqual(puppet.heard().map(({ type }) => type), ["puppet.act"]);
  await give({})();
  await puppet.stage.world.settle();
  await refuse(give({ decision: "deny" }), "question_answered");
});

// Proves K3, K22: after a crash the same question is open again under the same id, and shows the same.
Deno.test("kernel asks an open question again after a crash, as it was", async () => {
  const before = await openPuppet();
  await askAll(before, [questionUntil(before.stage.world.now() + 60_000)]);
  const open = before.stage.runtime.questions.list();
  const lines = await before.lines();
  const after = await reopen(before);
  assert.deepEqual(after.stage.runtime.questions.list(), open);
  // Waiting on is no new attempt (K7).
  assert.deepEqual(await after.lines(), lines);
  answer(after);
  await after.stage.world.settle();
  assert.equal(after.heard().at(-1)?.type, "xstate.done.actor.a0");
});
