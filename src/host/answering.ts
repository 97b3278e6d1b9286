/** Answers questions for clients: acknowledged once the answer is in the journal, so that no crash can take it back. */
import type { Entry } from "../../schemas/entry.ts";
import { findClosedQuestion } from "../effects/closed_question.ts";
import type { GivenAnswer } from "../effects/question_ask.ts";
import { KernelError } from "../kernel/kernel.ts";
import { patiently } from "../kernel/patience.ts";
import type { Runtime } from "../runtime.ts";

/** Gives an answer; resolves once it is durable. Refused as `approval_stale` if its call was over before that. */
export async function answerQuestion(
  runtime: Pick<Runtime, "kernel" | "questions" | "journal" | "watch">,
  id: string,
  given: GivenAnswer,
): Promise<void> {
  const cut = id.lastIndexOf("#");
  const [root, intent] = [id.slice(0, cut), id.slice(cut + 1)];
  const recorded = Promise.withResolvers<"answered" | "late">();
  recorded.promise.catch(() => {});
  // Watch first, read second: what becomes durable in between is then seen one way or the other.
  const stop = runtime.watch((event) => {
    if (event.root !== root) return;
    if (event.type === "quarantined") {
      recorded.reject(new KernelError("root_quarantined", `"${root}" is quarantined: ${event.reason}`));
    }
    if (event.type !== "entries") return;
    for (const entry of event.entries) {
      const how = endOf(entry, intent);
      if (how !== undefined) recorded.resolve(how);
    }
  });
  try {
    await runtime.questions.answer(id, given);
    runtime.journal.writer.urge();
    const known = await findClosedQuestion(runtime.journal, id);
    const end = known?.end === "unrecorded" ? await patiently(runtime.kernel, recorded.promise) : known?.end;
    if (end !== "answered") {
      throw new KernelError("approval_stale", `Nobody waits for "${id}" any more: its call was canceled`);
    }
  } finally {
    stop();
  }
}

/** How the stream took an outcome: as the answer, or as evidence of one that came too late (K12). */
function endOf({ kind, type, body }: Entry, intent: string): "answered" | "late" | undefined {
  if ((body as { readonly id?: string } | undefined)?.id !== intent) return undefined;
  if (kind === "outcome" && type === "question.ask") return "answered";
  return kind === "note" && type === "late_outcome" ? "late" : undefined;
}
