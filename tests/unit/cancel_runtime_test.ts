/** A cancel in a runtime: its signal reaches what runs, its answer comes when that has ended, over restarts too. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import { cancelSession } from "../../src/host/canceling.ts";
import { performersWith } from "../support/model_performers.ts";
import { openStage, settled, type Stage, type StageOptions, type ToolSketch } from "../support/stage.ts";

const wish = { reason: "enough" } as const;

/** Waits until the signal aborts, as a performer does that is asked to stop. */
function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function prompted(stage: Stage): Promise<RootAddress> {
  const session = await stage.session();
  await settled(stage.world, stage.runtime.prompt(session, "Go", "prompt"));
  await stage.world.advance(20); // What may hurt waits for the disk.
  return session;
}

function never(): Promise<string> {
  return new Promise(() => {});
}

/** Cancels, lets time pass until the answer is there, and gives it. */
async function canceled(stage: Stage, session: RootAddress) {
  const answer = { isThere: false };
  const report = cancelSession(stage.runtime, session, wish);
  report.finally(() => answer.isThere = true).catch(() => {});
  for (let steps = 0; steps < 100 && !answer.isThere; steps++) await stage.world.advance(200);
  return await settled(stage.world, report);
}

Deno.test("cancel of a turn aborts the model call that runs (ask 7)", async () => {
  const signals: AbortSignal[] = [];
  const provider: ModelProvider = {
    name: "slow",
    capabilities: scriptedCapabilities,
    async *generate(_request, signal) {
      signals.push(signal);
      await untilAborted(signal);
      yield { type: "text_delta", text: "too late" };
    },
  };
  const stage = await openStage({
    runtime: { performers: performersWith({ tools: [], ledger: [], providerOf: () => provider }) },
  });
  const session = await prompted(stage);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false]);
  const { stopped } = await canceled(stage, session);
  assert.deepEqual([signals[0]?.aborted, stopped.map(({ address }) => address)], [true, ["turn/1"]]);
});

Deno.test("cancel of a turn aborts the tool that runs, and does not say canceled of what may have happened (ask 7)", async () => {
  for (const [effect, ended] of [["idempotent", "canceled"], ["non_idempotent", undefined]] as const) {
    const told: boolean[] = [];
    const work: ToolSketch["work"] = async ({ signal }) => {
      await untilAborted(signal);
      told.push(signal.aborted);
      return "stopped half way";
    };
    const stage = await openStage({
      answers: [{ calls: [{ tool: "slow" }] }],
      tools: [{ name: "slow", effect, work }],
    });
    const session = await prompted(stage);
    const { stopped, undecided } = await canceled(stage, session);
    assert.deepEqual([told, stopped[0]?.ended, undecided.length], [
      [true],
      ended,
      ended === undefined ? 2 : 0,
    ]);
  }
});

Deno.test("cancel of a turn ends the timer that it waits for (ask 7)", async () => {
  const stage = await openStage({
    answers: [{ error: { message: "try again", retryable: true } }, {
      text: "Hi",
    }],
  });
  const session = await prompted(stage);
  const timers = stage.runtime.kernel.running.size;
  assert.equal(timers, 1, "the turn waits between two attempts");
  await canceled(stage, session);
  assert.equal(stage.runtime.kernel.running.size, 0);
  await stage.world.advance(60_000);
  const asked = (await stage.entries(session)).filter(({ kind, type }) =>
    kind === "intent" && type === "model.generate"
  );
  assert.equal(asked.length, 1);
});

Deno.test("cancel that a crash cuts off goes on after it, and its answer is kept for who asks again (ask 5)", async () => {
  const options: StageOptions = { tools: [{ name: "pay", effect: "non_idempotent", work: never }] };
  const stage = await openStage({ answers: [{ calls: [{ tool: "pay" }] }], ...options });
  const session = await prompted(stage);
  const message = { type: "session.cancel", reason: "enough" } as const;
  const { accepted } = await settled(stage.world, stage.runtime.send(session, message, "stop"));
  await settled(stage.world, accepted());
  stage.crash();
  const { disk, world, ledger } = stage;
  const next = await openStage({ ...options, answers: [], disk, world, ledger });
  await next.world.advance(limits.cancelGraceMs);
  const { reply } = await settled(next.world, next.runtime.send(session, message, "stop"));
  const { value } = await settled(next.world, reply);
  assert.deepEqual((value as { undecided: unknown }).undecided, [
    { kind: "call", address: "turn/1/call/0.0", label: "pay" },
    { kind: "turn", address: "turn/1" },
  ]);
  const { stopped } = await canceled(next, session);
  assert.deepEqual(stopped.map(({ address, ended }) => `${address} ${ended}`), [
    "turn/1/call/0.0 unknown",
    "turn/1 unknown",
  ]);
  assert.deepEqual((await next.replay(session, { strict: true })).divergence, undefined);
});
