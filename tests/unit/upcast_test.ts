/** Entries and states of earlier formats: their chain is checked as it stands, then pure steps make them ours. */
import assert from "node:assert/strict";
import { migrateState, type StateFormats, stateFormats } from "../../actors/migrate.ts";
import type { CheckpointBody, Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { createBlobLoader } from "../../src/fixture/fixture_blobs.ts";
import { readFixture } from "../../src/fixture/read_fixture.ts";
import { keys } from "../../src/journal/keys.ts";
import { digestLength, genesisHash, type JournalDamage } from "../../src/journal/packed_value.ts";
import type { Store } from "../../src/journal/store.ts";
import { readStream } from "../../src/journal/stream_reader.ts";
import { type EntryFormat, isKnownVersion, upcastEntry } from "../../src/journal/upcast.ts";
import { pagesOf, replayStream } from "../../src/stream_replay.ts";
import { digestOf } from "../support/fixtures.ts";
import { MemoryDisk } from "../support/memory_store.ts";
import { openPuppet, reopen } from "../support/puppet.ts";
import { digestNow } from "../support/world.ts";

/** A format that never was: it calls the time otherwise, has another word for intents, and wraps what prompts say. */
const format: EntryFormat = {
  version: 1,
  upcasters: {
    [-1]: ({ stamp, ...entry }) => ({ ...entry, time: stamp }),
    0: ({ time, kind, ...entry }) => ({ ...entry, at: time, kind: kind === "ask" ? "intent" : kind }),
  },
};

function aged({ at, kind, ...entry }: Entry): object {
  return { ...entry, v: -1, stamp: at, kind: kind === "intent" ? "ask" : kind };
}

const name = `${import.meta.dirname}/../golden/v1/questions`;

/** Writes a stream of values as an earlier release would have: `perValue` entries each, chained. */
async function writeOld(entries: readonly Entry[], root: string, perValue = 7): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  const store = disk.open({});
  const encoder = new TextEncoder();
  const start = '{"hash":"';
  let prev = genesisHash;
  const sets: { key: readonly (string | number)[]; value: unknown }[] = [];
  for (let at = 0; at < entries.length; at += perValue) {
    const part = entries.slice(at, at + perValue);
    const [first, last] = [at + 1, at + part.length];
    const place = `"v":-1,"root":${JSON.stringify(root)},"first":${first},"last":${last},"prev":"${prev}"}`;
    const lines = part.map((entry) => `${JSON.stringify(aged(entry))}\n`).join("");
    const bytes = encoder.encode(`${start}${genesisHash}",${place}\n${lines}`);
    prev = digestNow(bytes.subarray(start.length + digestLength));
    encoder.encodeInto(prev, bytes.subarray(start.length, start.length + digestLength));
    sets.push({ key: keys.log(root, first), value: bytes });
  }
  sets.push({ key: keys.head(root), value: { seq: entries.length, hash: prev } });
  await store.commit({ checks: [], sets: sets as never, deletes: [] });
  store.close();
  return disk;
}

async function readAll(store: Store, root: string, known?: EntryFormat): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for await (const page of readStream({ store, root, fromSeq: 1, digest: digestOf, format: known })) {
    found.push(...page);
  }
  return found;
}

Deno.test("entries of an earlier format are chain-checked as they stand, upcast where they are read, and replay", async () => {
  const { roots, blobs } = await readFixture(name, digestOf);
  for (const { root: { address }, entries } of roots) {
    const disk = await writeOld(entries, address);
    const read = await readAll(disk.open({}), address, format);
    assert.deepEqual(read, entries.map((entry) => ({ ...entry })));
    const report = await replayStream({
      address,
      pages: pagesOf(read),
      digest: digestOf,
      loadShelved: createBlobLoader(blobs),
      anyCode: true,
      acceptsState: () => true,
    });
    assert.deepEqual([report.divergence, report.entries], [undefined, entries.length]);
    // A bit that was flipped is found before anything is made of it.
    const altered = await writeOld(entries, address);
    altered.damage(keys.log(address, 1), (value) => {
      const bytes = new Uint8Array(value as Uint8Array);
      bytes[bytes.length - 9]! ^= 1;
      return bytes;
    });
    await assert.rejects(readAll(altered.open({}), address, format), (error: JournalDamage) => {
      return error.code === "journal_corrupt" && error.first === 1;
    });
    // What no step leads from is left alone, and said so.
    const refused = readAll(disk.open({}), address);
    await assert.rejects(refused, /the value has format -1, known is 1/);
  }
});

Deno.test("entries of a later format, or of one from which no step leads on, are not known", () => {
  assert.deepEqual([-2, -1, 0, 1, 2, "1"].map((v) => isKnownVersion(v, format)), [
    false,
    true,
    true,
    true,
    false,
    false,
  ]);
  assert.throws(() => upcastEntry({ v: -2 }, format), /no step leads on/);
  const entry = { v: -1, seq: 3, stamp: 5, kind: "ask" };
  const twice = [upcastEntry(entry, format), upcastEntry(entry, format)];
  assert.deepEqual(twice[0], { v: 1, seq: 3, at: 5, kind: "intent" });
  assert.deepEqual(twice[1], twice[0]);
  assert.deepEqual(entry, { v: -1, seq: 3, stamp: 5, kind: "ask" });
});

const [one, two, three] = ["1", "2", "3"].map((digit) => `sha256:${digit.repeat(64)}`) as [
  string,
  string,
  string,
];

/** States of a session whose memory of messages gets a mark from each step. */
function marking(version: number): StateFormats {
  const step = (n: number) => (state: Json) => {
    const { context, ...rest } = state as { context: { heard: Json[] } };
    return { ...rest, context: { ...context, heard: [...context.heard, { type: `step ${n}` }] } } as never;
  };
  const migrations = Object.fromEntries(
    Array.from({ length: version - 1 }, (_, index) => [index + 1, step(index + 1)]),
  );
  return { ...stateFormats, session: { version, migrations } };
}

Deno.test("state that an earlier release left is migrated by pure steps, once, and the checkpoint says its form (K21)", async () => {
  const before = await openPuppet({ code: one });
  await before.tell({ type: "puppet.act", acts: [], n: 1 });
  const after = await reopen(before, { code: two, runtime: { stateFormats: marking(3) } });
  await after.tell({ type: "puppet.act", acts: [], n: 2 });
  const heard = () => after.heard().map((line) => line["n"] ?? line.type);
  assert.deepEqual(heard(), [1, "step 1", "step 2", 2]);
  const checkpoint = (await after.entries()).find(({ kind }) => kind === "checkpoint");
  assert.equal((checkpoint?.body as unknown as CheckpointBody).stateVersion, 3);
  // The same release does not migrate again, from its snapshot or, where that is gone, from its checkpoint.
  let again = after;
  for (const isSnapshotGone of [false, true]) {
    if (isSnapshotGone) after.stage.disk.damage(keys.snapshot(after.root), () => undefined);
    again = await reopen(again, { code: two, runtime: { stateFormats: marking(3) } });
    await again.tell({ type: "puppet.nothing" });
    assert.deepEqual(again.heard().slice(0, 4).map((line) => line["n"] ?? line.type), heard());
  }
  // An earlier one leaves it alone: no step leads back.
  const lines = await again.lines();
  const earlier = await reopen(again, { code: three });
  await earlier.tell({ type: "puppet.nothing" }).catch(() => {}); // It is woken by this, and found out.
  await assert.rejects(earlier.tell({ type: "puppet.nothing" }), /a state of version 3 is not known here/i);
  assert.deepEqual(await earlier.lines(), lines);
});

Deno.test("state is taken as it is where its form is the known one, and refused where no step leads to it (K21)", () => {
  const formats = marking(3).session;
  const state = { context: { heard: [] } };
  assert.equal(migrateState(state, 3, formats), state);
  assert.deepEqual(migrateState(state, 2, formats), { context: { heard: [{ type: "step 2" }] } });
  assert.throws(() => migrateState(state, 4, formats), /version 4 is not known here, where version 3 is/);
  assert.throws(
    () => migrateState(state, undefined, { version: 2, migrations: {} }),
    /version 1 is not known/,
  );
});
