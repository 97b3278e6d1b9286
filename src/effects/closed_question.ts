/** What became of a question that is not open any more, as the journal tells. */
import { IntentId, RootAddress } from "../../schemas/ids.ts";
import { Answer } from "../../schemas/question.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { ClosedQuestion, FoundQuestion } from "./question_ask.ts";

interface Outcome {
  readonly id?: string;
  readonly status?: string;
  readonly value?: unknown;
}

/**
 * Looks a question up by its id, `<address>#<seq>.<n>`. Undefined if its stream has no such question. One that was
 * dropped was withdrawn: its call was canceled, or what it was about changed. An answer that came too late to be taken
 * stands in a note, and is none.
 */
export async function findClosedQuestion(
  journal: JournalReader,
  id: string,
): Promise<FoundQuestion | undefined> {
  const cut = id.lastIndexOf("#");
  const root = RootAddress.safeParse(id.slice(0, Math.max(cut, 0))).data;
  const intent = IntentId.safeParse(id.slice(cut + 1)).data;
  if (root === undefined || intent === undefined) return undefined;
  const [seq = 0, n = 0] = intent.split(".").map(Number);
  // `6.00` is the place of `6.0`, and nobody's id.
  if (`${seq}.${n}` !== intent) return undefined;
  let wasAsked = false;
  for await (const entry of journal.readEntries(root, seq)) {
    if (entry.cause === seq) wasAsked ||= isQuestion(entry, n);
    else if (!wasAsked) return undefined;
    const outcome = entry.body as Outcome | undefined;
    if (outcome?.id !== intent) continue;
    if (entry.kind === "note" && entry.type === "dropped") return { end: "withdrawn" };
    if (entry.kind === "outcome" && entry.type === "question.ask") return endOf(outcome);
  }
  return wasAsked ? { end: "unrecorded" } : undefined;
}

function isQuestion({ kind, type, body }: Entry, n: number): boolean {
  return kind === "intent" && type === "question.ask" &&
    (body as { readonly n?: number } | undefined)?.n === n;
}

function endOf({ status, value }: Outcome): ClosedQuestion {
  const answer = Answer.safeParse(value).data;
  if (status === "ok" && answer !== undefined) {
    return { end: "answered", decision: answer.decision, by: answer.by };
  }
  return { end: status === "timed_out" ? "expired" : "withdrawn" };
}
