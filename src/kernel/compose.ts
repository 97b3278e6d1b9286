/** Turns what a crank did into entry drafts: the same function serves cranks and replay, so both can be compared. */
import type { EntryKind } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import type { CrankRecord, Write } from "./desk.ts";

/** An entry without its place and time. */
export interface EntryDraft {
  readonly kind: EntryKind;
  readonly type: string;
  readonly body: Json;
}

/** The entries that follow the one that began the crank, in order: asks and posts, then cancels and drops. */
export function compose(crank: CrankRecord): EntryDraft[] {
  const drafts: EntryDraft[] = [];
  let messages = 0;
  for (const write of crank.writes) {
    if (write.kind === "post" && write.outgoing.kind === "message") {
      drafts.push(draftMessage(write, messages++));
    } else {
      const draft = draftWrite(write);
      if (draft !== undefined) drafts.push(draft);
    }
  }
  for (const id of crank.cancels) drafts.push({ kind: "note", type: "cancel_asked", body: { id } });
  for (const { id } of crank.drops) drafts.push({ kind: "note", type: "dropped", body: { id } });
  return drafts;
}

function draftMessage(write: Write, n: number): EntryDraft {
  if (write.kind !== "post" || write.outgoing.kind !== "message") {
    throw new Error("Cannot draft a message from this");
  }
  const { to, message } = write.outgoing;
  return { kind: "message", type: message.type, body: { n, to, message } };
}

function draftWrite(write: Write): EntryDraft | undefined {
  if (write.kind === "ask") {
    const { ask } = write;
    // Booked but never started, or started and dropped within the crank: nobody waits, so nothing is asked.
    if (ask.record === undefined || ask.dropped) return undefined;
    return { kind: "intent", type: ask.request.port, body: { n: ask.n, ...ask.request } as unknown as Json };
  }
  const { outgoing } = write;
  switch (outgoing.kind) {
    case "reply": {
      const { command, status, value } = outgoing;
      return { kind: "reply", type: status, body: { command: { ...command }, status, value } };
    }
    case "note":
      return { kind: "note", type: outgoing.type, body: outgoing.body };
    case "message":
      throw new Error("Cannot draft a message here");
  }
}
