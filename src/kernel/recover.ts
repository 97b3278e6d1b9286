/** What a start does before anything runs: who was open, what was on its way, what is due (K19, K20). */
import { type IntentId, intentKey, type RootAddress } from "../../schemas/ids.ts";
import type { InputBody } from "../../schemas/entry.ts";
import { limits } from "../../schemas/limits.ts";
import { keys, prefixes } from "../journal/keys.ts";
import type { PortRecord } from "./desk.ts";
import { openGate, start } from "./dispatch.ts";
import type { Kernel } from "./kernel.ts";
import { quarantine } from "./poison.ts";
import { schedule } from "./pump.ts";
import { bring } from "./route.ts";
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
  const open: RootAddress[] = [];
  for await (const row of kernel.journal.listOpen()) open.push(row.root);
  const { admitted, quarantined } = await admit(kernel, open);
  for (const address of admitted) wake(kernel, address);
  await kernel.waking.untilNone();
  const letters = await bringLetters(kernel);
  const timers = await armTimers(kernel);
  await kernel.waking.untilNone();
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
  const counts = new Map<string, number>();
  for await (const { key, value } of kernel.journal.listRows(prefixes.recovers)) {
    counts.set(String(key[1]), (value as { readonly attempts?: number }).attempts ?? 0);
  }
  const attemptsOf = (address: RootAddress) => counts.get(address) ?? 0;
  const admitted = open.filter((address) => attemptsOf(address) < limits.recoveryAttemptsMax);
  for (const address of open) {
    if (attemptsOf(address) < limits.recoveryAttemptsMax) continue;
    quarantine(kernel, address, `Its recovery ended the process ${attemptsOf(address)} times`);
  }
  for (const some of portionsOf(admitted)) {
    const sets = some.map((address) => ({
      key: keys.recover(address),
      value: { attempts: attemptsOf(address) + 1 },
    }));
    kernel.journal.writer.push({ root: some[0] ?? "", entries: [], sets, deletes: [] });
  }
  kernel.journal.writer.urge();
  await kernel.journal.writer.idle();
  return { admitted, quarantined: open.length - admitted.length };
}

function clearAttempts(kernel: Kernel, admitted: readonly RootAddress[]): void {
  for (const some of portionsOf(admitted)) {
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

/** Rows of many roots go into few units: cranks stop while 1,000 of them wait for the disk (K15). */
function portionsOf(roots: readonly RootAddress[]): readonly (readonly RootAddress[])[] {
  const count = Math.ceil(roots.length / rowsPerUnit);
  return Array.from(
    { length: count },
    (_, index) => roots.slice(index * rowsPerUnit, (index + 1) * rowsPerUnit),
  );
}

async function bringLetters(kernel: Kernel): Promise<number> {
  let letters = 0;
  for await (const row of kernel.journal.listInbox()) {
    letters += 1;
    const { message } = row.value as { readonly message: InputBody["message"] };
    await bring(kernel, { key: row.key, to: row.to, from: row.from, message });
  }
  return letters;
}

/** Timers of sleeping roots run without waking them; the root wakes when its timer fires. */
async function armTimers(kernel: Kernel): Promise<number> {
  let timers = 0;
  for await (const row of kernel.journal.listDue()) {
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
