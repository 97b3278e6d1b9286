/** From the start of a call to its one end, as its record and as those who watch see it. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import type { ToolRecords } from "../../schemas/record.ts";
import type { KernelEvent } from "../../src/kernel/kernel.ts";
import { readRecords } from "../../src/records/session_records.ts";
import { openStage, settled, type Stage, type ToolSketch } from "../support/stage.ts";

async function recordsOf({ runtime: { journal }, world }: Stage, session: RootAddress): Promise<ToolRecords> {
  const reading = readRecords({
    session,
    pages: journal.readPages(session),
    readBlob: (digest) => journal.readBlob(digest),
    digest: world.seams.digest,
  });
  return await settled(world, reading);
}

/** A turn that calls one tool, which does not end before it is told to. */
async function held(sketch: Partial<ToolSketch>) {
  const gate = Promise.withResolvers<string>();
  const stage = await openStage({
    answers: [{ calls: [{ tool: "slow", arguments: { text: "x" } }] }, { text: "Done." }],
    tools: [{ name: "slow", work: () => gate.promise, ...sketch }],
  });
  const heard: KernelEvent[] = [];
  stage.runtime.watch((event) => heard.push(event));
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  await stage.world.advance(20); // What may hurt waits for the disk.
  return { stage, session, gate, heard, report };
}

Deno.test("invocation is running from its start, and its record says when it ended and how (CM-16, CM-56)", async () => {
  const { stage, session, gate, report } = await held({});
  const [running] = (await recordsOf(stage, session)).invocations;
  assert.deepEqual([running?.status, running?.outcome, running?.finishedAt], ["running", null, null]);
  assert.deepEqual([running?.response, running?.error], [{}, {}]);
  gate.resolve("done");
  await settled(stage.world, report);
  const [ended] = (await recordsOf(stage, session)).invocations;
  assert.equal(ended?.id, running?.id);
  assert.deepEqual([ended?.status, ended?.startedAt], ["succeeded", running?.startedAt]);
  assert.ok((ended?.finishedAt ?? 0) >= (ended?.startedAt ?? Infinity));
});

Deno.test("invocation is canceled with its turn; one that may have happened is failed, and never said to be canceled (CM-60)", async () => {
  for (
    const [effect, status, outcome] of [
      ["idempotent", "canceled", "canceled"],
      ["non_idempotent", "failed", "unknown"],
    ] as const
  ) {
    const { stage, session, gate, report } = await held({ effect });
    await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
    for (let tries = 0; tries < 200 && stage.runtime.questions.list().length === 0; tries++) {
      await stage.world.advance(1_000);
    }
    for (const { id, shown } of stage.runtime.questions.list()) {
      const by = { kind: "operator", id: "local" } as const;
      stage.runtime.questions.answer(id, { decision: "abandon", by, shown, note: "nobody knows" });
    }
    assert.equal((await settled(stage.world, report)).outcome, outcome);
    const [record] = (await recordsOf(stage, session)).invocations;
    assert.deepEqual([record?.status, record?.outcome], [status, outcome], effect);
    gate.resolve("late");
  }
});

Deno.test("invocation keeps its first end: what its tool says later changes no record (CM-59)", async () => {
  const { stage, session, gate, report } = await held({});
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "enough" }));
  for (let tries = 0; tries < 200; tries++) await stage.world.advance(1_000);
  await settled(stage.world, report);
  const before = await recordsOf(stage, session);
  assert.equal(before.invocations[0]?.status, "canceled");
  gate.resolve("and yet it was done");
  await stage.world.advance(1_000);
  await settled(stage.world, stage.runtime.rest());
  assert.deepEqual(await recordsOf(stage, session), before);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
});

Deno.test("invocation is heard of four times: that it started, what it says, that it completed or failed; what it says on the way is not kept (CM-62)", async () => {
  for (const isWell of [true, false]) {
    const { stage, session, heard, report } = await held({
      work: (use) => {
        use.notifications.push("half way");
        return isWell ? Promise.resolve("done") : Promise.reject(new Error("broke"));
      },
    });
    await settled(stage.world, report);
    const told = heard.flatMap((event) => {
      if (event.type === "progress" && event.progress.type === "tool") {
        return [`output ${event.progress.message}`];
      }
      if (event.type !== "entries") return [];
      return event.entries.filter(({ type }) => type === "tool.call").map(({ kind, body }) =>
        kind === "intent" ? "started" : `ended ${(body as { status: string }).status}`
      );
    });
    const ended = `ended ${isWell ? "ok" : "failed"}`;
    assert.deepEqual([...told].sort(), [ended, "output half way", "started"]);
    assert.ok(told.indexOf("started") < told.indexOf(ended));
    assert.ok(!JSON.stringify(await stage.entries(session)).includes("half way"));
  }
});
