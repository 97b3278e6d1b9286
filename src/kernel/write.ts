/** Hands what a crank did to the writer, and acts on it: at once what harms nobody, the rest once it is durable. */
import { versionMark } from "../../actors/migrate.ts";
import type { Entry } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { canonicalJson, type Json } from "../../schemas/json.ts";
import { StoreError } from "../journal/store.ts";
import type { SnapshotDraft, Unit } from "../journal/unit.ts";
import { settleReply } from "./command.ts";
import { compose } from "./compose.ts";
import { type CrankResult, placeEntries } from "./crank.ts";
import type { Ask, CrankRecord } from "./desk.ts";
import { abandon, cancel, start } from "./dispatch.ts";
import { mayStartEarly } from "./early.ts";
import { type Kernel, observe, tell } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import { poison } from "./poison.ts";
import { schedule } from "./pump.ts";
import { bring, unclaim } from "./route.ts";
import { isLive, type Rows, rowsOf } from "./rows.ts";

/** Writes the unit of one crank and acts on it. A unit that no commit could hold fails like the crank itself (K18). */
export function writeUnit(kernel: Kernel, root: LiveRoot, result: CrankResult): void {
  const { mail, opening, beginning, record } = result;
  const entries = placeEntries(beginning, opening, compose(record));
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
      if (mail.kind === "input" && mail.inbox !== undefined) unclaim(kernel, mail.inbox);
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
  observe(kernel, root.address, entries);
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

/** A birth is awaited; a command's sender says so himself, by asking whether it was accepted. */
function waits(result: CrankResult): boolean {
  return result.mail.kind === "created";
}

function endDropped(kernel: Kernel, root: LiveRoot, record: CrankRecord): void {
  // Here, not when the machine drops it: what a failed crank did to its ports counts for nothing (K23).
  for (const drop of record.drops) if (drop.record !== undefined) drop.record.withdrawn = true;
  abandon(kernel, root.address, record.drops.map((drop) => drop.id));
  for (const id of record.cancels) {
    const port = root.ports.get(id);
    if (port !== undefined) cancel(kernel, root.address, port, root.attempts.get(id) ?? 1);
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
    ...versionMark(kernel.stateFormats[root.kind]),
    attempts: Object.fromEntries(root.attempts),
  };
}
