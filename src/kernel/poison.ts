/** What happens to a message that breaks a machine, and to a root that cannot go on (K23). */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { RootRecord } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { throughJson } from "../canonical.ts";
import { keys } from "../journal/keys.ts";
import { type Kernel, KernelError, type StoredReply, tell } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import { type LostTask, lostTask } from "./lost_task.ts";
import type { InputMail, Mail, OutcomeMail } from "./mail.ts";
import { giveUp } from "./give_up.ts";
import { letGo } from "./hold.ts";
import { bring, deliver, type Letter, makeReady, unclaim } from "./route.ts";
import { schedule } from "./pump.ts";
import { bringUp, failToWake, isStill } from "./wake.ts";
import { refuseWaiting, settleReply } from "./command.ts";
import { type NoteExtra, writeNote } from "./note.ts";
import { isSupervised, release, report } from "./supervise.ts";

/**
 * The crank failed: its unit is discarded, the root is rebuilt from what was written, and the message is set aside.
 * Mailbox and running effects are kept.
 */
export function poison(kernel: Kernel, root: LiveRoot, mail: Mail, why: Failure): void {
  kernel.seams.log({
    level: "error",
    event: "crank_failed",
    detail: { root: root.address, message: why.message },
  });
  if (mail.kind === "created") return refuseBirth(kernel, root, why);
  if (mail.kind === "outcome" && mail.poisoned === true) {
    return quarantine(kernel, root.address, `It failed on an outcome twice: ${why.message}`);
  }
  root.held = true;
  kernel.roots.delete(root.address);
  kernel.waking.add(root.address);
  kernel.parked.set(root.address, [...root.mailbox, ...(kernel.parked.get(root.address) ?? [])]);
  root.mailbox.length = 0;
  letGo(root);
  rebuild(kernel, root, mail, why).catch((error) => {
    kernel.waking.delete(root.address);
    failToWake(kernel, root.address, error);
  });
}

async function rebuild(
  kernel: Kernel,
  broken: LiveRoot,
  mail: InputMail | OutcomeMail,
  why: Failure,
): Promise<void> {
  const epoch = kernel.journal.ownership.epochOf(broken.address);
  await kernel.journal.writer.idle(); // Its earlier units must be durable before they can be read back.
  const root = await bringUp(kernel, broken.address);
  kernel.waking.delete(broken.address);
  if (root === undefined || kernel.stopped !== undefined) return;
  if (!isStill(kernel, root.address, epoch)) return letGo(root);
  kernel.roots.set(root.address, root);
  if (mail.kind === "input") setAside(kernel, root, mail, why);
  else root.mailbox.push(asFailed(root, mail, why));
  root.mailbox.push(...(kernel.parked.get(root.address) ?? []));
  kernel.parked.delete(root.address);
  root.held = isSupervised(kernel, root.address);
  if (root.held) report(kernel, root.address, why);
  else makeReady(kernel, root);
}

/** The input stays in the journal as a note, which replay skips; its sender gets an error reply. */
function setAside(kernel: Kernel, root: LiveRoot, mail: InputMail, why: Failure): void {
  const { command } = mail.body;
  const reply: StoredReply = {
    status: "failed",
    value: { failure: why },
    root: root.address,
    seq: root.seq + 1,
    at: kernel.seams.clock.now(),
  };
  const key = command === undefined ? undefined : keys.reply(command.principal, command.key);
  const extra: NoteExtra = {
    drafts: command === undefined ? [] : [{
      kind: "reply",
      type: "failed",
      body: { command: { ...command }, status: "failed", value: reply.value },
    }],
    sets: [
      ...(mail.commandRow === undefined ? [] : [mail.commandRow]),
      ...(key === undefined ? [] : [{ key, value: reply }]),
    ],
    deletes: mail.inbox === undefined ? [] : [mail.inbox],
    onDurable: () => {
      if (mail.inbox !== undefined) unclaim(kernel, mail.inbox);
      mail.onAccepted?.();
      if (key !== undefined) settleReply(kernel, key, reply);
    },
  };
  const body = throughJson({ input: mail.body, failure: why }) as unknown as Json;
  writeNote(kernel, root, { kind: "note", type: "poisoned", body }, extra);
}

/** The outcome comes again as a failed one, with the original as evidence. What may have happened stays unknown (R3). */
function asFailed(root: LiveRoot, mail: OutcomeMail, why: Failure): OutcomeMail {
  const effect = root.ports.get(mail.id)?.request.effect ?? "non_idempotent";
  const evidence = JSON.stringify(mail.result).slice(0, 500);
  const told = failure(
    why.code === "too_large" ? "too_large" : "poisoned",
    `The outcome could not be handled (${why.message}); it was: ${evidence}`,
  );
  const status = effect === "idempotent" ? "failed" : "unknown";
  return { ...mail, result: { status, failure: told }, poisoned: true };
}

function refuseBirth(kernel: Kernel, root: LiveRoot, why: Failure): void {
  kernel.roots.delete(root.address);
  kernel.records.delete(root.address);
  kernel.births.get(root.address)?.(new KernelError(why.code, why.message));
  kernel.births.delete(root.address);
}

/** Writes that a root is out of service; whoever must know is told in the same commit (K13). */
function writeOff(
  kernel: Kernel,
  record: RootRecord,
  { letters, isLasting, task }: {
    readonly letters: readonly Letter[];
    readonly isLasting: boolean;
    readonly task?: LostTask | undefined;
  },
): void {
  if (!isLasting && letters.length === 0) return;
  const sets = [...letters.map(({ key, message }) => ({ key, value: { message } })), ...task?.sets ?? []];
  const unit = { root: record.address, entries: [], sets, deletes: [...task?.deletes ?? []] };
  kernel.journal.writer.push(isLasting ? { ...unit, record } : unit, () => {
    for (const letter of letters) void bring(kernel, letter);
    // Whoever waits for the task looks again: its record says now that it has ended.
    if (task !== undefined) {
      tell(kernel, { type: "quarantined", root: record.address, reason: record.reason ?? "" });
    }
    schedule(kernel);
  });
  kernel.journal.writer.urge();
}

/** The same for a task, which has ended with it: its work is told to stop, and its record looked up first. */
async function writeOffTask(kernel: Kernel, record: RootRecord, letters: readonly Letter[]): Promise<void> {
  for (const [key, { abort }] of kernel.running) if (key.startsWith(`${record.address}#`)) abort.abort();
  const task = await lostTask(kernel, record).catch((error) => {
    const message = error instanceof Error ? error.message : String(error);
    kernel.seams.log({ level: "error", event: "task_unreadable", detail: { root: record.address, message } });
    return undefined;
  });
  if (kernel.stopped !== undefined) return; // The next start finds the root as broken as this one did.
  writeOff(kernel, record, { letters: [...letters, ...task?.letters ?? []], isLasting: true, task });
}

/** The task of a child agent hears that nothing more will come of it. */
function lossOf({ address, parent: to, reason = "" }: RootRecord): readonly Letter[] {
  if (to === undefined) return [];
  return [{ key: keys.inbox(to, address, 0, 0), to, from: address, message: { type: "child.lost", reason } }];
}

/**
 * Takes a root out of service until an operator looks at it. Nothing is performed for it, nothing appended (K20). With
 * `isLasting` false only this runtime keeps away from it, and the next one tries again.
 */
export function quarantine(kernel: Kernel, address: RootAddress, reason: string, isLasting = true): void {
  // One that another runtime took over is judged there.
  if (!kernel.journal.ownership.isOurs(address)) return;
  giveUp(kernel, address);
  const record = kernel.records.get(address);
  if (record === undefined) return;
  const isNews = record.status === "active";
  const quarantined = { ...record, status: "quarantined" as const, reason: reason.slice(0, 2_000) };
  kernel.records.set(address, quarantined);
  if (!isLasting) kernel.avoided.add(address);
  refuseWaiting(kernel, address);
  const letter = isNews ? newsOf(kernel, address, { reason, isLasting }) : undefined;
  const loss = isNews ? lossOf(quarantined) : [];
  const letters = [...letter === undefined ? [] : [letter], ...loss];
  if (isLasting && isNews && record.kind === "task") void writeOffTask(kernel, quarantined, letters);
  else if (isLasting) writeOff(kernel, quarantined, { letters, isLasting });
  else {
    if (letter !== undefined) {
      deliver(kernel, letter.to, { kind: "input", body: { message: letter.message } });
    }
    // Whoever waits is told for good: what comes of the child later finds nobody.
    writeOff(kernel, quarantined, { letters: loss, isLasting });
  }
  kernel.seams.log({ level: "error", event: "root_quarantined", detail: { root: address, reason } });
  tell(kernel, { type: "quarantined", root: address, reason });
  if (address === kernel.supervisor) release(kernel);
}

/** Tells the supervisor, which tells whoever depends on the root: a letter of the very commit, so that no crash loses it. */
function newsOf(
  kernel: Kernel,
  child: RootAddress,
  { reason, isLasting }: { readonly reason: string; readonly isLasting: boolean },
): Letter | undefined {
  const to = kernel.supervisor;
  if (to === undefined || !isSupervised(kernel, child)) return undefined;
  const why = failure("root_quarantined", `"${child}" is quarantined: ${reason}`.slice(0, 2_000));
  const message = { type: "child.quarantined", child, failure: { ...why }, lasting: isLasting };
  // Nothing is appended to its stream any more, so no other letter of its own has this place.
  return { key: keys.inbox(to, child, 0, 0), to, from: child, message };
}
