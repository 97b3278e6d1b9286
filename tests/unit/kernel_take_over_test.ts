/** What becomes of the effects that a crash left open: asked again, given up, or not known (the table of kernel.md). */
import assert from "node:assert/strict";
import type { PortOutcome } from "../../schemas/effect.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass, Mechanism } from "../../schemas/tool.ts";
import { submit } from "../../src/kernel/command.ts";
import { create } from "../../src/kernel/create.ts";
import type { Fault, FaultPlan } from "../support/memory_store.ts";
import { callOf, flush, modelCall, ok, openPuppet, type Puppet, reopen, watchOf } from "../support/puppet.ts";
import { settled } from "../support/stage.ts";
import { taskHandle } from "../support/tasks.ts";
import { rootNamed } from "../support/units.ts";

/** Outcomes in the journal: intent, status and attempt. */
async function outcomes(puppet: Puppet): Promise<string[]> {
  return (await puppet.entries()).filter((entry) => entry.kind === "outcome").map((entry) => {
    const { id, status, failure, attempt } = entry.body as unknown as PortOutcome;
    return `${id} ${failure?.code ?? status} ${attempt}`;
  });
}

async function attemptNotes(puppet: Puppet): Promise<unknown[]> {
  return (await puppet.entries()).filter((entry) => entry.type === "attempt").map((entry) => entry.body);
}

// Proves K7: the count stands in the journal, so a crash loop buys no new attempts.
Deno.test("kernel asks again what a repeat cannot harm, as often as its class allows over all crashes, and says so in its journal (K7, AR-28)", async () => {
  const cases: readonly (readonly [EffectClass, Mechanism | undefined, number, string])[] = [
    ["idempotent", undefined, 5, "interrupted"],
    ["conditional", "key", 3, "interrupted"],
  ];
  for (const [effect, mechanism, most, code] of cases) {
    let puppet = await openPuppet();
    await puppet.act({ do: "ask", id: "a", request: callOf(effect, mechanism) });
    for (let attempt = 2; attempt <= most; attempt++) {
      puppet = await reopen(puppet);
      await puppet.stage.world.advance(limits.reaskJitterMs);
      const started = puppet.hands.map(({ performance }) => [performance.attempt, performance.key]);
      assert.deepEqual(started, [[attempt, `${puppet.root}#2.0`]]);
      const operation = "local_tool_call";
      assert.deepEqual((await attemptNotes(puppet)).at(-1), {
        id: "2.0",
        attempt,
        operation,
        idempotency: effect,
        maxAttempts: most,
        lastErrorCode: "interrupted",
      });
      // The snapshot that this brings about carries the count, too.
      if (attempt % 2 === 0) await puppet.tell({ type: "puppet.nothing" });
    }
    puppet = await reopen(puppet);
    await puppet.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual([puppet.hands.length, await outcomes(puppet)], [0, [`2.0 ${code} ${most}`]]);
    const status = effect === "idempotent" ? "failed" : "unknown";
    assert.equal((puppet.heard().at(-1)?.["error"] as { status: string }).status, status);
  }
});

Deno.test("kernel passes one key downstream over all attempts, a machine's own and a crash's (I2)", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "a", request: callOf("conditional", "key") });
  const failure = { code: "tool_failed", message: "not yet", retryable: true } as const;
  await before.hands[0]?.end({ status: "failed", failure });
  const again = callOf("conditional", "key", { attempt: 2, key: "2.0" });
  await before.act({ do: "ask", id: "b", request: again });
  const after = await reopen(before);
  await after.stage.world.advance(limits.reaskJitterMs);
  for (const puppet of [before, after]) {
    const { id, key } = puppet.hands[0]?.performance ?? {};
    assert.deepEqual([id, key], ["5.0", `${puppet.root}#2.0`]);
  }
});

Deno.test("kernel tells what a later attempt brought, and that it was a later one (K7)", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "a", request: callOf("conditional", "key") });
  const after = await reopen(before);
  await after.stage.world.advance(limits.reaskJitterMs);
  await after.hands[0]?.end(ok());
  assert.deepEqual(await outcomes(after), ["2.0 ok 2"]);
});

// The crash table of kernel.md, row 3: started, or about to be.
Deno.test("kernel does not know what became of an open effect whose repeat could hurt (I1)", async () => {
  const cases: readonly (readonly [EffectClass, Mechanism | undefined])[] = [
    ["non_idempotent", undefined],
    ["conditional", undefined],
    ["conditional", "verify"],
    ["conditional", "precondition"],
  ];
  for (const [effect, mechanism] of cases) {
    const before = await openPuppet();
    await before.act({ do: "ask", id: "a", request: callOf(effect, mechanism) });
    const after = await reopen(before);
    await after.stage.world.advance(limits.reaskJitterMs);
    assert.deepEqual([after.hands.length, await outcomes(after)], [0, ["2.0 tool_outcome_unknown 1"]]);
  }
});

Deno.test("kernel says what it does not know in the order of the asks, before anything that waits (K5, I15)", async () => {
  const hung = { isHanging: false };
  const faults: FaultPlan = (): Fault | undefined => hung.isHanging ? "hang_after" : undefined;
  const before = await openPuppet({ store: { faults } });
  const { kernel, stage } = before;
  const sender = rootNamed(2);
  await settled(
    stage.world,
    create(kernel, { address: sender, kind: "session", input: {}, title: "sender" }),
  );
  const ask = (id: string) => ({ do: "ask", id, request: callOf("non_idempotent") }) as const;
  for (let n = 0; n < 11; n++) await before.act(ask(`a${n}`));
  // The letter is durable; before it is brought, the process dies.
  hung.isHanging = true;
  const message = { type: "puppet.letter" };
  const acts = [{ do: "post", outgoing: { kind: "message", to: before.root, message } }];
  const ref = { principal: "operator:test", key: "letter" };
  await settled(
    stage.world,
    submit(kernel, { root: sender, message: { type: "puppet.act", acts: acts as never }, ref }),
  );
  await flush(stage);
  const after = await reopen(before, { store: {} });
  await after.stage.world.settle();
  const told = (await after.entries()).filter(({ epoch, kind }) => epoch === 2 && kind !== "note");
  const ids = told.map(({ type, body }) => (body as { id?: string }).id ?? type);
  assert.deepEqual(ids, [...Array.from({ length: 11 }, (_, n) => `${2 * n + 2}.0`), "puppet.letter"]);
  assert.deepEqual(after.rows(), []);
});

// Proves K19: a restart is no stampede.
Deno.test("kernel lets at most eight effects start again at once (K19)", async () => {
  const before = await openPuppet();
  const asks = Array.from(
    { length: 12 },
    (_, n) => ({ do: "ask", id: `a${n}`, request: callOf("idempotent") }) as const,
  );
  await before.act(...asks);
  assert.equal(before.hands.length, 12);
  const after = await reopen(before);
  const { world } = after.stage;
  assert.equal(after.hands.length, 0);
  for (let left = 12; left > 0; left--) {
    await world.advance(limits.reaskJitterMs);
    assert.equal(after.hands.length, Math.min(left, limits.reasksAtOnceMax));
    await after.hands[0]?.end(ok());
  }
  assert.equal((await outcomes(after)).length, 12);
});

Deno.test("kernel goes on looking after tasks over any number of crashes: waiting is no attempt, and takes no place of those that work (CM-34, K7, K19)", async () => {
  let puppet = await openPuppet();
  const tasks = Array.from({ length: 12 }, (_, n) => taskHandle({ id: `task-${n}` }));
  await puppet.act(
    ...tasks.map((task) => ({ do: "ask", id: task.id, request: watchOf(task) }) as const),
    { do: "ask", id: "work", request: callOf("idempotent") },
  );
  for (let crashes = 1; crashes <= 4; crashes++) {
    puppet = await reopen(puppet);
    await puppet.stage.world.advance(limits.reaskJitterMs);
    assert.equal(puppet.hands.length, 13);
  }
  const ids = new Set((await attemptNotes(puppet)).map((note) => (note as { readonly id: string }).id));
  assert.deepEqual([...ids], ["2.12"]);
  const task = puppet.hands.find(({ performance }) => performance.id === "2.0");
  assert.equal(task?.performance.attempt, 1);
  await task?.end(ok());
  assert.deepEqual(await outcomes(puppet), ["2.0 ok 1"]);
});

Deno.test("kernel starts nothing twice that is running already (K22)", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "m", request: modelCall });
  const after = await reopen(before);
  await after.stage.world.advance(limits.reaskJitterMs);
  // Whatever wakes the root again in this runtime finds the effect running.
  after.kernel.roots.delete(after.root);
  await after.tell({ type: "puppet.nothing" });
  await after.stage.world.advance(limits.reaskJitterMs);
  assert.deepEqual([after.hands.length, (await attemptNotes(after)).length], [1, 1]);
});
