/** Judges of background tasks: each ends once, its work is begun at most once, and its model hears of the end exactly once. */
import type { Entry } from "../../schemas/entry.ts";
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { isEnd, TaskRecord } from "../../schemas/task.ts";
import { ConversationFold } from "../../src/effects/conversation_fold.ts";
import { prefixes } from "../../src/journal/keys.ts";
import type { Case } from "./judges.ts";

/** Asks every judge of tasks. */
export function judgeTasks(one: Case): void {
  const { evidence: { disk, outside }, streams, complain } = one;
  for (const { key } of disk.list({ prefix: ["scope"] })) {
    complain("I11", `A scope is left: ${key.join(" ")}`);
  }
  const rows = new Map(
    [...disk.list({ prefix: prefixes.allTasks })].map(({ value }) => {
      const record = TaskRecord.parse(value);
      return [record.address, record] as const;
    }),
  );
  for (const [address, entries] of streams) {
    if (!address.startsWith("task/")) continue;
    const ends = recordsIn(entries).filter(({ status }) => isEnd(status));
    if (ends.length !== 1) complain("DM-122", `${address} has ${ends.length} ends`);
    if (rows.get(address)?.status !== ends[0]?.status) {
      complain("DM-115", `The store says of ${address} what its journal does not`);
    }
    const begun = outside.performed.filter(({ port, root }) => port === "task.run" && root === address);
    if (begun.length > 1) complain("I1", `The work of ${address} was begun ${begun.length} times`);
    judgeTold(one, address);
  }
}

function recordsIn(entries: readonly Entry[]): readonly TaskRecord[] {
  return entries.filter(({ kind, type }) => kind === "note" && type === "task.changed")
    .map(({ body }) => TaskRecord.parse(body));
}

/** Whoever prompted the session after the end has a model that was told of it, once. */
function judgeTold({ streams, complain }: Case, address: RootAddress): void {
  const entries = streams.get(sessionOf(address) ?? "") ?? [];
  const isLetter = ({ kind, type, body }: Entry) =>
    kind === "input" && type === "task.ended" && (body as { readonly sender?: string }).sender === address;
  const letters = entries.filter(isLetter);
  if (letters.length !== 1) {
    complain("DM-122", `${address} told its session of its end ${letters.length} times`);
  }
  const end = letters[0]?.seq ?? Infinity;
  const begins = entries.findLast(({ kind, type }) => kind === "intent" && type === "model.generate");
  const fold = new ConversationFold();
  for (const entry of entries) fold.take(entry);
  const id = address.replace(/^task\/|@.*$/g, "");
  const told = fold.messages.filter(({ text }) => text.includes(`your background task ${id} `)).length;
  const expected = begins !== undefined && begins.cause > end ? 1 : 0;
  if (told !== expected && !(told === 1 && begins !== undefined && begins.seq > end)) {
    complain("DM-122", `${address}: its model was told ${told} times, not ${expected}`);
  }
}
