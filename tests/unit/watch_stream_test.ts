/** A watch towards whoever reads slowly, or has nothing to read. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { watchStream } from "../../src/api/http/watch_stream.ts";
import { createWorld } from "../support/world.ts";

function streamOf(events: AsyncIterable<unknown>, headSeq: number) {
  const world = createWorld();
  const killed = { times: 0 };
  const stream = watchStream({
    events,
    headSeq,
    clock: world.seams.clock,
    ending: new AbortController().signal,
    leave: new AbortController(),
    kill: () => void (killed.times += 1),
    describe: (error) => ({
      code: (error as { code: string }).code,
      message: "",
      retryable: true,
      outcome: "not_applied",
      request_id: "r",
    }),
  });
  return { world, killed, stream };
}

async function* entries(from: number, to: number, padding = ""): AsyncIterable<unknown> {
  for (let seq = from; seq <= to; seq++) yield { type: "entry", seq, padding };
}

function idsIn(text: string): readonly number[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

Deno.test("news beyond 1,000 events or 1 MiB end a watch with slow_consumer, behind a prefix without a gap (F33)", async () => {
  for (const padding of ["", "x".repeat(8_192)]) {
    const { world, killed, stream } = streamOf(entries(1, 2_000, padding), 0);
    for (let turns = 0; world.sleepers === 0 && turns < 100; turns++) await world.settle();
    assert.equal(killed.times, 0);
    await world.advance(apiLimits.slowWatcherMs);
    assert.equal(killed.times, 1);
    const text = await new Response(stream).text();
    const ids = idsIn(text);
    assert.deepEqual(ids, ids.map((_, at) => at + 1));
    assert.ok(ids.length <= apiLimits.watchEventsMax && text.length <= apiLimits.watchBytesMax + 1_000);
    assert.match(text, /retry: 1000\nevent: error\ndata: {"code":"slow_consumer"/);
  }
});

Deno.test("what the journal holds already waits for its reader, however much it is", async () => {
  const { killed, stream } = streamOf(entries(1, 2_500), 2_500);
  const text = await new Response(stream).text();
  assert.equal(idsIn(text).length, 2_500);
  assert.match(text, /event: end\n/);
  assert.equal(killed.times, 0);
});

Deno.test("a watch of which nothing is heard shows every 15 seconds that it stands", async () => {
  const quiet = Promise.withResolvers<void>();
  const { world, stream } = streamOf(
    { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: await quiet.promise }) }) },
    0,
  );
  const reader = stream.getReader();
  const first = reader.read();
  for (let turns = 0; world.sleepers === 0 && turns < 100; turns++) await world.settle();
  await world.advance(apiLimits.heartbeatMs);
  assert.match(new TextDecoder().decode((await first).value), /^: /);
  quiet.resolve();
  await reader.cancel();
});

Deno.test("a watch is shown to stand 15 seconds after its last text, not after its first", async () => {
  const news = Promise.withResolvers<void>();
  const quiet = Promise.withResolvers<void>();
  async function* events() {
    await news.promise;
    yield { type: "entry", seq: 1 };
    await quiet.promise;
  }
  const { world, stream } = streamOf(events(), 0);
  const reader = stream.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  const first = read();
  for (let turns = 0; world.sleepers === 0 && turns < 100; turns++) await world.settle();
  await world.advance(apiLimits.heartbeatMs - 5_000);
  news.resolve();
  assert.match(await first, /^id: 1\n/);
  const heard: string[] = [];
  const second = read().then((text) => heard.push(text));
  await world.advance(apiLimits.heartbeatMs - 1);
  assert.deepEqual(heard, []);
  await world.advance(1);
  await second;
  assert.deepEqual(heard, [": nothing new\n\n"]);
  quiet.resolve();
  await reader.cancel();
});
