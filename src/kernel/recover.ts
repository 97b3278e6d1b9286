/** What a start does before anything runs: who was open, what was on its way, what is due (K19, K20). */
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import type { InputBody } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys } from "../journal/keys.ts";
import type { PortRecord } from "./desk.ts";
import { start } from "./dispatch.ts";
import type { Kernel } from "./kernel.ts";
import { sharedOwnership } from "./shared.ts";
import { quarantine } from "./poison.ts";
import { schedule } from "./pump.ts";
import { bring, lookAtLetters } from "./route.ts";
import { wake } from "./wake.ts";

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
  await untilAwake(kernel, isMeant);
  const letters = await bringLetters(kernel, isMeant);
  const timers = await armTimers(kernel, isMeant);
  await untilAwake(kernel, isMeant);
  kernel.paused = false;
  schedule(kernel);
  clearAttempts(kernel, admitted);
  return { open: open.length, letters, timers, quarantined };
}

/** A root whose recovery killed the process three times is quarantined at the fourth start. The count is durable first. */
async function admit(
  kernel: Kernel,
  open: readonly RootAddress[],
): Promise<{ readonly admitted: RootAddress[]; readonly quarantined: number }> {
  const admitted: RootAddress[] = [];
  for (const address of open) {
    const attempts = await attemptsOf(kernel, address);
    if (attempts >= limits.recoveryAttemptsMax) {
      quarantine(kernel, address, `Its recovery ended the process ${attempts} times`);
      continue;
    }
    admitted.push(address);
    const by = sharedOwnership(kernel)?.runtime;
    const value = { attempts: attempts + 1, ...(by === undefined ? {} : { by }) };
    const sets = [{ key: keys.recover(address), value }];
    kernel.journal.writer.push({ root: address, entries: [], sets, deletes: [] });
  }
  if (open.length > 0) {
    kernel.journal.writer.urge();
    await kernel.journal.writer.idle();
  }
  return { admitted, quarantined: open.length - admitted.length };
}

/** How often a recovery of this root ended a process. One that only lost the root to another runtime does not count. */
async function attemptsOf(kernel: Kernel, address: RootAddress): Promise<number> {
  const row = await kernel.journal.readRow(keys.recover(address)) as
    | { readonly attempts?: number; readonly by?: string }
    | undefined;
  const attempts = row?.attempts ?? 0;
  if (attempts === 0 || row?.by === undefined) return attempts;
  const lives = await sharedOwnership(kernel)?.lives(row.by) ?? false;
  return lives ? attempts - 1 : attempts;
}

function clearAttempts(kernel: Kernel, admitted: readonly RootAddress[]): void {
  for (const address of admitted) {
    const unit = { root: address, entries: [], sets: [], deletes: [keys.recover(address)] };
    // K15: cranks may have stopped for these very units, so their end must let them go on.
    kernel.journal.writer.push(unit, () => schedule(kernel));
  }
}

async function untilAwake(kernel: Kernel, isMeant: (root: RootAddress) => boolean): Promise<void> {
  while ([...kernel.waking].some(isMeant) && kernel.stopped === undefined) {
    await new Promise<void>((resolve) => kernel.seams.clock.defer(resolve));
  }
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
