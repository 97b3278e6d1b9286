/** What `watch` shows besides entries: turns that are lost, and how an agent stands, at a bounded cost. */
import assert from "node:assert/strict";
import type { WatchEvent } from "../../schemas/api_view.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import type { ActorClient } from "../../src/client.ts";
import { type ApiStage, openApiStage } from "../support/api_stage.ts";

/** A model that is busy for a minute. */
const busy = { fail: { code: "model_rate_limited", retry_after_ms: 60_000, times: 1 }, text: "Late" };

/** Follows an agent; `end` gives up. */
function following(client: ActorClient, params: Parameters<ActorClient["watch"]>[0]) {
  const gone = new AbortController();
  const events: WatchEvent[] = [];
  const over = (async () => {
    for await (const event of client.watch(params, { signal: gone.signal })) events.push(event);
  })();
  return {
    events,
    end: async (stage: ApiStage) => {
      gone.abort();
      await stage.run(over);
    },
  };
}

async function lostIn(
  stage: ApiStage,
  address: RootAddress,
  follow: boolean,
): Promise<readonly WatchEvent[]> {
  const watched = following(stage.client(), { address, view: "transcript", follow });
  await stage.world.settle();
  await watched.end(stage);
  return watched.events;
}

Deno.test("a turn that is lost with its session is told to who reads along, and to who comes later (DM-133)", async () => {
  const stage = await openApiStage({ answers: [busy] });
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester", prompt: "Hi" }));
  const along = following(client, { address, view: "transcript" });
  await stage.world.settle();
  assert.deepEqual(along.events.map((event) => event.type === "transcript" && event.item.type), ["prompt"]);
  quarantine(stage.runtime.kernel, address, "its record is broken");
  await stage.world.settle();
  await along.end(stage);
  const { seq, ...last } = along.events.at(-1) ?? { seq: 0 };
  assert.deepEqual(last, {
    type: "transcript",
    item: {
      type: "turn",
      turn: 1,
      outcome: "lost",
      failure: {
        code: "root_quarantined",
        message: "The session is quarantined: its record is broken",
        retryable: false,
      },
    },
  });
  assert.equal(seq, (await stage.run(client.get({ address }))).seq);
  for (const follow of [true, false]) {
    assert.deepEqual(await lostIn(stage, address, follow), along.events);
  }
});

Deno.test("no turn is told to be lost that ended, or that the next runtime may go on with", async () => {
  const stage = await openApiStage({ answers: [busy] });
  const client = stage.client();
  const ended = (await stage.run(client.spawn({ agent: "tester", prompt: "Hi" }))).address;
  await stage.world.advance(70_000);
  const avoided = (await stage.run(client.spawn({ agent: "tester", prompt: "Hi" }))).address;
  await stage.world.settle();
  quarantine(stage.runtime.kernel, ended, "broken");
  quarantine(stage.runtime.kernel, avoided, "not now", false);
  await stage.world.settle();
  for (const address of [ended, avoided]) {
    const events = await lostIn(stage, address, true);
    assert.doesNotMatch(JSON.stringify(events), /"lost"/);
  }
});

Deno.test("a state is told once however much led to it, then only when it is another one", async () => {
  const answers = Array.from({ length: 40 }, (_, at) => ({ text: `Answer ${at}` }));
  const stage = await openApiStage({ answers: [...answers, busy] });
  const client = stage.client();
  const { address } = await stage.run(client.spawn({ agent: "tester" }));
  for (let at = 0; at < 20; at++) await stage.run(client.ask({ address, text: "Hi" }));
  const reads = { count: 0 };
  const read = stage.runtime.journal.readPages;
  Object.assign(stage.runtime.journal, {
    readPages(root: RootAddress, from?: number) {
      if (root === address) reads.count += 1;
      return read.call(this, root, from);
    },
  });
  const once = following(client, { address, view: "state", follow: false });
  await once.end(stage);
  assert.deepEqual([once.events.length, reads.count], [1, 1]);
  const along = following(client, { address, view: "state" });
  await stage.world.settle();
  // Twenty turns while no time passes: hundreds of entries, and one more look.
  for (let at = 0; at < 20; at++) await stage.run(client.ask({ address, text: "Hi" }));
  await stage.world.advance(1_000);
  const looks = reads.count;
  assert.ok(looks <= 6, `${looks} reads of the whole journal`);
  // It rests as it did before.
  assert.equal(along.events.length, 1);
  await stage.run(client.send({ address, text: "Wait" }));
  await stage.world.advance(1_000);
  const shown = JSON.stringify(along.events.at(-1));
  assert.match(shown, new RegExp(`${address}/turn/41`));
  quarantine(stage.runtime.kernel, address, "broken");
  await stage.world.advance(1_000);
  const last = along.events.at(-1);
  assert.equal(last?.type === "state" && last.actors[0]?.state, "quarantined");
  await along.end(stage);
});
