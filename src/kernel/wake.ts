/** Wakes a sleeping root: snapshot, tail, checks, then the open intents (K20, K22). */
import { migrateState } from "../../actors/migrate.ts";
import type { CheckpointBody, CreatedBody, Entry } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import { shelvedHashIn } from "../journal/named_blobs.ts";
import { StoreError } from "../journal/store.ts";
import { CrankReader, type Divergence, feed, feedCheckpoint, noteAttempt } from "./feed.ts";
import { holdMet, letGo } from "./hold.ts";
import type { Kernel } from "./kernel.ts";
import { LiveRoot } from "./live_root.ts";
import { quarantine } from "./poison.ts";
import { schedule } from "./pump.ts";
import { makeReady, unclaim } from "./route.ts";
import { takeOver } from "./take_over.ts";
import { moveToThisCode, OtherCodeError } from "./upgrade.ts";

/** Wakes a root unless it is being woken. Its mail waits in `parked`. */
export function wake(kernel: Kernel, address: RootAddress): void {
  if (kernel.waking.has(address) || kernel.roots.has(address)) return;
  const { ownership } = kernel.journal;
  const epoch = ownership.epochOf(address);
  kernel.waking.line(address, () =>
    bringUp(kernel, address).then(
      (root) => {
        const isFresh = isStill(kernel, address, epoch);
        if (isFresh && root !== undefined) settleIn(kernel, root);
        // What came for nobody meanwhile found it being woken, and would wait for ever.
        if (isFresh && root === undefined) dropMail(kernel, address);
        kernel.waking.delete(address);
        if (!isFresh) wakeAnew(kernel, address, root);
      },
      async (error) => {
        // What another runtime wrote meanwhile looks like damage: the store says whether the root is still ours.
        const isOurs = ownership.isShared ? await ownership.confirm(address).catch(() => false) : true;
        kernel.waking.delete(address);
        if (!isOurs || !isStill(kernel, address, epoch)) return wakeAnew(kernel, address);
        failToWake(kernel, address, error);
      },
    ));
}

/** True if a root that was read is ours, as it was when the reading began: another owner may have written in between. */
export function isStill({ journal: { ownership } }: Kernel, address: RootAddress, epoch: number): boolean {
  return ownership.isOurs(address) && ownership.epochOf(address) === epoch;
}

/** What was read is too old. A root that is ours again is read once more; for another's nothing is to be done here. */
function wakeAnew(kernel: Kernel, address: RootAddress, stale?: LiveRoot): void {
  if (stale !== undefined) letGo(stale);
  if (kernel.stopped === undefined && kernel.journal.ownership.isOurs(address)) wake(kernel, address);
}

/** A root that was woken takes its parked mail. */
function settleIn(kernel: Kernel, root: LiveRoot): void {
  if (kernel.stopped !== undefined) return;
  kernel.roots.set(root.address, root);
  takeOver(kernel, root);
  root.mailbox.push(...(kernel.parked.get(root.address) ?? []));
  kernel.parked.delete(root.address);
  makeReady(kernel, root);
}

/** A root that could not be brought up is out of service: for good, or until this runtime ends. */
export function failToWake(kernel: Kernel, address: RootAddress, error: unknown): void {
  if (kernel.stopped !== undefined) return;
  const reason = error instanceof Error ? error.message : String(error);
  // What the stream itself says lasts; what a store that cannot be read or other code says may be over tomorrow.
  quarantine(kernel, address, reason, error instanceof StoreError && error.code === "journal_corrupt");
}

/** Brings a root to where its stream ends. Undefined if there is no such root, or it is quarantined. */
export async function bringUp(kernel: Kernel, address: RootAddress): Promise<LiveRoot | undefined> {
  const record = kernel.records.get(address);
  const kind = rootKindOf(address);
  if (record === undefined || kind === undefined || record.status === "quarantined") {
    dropMail(kernel, address);
    return undefined;
  }
  const fresh = () => new LiveRoot(address, kind, kernel.machines[kind], kernel.desk);
  const { root, code, met } = await load(kernel, fresh);
  root.snapshotSeq = root.seq;
  root.hasOpenRow = [...root.ports.values()].some((port) => port.request.port !== "timer.set");
  // The observer may have heard of entries already; a woken root's conversation is read from the journal on demand.
  if (code !== kernel.code) moveToThisCode(kernel, root, code);
  holdMet(root, met);
  return root;
}

/** Mail that nobody takes. That of a root out of service stays in the store; that to nobody at all is forgotten. */
function dropMail(kernel: Kernel, address: RootAddress): void {
  const lost = kernel.parked.get(address) ?? [];
  kernel.parked.delete(address);
  if (lost.length === 0) return;
  const detail = { root: address, messages: lost.length };
  kernel.seams.log({ level: "warning", event: "mail_undeliverable", detail });
  if (kernel.records.has(address)) return;
  // No start may find these rows again: they would be brought, and dropped, for ever (K19).
  const letters = lost.flatMap((mail) =>
    mail.kind === "input" && mail.inbox !== undefined ? [mail.inbox] : []
  );
  kernel.journal.writer.push({ root: address, entries: [], sets: [], deletes: letters }, () => {
    for (const key of letters) unclaim(kernel, key);
    schedule(kernel);
  });
}

interface Loaded {
  readonly root: LiveRoot;
  /** Code that wrote the stretch which the root was rebuilt from. */
  readonly code: string;
  /** Catalogs that it met on the way. */
  readonly met: Set<string>;
}

/** From the snapshot if it fits, otherwise from the last checkpoint or the beginning: the stream is the truth (K20). */
async function load(kernel: Kernel, fresh: () => LiveRoot): Promise<Loaded> {
  const { address } = fresh();
  const snapshot = await kernel.journal.readSnapshot(address);
  const tail = snapshot === undefined ? [] : await entriesOf(kernel, address, snapshot.seq + 1);
  // A checkpoint behind a snapshot is truth, not cache, and says under which code the root goes on (K21).
  if (snapshot !== undefined && !tail.some((entry) => entry.kind === "checkpoint")) {
    const root = fresh();
    const met = await loadAllShelved(kernel, snapshot.text);
    const format = kernel.stateFormats[root.kind];
    const record = root.restore(migrateState(JSON.parse(snapshot.text), snapshot.stateVersion, format));
    root.seq = snapshot.seq;
    for (const [id, attempt] of Object.entries(snapshot.attempts ?? {})) root.attempts.set(id, attempt);
    if (record.fault === undefined && hasShape(root, snapshot)) {
      const loaded = { root, code: snapshot.code, met };
      await feedEntries(kernel, loaded, tail);
      return loaded;
    }
    kernel.seams.log({
      level: "warning",
      event: "snapshot_unfit",
      detail: { root: address, seq: snapshot.seq },
    });
  }
  return await loadFromStream(kernel, fresh());
}

function hasShape(
  root: LiveRoot,
  stored: { readonly status: string; readonly children: number; readonly open: readonly string[] },
): boolean {
  const shape = root.shape();
  return shape.status === stored.status && shape.children === stored.children &&
    [...shape.open].sort().join() === [...stored.open].sort().join();
}

async function loadFromStream(kernel: Kernel, root: LiveRoot): Promise<Loaded> {
  const entries = await entriesOf(kernel, root.address);
  const last = entries.findLastIndex((entry) => entry.kind === "checkpoint");
  const checkpoint = entries[last];
  const start = checkpoint === undefined ? entries : entries.slice(last + 1);
  const code = codeOf(checkpoint ?? entries[0]);
  const loaded: Loaded = { root, code, met: new Set() };
  if (checkpoint !== undefined) {
    for (const hash of await loadAllShelved(kernel, JSON.stringify(checkpoint.body))) loaded.met.add(hash);
    refuse(kernel, loaded, feedCheckpoint(root, checkpoint, kernel.stateFormats));
    for (const entry of entries.slice(0, last)) noteAttempt(root, entry);
  }
  await feedEntries(kernel, loaded, start);
  return loaded;
}

function codeOf(entry: Entry | undefined): string {
  return (entry?.body as unknown as CreatedBody | CheckpointBody | undefined)?.code ?? "";
}

async function entriesOf(kernel: Kernel, address: RootAddress, fromSeq?: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const page of kernel.journal.readPages(address, fromSeq)) entries.push(...page);
  return entries;
}

async function feedEntries(kernel: Kernel, loaded: Loaded, entries: readonly Entry[]): Promise<void> {
  const { root } = loaded;
  const known = kernel.messageTypes?.[root.kind] ?? null;
  const cranks = new CrankReader();
  for (const entry of entries) {
    // Before a machine looks it up.
    const hash = shelvedHashIn(entry);
    if (hash !== undefined) {
      await kernel.loadShelved(hash);
      loaded.met.add(hash);
    }
    const crank = cranks.take(entry);
    if (crank !== undefined) refuse(kernel, loaded, feed(root, crank, known));
  }
  const last = cranks.rest();
  if (last !== undefined) refuse(kernel, loaded, feed(root, last, known));
  const head = await kernel.journal.readHead(root.address);
  if (head.seq !== root.seq) {
    throw new StoreError(
      "journal_corrupt",
      `"${root.address}" ends at ${root.seq}, but its head says ${head.seq}`,
    );
  }
}

/** Any divergence in recovery quarantines the root: nothing is performed, nothing appended (K20). */
function refuse(kernel: Kernel, { root, code }: Loaded, divergence: Divergence | undefined): void {
  if (divergence === undefined) return;
  if (code !== kernel.code) {
    throw new OtherCodeError(root.address, code, `before entry ${divergence.seq}: ${divergence.what}`);
  }
  const { seq, what, expected, got } = divergence;
  throw new StoreError(
    "journal_corrupt",
    `"${root.address}" does not replay at ${seq}: ${what}; recorded ${short(expected)}, got ${short(got)}`,
  );
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Loads every catalog that a persisted state may name: a superset, since only hashes of real catalogs are found. */
async function loadAllShelved(kernel: Kernel, text: string): Promise<Set<string>> {
  const hashes = new Set(text.match(/sha256:[0-9a-f]{64}/g) ?? []);
  for (const hash of hashes) await kernel.loadShelved(hash);
  return hashes;
}
