/** What a start reads and writes: counts, which are the same on every machine (K15, K19). */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import type { ListRange, Store, StoreKey } from "../../src/journal/store.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";
import { createWorld } from "../support/world.ts";

/** Reads by the kind of row, and how many snapshots were being read at once. */
class Counter {
  readonly reads = new Map<string, number>();
  snapshotsAtOnce = 0;
  #now = 0;

  around(store: Store): Store {
    return {
      get: (key) => this.#get(store, key),
      list: (range: ListRange) => {
        this.#count("list", range.prefix);
        return store.list(range);
      },
      commit: (commit) => {
        this.#count("commit", [""]);
        return store.commit(commit);
      },
      close: () => store.close(),
    };
  }

  of(what: string): number {
    return this.reads.get(what) ?? 0;
  }

  async #get(store: Store, key: StoreKey) {
    this.#count("get", key);
    if (key[0] !== "snap") return await store.get(key);
    this.#now += 1;
    this.snapshotsAtOnce = Math.max(this.snapshotsAtOnce, this.#now);
    await Promise.resolve();
    const row = await store.get(key);
    this.#now -= 1;
    return row;
  }

  #count(what: string, [kind]: StoreKey): void {
    const name = `${what} ${String(kind)}`.trim();
    this.reads.set(name, (this.reads.get(name) ?? 0) + 1);
  }
}

const call = { calls: [{ tool: "wait" }] };

function options(isStuck: boolean): StageOptions {
  return {
    answers: [call, { text: "Done" }],
    tools: [{ name: "wait", work: () => isStuck ? new Promise(() => {}) : Promise.resolve("done") }],
  };
}

/** A store with so many sessions: at rest, or each with a call under way. */
async function leave(sessions: number, isOpen: boolean): Promise<MemoryDisk> {
  const stage = await openStage(options(isOpen));
  for (let n = 0; n < sessions; n++) {
    const session = await stage.session();
    const { report, accepted } = await settled(stage.world, stage.runtime.prompt(session, "go"));
    report.catch(() => {});
    await settled(stage.world, accepted());
    if (!isOpen) await settled(stage.world, report);
  }
  await settled(stage.world, stage.runtime.rest());
  stage.crash();
  return stage.disk;
}

async function start(disk: MemoryDisk, counter: Counter): Promise<Stage> {
  const store = counter.around(disk.open({}));
  return await openStage({ ...options(false), disk, world: createWorld(2), runtime: { store } });
}

Deno.test("start reads no more for many sessions at rest than for few (K19)", async () => {
  const found: (readonly (readonly [string, number])[])[] = [];
  for (const sessions of [2, 20]) {
    const counter = new Counter();
    const stage = await start(await leave(sessions, false), counter);
    assert.equal(stage.runtime.listRoots().length, 2 * sessions + 1);
    found.push([...counter.reads]);
  }
  assert.deepEqual(found[0], found[1]);
  const reads = (found[0] ?? []).filter(([name]) => /log|snap|head|recover/.test(name));
  assert.deepEqual(reads, []);
});

Deno.test("start brings up open sessions a bounded number at once, and reads for each the same few rows (K19)", async () => {
  const sessions = limits.wakesAtOnceMax + 8;
  const counter = new Counter();
  const stage = await start(await leave(sessions, true), counter);
  assert.equal(stage.runtime.recovery.open, sessions);
  assert.equal(counter.of("get snap"), sessions);
  assert.equal(counter.snapshotsAtOnce, limits.wakesAtOnceMax);
  assert.deepEqual([counter.of("list recover"), counter.of("get recover")], [1, 0]);
  assert.ok(counter.of("list log") <= 3 * sessions, `${counter.of("list log")} reads of streams`);
  assert.ok(counter.of("get head") <= 2 * sessions, `${counter.of("get head")} reads of heads`);
});

Deno.test("start asks nothing again before every open session is up, and the counts of attempts take one unit (K15, K19)", async () => {
  const sessions = 12;
  const disk = await leave(sessions, true);
  const handle = disk.open({});
  const world = createWorld(3);
  const { clock } = world.seams;
  let begun = 0;
  let begunBefore = -1;
  let read = 0;
  const store: Store = {
    get: async (key) => {
      // The last one takes a second to be read: time enough for the others to begin, if they may.
      if (key[0] === "snap" && ++read === sessions) {
        await clock.sleepUntil(clock.now() + 1_000);
        begunBefore = begun;
      }
      return await handle.get(key);
    },
    list: (range) => handle.list(range),
    commit: (commit) => handle.commit(commit),
    close: () => handle.close(),
  };
  const tools = [{ name: "wait", work: () => Promise.resolve(String(++begun)) }];
  const opening = openStage({ ...options(false), tools, disk, world, runtime: { store } });
  await world.advance(1_000);
  const stage = await opening;
  assert.equal(begunBefore, 0);
  while (begun < sessions) await world.advance(limits.reaskJitterMs);
  await settled(world, stage.runtime.rest());
  const rows = handle.commits.map(({ sets, deletes }) => [
    sets.filter(({ key }) => key[0] === "recover").length,
    deletes.filter(([kind]) => kind === "recover").length,
  ]).filter(([counted, cleared]) => counted !== 0 || cleared !== 0);
  assert.deepEqual(rows, [[sessions, 0], [0, sessions]]);
});

Deno.test("a blob that many sessions name is read once while they wake together (K19)", async () => {
  const held = Promise.withResolvers<Uint8Array>();
  const read: string[] = [];
  const journal = {
    readBlob: (digest: string) => {
      read.push(digest);
      return held.promise;
    },
  };
  const all = Promise.all(Array.from({ length: 5 }, () => loadShelved(journal, "sha256:none")));
  held.resolve(new TextEncoder().encode("{}"));
  await all;
  assert.deepEqual(read, ["sha256:none"]);
  // What could not be read is asked for again.
  const broken = { readBlob: () => Promise.reject(new Error(`read ${read.push("again")}`)) };
  await assert.rejects(loadShelved(broken, "sha256:none"));
  await assert.rejects(loadShelved(broken, "sha256:none"));
  assert.equal(read.length, 3);
});
