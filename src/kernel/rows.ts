/** The side rows of a unit: what must be found again without reading streams (K13, K14, K19). */
import type { PortRequest } from "../../schemas/effect.ts";
import type { InputBody } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import type { Outgoing } from "../../schemas/message.ts";
import { isEnd, TaskRecord } from "../../schemas/task.ts";
import { keys } from "../journal/keys.ts";
import type { StoreKey } from "../journal/store.ts";
import type { CrankResult } from "./crank.ts";
import type { Ask } from "./desk.ts";
import type { StoredReply } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";
import type { Letter } from "./route.ts";

/** Side rows of a unit, and what follows once it is durable. */
export interface Rows {
  readonly sets: { key: StoreKey; value: unknown }[];
  readonly deletes: StoreKey[];
  readonly letters: Letter[];
  readonly replies: { readonly key: StoreKey; readonly reply: StoredReply }[];
}

/** True if a port waits for this request: it started, and was not dropped within its own crank. */
export function isLive(ask: Ask): boolean {
  return ask.record !== undefined && !ask.dropped;
}

/** The rows that one crank sets and deletes, and the letters and replies among them. */
export function rowsOf(root: LiveRoot, result: CrankResult): Rows {
  const { mail, beginning, record, settled } = result;
  const rows: Rows = { sets: [], deletes: [], letters: [], replies: [] };
  if (mail.kind === "created") rows.sets.push(...mail.rows ?? []);
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
    } else if (write.outgoing.kind === "note") {
      if (root.kind === "task" && write.outgoing.type === "task.changed") keepTask(rows, write.outgoing.body);
    } else if (write.outgoing.kind === "reply") {
      rows.replies.push(replyOf(root, beginning, write.outgoing));
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

/** What the store tells of a task changes with the task, in one commit; its scope is free again once it has ended. */
function keepTask(rows: Rows, body: Json): void {
  const task = TaskRecord.parse(body);
  rows.sets.push({ key: keys.task(task.owner, task.id), value: task });
  if (task.scope === null) return;
  const key = keys.scope(task.scope.digest);
  if (isEnd(task.status)) rows.deletes.push(key);
  else rows.sets.push({ key, value: { task: task.address } });
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
  { seq, at }: CrankResult["beginning"],
  outgoing: Extract<Outgoing, { readonly kind: "reply" }>,
): { readonly key: StoreKey; readonly reply: StoredReply } {
  const { command, status, value } = outgoing;
  return {
    key: keys.reply(command.principal, command.key),
    reply: { status, value, root: root.address, seq, at },
  };
}
