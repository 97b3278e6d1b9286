/** `watch`: what an agent did and does, without gap or repeat from any entry on. */
import type { ApiGiven, ApiResult } from "../../schemas/api.ts";
import type { WatchEvent } from "../../schemas/api_view.ts";
import type { Entry } from "../../schemas/entry.ts";
import { entryIn } from "../records/entry_view.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { TranscriptFold } from "./transcript.ts";
import { treeOf } from "./views.ts";
import { sessionFor } from "./visible.ts";

/** Watches until the caller has gone, or to the end of what is there. */
export async function* watch(
  context: ApiCallContext,
  { address, after, view, follow }: ApiGiven<"watch">,
): AsyncIterable<ApiResult<"watch">> {
  sessionFor(context, address);
  const { parts: { host }, signal } = context;
  // What stands in an entry may refer to an earlier one, so a transcript is folded from the beginning.
  const from = view === "transcript" ? 1 : after + 1;
  const pages = follow ? host.follow(address, from, signal) : host.readPages(address, from);
  const transcript = new TranscriptFold();
  if (view === "state") {
    const { seq } = await host.readHead(address);
    yield { type: "state", seq, actors: await treeOf(context, address) };
  }
  for await (const page of pages) {
    if (signal.aborted && !follow) return;
    if (view === "state") {
      const seq = page.at(-1)?.seq;
      if (seq !== undefined) yield { type: "state", seq, actors: await treeOf(context, address) };
    } else {
      for (const entry of page) {
        if (view === "transcript") yield* told(transcript, entry, after);
        else yield { type: "entry", seq: entry.seq, entry: entryIn("event", entry) };
      }
    }
  }
}

function* told(transcript: TranscriptFold, entry: Entry, after: number): Iterable<WatchEvent> {
  for (const item of transcript.take(entry)) {
    if (entry.seq > after) yield { type: "transcript", seq: entry.seq, item };
  }
}
