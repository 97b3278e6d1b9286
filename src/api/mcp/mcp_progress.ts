/** What an agent does while somebody waits for its turn, as progress of the call. */
import type { AgentView, TranscriptItem, WatchEvent } from "../../../schemas/api_view.ts";
import type { ServerContext } from "../../mcp/sdk_server.ts";
import type { ActorApi } from "../actor_api.ts";
import type { Caller } from "../caller.ts";
import { TranscriptFold } from "../transcript.ts";

/** Whose work is told, and to whom. */
export interface ProgressOrder {
  readonly caller: Caller;
  /** As it was given, not checked yet. */
  readonly address: unknown;
  readonly token: string | number;
  readonly notify: ServerContext["mcpReq"]["notify"];
}

/** Waits for some work, and tells meanwhile what is journaled. Who may not read the journal is told nothing. */
export async function withProgress<T>(
  api: ActorApi,
  order: ProgressOrder,
  work: () => Promise<T>,
): Promise<T> {
  const { caller, address } = order;
  const done = new AbortController();
  const params = { address };
  // What is wrong with the request is for the work itself to say.
  const view = caller.scopes.has("log:read")
    ? await api.call({ caller, method: "get", params, signal: done.signal }).catch(() => undefined)
    : undefined;
  if (view === undefined) return await work();
  const telling = tell(api, order, (view as AgentView).seq, done.signal).catch(() => {});
  try {
    return await work();
  } finally {
    done.abort();
    await telling;
  }
}

async function tell(
  api: ActorApi,
  { caller, address, token, notify }: ProgressOrder,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  const fold = new TranscriptFold();
  const events = api.stream({ caller, method: "watch", params: { address, after }, signal });
  for await (const event of events as AsyncIterable<WatchEvent>) {
    if (event.type !== "entry") continue;
    for (const item of fold.take(event.entry)) {
      // Entries are counted: nobody knows how many there will be.
      const params = { progressToken: token, progress: event.seq - after, message: textOf(item) };
      await notify({ method: "notifications/progress", params });
    }
  }
}

function textOf(item: TranscriptItem): string {
  switch (item.type) {
    case "prompt":
      return "The prompt is accepted";
    case "answer":
      return "The model answered";
    case "call":
      return `Calls ${item.tool}`;
    case "result":
      return `${item.tool}: ${item.outcome}`;
    case "question":
      return `Waits for an answer about ${item.tool}: question ${item.id}`;
    case "turn":
      return `The turn ended: ${item.outcome}`;
  }
}
