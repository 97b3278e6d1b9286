/** How a root comes back after a crash, what becomes of what was open, and when it does not come back (K20). */
import assert from "node:assert/strict";
import type { PortOutcome } from "../../schemas/effect.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass, Mechanism } from "../../schemas/tool.ts";
import { submit } from "../../src/kernel/command.ts";
import { create } from "../../src/kernel/create.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import { keys } from "../../src/journal/keys.ts";
import { type Store, StoreError } from "../../src/journal/store.ts";
import type { Fault, FaultPlan } from "../support/memory_store.ts";
import {
  callOf,
  flush,
  modelCall,
  ok,
  openPuppet,
  type Puppet,
  reopen,
  wirePuppets,
} from "../support/puppet.ts";
import { settled } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";
import { digestNow } from "../support/world.ts";

const encoder = new TextEncoder();

/** Changes the header and the text of the puppet's snapshot on the disk. */
function alterSnapshot(
  puppet: Puppet,
  change: (header: object, text: string) => readonly [object, string],
): void {
  puppet.stage.disk.damage(keys.snapshot(puppet.root), (value) => {
    const whole = new TextDecoder().decode(value as Uint8Array);
    const end = whole.indexOf("\n");
    const [header, text] = change(JSON.parse(whole.slice(0, end)), whole.slice(end + 1));
    return encoder.encode(`${JSON.stringify(header)}\n${text}`);
  });
}

function warnings(puppet: Puppet): string[] {
  return puppet.stage.world.logs.filter(({ level }) => level === "warning").map(({ event }) => event);
}

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

Deno.test("kernel brings a root back from its snapshot and what follows it (K20)", async () => {
  const before = await openPuppet();
  await before.tell({ type: "puppet.act", acts: [], n: 1 });
  await before.tell({ type: "puppet.busy" });
  await before.tell({ type: "puppet.act", acts: [], n: 2 });
  const after = await reopen(before);
  await after.tell({ type: "puppet.act", acts: [], n: 3 });
  assert.deepEqual(after.heard().map((one) => one["n"]), [1, 2, 3]);
  assert.deepEqual([after.kernel.roots.get(after.root)?.state, warnings(after)], ["busy", []]);
});

Deno.test("kernel drops a snapshot that does not fit, and replays the stream instead (K20)", async () => {
  const altered:
    readonly (readonly [string, string, (header: object, text: string) => readonly [object, string]])[] = [
      ["bytes", "snapshot.unfit", (header, text) => [header, text.replace("puppet.act", "puppet.bad")]],
      ["open ids", "snapshot_unfit", (header, text) => [{ ...header, open: ["9.9"] }, text]],
      ["children", "snapshot_unfit", (header, text) => [{ ...header, children: 7 }, text]],
      ["status", "snapshot_unfit", (header, text) => [{ ...header, status: "done" }, text]],
      ["a child that XState would drop silently", "snapshot_unfit", (header, text) => {
        const state = JSON.parse(text);
        state.children.a.src = "nowhere";
        const other = JSON.stringify(state);
        return [{ ...header, digest: digestNow(encoder.encode(other)) }, other];
      }],
      ["no machine's state", "snapshot_unfit", (header) => {
        return [{ ...header, digest: digestNow(encoder.encode("{}")) }, "{}"];
      }],
      ["the place in the stream", "snapshot.unfit", (header, text) => {
        return [{ ...header, hash: `sha256:${"0".repeat(64)}` }, text];
      }],
    ];
  for (const [name, warning, change] of altered) {
    const before = await openPuppet();
    await before.act({ do: "ask", id: "a", request: callOf("idempotent") });
    alterSnapshot(before, change);
    const after = await reopen(before);
    await after.stage.world.advance(limits.reaskJitterMs);
    assert.ok(warnings(after).includes(warning), `${name}: ${warnings(after)}`);
    assert.deepEqual(after.heard().map(({ type }) => type), ["puppet.act"], name);
    assert.deepEqual(after.hands.map(({ performance }) => performance.id), ["2.0"], name);
  }
});

Deno.test("kernel quarantines a root whose machine does not ask what was recorded, and touches nothing (K20)", async () => {
  const before = await openPuppet();
  await before.tell({ type: "puppet.busy" });
  await before.act({ do: "ask", id: "a", request: callOf("idempotent") });
  const lines = await before.lines();
  const wire: typeof wirePuppets = (desk) => {
    const { session, ...rest } = wirePuppets(desk);
    // The same machine, but that it says something on every message.
    const hear = () => desk.post({ kind: "note", type: "test.extra", body: null });
    return { ...rest, session: session.provide({ actions: { hear } } as never) };
  };
  const after = await reopen(before, { runtime: { wire } });
  await after.stage.world.advance(1_000);
  const record = after.kernel.records.get(after.root);
  assert.equal(record?.status, "quarantined");
  assert.match(record?.reason ?? "", /does not replay at 4: /);
  assert.deepEqual([await after.lines(), after.hands.length], [lines, 0]);
  await assert.rejects(after.tell({ type: "puppet.nothing" }), (error: KernelError) => {
    return error.code === "root_quarantined";
  });
  const later = await reopen(after);
  assert.equal(later.kernel.records.get(later.root)?.status, "quarantined");
});

Deno.test("kernel keeps away from a root that it cannot read, but does not condemn it (K20)", async () => {
  const before = await openPuppet();
  await before.tell({ type: "puppet.act", acts: [], n: 1 });
  const inner = before.stage.disk.open();
  const broken = new StoreError("store_busy", "Cannot read store: it is busy");
  const store: Store = {
    get: (key) => key[0] === "snap" ? Promise.reject(broken) : inner.get(key),
    list: (range) => inner.list(range),
    commit: (commit) => inner.commit(commit),
    close: () => inner.close(),
  };
  const during = await reopen(before, { runtime: { store } });
  const given = await during.tell({ type: "puppet.nothing" });
  await assert.rejects(settled(during.stage.world, given.reply), /it is busy/);
  const after = await reopen(during);
  await after.tell({ type: "puppet.act", acts: [], n: 2 });
  assert.deepEqual(after.heard().map((one) => one["n"]), [1, 2]);
});

Deno.test("kernel wakes no root at start that has nothing open (K19)", async () => {
  const before = await openPuppet();
  await before.act({ do: "ask", id: "a", request: callOf("idempotent") });
  await before.hands[0]?.end(ok());
  const after = await reopen(before);
  assert.equal(after.kernel.roots.has(after.root), false);
  assert.deepEqual(after.stage.runtime.recovery, { open: 0, letters: 0, timers: 0, quarantined: 0 });
  await after.tell({ type: "puppet.nothing" });
  assert.deepEqual(after.heard().map(({ type }) => type), ["puppet.act", "xstate.done.actor.a"]);
});

// Proves K7: the count stands in the journal, so a crash loop buys no new attempts.
Deno.test("kernel asks again what a repeat cannot harm, as often as its class allows over all crashes (K7)", async () => {
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
      assert.deepEqual((await attemptNotes(puppet)).at(-1), { id: "2.0", attempt });
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

// R7: the count is durable before the attempt.
Deno.test("kernel quarantines a root whose recovery ended the process three times (K20)", async () => {
  let puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "a", request: callOf("idempotent") });
  // No start lives long enough to forget that it began.
  const faults: FaultPlan = (_, { deletes }) =>
    deletes.some(([kind]) => kind === "recover") ? "hang" : undefined;
  for (let start = 1; start <= 3; start++) {
    puppet = await reopen(puppet, { store: { faults } });
    assert.equal(puppet.kernel.records.get(puppet.root)?.status, "active", `start ${start}`);
  }
  puppet = await reopen(puppet);
  const record = puppet.kernel.records.get(puppet.root);
  assert.deepEqual([record?.status, puppet.stage.runtime.recovery.quarantined], ["quarantined", 1]);
  assert.equal(puppet.hands.length, 0);
});

Deno.test("kernel forgets failed recoveries once one went well (K20)", async () => {
  let puppet = await openPuppet();
  await puppet.act({ do: "ask", id: "t", request: modelCall });
  for (let start = 1; start <= 4; start++) {
    puppet = await reopen(puppet);
    await flush(puppet.stage);
  }
  assert.equal(puppet.kernel.records.get(puppet.root)?.status, "active");
  assert.deepEqual(puppet.rows(), ["open"]);
});
