/** What one root did and does: its entries without a gap, and in between what is provisional. */
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { sessionsAbove } from "../ancestors.ts";
import type { Runtime } from "../runtime.ts";
import { EventQueue } from "./event_queue.ts";
import type { HostEvent } from "./host.ts";

/** What is watched. */
export interface Watch {
  readonly fromSeq: number;
  /**
   * True to hear of the questions of a session, its connections and its child agents too: those of its own stream after
   * the entries that stand before them.
   */
  readonly questions: boolean;
  readonly signal: AbortSignal;
}

/**
 * Watches a root from the entry `fromSeq` on until `signal` aborts; then gives out what it has heard, and ends. A
 * listener that was too slow misses what is provisional, never an entry.
 */
export async function* watchRoot(
  runtime: Pick<Runtime, "watch" | "journal" | "questions" | "kernel">,
  root: RootAddress,
  watch: Watch,
): AsyncIterable<HostEvent> {
  const { signal } = watch;
  const queue = new EventQueue<HostEvent>(limits.watchEventsBufferedMax);
  // Watch first, read second: what becomes durable in between is then seen twice rather than never.
  const stops = listen(runtime, root, { watch, queue });
  const close = () => queue.close();
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) queue.close();
  let next = watch.fromSeq;
  try {
    for (let ended: "closed" | "lost" = "lost"; ended === "lost";) {
      for await (const entries of runtime.journal.readPages(root, next)) {
        yield { type: "entries", root, entries };
        next = (entries.at(-1)?.seq ?? next - 1) + 1;
      }
      const events = queue.take();
      for (let event = await events.next();; event = await events.next()) {
        if (event.done) {
          ended = event.value;
          break;
        }
        const fresh = freshOf(event.value, next);
        if (fresh?.type === "entries") next += fresh.entries.length;
        if (fresh !== undefined) yield fresh;
      }
    }
  } finally {
    for (const stop of stops) stop();
    signal.removeEventListener("abort", close);
  }
}

function listen(
  runtime: Pick<Runtime, "watch" | "questions" | "kernel">,
  root: RootAddress,
  { watch, queue }: { readonly watch: Watch; readonly queue: EventQueue<HostEvent> },
): readonly (() => void)[] {
  const stop = runtime.watch((event) => {
    if (event.root === root) queue.push(event);
  });
  if (!watch.questions) return [stop];
  const { kernel, questions } = runtime;
  const isHeard = (asker: RootAddress) => sessionsAbove(kernel.records, asker).includes(root);
  return [
    stop,
    questions.listen((question) => {
      if (isHeard(question.root)) queue.push({ type: "question", question });
    }),
    questions.listenClosed(({ id, root: asker }) => {
      if (isHeard(asker)) queue.push({ type: "question_closed", id });
    }),
  ];
}

/** The event without the entries that were given out before; undefined if nothing is left. */
function freshOf(event: HostEvent, next: number): HostEvent | undefined {
  if (event.type !== "entries") return event;
  const first = event.entries[0]?.seq ?? next;
  const entries = first >= next ? event.entries : event.entries.slice(next - first);
  return entries.length === 0 ? undefined : { ...event, entries };
}
