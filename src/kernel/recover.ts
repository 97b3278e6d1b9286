/** What a start does before anything runs: who was open, what was on its way, what is due (K19, K20). */
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import type { InputBody } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys, prefixes } from "../journal/keys.ts";
import type { PortRecord } from "./desk.ts";
import { openGate, start } from "./dispatch.ts";
import type { Kernel } from "./kernel.ts";
import { sharedOwnership } from "./shared.ts";
import { quarantine } from "./poison.ts";
import { schedule } from "./pump.ts";
import { bring, lookAtLetters } from "./route.ts";
import { wake } from "./wake.ts";

/** Roots whose attempts are counted by one unit. */
const rowsPerUnit = 100;

/** What a start found. */
export interface Recovery {
  readonly open: number;
  readonly letters: number;
  readonly timers: number;
  readonly quarantined: number;
}

/** Recovers everything that was open. Reads only `open`, `inbox` and `due` rows and the roots that they name (K19). */
export async function recover(kernel: Kernel): Promise<Recovery> {
  kernel.paused = true;
  for await (const record of kernel.journal.listRoots()) kernel.records.set(record.address, record);
  return await recoverRoots(kernel, (root) => kernel.journal.ownership.isOurs(root));
}

/** The same for some roots, which may have been taken over from another runtime in the middle of our own work (K17). */
export async function recoverRoots(
  kernel: Kernel,
  isMeant: (root: RootAddress) => boolean,
): Promise<Recovery> {
  const open: RootAddress[] = [];
  for await (const { root } of kernel.journal.listOpen()) if (isMeant(root)) open.push(root);
  const { admitted, quarantined } = await admit(kernel, open);
  for (const address of admitted) wake(kernel, address);
  await kernel.waking.untilNone(isMeant);
  const letters = await bringLetters(kernel, isMeant);
  const timers = await armTimers(kernel, isMeant);
  await kernel.waking.untilNone(isMeant);
  kernel.paused = false;
  openGate(kernel);
  schedule(kernel);
  clearAttempts(kernel, admitted);
  return { open: open.length, letters, timers, quarantined };
}

/** A root whose recovery killed the process three times is quarantined at the fourth start. The count is durable first. */
async function admit(
  kernel: Kernel,
  open: readonly RootAddress[],
): Promise<{ readonly admitted: RootAddress[]; readonly quarantined: number }> {
  if (open.length === 0) return { admitted: [], quarantined: 0 };
  const counts = await countAttempts(kernel);
  const attemptsOf = (address: RootAddress) => counts.get(address) ?? 0;
  const admitted = open.filter((address) => attemptsOf(address) < limits.recoveryAttemptsMax);
  for (const address of open) {
    if (attemptsOf(address) < limits.recoveryAttemptsMax) continue;
    quarantine(kernel, address, `Its recovery ended the process ${attemptsOf(address)} times`);
  }
  const by = sharedOwnership(kernel)?.runtime;
  for (const some of portionsOf(kernel, admitted)) {
    const sets = some.map((address) => ({
      key: keys.recover(address),
      value: { attempts: attemptsOf(address) + 1, ...(by === undefined ? {} : { by }) },
    }));
    kernel.journal.writer.push({ root: some[0] ?? "", entries: [], sets, deletes: [] });
  }
  kernel.journal.writer.urge();
  await kernel.journal.writer.idle();
  return { admitted, quarantined: open.length - admitted.length };
}

/** How often recoveries of roots ended a process. One that only lost the root to another runtime does not count. */
async function countAttempts(kernel: Kernel): Promise<ReadonlyMap<RootAddress, number>> {
  const counts = new Map<RootAddress, number>();
  const ownership = sharedOwnership(kernel);
  for await (const { key, value } of kernel.journal.listRows(prefixes.recovers)) {
    const { attempts = 0, by } = value as { readonly attempts?: number; readonly by?: string };
    const onlyLost = attempts > 0 && by !== undefined && await ownership?.lives(by) === true;
    counts.set(String(key[1]), onlyLost ? attempts - 1 : attempts);
  }
  return counts;
}

function clearAttempts(kernel: Kernel, admitted: readonly RootAddress[]): void {
  for (const some of portionsOf(kernel, admitted)) {
    const unit = {
      root: some[0] ?? "",
      entries: [],
      sets: [],
      deletes: some.map((address) => keys.recover(address)),
    };
    // K15: cranks may have stopped for these very units, so their end must let them go on.
    kernel.journal.writer.push(unit, () => schedule(kernel));
  }
}

/**
 * Rows of many roots go into few units: cranks stop while 1,000 of them wait for the disk (K15). In a shared store each
 * root has its own, for a unit is written or left out with its root (K17).
 */
function portionsOf(
  { journal }: Kernel,
  roots: readonly RootAddress[],
): readonly (readonly RootAddress[])[] {
  const rows = journal.ownership.isShared ? 1 : rowsPerUnit;
  const count = Math.ceil(roots.length / rows);
  return Array.from({ length: count }, (_, index) => roots.slice(index * rows, (index + 1) * rows));
}

async function bringLetters(kernel: Kernel, isMeant: (root: RootAddress) => boolean): Promise<number> {
  let letters = 0;
  for await (const row of lookAtLetters(kernel)) {
    if (!isMeant(row.to)) continue;
    letters += 1;
    const { message } = row.value as { readonly message: InputBody["message"] };
    await bring(kernel, { key: row.key, to: row.to, from: row.from, message });
  }
  return letters;
}

/** Timers of sleeping roots run without waking them; the root wakes when its timer fires. */
async function armTimers(kernel: Kernel, isMeant: (root: RootAddress) => boolean): Promise<number> {
  let timers = 0;
  for await (const row of kernel.journal.listDue()) {
    if (!isMeant(row.root)) continue;
    timers += 1;
    if (!kernel.running.has(intentKey(row.root, row.id))) {
      start(kernel, {
        root: row.root,
        record: timerRecord(row.id, row.dueAtMs, row.value),
        attempt: 1,
        early: false,
      });
    }
  }
  return timers;
}

function timerRecord(id: IntentId, dueAtMs: number, value: unknown): PortRecord {
  const jitterMs = (value as { readonly jitterMs?: number } | undefined)?.jitterMs ?? 0;
  const args = { dueAtMs, jitterMs, label: "recovered" };
  const request = { port: "timer.set" as const, effect: "idempotent" as const, args };
  return { id, request, ref: undefined as never, cancelAsked: false, withdrawn: false };
}
