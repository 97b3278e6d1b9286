/** What one root did and does: its entries without a gap, and in between what is provisional. */
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { Runtime } from "../runtime.ts";
import { EventQueue } from "./event_queue.ts";
import type { HostEvent } from "./host.ts";

/** What is watched. */
export interface Watch {
  readonly fromSeq: number;
  /** True to hear of the root's questions too: after the entries that stand before them. */
  readonly questions: boolean;
  readonly signal: AbortSignal;
}

/** Watches a root from the entry `fromSeq` on until `signal` aborts; then gives out what it has heard, and ends. */
export async function* watchRoot(
  runtime: Pick<Runtime, "watch" | "journal" | "questions">,
  root: RootAddress,
  { fromSeq, questions, signal }: Watch,
): AsyncIterable<HostEvent> {
  const queue = new EventQueue<HostEvent>(limits.watchEventsBufferedMax);
  // Watch first, read second: what becomes durable in between is then seen twice rather than never.
  const stops = [runtime.watch((event) => {
    if (event.root === root) queue.push(event);
  })];
  if (questions) {
    stops.push(runtime.questions.listen((question) => {
      if (question.root === root) queue.push({ type: "question", question });
    }));
  }
  const close = () => queue.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) queue.close();
  let next = fromSeq;
  try {
    for await (const entries of runtime.journal.readPages(root, fromSeq)) {
      yield { type: "entries", root, entries };
      next = (entries.at(-1)?.seq ?? next - 1) + 1;
    }
    for await (const event of queue) {
      if (event.type !== "entries") {
        yield event;
        continue;
      }
      const fresh = freshOf(event.entries, next);
      next += fresh.length;
      if (fresh.length > 0) yield { ...event, entries: fresh };
    }
  } finally {
    for (const stop of stops) stop();
    signal.removeEventListener("abort", close);
  }
}

function freshOf(entries: readonly Entry[], next: number): readonly Entry[] {
  const first = entries[0]?.seq ?? next;
  return first >= next ? entries : entries.slice(next - first);
}
