/** `watch`: what an agent did and does, without gap or repeat from any entry on. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import type { WatchEvent } from "../../schemas/api_view.ts";
import type { Entry } from "../../schemas/entry.ts";
import { entryIn } from "../records/entry_view.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { TurnWatch } from "./lost_turns.ts";
import { TranscriptFold } from "./transcript.ts";
import { sessionFor } from "./visible.ts";
import { watchState } from "./watch_state.ts";

/** Entries as watchers are told them: all who watch an agent get the very same. */
const told = new WeakMap<Entry, WatchEvent>();

function eventOf(entry: Entry): WatchEvent {
  const known = told.get(entry) ??
    Object.freeze({ type: "entry" as const, seq: entry.seq, entry: entryIn("event", entry) });
  told.set(entry, known);
  return known;
}

/** Watches until the caller has gone, or to the end of what is there. */
export async function* watch(
  context: ApiCallContext,
  { address, after, view, follow }: ApiGiven<"watch">,
): AsyncIterable<ApiResult<"watch">> {
  sessionFor(context, address);
  const { parts: { host }, signal } = context;
  if (view === "state") return yield* watchState(context, { address, follow });
  // What stands in an entry may refer to an earlier one, so a transcript is folded from the beginning.
  const isTranscript = view === "transcript";
  const transcript = new TranscriptFold();
  const turns = new TurnWatch(context, address);
  const from = isTranscript ? 1 : after + 1;
  const pages = follow ? host.follow(address, from, signal) : host.readPages(address, from);
  for await (const page of pages) {
    if (signal.aborted && !follow) return;
    for (const entry of page) {
      if (isTranscript) yield* itemsOf(transcript, entry, after);
      else yield eventOf(entry);
    }
    if (isTranscript) yield* await turns.take(page);
  }
}

function* itemsOf(transcript: TranscriptFold, entry: Entry, after: number): Iterable<WatchEvent> {
  for (const item of transcript.take(entry)) {
    if (entry.seq > after) yield { type: "transcript", seq: entry.seq, item };
  }
}
