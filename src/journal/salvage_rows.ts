/** The rows of a salvaged store: made anew from the streams where they follow from them, copied where they do not. */
import { z } from "zod";
import type { RootRecord } from "../../schemas/entry.ts";
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { isEnd, TaskRecord } from "../../schemas/task.ts";
import type { KeptStream } from "./crank_border.ts";
import type { Finding } from "./finding.ts";
import { keys, prefixes } from "./keys.ts";
import type { OpenPort } from "./open_ports.ts";
import { readableRows } from "./readable_rows.ts";
import type { LostLetter } from "./salvage_letters.ts";
import type { Row, Store, StoreKey } from "./store.ts";

/** A root as it stands in the new store. */
export interface SavedRoot {
  readonly record: RootRecord;
  readonly kept: Pick<KeptStream, "head" | "open">;
}

/** What the rows are copied with. */
export interface RowsCopy {
  readonly source: Store;
  readonly roots: ReadonlyMap<string, SavedRoot>;
  put(key: StoreKey, value: unknown): Promise<void>;
  /** Puts a row with the blob that it may name; false if that is damaged. */
  tryCopy(row: Row): Promise<boolean>;
  /** Letters that a cut root had taken in the part that is lost. */
  findLost(): Promise<readonly LostLetter[]>;
  /** The value of a row, from its blob if it is in one. */
  wholeOf(value: unknown): Promise<unknown>;
}

/** How much of what was on its way is lost. */
export interface LostRows {
  /** Commands that were accepted in what was lost. */
  readonly commands: number;
  readonly letters: number;
}

/** Whom the letters come from that stop what a cut root did: it stands above all, and looks after none of their effects. */
const sender = "supervisor/main";
const reason = "The end of what it had written was lost, so nothing of it may be repeated";

const CommandRow = z.looseObject({ root: z.string(), seq: z.number() });
const NameRow = z.looseObject({ root: z.string() });
const ScopeRow = z.looseObject({ task: z.string() });

/** Writes every row. Tells what of them is lost. */
export async function copyRows(copy: RowsCopy): Promise<LostRows> {
  for (const [root, { record, kept }] of copy.roots) {
    if (record.status === "active") await putPorts(copy, root, kept.open);
  }
  const going = await copyTasks(copy);
  for await (const row of rowsOf(copy, prefixes.names)) {
    if (copy.roots.has(NameRow.safeParse(row.value).data?.root ?? "")) await copy.put(row.key, row.value);
  }
  // Who was to stop with its program still is.
  for await (const row of rowsOf(copy, prefixes.fates)) {
    if (copy.roots.has(String(row.key[2]))) await copy.put(row.key, row.value);
  }
  for (const prefix of [prefixes.hearts, prefixes.programs, prefixes.reports]) {
    for await (const row of rowsOf(copy, prefix)) await copy.put(row.key, row.value);
  }
  const letters = await copyLetters(copy);
  for (const { key, value } of await copy.findLost()) await copy.put(key, value);
  await stopCut(copy, going);
  return { commands: await copyCommands(copy), letters };
}

/** K19: rows of timers and questions, and the mark by which a start finds the root. */
async function putPorts({ put }: RowsCopy, root: string, open: readonly OpenPort[]): Promise<void> {
  for (const { id, port, args } of open) {
    const { dueAtMs, jitterMs, subject } = args as {
      readonly dueAtMs?: number;
      readonly jitterMs?: number;
      readonly subject?: { readonly tool?: Json };
    };
    if (port === "timer.set" && dueAtMs !== undefined) await put(keys.due(dueAtMs, root, id), { jitterMs });
    if (port === "question.ask") await put(keys.question(`${root}#${id}`), { tool: subject?.tool ?? null });
  }
  if (open.some(({ port }) => port !== "timer.set")) await put(keys.open(root), { v: 1 });
}

/** Rows of tasks and of what they hold. Returns the tasks that have not ended. */
async function copyTasks(copy: RowsCopy): Promise<readonly TaskRecord[]> {
  const going: TaskRecord[] = [];
  for await (const row of rowsOf(copy, prefixes.allTasks)) {
    const task = TaskRecord.safeParse(await copy.wholeOf(row.value)).data;
    if (task === undefined || !copy.roots.has(task.address) || !await copy.tryCopy(row)) continue;
    if (!isEnd(task.status)) going.push(task);
  }
  for await (const row of rowsOf(copy, prefixes.scopes)) {
    const holder = ScopeRow.safeParse(row.value).data?.task;
    if (going.some(({ address }) => address === holder)) await copy.put(row.key, row.value);
  }
  return going;
}

/** K13: the row and the sender's `message` entry were one commit. */
async function copyLetters(copy: RowsCopy): Promise<number> {
  let lost = 0;
  for await (const row of rowsOf(copy, prefixes.inboxes)) {
    const [, to, from, seq] = row.key;
    const saved = copy.roots.get(String(from))?.kept.head.seq ?? 0;
    const isSaved = copy.roots.has(String(to)) && Number(seq) <= saved && await copy.tryCopy(row);
    if (!isSaved) lost += 1;
  }
  return lost;
}

/** A cut root stops what it was doing: what it did in the part that was lost would be done again. */
async function stopCut({ roots, put }: RowsCopy, going: readonly TaskRecord[]): Promise<void> {
  const isCut = (root: string) => roots.get(root)?.record.cut !== undefined;
  for (const [root, { record: { kind } }] of roots) {
    if (kind !== "session" || !isCut(root)) continue;
    const message = { type: "session.cancel", scope: "subtree", prompts: "all", reason };
    await put(keys.inbox(root, sender, 0, 1), { message });
  }
  const tasks = new Set(
    going.filter(({ owner, address }) => isCut(owner) || isCut(address)).map((t) => t.address),
  );
  for (const [root, { record }] of roots) if (record.kind === "task" && isCut(root)) tasks.add(root);
  for (const task of tasks) {
    await put(keys.inbox(task, sender, 0, 1), { message: { type: "task.cancel", reason } });
  }
}

/**
 * K14: a command that was accepted in a part that is lost stays accepted, so that a repeat does not act again; without a
 * reply of its own it is answered that nobody knows what became of it.
 */
async function copyCommands(copy: RowsCopy): Promise<number> {
  let lost = 0;
  for await (const row of rowsOf(copy, prefixes.commands)) {
    const value = CommandRow.safeParse(await copy.wholeOf(row.value)).data;
    const root = value === undefined ? undefined : copy.roots.get(value.root);
    if (value !== undefined && root === undefined) {
      lost += 1;
      continue;
    }
    if (!await copy.tryCopy(row)) continue;
    const [, principal, key] = row.key;
    const replyKey = keys.reply(String(principal), String(key));
    const reply = await copy.source.get(replyKey);
    if (reply !== null && await copy.tryCopy(reply)) continue;
    if (value === undefined || root === undefined || value.seq <= root.kept.head.seq) continue;
    lost += 1;
    const why = failure(
      "interrupted",
      "What this led to was lost in a salvage: look at the session before you ask again",
    );
    await copy.put(replyKey, { status: "failed", value: { failure: why }, root: value.root, seq: value.seq });
  }
  return lost;
}

/** Rows that can be read; what cannot is among the findings of the examination already. */
function rowsOf({ source }: RowsCopy, prefix: StoreKey): AsyncIterable<Row> {
  const told: Finding[] = [];
  return readableRows(source, prefix, told);
}
