/** Hands what a crank did to the writer, and acts on it: at once what harms nobody, the rest once it is durable. */
import type { PortRequest } from "../../schemas/effect.ts";
import type { Entry, InputBody } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { Outgoing } from "../../schemas/message.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalJson } from "../canonical.ts";
import { keys } from "../journal/keys.ts";
import { StoreError, type StoreKey } from "../journal/store.ts";
import type { SnapshotDraft, Unit } from "../journal/unit.ts";
import { compose } from "./compose.ts";
import { type CrankResult, placeEntries } from "./crank.ts";
import type { Ask, CrankRecord } from "./desk.ts";
import { abandon, cancel, start } from "./dispatch.ts";
import { mayStartEarly } from "./early.ts";
import { type Kernel, type StoredReply, tell } from "./kernel.ts";
import { poison } from "./poison.ts";
import type { LiveRoot } from "./live_root.ts";
import { bring, claimOf, type Letter } from "./route.ts";
import { schedule } from "./pump.ts";
import { settleReply } from "./command.ts";

/** Side rows of a unit, and what follows once it is durable. */
interface Rows {
  readonly sets: { key: StoreKey; value: unknown }[];
  readonly deletes: StoreKey[];
  readonly letters: Letter[];
  readonly replies: { readonly key: StoreKey; readonly reply: StoredReply }[];
}

/** Writes the unit of one crank and acts on it. A unit that no commit could hold fails like the crank itself (K18). */
export function writeUnit(kernel: Kernel, root: LiveRoot, result: CrankResult): void {
  const { mail, opening, beginning, record } = result;
  const entries = placeEntries(kernel, beginning, opening, compose(record));
  const openRow = root.hasOpenRow;
  const last = root.seq;
  root.seq += entries.length;
  const rows = rowsOf(root, result);
  const isAnswer = opening.kind === "outcome" && opening.type === "question.ask";
  const asks = record.writes.flatMap((write) => write.kind === "ask" && isLive(write.ask) ? [write.ask] : []);
  const early = new Set(isAnswer ? [] : asks.filter((ask) => mayStartEarly(kernel, root, ask.request)));
  const unit: Unit = {
    root: root.address,
    entries,
    ...stateOf(kernel, root, beginning.seq),
    record: mail.kind === "created" ? mail.record : undefined,
    sets: rows.sets,
    deletes: rows.deletes,
  };
  try {
    kernel.journal.writer.push(unit, () => {
      root.unwritten -= 1;
      if (isAnswer) root.undurableAnswers -= 1;
      if (mail.kind === "input" && mail.inbox !== undefined) kernel.claimed.delete(claimOf(mail.inbox));
      if (mail.kind !== "outcome") mail.onAccepted?.();
      whenDurable(kernel, root.address, { entries, rows, asks: asks.filter((ask) => !early.has(ask)) });
    });
  } catch (error) {
    [root.seq, root.hasOpenRow] = [last, openRow];
    const why = error instanceof StoreError ? error.message : String(error);
    return poison(kernel, root, mail, failure("too_large", `Cannot write what this led to: ${why}`));
  }
  root.lastActiveAt = beginning.at;
  root.unwritten += 1;
  if (isAnswer) root.undurableAnswers += 1;
  kernel.observer.observe(root.address, entries);
  for (const ask of early) {
    if (ask.record !== undefined) {
      start(kernel, { root: root.address, record: ask.record, attempt: 1, early: true });
    }
  }
  endDropped(kernel, root, record);
  if (early.size < asks.length || rows.letters.length > 0 || rows.replies.length > 0 || waits(result)) {
    kernel.journal.writer.urge();
  }
}

function isLive(ask: Ask): boolean {
  return ask.record !== undefined && !ask.dropped;
}

function waits(result: CrankResult): boolean {
  return result.mail.kind !== "outcome" && result.mail.onAccepted !== undefined;
}

function endDropped(kernel: Kernel, root: LiveRoot, record: CrankRecord): void {
  abandon(kernel, root.address, record.drops.map((drop) => drop.id));
  for (const id of record.cancels) {
    const port = root.ports.get(id);
    if (port !== undefined) cancel(kernel, root.address, port);
  }
}

/** What may only happen once nobody can forget it: harmful effects, messages, replies (K9, K13, K14). */
function whenDurable(
  kernel: Kernel,
  root: RootAddress,
  unit: { readonly entries: readonly Entry[]; readonly rows: Rows; readonly asks: readonly Ask[] },
): void {
  tell(kernel, { type: "entries", root, entries: unit.entries });
  for (const ask of unit.asks) {
    if (ask.record !== undefined) start(kernel, { root, record: ask.record, attempt: 1, early: false });
  }
  for (const letter of unit.rows.letters) bring(kernel, letter);
  for (const { key, reply } of unit.rows.replies) settleReply(kernel, key, reply);
  schedule(kernel);
}

function rowsOf(root: LiveRoot, result: CrankResult): Rows {
  const { mail, beginning, record, settled } = result;
  const rows: Rows = { sets: [], deletes: [], letters: [], replies: [] };
  if (mail.kind === "input") {
    if (mail.inbox !== undefined) rows.deletes.push(mail.inbox);
    if (mail.commandRow !== undefined) {
      const value = { ...mail.commandRow.value as object, seq: beginning.seq, at: beginning.at };
      rows.sets.push({ key: mail.commandRow.key, value });
    }
  }
  if (mail.kind === "outcome" && settled !== undefined) forgetPort(rows, root, mail.id, settled);
  for (const drop of record.drops) forgetPort(rows, root, drop.id, drop.request);
  let letters = 0;
  for (const write of record.writes) {
    if (write.kind === "ask") {
      if (isLive(write.ask)) rememberPort(rows, root, write.ask);
    } else if (write.outgoing.kind === "message") {
      rows.letters.push(letterOf(root.address, beginning.seq, letters++, write.outgoing));
    } else if (write.outgoing.kind === "reply") {
      rows.replies.push(replyOf(root, beginning.seq, write.outgoing));
    }
  }
  for (const letter of rows.letters) rows.sets.push({ key: letter.key, value: { message: letter.message } });
  for (const { key, reply } of rows.replies) rows.sets.push({ key, value: reply });
  markOpen(rows, root);
  return rows;
}

/** A timer gets a row by due time, a question a row by which it is found (K19; design.md section 8). */
function rememberPort(rows: Rows, root: LiveRoot, ask: Ask): void {
  const { request, id } = ask;
  if (request.port === "timer.set") {
    rows.sets.push({
      key: keys.due(request.args.dueAtMs, root.address, id),
      value: { jitterMs: request.args.jitterMs },
    });
  }
  if (request.port === "question.ask") {
    rows.sets.push({
      key: keys.question(`${root.address}#${id}`),
      value: { tool: request.args.subject.tool },
    });
  }
}

function forgetPort(rows: Rows, root: LiveRoot, id: string, request: PortRequest): void {
  if (request.port === "timer.set") rows.deletes.push(keys.due(request.args.dueAtMs, root.address, id));
  if (request.port === "question.ask") rows.deletes.push(keys.question(`${root.address}#${id}`));
}

/** Start reads only roots that have something open; timers have rows of their own (K19). */
function markOpen(rows: Rows, root: LiveRoot): void {
  let hasOpen = false;
  for (const port of root.ports.values()) hasOpen ||= port.request.port !== "timer.set";
  if (hasOpen === root.hasOpenRow) return;
  root.hasOpenRow = hasOpen;
  if (hasOpen) rows.sets.push({ key: keys.open(root.address), value: { v: 1 } });
  else rows.deletes.push(keys.open(root.address));
}

function letterOf(
  from: RootAddress,
  seq: number,
  n: number,
  outgoing: Extract<Outgoing, { readonly kind: "message" }>,
): Letter {
  const message = outgoing.message as InputBody["message"];
  return { key: keys.inbox(outgoing.to, from, seq, n), to: outgoing.to, from, message };
}

function replyOf(
  root: LiveRoot,
  seq: number,
  outgoing: Extract<Outgoing, { readonly kind: "reply" }>,
): { readonly key: StoreKey; readonly reply: StoredReply } {
  const { command, status, value } = outgoing;
  return {
    key: keys.reply(command.principal, command.key),
    reply: { status, value, root: root.address, seq },
  };
}

/** The state hash at rest and every 256th entry (K25), and the snapshot that goes with it. */
function stateOf(
  kernel: Kernel,
  root: LiveRoot,
  seq: number,
): Pick<Unit, "stateText" | "stateSeq" | "snapshot"> {
  if (!root.rests && root.seq - root.snapshotSeq < limits.snapshotEveryEntries) return {};
  root.snapshotSeq = root.seq;
  const persisted = root.persisted();
  return {
    stateText: canonicalJson(persisted),
    stateSeq: seq,
    snapshot: snapshotOf(kernel, root, persisted),
  };
}

/** A root's state as it is saved: everything that a restore is checked against (K20). */
export function snapshotOf(kernel: Kernel, root: LiveRoot, persisted: Json): SnapshotDraft {
  return {
    machine: root.kind,
    code: kernel.code,
    seq: root.seq,
    text: JSON.stringify(persisted),
    ...root.shape(),
    attempts: Object.fromEntries(root.attempts),
  };
}

/** Writes a unit that holds one note of the kernel's own: no machine hears of it, replay skips it. */
export function writeNote(kernel: Kernel, root: LiveRoot, type: string, body: Json, extra?: NoteExtra): void {
  const seq = root.seq + 1;
  const drafts = [{ kind: extra?.kind ?? "note" as const, type, body }, ...(extra?.drafts ?? [])];
  const at = kernel.seams.clock.now();
  const entries: Entry[] = drafts.map((draft, index) => ({
    v: 1,
    seq: seq + index,
    at,
    ...draft,
    cause: seq,
    epoch: kernel.journal.epoch,
  }));
  root.seq += entries.length;
  root.unwritten += 1;
  kernel.observer.observe(root.address, entries);
  const unit: Unit = { root: root.address, entries, sets: extra?.sets ?? [], deletes: extra?.deletes ?? [] };
  kernel.journal.writer.push(unit, () => {
    root.unwritten -= 1;
    tell(kernel, { type: "entries", root: root.address, entries });
    extra?.onDurable?.();
    schedule(kernel);
  });
  if (extra?.onDurable !== undefined) kernel.journal.writer.urge();
}

/** What goes into a note's unit besides the note. */
export interface NoteExtra {
  readonly kind?: "note" | "checkpoint";
  readonly drafts?: readonly { readonly kind: "reply"; readonly type: string; readonly body: Json }[];
  readonly sets?: readonly { readonly key: StoreKey; readonly value: unknown }[];
  readonly deletes?: readonly StoreKey[];
  readonly onDurable?: () => void;
}
