/** What becomes of agents when the program that began them goes away, and of a turn whose asker has gone. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { Fates } from "../../src/api/fates.ts";
import { ActorApiError } from "../../src/client.ts";
import { salvage } from "../../src/journal/doctor.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { type ApiStage, openApiStage } from "../support/api_stage.ts";

const everyMs = 10_000;
/** A model that is busy for a minute, and then answers. */
const busy = { fail: { code: "model_rate_limited", retry_after_ms: 60_000, times: 1 }, text: "Late" };
const slow = { answers: [busy] };

/** The code of a refusal. */
async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => undefined, (error) => error);
  assert.ok(error instanceof ActorApiError, `no refusal, but ${error}`);
  return error.code;
}

/** True if the session has been ended: it takes no prompts. */
async function hasEnded(stage: ApiStage, address: string): Promise<boolean> {
  const entries = await stage.entries(address as never);
  return entries.some(({ body }) => JSON.stringify(body).includes("The program that began it is gone"));
}

/** Two agents in the middle of a turn: one that stops with its program, one that goes on. */
async function beginTwo(stage: ApiStage, connection?: string): Promise<{ stops: string; stays: string }> {
  const client = stage.client({ connection });
  const begin = async (fate: "stop" | "detach") =>
    (await stage.run(client.spawn({ agent: "tester", prompt: "Go", on_parent_exit: fate }))).address;
  return { stops: await begin("stop"), stays: await begin("detach") };
}

Deno.test("agents that stop with their program end when its connection does, and detached ones go on", async () => {
  const stage = await openApiStage(slow);
  const [mine, other] = [stage.api.connect(), stage.api.connect()];
  const { stops, stays } = await beginTwo(stage, mine.id);
  const others = await beginTwo(stage, other.id);
  await stage.run(mine.end());
  assert.deepEqual(
    [await hasEnded(stage, stops), await hasEnded(stage, stays), await hasEnded(stage, others.stops)],
    [true, false, false],
  );
  const turn = await stage.run(stage.client().ask({ address: stops, text: "Hi" }));
  assert.equal(turn.state === "ended" && turn.failure?.code, "session_closed");
});

Deno.test("a runtime that is killed before it could stop an agent leaves that to the next one, once", async () => {
  const stage = await openApiStage(slow);
  const { stops, stays } = await beginTwo(stage, stage.api.connect().id);
  stage.crash();
  const next = await openApiStage({ ...slow, disk: stage.disk, world: stage.world });
  await next.world.settle();
  assert.deepEqual([await hasEnded(next, stops), await hasEnded(next, stays)], [true, false]);
  const { length } = await next.entries(stops as never);
  next.crash();
  const third = await openApiStage({ ...slow, disk: stage.disk, world: stage.world });
  await third.world.settle();
  assert.equal((await third.entries(stops as never)).length, length);
});

Deno.test("a salvaged store still knows who was to stop with a program that is gone", async () => {
  const stage = await openApiStage(slow);
  const { stops, stays } = await beginTwo(stage, stage.api.connect().id);
  stage.crash();
  const target = new MemoryDisk();
  await salvage(stage.disk.open(), target.open(), stage.world.seams.digest);
  const next = await openApiStage({ ...slow, disk: target, world: stage.world });
  await next.world.settle();
  assert.deepEqual([await hasEnded(next, stops), await hasEnded(next, stays)], [true, false]);
});

Deno.test("a start beside other runtimes of a store stops nobody: their programs may be there", async () => {
  const stage = await openApiStage(slow);
  const { stops } = await beginTwo(stage, stage.api.connect().id);
  const { length } = await stage.entries(stops as never);
  const beside = new Fates({ runtime: stage.runtime, seams: stage.world.seams, isShared: true });
  await stage.run(beside.begin());
  await stage.world.settle();
  assert.equal((await stage.entries(stops as never)).length, length);
});

Deno.test("a heartbeat that lapses is the end of the program; one that comes in time keeps its agents", async () => {
  const stage = await openApiStage(slow);
  const client = stage.client();
  const refused = client.spawn({ agent: "tester", on_parent_exit: "stop" });
  assert.equal(await stage.run(codeOf(refused)), "heartbeat_missing");
  assert.equal((await stage.run(client.list({}))).agents.length, 0);
  const { lapses_at: lapsesAt } = await stage.run(client.heartbeat({ every_ms: everyMs }));
  assert.equal(lapsesAt, stage.world.seams.clock.now() + apiLimits.heartbeatsMissedMax * everyMs);
  const { stops, stays } = await beginTwo(stage);
  for (let beats = 0; beats < 5; beats++) {
    await stage.world.advance(2 * everyMs);
    await stage.run(client.heartbeat({ every_ms: everyMs }));
  }
  assert.equal(await hasEnded(stage, stops), false);
  await stage.world.advance(apiLimits.heartbeatsMissedMax * everyMs);
  await stage.world.settle();
  assert.deepEqual([await hasEnded(stage, stops), await hasEnded(stage, stays)], [true, false]);
  assert.equal(
    await stage.run(codeOf(client.spawn({ agent: "tester", on_parent_exit: "stop" }))),
    "heartbeat_missing",
  );
  const piped = stage.client({ connection: stage.api.connect().id });
  assert.equal(await stage.run(codeOf(piped.heartbeat({ every_ms: everyMs }))), "heartbeat_unneeded");
});

Deno.test("a restart gives a program with a heartbeat its whole time anew, and stops its agents if it is silent", async () => {
  const stage = await openApiStage(slow);
  await stage.run(stage.client().heartbeat({ every_ms: everyMs }));
  const { stops, stays } = await beginTwo(stage);
  stage.crash();
  const next = await openApiStage({ ...slow, disk: stage.disk, world: stage.world });
  await next.world.advance(apiLimits.heartbeatsMissedMax * everyMs - 1);
  assert.equal(await hasEnded(next, stops), false);
  await next.world.advance(1);
  await next.world.settle();
  assert.deepEqual([await hasEnded(next, stops), await hasEnded(next, stays)], [true, false]);
});

Deno.test("a program that goes away at any moment of beginning an agent leaves none that was to stop with it", async () => {
  const stage = await openApiStage(slow);
  for (let steps = 0; steps < 60; steps += 3) {
    const connection = stage.api.connect();
    const client = stage.client({ connection: connection.id });
    const spawning = client.spawn({ agent: "tester", on_parent_exit: "stop" });
    for (let step = 0; step < steps; step++) await Promise.resolve();
    await stage.run(Promise.allSettled([spawning, connection.end()]));
  }
  const { agents } = await stage.run(stage.client().list({}));
  assert.ok(agents.length > 0, "every one was refused: wait longer");
  for (const { address } of agents) assert.ok(await hasEnded(stage, address), "one goes on");
});

Deno.test("a turn goes on when its asker has gone, and the same key gets its answer, after a restart too", async () => {
  const stage = await openApiStage(slow);
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  const gone = new AbortController();
  const asking = client.ask({ address, text: "Hi" }, { key: "a", signal: gone.signal });
  await stage.world.settle();
  gone.abort();
  assert.deepEqual(await stage.run(asking), { state: "running", address });
  await stage.world.advance(70_000);
  const turn = await stage.run(client.ask({ address, text: "Hi" }, { key: "a" }));
  assert.equal(turn.state === "ended" && turn.text, "Late");
  stage.crash();
  const next = await openApiStage({ disk: stage.disk, world: stage.world });
  assert.deepEqual(await next.run(next.client().ask({ address, text: "Hi" }, { key: "a" })), turn);
});
