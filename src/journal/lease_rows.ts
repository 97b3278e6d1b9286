/** Leases in the store: who holds a root, how one is claimed and renewed, and what a late report is answered (CM-120, CM-121). */
import type { RootAddress } from "../../schemas/ids.ts";
import { type Beat, holderOf, judgeBeat, Lease, Owner } from "../../schemas/lease.ts";
import { keys, prefixes } from "./keys.ts";
import { type Commit, type Row, type Store, StoreError, type StoreKey } from "./store.ts";

/** What the store says of one root. */
export interface Standing {
  readonly root: RootAddress;
  readonly owner: Owner | undefined;
  readonly lease: Lease | undefined;
  /** Of the two rows; null for one that is not there. */
  readonly ownerStamp: string | null;
  readonly leaseStamp: string | null;
}

/** A report for one root, and until when it holds. */
export interface LeaseReport extends Beat {
  readonly root: RootAddress;
  readonly until: number;
  readonly timeoutMs: number;
  readonly holder: string;
}

/** Reads who owns and who holds a root. A row that cannot be understood throws `store_corrupt`. */
export async function readStanding(store: Store, root: RootAddress): Promise<Standing> {
  const [owner, lease] = await Promise.all([store.get(keys.owner(root)), store.get(keys.lease(root))]);
  return {
    root,
    owner: parsed(Owner, owner),
    lease: parsed(Lease, lease),
    ownerStamp: owner?.versionstamp ?? null,
    leaseStamp: lease?.versionstamp ?? null,
  };
}

function parsed<T>(
  schema: { safeParse(value: unknown): { success: boolean; data?: T } },
  row: Row | null,
): T | undefined {
  if (row === null) return undefined;
  const { success, data } = schema.safeParse(row.value);
  if (success && data !== undefined) return data;
  throw new StoreError("store_corrupt", `Cannot read row "${row.key.join("/")}": run troupe doctor`);
}

/** The row `lease/<root>` of a report. */
export function leaseRow({ root, runtime, epoch, beat, until, timeoutMs, holder }: LeaseReport) {
  const value: Lease = { runtime, epoch, beat, until, timeoutMs, holder };
  return { key: keys.lease(root), value };
}

/** Commits; true, false, or undefined if it is not known what became of it. */
async function attempt(store: Store, commit: Commit): Promise<string | false | undefined> {
  try {
    const result = await store.commit(commit);
    return result.ok ? result.versionstamp : false;
  } catch (error) {
    // Nothing that a second look could change.
    if (error instanceof StoreError && error.code === "store_unusable") throw error;
    return undefined;
  }
}

/**
 * Takes roots that nobody holds, all or none: the next epoch of each, in one commit that fails if anything was changed
 * since it was looked at. Returns the versionstamp; undefined if somebody was faster.
 */
export async function claimRoots(
  store: Store,
  standings: readonly Standing[],
  reports: readonly LeaseReport[],
): Promise<string | undefined> {
  const written = await attempt(store, {
    checks: standings.flatMap(({ root, ownerStamp, leaseStamp }) => [
      { key: keys.owner(root), versionstamp: ownerStamp },
      { key: keys.lease(root), versionstamp: leaseStamp },
    ]),
    sets: reports.flatMap((report) => [
      { key: keys.owner(report.root), value: { epoch: report.epoch, runtime: report.runtime } },
      leaseRow(report),
    ]),
    deletes: [],
  });
  if (typeof written === "string") return written;
  // Refused or unknown: a client that asked again by itself is refused by its own first try, so the rows decide.
  const [first] = reports;
  if (first === undefined) return undefined;
  const { owner, ownerStamp } = await readStanding(store, first.root);
  const isOurs = owner?.runtime === first.runtime && owner.epoch === first.epoch;
  return isOurs ? ownerStamp ?? undefined : undefined;
}

/** A heartbeat for one root, and the rows that it follows. */
export interface Heartbeat extends LeaseReport {
  readonly ownerStamp: string;
  /** Of the heartbeat before: one that comes late changes nothing. */
  readonly leaseStamp: string | null;
}

/** How heartbeats were taken. */
export interface Heard {
  readonly renewed: readonly {
    readonly root: RootAddress;
    readonly until: number;
    readonly leaseStamp: string;
  }[];
  /** Taken over by another runtime, or heard of later ones already: the report was stale, and changed nothing. */
  readonly lost: readonly RootAddress[];
}

/** Times that a heartbeat is sent before the next one is left to set it right. */
const beatTriesMax = 3;

/**
 * Renews leases in one commit, which no root that was taken over lets pass. The same report again is answered in the same
 * way, and writes nothing (CM-121).
 */
export async function renewLeases(
  store: Store,
  beats: readonly Heartbeat[],
  tries = beatTriesMax,
): Promise<Heard> {
  const written = await attempt(store, {
    checks: beats.flatMap(({ root, ownerStamp, leaseStamp }) => [
      { key: keys.owner(root), versionstamp: ownerStamp },
      { key: keys.lease(root), versionstamp: leaseStamp },
    ]),
    sets: beats.map(leaseRow),
    deletes: [],
  });
  if (typeof written === "string") {
    return { renewed: beats.map(({ root, until }) => ({ root, until, leaseStamp: written })), lost: [] };
  }
  const renewed: Heard["renewed"][number][] = [];
  const lost: RootAddress[] = [];
  const again: Heartbeat[] = [];
  for (const beat of beats) {
    const standing = await readStanding(store, beat.root);
    const { lease, leaseStamp } = standing;
    const judged = judgeBeat(beat, standing);
    if (judged === "stale") lost.push(beat.root);
    else if (judged === "renews") again.push({ ...beat, leaseStamp });
    else if (lease !== undefined && leaseStamp !== null) {
      renewed.push({ root: beat.root, until: lease.until, leaseStamp });
    }
  }
  // What is left could be renewed: the store did not answer, or one of the others kept it back.
  if (again.length === 0 || tries === 1) return { renewed, lost };
  const rest = await renewLeases(store, again, tries - 1);
  return { renewed: [...renewed, ...rest.renewed], lost: [...lost, ...rest.lost] };
}

/** Renews one lease. A stale report throws `lease_lost`, naming who has the root now. */
export async function renewLease(store: Store, beat: Heartbeat): Promise<Lease> {
  const { lost } = await renewLeases(store, [beat]);
  const { owner, lease } = await readStanding(store, beat.root);
  if (lost.length === 0 && lease !== undefined) return lease;
  const who = `${owner?.runtime ?? "nobody"} owns it since epoch ${owner?.epoch ?? 0}`;
  throw new StoreError("lease_lost", `Cannot renew the lease of ${beat.root}: ${who}`);
}

/** Frees roots: their leases are taken away, unless they are another runtime's by now. */
export async function freeRoots(
  store: Store,
  roots: readonly { readonly root: RootAddress; readonly ownerStamp: string }[],
): Promise<void> {
  await attempt(store, {
    checks: roots.map(({ root, ownerStamp }) => ({ key: keys.owner(root), versionstamp: ownerStamp })),
    sets: [],
    deletes: roots.map(({ root }) => keys.lease(root)),
  });
}

/** True if a runtime holds any root of the store at this time. */
export async function holdsAny(store: Store, runtime: string, nowMs: number): Promise<boolean> {
  for await (const { value } of store.list({ prefix: prefixes.leases })) {
    const lease = Lease.safeParse(value).data;
    if (lease?.runtime === runtime && lease.until > nowMs) return true;
  }
  return false;
}

/** Lines of runtimes that wrote nothing since. */
export async function linesBefore(store: Store, sinceMs: number) {
  const lines: { readonly key: StoreKey; readonly runtime: string; readonly versionstamp: string }[] = [];
  for await (const { key, value, versionstamp } of store.list({ prefix: prefixes.writers })) {
    const { at } = value as { readonly at?: number };
    if (at !== undefined && at < sinceMs) lines.push({ key, runtime: String(key[1]), versionstamp });
  }
  return lines;
}

/** Somebody who holds a root of the store at this time, in words; undefined if nobody does. */
export async function firstHolder(store: Store, nowMs: number): Promise<string | undefined> {
  for await (const { value } of store.list({ prefix: prefixes.leases })) {
    const lease = Lease.safeParse(value).data;
    if (lease !== undefined && lease.until > nowMs) return lease.holder === "" ? lease.runtime : lease.holder;
  }
  return undefined;
}

/** Who holds a root at this time, if anybody does. */
export function heldBy({ owner, lease }: Standing, nowMs: number): Lease | undefined {
  return holderOf(owner, lease, nowMs);
}
