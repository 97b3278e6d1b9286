/** Units and queues that are larger than one commit (B131). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { keys } from "../../src/journal/keys.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { collect, entriesFrom, root, rootNamed, unitFrom, unitOf } from "../support/units.ts";
import { createWorld } from "../support/world.ts";

Deno.test("unit of 1,001 entries is one commit of a real store, and 1,001 units of as many roots are split over several (B131)", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const { seams } = createWorld();
    const journal = await openJournal({ store: await openKvStore(`${folder}/store.db`), seams, lingerMs: 0 });
    const { writer } = journal;
    const before = writer.counters.commits;
    writer.push(unitOf(entriesFrom(1, 1_001)));
    await writer.idle();
    assert.equal(writer.counters.commits - before, 1);
    assert.equal((await collect(journal.readEntries(root))).length, 1_001);
    for (let n = 2; n <= 1_002; n++) writer.push(unitFrom(1, 1, { root: rootNamed(n) }));
    await writer.idle();
    const commits = writer.counters.commits - before - 1;
    assert.ok(commits >= Math.ceil(1_001 / limits.groupEntriesMax), `${commits} commits`);
    for (const n of [2, 500, 1_002]) assert.equal((await journal.readHead(rootNamed(n))).seq, 1);
    const sets = Array.from({ length: 1_001 }, (_, n) => ({ key: keys.command("p", `k${n}`), value: 1 }));
    assert.throws(() => writer.push(unitFrom(1_002, 1, { sets })), { code: "value_too_large" });
    writer.push(unitFrom(1_002, 1));
    await writer.idle();
    await journal.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
