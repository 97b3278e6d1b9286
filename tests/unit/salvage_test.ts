/** Sessions of a salvaged store: usable, and nothing that they may have done is done again. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { examine, findingKinds, salvage } from "../../src/journal/doctor.ts";
import { keys } from "../../src/journal/keys.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";
import { digest, rowsOn } from "../support/units.ts";

const answers = [
  { calls: [{ tool: "charge" }] },
  { calls: [{ tool: "charge", arguments: { text: "again" } }] },
  { text: "paid" },
];
const tools = [{ name: "charge", effect: "non_idempotent" as const }];

/** A session that has charged twice, in one turn. */
async function chargedStage(): Promise<{ readonly stage: Stage; readonly session: RootAddress }> {
  const stage = await openStage({ answers, tools });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "pay", "key-1"));
  assert.equal((await settled(stage.world, report)).outcome, "completed");
  await settled(stage.world, stage.runtime.stop());
  assert.equal(stage.ledger.length, 2);
  return { stage, session };
}

/** The store without the values of the session from `first` on, salvaged. */
async function salvaged(disk: MemoryDisk, session: RootAddress, first: number): Promise<MemoryDisk> {
  const damaged = disk.copy();
  damaged.damage(keys.log(session, first), (value) => (value as Uint8Array).slice(0, -9));
  const target = new MemoryDisk();
  const { cut } = await salvage(damaged.open(), target.open(), digest);
  assert.deepEqual(cut.map(({ root, becomes }) => [root, becomes]), [[session, "stopped"]]);
  return target;
}

async function weights(disk: MemoryDisk): Promise<readonly string[]> {
  const { findings } = await examine(disk.open(), digest);
  return findings.map(({ code }) => findingKinds[code].weight);
}

Deno.test("salvaged session that lost its end at any value takes prompts again, and repeats no effect that could hurt (F10, I1, R6)", async () => {
  const { stage: before, session } = await chargedStage();
  const firsts = rowsOn(before.disk, "log").filter(({ key }) => key[1] === session).map(({ key }) =>
    Number(key[2])
  );
  assert.ok(firsts.length >= 4, `${firsts.length} values`);
  const outcomes: string[] = [];
  for (const first of firsts.slice(1)) {
    const disk = await salvaged(before.disk, session, first);
    assert.ok(!(await weights(disk)).includes("damage"));
    // The script plays the same again: a turn that went on would charge.
    const stage = await openStage({ world: before.world, disk, answers, tools, hasAnswerer: () => true });
    await stage.world.advance(1_000);
    await stage.world.settle();
    assert.deepEqual(stage.ledger, [], `cut before ${first}`);
    const cutTurn = await stage.entries(session);
    for (const { kind, type, body } of cutTurn) {
      if (kind === "outcome" && type === "tool.call") {
        outcomes.push((body as { readonly status: string }).status);
      }
    }
    const { report } = await settled(stage.world, stage.runtime.prompt(session, "what now?", "key-2"));
    assert.equal((await settled(stage.world, report)).outcome, "completed");
    assert.equal((await stage.replay(session)).divergence, undefined);
    await settled(stage.world, stage.runtime.stop());
    assert.ok(!(await weights(disk)).includes("damage"));
  }
  // The call that had begun at a cut is not known; the one before it is.
  assert.deepEqual(outcomes, ["unknown", "ok", "unknown"]);
});

Deno.test("salvaged session gives what it does from then on other names outside than what was lost (K3)", async () => {
  const seen: string[] = [];
  const keyed = [{
    name: "charge",
    effect: "conditional" as const,
    mechanism: "key" as const,
    work: (use: { readonly idempotencyKey: string }) => {
      seen.push(use.idempotencyKey);
      return Promise.resolve("charged");
    },
  }];
  const stage = await openStage({ answers, tools: keyed });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "pay"));
  await settled(stage.world, report);
  await settled(stage.world, stage.runtime.stop());
  const lost = new Set(seen.splice(0));
  assert.equal(lost.size, 2);
  const [, second] = rowsOn(stage.disk, "log").filter(({ key }) => key[1] === session);
  const disk = await salvaged(stage.disk, session, Number(second?.key[2]));
  const next = await openStage({ world: stage.world, disk, answers, tools: keyed });
  await next.world.settle();
  const again = await settled(next.world, next.runtime.prompt(session, "pay"));
  assert.equal((await settled(next.world, again.report)).outcome, "completed");
  assert.equal(seen.length, 2);
  // Whatever positions they have: the same one may have meant something else in what was lost.
  for (const key of seen) assert.ok(!lost.has(key) && /#\d+\.\d+@2$/.test(key), key);
});

Deno.test("salvaged session drops the prompts that waited: they may have been done in what was lost", async () => {
  const gate = Promise.withResolvers<string>();
  const stage = await openStage({
    answers: [{ calls: [{ tool: "wait" }] }, { text: "one" }, { text: "two" }],
    tools: [{ name: "wait", work: () => gate.promise }],
  });
  const session = await stage.session();
  const first = await settled(stage.world, stage.runtime.prompt(session, "one", "key-1"));
  const second = await settled(stage.world, stage.runtime.prompt(session, "two", "key-2"));
  await settled(stage.world, Promise.all([first.accepted(), second.accepted()]));
  await stage.world.settle();
  gate.resolve("done");
  await settled(stage.world, Promise.all([first.report, second.report]));
  const entries = await stage.entries(session);
  await settled(stage.world, stage.runtime.stop());
  const values = rowsOn(stage.disk, "log").filter(({ key }) => key[1] === session);
  const prompted = entries.filter(({ type }) => type === "session.prompt").map(({ seq }) => seq);
  const cutAt = values.map(({ key }) => Number(key[2])).find((seq) => seq > (prompted[1] ?? 0));
  assert.ok(cutAt !== undefined);
  const disk = await salvaged(stage.disk, session, cutAt);
  const next = await openStage({ world: stage.world, disk, answers: Array(5).fill({ text: "again" }) });
  await next.world.advance(1_000);
  await next.world.settle();
  for (const key of ["key-1", "key-2"]) {
    const reply = await settled(next.world, next.runtime.journal.readReply("operator:local", key));
    assert.equal((reply as { readonly status: string } | undefined)?.status, "failed", key);
  }
});
