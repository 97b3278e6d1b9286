/** Runtimes that share a store: commands, letters, and take-over in portions (K17). */
import assert from "node:assert/strict";
import { statusOf } from "../../schemas/failure_status.ts";
import { keys } from "../../src/journal/keys.ts";
import { takeAbandoned } from "../../src/kernel/reach.ts";
import { setRows } from "../../src/kernel/set_rows.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";
import { createWorld } from "../support/world.ts";

/** Two runtimes in one world on one disk. */
async function twoStages(first: StageOptions = {}, second: StageOptions = {}) {
  const [disk, world] = [new MemoryDisk(), createWorld()];
  const open = (holder: string, options: StageOptions) =>
    openStage({ ...options, world, disk, runtime: { sharing: { holder } } });
  return { world, disk, here: await open("the first", first), there: await open("the second", second) };
}

/** Kills one of two runtimes: the other one's time goes on. */
function kill({ handle, runtime }: Stage): void {
  handle.die();
  runtime.kernel.stopped = "stopped";
  runtime.kernel.ending.abort();
  runtime.journal.writer.abandon();
}

async function refusal(work: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work;
  } catch (error) {
    return error as { readonly code: string; readonly message: string };
  }
  throw new Error("Nothing was refused");
}

Deno.test("command with the same id is answered the same, by any runtime; one that is not, is refused with 409 (CM-121, K17)", async () => {
  const { world, here, there } = await twoStages({ answers: [{ text: "one" }] });
  const session = await here.session();
  const given = await settled(world, here.runtime.prompt(session, "hello", "key-1"));
  const report = await settled(world, given.report);
  const before = await here.entries(session);
  for (const { runtime } of [here, there]) {
    const again = await settled(world, runtime.prompt(session, "hello", "key-1"));
    assert.deepEqual(await settled(world, again.report), report);
    const other = await refusal(settled(world, runtime.prompt(session, "something else", "key-1")));
    assert.deepEqual([other.code, statusOf(other.code)], ["idempotency_key_reuse", 409]);
  }
  const elsewhere = await refusal(settled(world, there.runtime.prompt(session, "hello", "key-2")));
  assert.deepEqual([elsewhere.code, statusOf(elsewhere.code)], ["session_elsewhere", 409]);
  assert.match(elsewhere.message, /is held by the first, at least until 20\d\d-/);
  assert.deepEqual(await here.entries(session), before, "something was changed");
});

Deno.test("session that nobody holds any more goes on in the runtime that is told something for it (K17)", async () => {
  const { world, here, there } = await twoStages({ answers: [{ text: "one" }] }, {
    answers: [{ text: "one" }, { text: "two" }],
  });
  const session = await here.session();
  await settled(world, (await settled(world, here.runtime.prompt(session, "hello"))).report);
  await settled(world, here.runtime.stop());
  const { report } = await settled(world, there.runtime.prompt(session, "again"));
  assert.equal((await settled(world, report)).text, "two");
  assert.deepEqual([...new Set((await there.entries(session)).map(({ epoch }) => epoch))], [1, 2]);
  assert.ok((await there.replay(session)).divergence === undefined);
});

Deno.test("rows of a runtime go with its own supervisor, whoever made the store: both of two can write them (K17)", async () => {
  const { world, here, there } = await twoStages();
  for (const [index, { runtime }] of [here, there].entries()) {
    const key = keys.heart(`heart:program:p${index}`);
    await settled(
      world,
      setRows(runtime.kernel, { sets: [{ key, value: { everyMs: 1_000 } }], deletes: [] }),
    );
    assert.deepEqual(await settled(world, there.runtime.journal.readRow(key)), { everyMs: 1_000 });
  }
});

Deno.test("letter to a root of another runtime is found there within a second, and taken once (K13, K17)", async () => {
  const { world, disk, here, there } = await twoStages();
  const [from, to] = [await here.session(), await there.session()];
  const key = keys.inbox(to, from, 900, 0);
  const message = { type: "session.revoke", session: from };
  here.runtime.journal.writer.push({
    root: from,
    entries: [],
    sets: [{ key, value: { message } }],
    deletes: [],
  });
  here.runtime.journal.writer.urge();
  await world.settle();
  assert.ok(disk.get(key) !== null);
  // A second, and the commit of what it led to.
  await world.advance(1_100);
  assert.equal(disk.get(key), null);
  await world.advance(5_000);
  const taken = (await there.entries(to)).filter(({ body }) => (body as { sender?: string }).sender === from);
  assert.equal(taken.length, 1);
});

Deno.test("look for abandoned roots takes at most 100 at a time, whole families, and comes again (GA-45)", async () => {
  const { world, here, there } = await twoStages({
    answers: [{ calls: [{ tool: "hang" }] }],
    tools: [{ name: "hang", work: () => new Promise(() => {}), timeoutMs: 600_000 }],
  });
  const sessions: string[] = [];
  for (let n = 0; n < 60; n++) sessions.push(await here.session());
  for (const session of sessions) {
    const { accepted } = await settled(world, here.runtime.prompt(session, "go"));
    await settled(world, accepted());
  }
  await world.settle();
  kill(here);
  // Without its own rounds, which would look as well: time goes on at once.
  world.setClock(world.now() + 30_001);
  const looks = [];
  for (let n = 0; n < 3; n++) {
    looks.push((await settled(world, takeAbandoned(there.runtime.kernel, false))).roots);
  }
  assert.deepEqual(looks, [100, 20, 0]);
  kill(there);
});

Deno.test("letter to nobody, and the line of a runtime that died long ago, are forgotten (K17, K19)", async () => {
  const { world, disk, here, there } = await twoStages();
  const from = await here.session();
  const key = keys.inbox("session/ses_0000000000000000000000000Z", from, 900, 0);
  const sets = [{ key, value: { message: { type: "session.revoke" } } }];
  here.runtime.journal.writer.push({ root: from, entries: [], sets, deletes: [] });
  here.runtime.journal.writer.urge();
  await world.settle();
  await world.advance(6_000);
  assert.equal(disk.get(key), null);
  assert.equal(there.runtime.journal.writer.state, "ok");
  const lines = () => disk.rows().filter(({ key: [kind] }) => kind === "writer").length;
  assert.equal(lines(), 2);
  kill(here);
  // The other one lives, and wrote nothing for a day: its line stays.
  world.setClock(world.now() + 86_400_001);
  await world.advance(10_001);
  await openStage({ world, disk, runtime: { sharing: { holder: "the third" } } }).then(kill);
  assert.equal(lines(), 2, "those of the second and the third");
  kill(there);
});
