/** Bugs that the simulation found, each told as shortly as it can be: they must not come back. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { Conversations } from "../../src/effects/conversation.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { StoreError, type StoreErrorCode } from "../../src/journal/store.ts";
import { submit } from "../../src/kernel/command.ts";
import { create } from "../../src/kernel/create.ts";
import { passivate } from "../../src/kernel/passivate.ts";
import { bring } from "../../src/kernel/route.ts";
import type { PendingCall } from "../support/memory_store.ts";
import { openStage, settled, type Stage, type StageOptions, type ToolSketch } from "../support/stage.ts";

function never(): Promise<string> {
  return new Promise(() => {});
}

/** A stage with one tool that never answers, killed while a call of it is under way. */
async function killedDuring(
  options: StageOptions,
): Promise<{ readonly stage: Stage; readonly session: string }> {
  const [tool] = options.tools ?? [];
  const stage = await openStage({
    answers: [{ calls: [{ tool: tool?.name }] }, { text: "Done." }],
    ...options,
  });
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "Go", "prompt"));
  await stage.world.advance(1_000);
  assert.equal(stage.ledger.length, 1, "the tool was not started");
  stage.crash();
  return { stage, session };
}

function again(stage: Stage, options: StageOptions): Promise<Stage> {
  const { disk, world, ledger } = stage;
  const answers = [{ calls: [{ tool: options.tools?.[0]?.name }] }, { text: "Done." }];
  return openStage({ answers, ...options, disk, world, ledger });
}

function outcomesOf(entries: readonly Entry[]): unknown[] {
  return entries.filter(({ kind, type }) => kind === "outcome" && type === "tool.call")
    .map(({ body }) => (body as { readonly status: string }).status);
}

const book = { name: "book", effect: "conditional", mechanism: "key", work: never } as const;

Deno.test("intent that is repeated after a crash is never reported as not applied by its last attempt (R3)", async () => {
  const { stage, session } = await killedDuring({ tools: [book] });
  // The repeat comes after the deadline, so it is not even started; the first attempt may have been applied.
  stage.world.setClock(stage.world.now() + 3_600_000);
  const next = await again(stage, { tools: [book] });
  await next.world.advance(100);
  assert.deepEqual(outcomesOf(await next.entries(session)), ["unknown"]);
});

Deno.test("intent that waits for its repeat is not canceled as if it had never begun (K11, c2)", async () => {
  const { stage, session } = await killedDuring({ tools: [book] });
  const next = await again(stage, { tools: [book] });
  await settled(next.world, next.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await next.world.settle();
  assert.deepEqual(outcomesOf(await next.entries(session)), ["unknown"]);
});

Deno.test("command that is given twice at once is entered once, however slow the store reads (K14)", async () => {
  const held: PendingCall[] = [];
  let isHolding = false;
  const gate = (call: PendingCall) => isHolding && call.kind === "get" ? void held.push(call) : call.settle();
  const stage = await openStage({ answers: [{ text: "Done." }, { text: "Again." }], store: { gate } });
  const session = await stage.session();
  isHolding = true;
  const given = [stage.runtime.prompt(session, "Go", "key"), stage.runtime.prompt(session, "Go", "key")];
  await stage.world.settle();
  for (const call of held) call.apply();
  isHolding = false;
  for (const call of held) {
    call.settle();
    await stage.world.advance(1_000);
  }
  for (const one of given) await settled(stage.world, one);
  const inputs = (await stage.entries(session)).filter(({ type }) => type === "session.prompt");
  assert.equal(inputs.length, 1);
});

Deno.test("command that is repeated after its reply leaves nobody waiting (I12)", async () => {
  const stage = await openStage({ answers: [{ text: "Done." }] });
  const session = await stage.session();
  for (let times = 0; times < 3; times++) {
    const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go", "key"));
    assert.equal((await settled(stage.world, report)).text, "Done.");
  }
  assert.equal(stage.runtime.kernel.replyWaiters.size, 0);
});

Deno.test("message waits behind the one before it while that one's catalog is loaded (K13)", async () => {
  const stage = await openStage({});
  const session = await stage.session();
  const from = session.replace("session/", "catalog/");
  const letter = (n: number, message: { readonly type: string }) =>
    bring(stage.runtime.kernel, { key: keys.inbox(session, from, 1_000, n), to: session, from, message });
  const failure = { code: "catalog_unavailable", message: "gone", retryable: false };
  const catalog = { hash: `sha256:${"a".repeat(64)}`, epoch: 2 };
  letter(0, { type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  letter(1, { type: "catalog.refused", failure, renewal: 0 } as never);
  await stage.world.advance(1_000);
  const types = (await stage.entries(session)).filter(({ kind }) => kind === "input").map(({ type }) => type);
  assert.deepEqual(types.slice(-2), ["catalog.issued", "catalog.refused"]);
});

Deno.test("message to nobody leaves no row behind (K19)", async () => {
  const stage = await openStage({});
  const session = await stage.session();
  const relay = { type: "session.relay", to: "session/ses_NOBODY", text: "Anybody?" } as const;
  // Through the kernel: the runtime refuses such a relay, but an address may also be gone by the time.
  const ref = { principal: "operator:local", key: "relay" };
  await settled(stage.world, submit(stage.runtime.kernel, { root: session, message: relay, ref }));
  await stage.world.advance(1_000);
  assert.deepEqual(stage.disk.list({ prefix: prefixes.inboxes }), []);
  assert.equal(stage.runtime.kernel.claimed.size, 0);
});

Deno.test("message to nobody leaves no row behind, even if another came in the same moment (K19)", async () => {
  const stage = await openStage({});
  const { kernel } = stage.runtime;
  const session = await stage.session();
  const letter = (n: number) => {
    const key = keys.inbox("session/ses_NOBODY", session, 1_000, n);
    const message = { type: "session.prompt", text: "Anybody?" } as const;
    kernel.journal.writer.push({ root: session, entries: [], sets: [{ key, value: message }], deletes: [] });
    return { key, to: "session/ses_NOBODY", from: session, message } as const;
  };
  const letters = [letter(0), letter(1)];
  await stage.world.advance(1_000);
  for (const one of letters) bring(kernel, one);
  await stage.world.advance(1_000);
  assert.deepEqual(stage.disk.list({ prefix: prefixes.inboxes }), []);
  assert.deepEqual([kernel.claimed.size, kernel.parked.size], [0, 0]);
});

Deno.test("runtime goes on after a recovery whose own units filled the queue (K15)", async () => {
  const tools = [{ name: "charge", effect: "non_idempotent", work: never } as const];
  const { stage, session } = await killedDuring({ tools });
  const { unitsUnwrittenMax } = limits;
  Object.assign(limits, { unitsUnwrittenMax: 1 });
  try {
    const next = await again(stage, { tools });
    await next.world.advance(5_000);
    assert.deepEqual(outcomesOf(await next.entries(session)), ["unknown"]);
  } finally {
    Object.assign(limits, { unitsUnwrittenMax });
  }
});

Deno.test("root that waits to be born is not put to sleep (K22)", async () => {
  const stage = await openStage({});
  const { kernel } = stage.runtime;
  const address = "session/ses_UNBORN";
  const born = create(kernel, { address, kind: "session", input: { servers: [] }, title: "unborn" });
  assert.equal(passivate(kernel, address), false);
  await settled(stage.world, born);
});

Deno.test("effect that was dropped before its intent was durable is never started (K11)", async () => {
  const held: PendingCall[] = [];
  let isHolding = false;
  const gate = (call: PendingCall) =>
    isHolding && call.kind === "commit" ? void held.push(call) : call.settle();
  const stage = await openStage({ answers: [{ text: "Done." }], store: { gate }, strict: true });
  const session = await stage.session();
  isHolding = true;
  await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await stage.world.advance(1_000);
  isHolding = false;
  for (const call of held) call.settle();
  await stage.world.advance(1_000);
  const types = (await stage.entries(session)).map(({ type }) => type);
  assert.ok(types.includes("dropped"));
  assert.ok(!types.includes("late_outcome"), "the model was asked, though nobody waited for its answer");
});

Deno.test("catalog that cannot be read just now is not taken for one that is not there (K20)", async () => {
  const hash = `sha256:${"b".repeat(64)}`;
  const failing = (code: StoreErrorCode) =>
    loadShelved({ readBlob: () => Promise.reject(new StoreError(code, "Cannot read blob")) } as never, hash);
  await failing("journal_corrupt");
  await assert.rejects(failing("store_busy"), { code: "store_busy" });
});

Deno.test("conversation that could not be read once is read the next time (I8)", async () => {
  let reads = 0;
  const journal = {
    async *readPages() {
      reads += 1;
      yield await Promise.resolve([]);
      if (reads === 1) throw new StoreError("store_busy", "Cannot read store: it is busy");
    },
  };
  const conversations = new Conversations(journal as never);
  await assert.rejects(conversations.transcript("session/ses_A", "1.0"), { code: "store_busy" });
  assert.deepEqual(await conversations.transcript("session/ses_A", "1.0"), []);
});

/** A prompt whose turn is canceled while its one call is under way, what a person says of that, and what a second prompt tells. */
async function toldAfterCancel(
  tool: ToolSketch,
  decision: Decision | undefined,
): Promise<string | undefined> {
  const answers = [{ calls: [{ tool: tool.name }] }, { text: "Done." }];
  const stage = await openStage({ answers, tools: [tool] });
  const { world, runtime } = stage;
  const session = await stage.session();
  await settled(world, runtime.prompt(session, "Go"));
  await world.advance(1_000);
  await settled(world, runtime.send(session, { type: "session.cancel", reason: "enough" }));
  await world.advance(limits.cancelGraceMs + 1_000);
  const [question] = runtime.questions.list();
  if (question !== undefined && decision !== undefined) {
    runtime.questions.answer(question.id, {
      decision,
      by: localOperator,
      shown: question.shown,
      note: "seen",
    });
    await world.advance(1_000);
  }
  await settled(world, runtime.prompt(session, "And?"));
  await world.advance(1_000);
  const told = await settled(world, runtime.conversations.transcript(session, "1.0"));
  return told.find(({ role }) => role === "tool")?.text;
}

Deno.test("model of a canceled turn is told what became of a call that may have been applied (R3, R9; seed 5375)", async () => {
  const charge = { name: "charge", effect: "non_idempotent", work: never } as const;
  const unknown = "The outcome of this call is unknown. Do not repeat it";
  assert.equal(await toldAfterCancel(charge, "abandon"), unknown);
  assert.match(await toldAfterCancel(charge, "mark_applied") ?? "", /was applied/);
  assert.match(await toldAfterCancel(charge, "mark_not_applied") ?? "", /^canceled: /);
});
