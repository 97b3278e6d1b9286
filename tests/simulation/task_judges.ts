/** Judges of background tasks: each ends once, its work is begun at most once, and its model hears of the end exactly once. */
import type { Entry } from "../../schemas/entry.ts";
import { sessionOf } from "../../schemas/ids.ts";
import { isAtRest, isEnd, TaskRecord } from "../../schemas/task.ts";
import { ConversationFold } from "../../src/effects/conversation_fold.ts";
import { peek } from "../../src/peek.ts";
import { readTasks } from "../../src/tasks/task_rows.ts";
import type { Case } from "./judges.ts";

/** Asks every judge of tasks. */
export async function judgeTasks(one: Case): Promise<void> {
  const { evidence: { disk, outside }, reader, streams, complain } = one;
  for (const { key } of disk.list({ prefix: ["scope"] })) {
    complain("I11", `A scope is left: ${key.join(" ")}`);
  }
  const rows = new Map((await readTasks(reader)).map((record) => [record.address, record] as const));
  for (const [address, entries] of streams) {
    if (!address.startsWith("task/")) continue;
    const records = recordsIn(entries);
    const last = records.at(-1);
    const ends = records.filter(({ status }) => isEnd(status));
    // A child agent that has answered may be spoken to again: its task goes on until somebody closes it.
    const isOpen = last !== undefined && isAtRest(last);
    if (ends.length !== (isOpen ? 0 : 1)) complain("DM-122", `${address} has ${ends.length} ends`);
    if (rows.get(address)?.status !== last?.status) {
      complain("DM-115", `The store says of ${address} what its journal does not`);
    }
    const begun = outside.performed.filter(({ port, root }) => port === "task.run" && root === address);
    if (begun.length > 1) complain("I1", `The work of ${address} was begun ${begun.length} times`);
    judgeTold(one, last);
  }
}

function recordsIn(entries: readonly Entry[]): readonly TaskRecord[] {
  return entries.filter(({ kind, type }) => kind === "note" && type === "task.changed")
    .map(({ body }) => TaskRecord.parse(body));
}

/** Whoever prompted the session after the end has a model that was told of it, once; of a child, by its result or by news. */
function judgeTold({ streams, complain }: Case, record: TaskRecord | undefined): void {
  if (record === undefined) return;
  const { address, id } = record;
  const entries = streams.get(sessionOf(address) ?? "") ?? [];
  const isLetter = ({ kind, type, body }: Entry) =>
    kind === "input" && type === "task.ended" && (body as { readonly sender?: string }).sender === address;
  const letters = entries.filter(isLetter);
  if (letters.length !== (isEnd(record.status) ? 1 : 0)) {
    complain("DM-122", `${address} told its session of its end ${letters.length} times`);
  }
  const end = letters[0]?.seq ?? Infinity;
  // Another try of the same step is told what the first was told.
  const begins = entries.findLast(({ kind, type, body }) =>
    kind === "intent" && type === "model.generate" && peek(body, "args", "attempt") === undefined
  );
  const fold = new ConversationFold();
  for (const entry of entries) fold.take(entry);
  const told = fold.messages.filter(({ text }) => text.includes(`your background task ${id} `)).length;
  if (told > 1) complain("DM-122", `${address}: its model was told ${told} times`);
  // A result may have told it, or nobody is to be told: then no news follows.
  if (record.kind === "agent.spawn" || begins === undefined || begins.cause <= end || told === 1) return;
  const isInResult = fold.messages.some(({ role, text }) => role === "tool" && text.includes(id));
  if (!isInResult) complain("DM-122", `${address}: its model was never told of its end`);
}
