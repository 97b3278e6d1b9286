/** How a root comes back after a crash, and when it does not come back (K20). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { keys } from "../../src/journal/keys.ts";
import { type Store, StoreError } from "../../src/journal/store.ts";
import type { KernelError } from "../../src/kernel/kernel.ts";
import type { FaultPlan } from "../support/memory_store.ts";
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
