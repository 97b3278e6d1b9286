/** Leases of roots: one holder at a time, heartbeats with an id, and what a late one is answered. */
import assert from "node:assert/strict";
import { statusOf } from "../../schemas/failure_status.ts";
import { leaseLimits } from "../../schemas/lease_limits.ts";
import { claimRoots, type Heartbeat, readStanding, renewLease } from "../../src/journal/lease_rows.ts";
import { openJournal } from "../../src/journal/journal.ts";
import { RootOwnership } from "../../src/journal/root_ownership.ts";
import { StoreError } from "../../src/journal/store.ts";
import { type Fault, MemoryDisk } from "../support/memory_store.ts";
import { collect, entryAt, root, rootNamed, unitOf } from "../support/units.ts";
import { createWorld, type World } from "../support/world.ts";

const leaseMs = leaseLimits.leaseMs;

async function member(
  { disk, world, name }: { readonly disk: MemoryDisk; readonly world: World; readonly name: string },
  faults?: (n: number) => Fault | undefined,
) {
  const store = disk.open(faults === undefined ? {} : { faults });
  const journal = await openJournal({ store, seams: world.seams, lingerMs: 0, sharing: { holder: name } });
  const { ownership } = journal;
  assert.ok(ownership instanceof RootOwnership);
  return { store, journal, ownership };
}

async function pair(faults?: (n: number) => Fault | undefined) {
  const [disk, world] = [new MemoryDisk(), createWorld()];
  const first = await member({ disk, world, name: "first" }, faults);
  const second = await member({ disk, world, name: "second" });
  return { disk, world, first, second };
}

async function refusalOf(work: Promise<unknown>): Promise<StoreError> {
  const error = await work.then(() => undefined, (error) => error);
  assert.ok(error instanceof StoreError, String(error));
  return error;
}

/** Makes a root in a journal; it is durable when this returns. */
async function born(
  { journal, ownership }: Awaited<ReturnType<typeof member>>,
  address = root,
): Promise<void> {
  ownership.bear(address);
  journal.writer.push(unitOf([entryAt(1)], { root: address }));
  await journal.writer.idle();
}

Deno.test("lease carries its holder and its time-out, 30 s, and no other runtime gets it before its end (CM-120)", async () => {
  const { disk, world, first, second } = await pair();
  await born(first);
  const lease = disk.get(["lease", root])?.value as Record<string, unknown>;
  assert.deepEqual(
    [lease["holder"], lease["runtime"], lease["timeoutMs"], lease["until"]],
    ["first", first.ownership.runtime, 30_000, world.now() + 30_000],
  );
  await world.advance(leaseMs - 1);
  const refused = await second.ownership.claim([root]);
  assert.deepEqual([refused.ours, refused.heldBy?.holder], [[], "first"]);
  await world.advance(1);
  assert.deepEqual((await second.ownership.claim([root])).ours, [root]);
  assert.deepEqual([second.ownership.epochOf(root), first.ownership.epochOf(root)], [2, 1]);
});

Deno.test("stale heartbeat restores nothing: the root is lost, the others are renewed (CM-120, GA-45)", async () => {
  const { disk, world, first, second } = await pair();
  const other = rootNamed(2);
  await born(first);
  await born(first, other);
  const lost: string[] = [];
  first.ownership.onLost = (roots) => lost.push(...roots);
  await world.advance(leaseMs);
  assert.deepEqual((await second.ownership.claim([root])).ours, [root]);
  const before = [disk.get(["owner", root]), disk.get(["lease", root])];
  await first.ownership.beat();
  assert.deepEqual(lost, [root]);
  assert.deepEqual([disk.get(["owner", root]), disk.get(["lease", root])], before, "it changed something");
  assert.deepEqual([first.ownership.isOurs(root), first.ownership.isOurs(other)], [false, true]);
  assert.equal((disk.get(["lease", other])?.value as { until: number }).until, world.now() + leaseMs);
});

Deno.test("heartbeat every 10 s keeps a lease of 30 s through two that are missed, and epochs rise with each owner (GA-45)", async () => {
  const { world, first, second } = await pair();
  await born(first);
  assert.deepEqual(
    [leaseLimits.leaseMs, leaseLimits.leaseBeatMs, leaseLimits.leaseScanMs, leaseLimits.leaseScanRootsMax],
    [30_000, 10_000, 5_000, 100],
  );
  for (let beats = 0; beats < 4; beats++) {
    await world.advance(3 * leaseLimits.leaseBeatMs - 1);
    assert.deepEqual((await second.ownership.claim([root])).ours, []);
    await first.ownership.beat();
  }
  for (let epoch = 2; epoch < 6; epoch++) {
    const [taker, loser] = epoch % 2 === 0 ? [second, first] : [first, second];
    await world.advance(leaseMs);
    assert.deepEqual((await taker.ownership.claim([root])).ours, [root]);
    assert.equal(taker.ownership.epochOf(root), epoch);
    await loser.ownership.beat();
    assert.equal(loser.ownership.isOurs(root), false);
  }
});

Deno.test("heartbeat that was heard is a repeat with the same id, and a stale one is a conflict, 409 (CM-121)", async () => {
  const { disk, world, first, second } = await pair();
  await born(first);
  await first.ownership.beat();
  const store = disk.open();
  const { lease, ownerStamp, leaseStamp } = await readStanding(store, root);
  assert.ok(lease !== undefined && ownerStamp !== null);
  const beat = lease.beat + 1;
  const report: Heartbeat = { ...lease, root, beat, until: lease.until + 5_000, ownerStamp, leaseStamp };
  const heard = await renewLease(store, report);
  assert.equal(heard.until, report.until);
  // The answer was lost, so the same report comes again, with whatever else it may say.
  const before = disk.get(["lease", root]);
  assert.deepEqual(await renewLease(store, { ...report, until: report.until + 1 }), heard);
  // One that was sent before it comes late.
  const late = await refusalOf(renewLease(store, { ...report, beat: beat - 1 }));
  assert.deepEqual([late.code, statusOf(late.code)], ["lease_lost", 409]);
  assert.deepEqual(disk.get(["lease", root]), before, "a repeat, or a late one, wrote something");
  await world.advance(2 * leaseMs);
  await second.ownership.claim([root]);
  const taken = [disk.get(["owner", root]), disk.get(["lease", root])];
  const stale = await refusalOf(renewLease(store, { ...report, beat: beat + 1 }));
  assert.deepEqual([stale.code, statusOf(stale.code)], ["lease_lost", 409]);
  assert.deepEqual(
    [disk.get(["owner", root]), disk.get(["lease", root])],
    taken,
    "a stale one wrote something",
  );
});

Deno.test("claim whose answer was lost is known by what the store says (K16, K17)", async () => {
  for (const fault of ["throw_after", "throw_before"] as const) {
    const { disk, world, first } = await pair();
    await born(first);
    await world.advance(leaseMs);
    const store = disk.open({ faults: () => fault });
    const standing = await readStanding(store, root);
    const report = {
      root,
      runtime: "other",
      epoch: 2,
      beat: 0,
      until: world.now() + leaseMs,
      timeoutMs: leaseMs,
      holder: "",
    };
    const stamp = await claimRoots(store, [standing], [report]);
    assert.equal(stamp !== undefined, fault === "throw_after");
    assert.equal(
      (disk.get(["owner", root])?.value as { epoch: number }).epoch,
      fault === "throw_after" ? 2 : 1,
    );
  }
});

Deno.test("writer leaves out what another runtime has taken over, writes the rest, and goes on (K17)", async () => {
  const { disk, world, first, second } = await pair();
  const other = rootNamed(2);
  await born(first);
  await born(first, other);
  await world.advance(leaseMs);
  await second.ownership.claim([root]);
  second.journal.writer.push(unitOf([entryAt(2, { epoch: 2 })]));
  await second.journal.writer.idle();
  const told: string[] = [];
  first.journal.writer.push(unitOf([entryAt(2)]), () => told.push("lost"));
  first.journal.writer.push(unitOf([entryAt(2)], { root: other }), () => told.push("kept"));
  await first.journal.writer.idle();
  first.journal.writer.push(unitOf([entryAt(3)]), () => told.push("lost"));
  first.journal.writer.push(unitOf([entryAt(3)], { root: other }), () => told.push("kept"));
  await first.journal.writer.idle();
  assert.deepEqual(told, ["kept", "kept"]);
  assert.deepEqual([first.journal.writer.state, first.journal.writer.unwritten], ["ok", 0]);
  const third = await member({ disk, world, name: "third" });
  const epochs = (await collect(third.journal.readEntries(root))).map(({ epoch }) => epoch);
  assert.deepEqual(epochs, [1, 2]);
  assert.equal((await collect(third.journal.readEntries(other))).length, 3);
});

Deno.test("writer puts at most 99 checks of roots into one commit (K17)", async () => {
  const { first } = await pair();
  const { journal, ownership } = first;
  for (let n = 1; n <= 130; n++) {
    ownership.bear(rootNamed(n));
    journal.writer.push(unitOf([entryAt(1)], { root: rootNamed(n) }));
  }
  await journal.writer.idle();
  for (let n = 1; n <= 130; n++) journal.writer.push(unitOf([entryAt(2)], { root: rootNamed(n) }));
  await journal.writer.idle();
  const checks = first.store.commits.map((commit) => commit.checks.length);
  assert.equal(Math.max(...checks), 100, "99 roots and the line");
  await ownership.beat();
  assert.ok(first.store.commits.every((commit) => commit.checks.length <= 100));
});

Deno.test("runtime that ends in order leaves its roots free at once (K17)", async () => {
  const { disk, first, second } = await pair();
  await born(first);
  await first.journal.close();
  assert.deepEqual((await second.ownership.claim([root])).ours, [root]);
  assert.equal(disk.get(["writer", first.ownership.runtime]), null, "its line is left behind");
});

Deno.test("store that one runtime has alone gets no owners, no leases and no line but its own (K16, K17)", async () => {
  const [disk, world] = [new MemoryDisk(), createWorld()];
  const journal = await openJournal({ store: disk.open(), seams: world.seams, lingerMs: 0 });
  journal.writer.push(unitOf([entryAt(1)]));
  await journal.writer.idle();
  const kinds = new Set(disk.rows().map(({ key }) => key[0]));
  assert.deepEqual([...kinds].sort(), ["head", "log", "meta", "writer"]);
  assert.deepEqual(Object.keys(disk.get(["writer"])?.value as object).sort(), ["epoch", "group", "runtime"]);
});
