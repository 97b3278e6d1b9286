/** Roots of a shared store that nobody holds: claimed with all that belongs to them, and brought up (K17, GA-45). */
import type { RootAddress } from "../../schemas/ids.ts";
import { leaseLimits } from "../../schemas/lease_limits.ts";
import { rootKindOf } from "../../schemas/ids.ts";
import { sessionsAbove } from "../ancestors.ts";
import { heldBy } from "../journal/lease_rows.ts";
import type { RootOwnership } from "../journal/root_ownership.ts";
import { type Kernel, KernelError } from "./kernel.ts";
import { recoverRoots, type Recovery } from "./recover.ts";
import { sharedOwnership } from "./shared.ts";

/** Reads the records of all roots again where others make roots, too. What is ours is known better here. */
export async function refreshRecords(kernel: Kernel): Promise<void> {
  if (!kernel.journal.ownership.isShared) return;
  for await (const record of kernel.journal.listRoots()) {
    const { address } = record;
    if (!kernel.records.has(address) || !kernel.journal.ownership.isOurs(address)) {
      kernel.records.set(address, record);
    }
  }
}

/**
 * Makes sure that a root may be told something here: it is ours, or becomes ours because nobody holds it. Refuses with
 * `session_elsewhere`, naming who holds it and until when.
 */
export async function reach(kernel: Kernel, root: RootAddress): Promise<void> {
  const ownership = sharedOwnership(kernel);
  if (ownership === undefined || ownership.isOurs(root)) return;
  await refreshRecords(kernel);
  if (!kernel.records.has(root)) return; // Whoever asks says that there is none.
  const holder = await claimFamily(kernel, ownership, root);
  if (holder === undefined) return;
  const { holder: name, runtime, until } = holder;
  throw new KernelError(
    "session_elsewhere",
    `"${root}" is held by ${name === "" ? runtime : name}, at least until ${
      new Date(until).toISOString()
    }: ask there, or wait until its lease is over`,
  );
}

/** The roots that live and move together: a session with all that is its own, and its child agents with theirs. */
function familyOf({ records }: Kernel, root: RootAddress): readonly RootAddress[] {
  const top = sessionsAbove(records, root).at(-1);
  if (top === undefined) return [root];
  const members = [...records.keys()].filter((one) => sessionsAbove(records, one).at(-1) === top);
  // The session first: who gets it gets the others.
  return [top, ...members.filter((one) => one !== top)];
}

/** Claims a root with its family, and brings it up. Returns who holds it if somebody does. */
async function claimFamily(kernel: Kernel, ownership: RootOwnership, root: RootAddress) {
  const { ours, heldBy: holder } = await ownership.claim(familyOf(kernel, root));
  if (ours.length > 0) {
    const detail = { root, roots: ours.length, epoch: ownership.epochOf(ours[0] ?? root) };
    kernel.seams.log({ level: "info", event: "lease_taken", detail });
    // Whatever was read of them before is older than what their last owner wrote.
    kernel.journal.writer.forsake(ours);
    for (const one of ours) {
      kernel.observer.forget(one);
      await renewRecord(kernel, one);
    }
    const taken = new Set(ours);
    await recoverRoots(kernel, (one) => taken.has(one));
  }
  return ownership.isOurs(root) ? undefined : holder ?? unknownHolder(kernel);
}

function unknownHolder({ seams: { clock } }: Kernel) {
  return { runtime: "another runtime", holder: "", until: clock.now() + leaseLimits.leaseMs };
}

async function renewRecord(kernel: Kernel, root: RootAddress): Promise<void> {
  const record = await kernel.journal.readRoot(root);
  if (record !== undefined) kernel.records.set(root, record);
}

/** Roots with something to do that are not ours: open intents, letters, timers that are due. */
async function rootsWithWork(kernel: Kernel, holdsSchedules: boolean): Promise<ReadonlySet<RootAddress>> {
  const { journal, seams: { clock } } = kernel;
  const found = new Set<RootAddress>();
  const note = (root: RootAddress) => {
    if (!journal.ownership.isOurs(root)) found.add(root);
  };
  for await (const { root } of journal.listOpen()) note(root);
  for await (const { to } of journal.listInbox()) note(to);
  for await (const { root } of journal.listDue(clock.now())) {
    // A runtime in which no schedule becomes due leaves them to others.
    if (!holdsSchedules || rootKindOf(root) !== "schedule") note(root);
  }
  return found;
}

/** What a look for abandoned roots found. */
export interface Look {
  readonly families: number;
  readonly roots: number;
}

/**
 * Takes over what has something to do and is held by nobody: at most 100 roots at a time, and whole families (GA-45).
 * Letters to a root that does not exist are forgotten, as where one runtime has the store.
 */
export async function takeAbandoned(kernel: Kernel, holdsSchedules: boolean): Promise<Look> {
  const ownership = sharedOwnership(kernel);
  const look = { families: 0, roots: 0 };
  if (ownership === undefined) return look;
  const wanted = await rootsWithWork(kernel, holdsSchedules);
  let isFresh = false;
  for (const root of wanted) {
    if (look.roots >= leaseLimits.leaseScanRootsMax || kernel.stopped !== undefined) break;
    if (ownership.isOurs(root)) continue;
    if (heldBy(await ownership.standing(root), kernel.seams.clock.now()) !== undefined) continue;
    if (!isFresh) await refreshRecords(kernel);
    isFresh = true;
    if (!kernel.records.has(root)) {
      await forgetLetters(kernel, root);
      continue;
    }
    const before = ownership.owned.length;
    await claimFamily(kernel, ownership, root);
    const taken = ownership.owned.length - before;
    if (taken > 0) look.families += 1;
    look.roots += taken;
  }
  return look;
}

/** No look may find these rows again. Their deletion is a unit of our own supervisor: their root is nobody's. */
async function forgetLetters(kernel: Kernel, to: RootAddress): Promise<void> {
  const { journal, supervisor, seams } = kernel;
  const deletes = [];
  for await (const { key } of journal.listInbox(to)) deletes.push(key);
  if (supervisor === undefined || deletes.length === 0) return;
  const detail = { root: to, messages: deletes.length };
  seams.log({ level: "warning", event: "mail_undeliverable", detail });
  journal.writer.push({ root: supervisor, entries: [], sets: [], deletes });
}

/** Takes a supervisor that nobody has; undefined if each is held by a runtime that lives. */
export async function takeSupervisor(kernel: Kernel): Promise<RootAddress | undefined> {
  const ownership = sharedOwnership(kernel);
  const known = [...kernel.records.values()].filter(({ kind, status }) =>
    kind === "supervisor" && status === "active"
  );
  for (const { address } of known) {
    if (ownership === undefined) return address;
    if (await claimFamily(kernel, ownership, address) === undefined) return address;
  }
  return undefined;
}

/** Recovery of a runtime that joins others: whatever nobody holds. */
export async function recoverAbandoned(kernel: Kernel, holdsSchedules: boolean): Promise<Recovery> {
  let open = 0;
  for (let look = await takeAbandoned(kernel, holdsSchedules); look.roots > 0;) {
    open += look.roots;
    look = await takeAbandoned(kernel, holdsSchedules);
  }
  return { open, letters: 0, timers: 0, quarantined: 0 };
}
