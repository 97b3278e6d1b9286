/** The sessions of MCP servers by HTTP, as the streams of their connections tell of them (CM-78..82). */
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import { McpEnd, McpGreeting } from "../../schemas/effect.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../../schemas/ids.ts";
import type { McpSessionRecord } from "../../schemas/record.ts";
import { peek, peekText } from "../peek.ts";

/** Where the sessions of one session's servers are read from. */
export interface McpSessionsRequest {
  readonly session: RootAddress;
  readonly roots: readonly RootRecord[];
  readonly pages: (root: RootAddress) => AsyncIterable<readonly Entry[]>;
}

/** One record for each server by HTTP that was ever reached, by its latest session. */
export async function readMcpSessions(
  { session, roots, pages }: McpSessionsRequest,
): Promise<readonly McpSessionRecord[]> {
  const records: McpSessionRecord[] = [];
  for (const { address } of roots) {
    if (rootKindOf(address) !== "connection" || sessionOf(address) !== session) continue;
    const fold = new SessionFold(address);
    for await (const page of pages(address)) {
      for (const entry of page) fold.take(entry);
    }
    if (fold.record !== undefined) records.push(fold.record);
  }
  return records;
}

const listChanged = "notifications/tools/list_changed";

/** Reads one stream: what was asked, and how it came out. */
class SessionFold {
  record: McpSessionRecord | undefined;
  readonly #connection: RootAddress;

  constructor(connection: RootAddress) {
    this.#connection = connection;
  }

  take({ kind, type, body }: Entry): void {
    if (kind !== "outcome") return;
    const isOk = peekText(body, "status") === "ok";
    const value = peek(body, "value");
    if (type === "mcp.connect" && isOk) this.#begin(value);
    // The list is the first that is asked in a session: from then on it is in use.
    else if (type === "mcp.list" && isOk) this.#change({ session_state: "open" });
    else if (type === "mcp.watch" && isOk && peekText(value, "type") !== "ended") {
      if (peekText(value, "type") !== "idle") this.#change({ last_sse_event: listChanged });
    } else if (type === "mcp.watch") this.#change({ session_state: "closed", session_id: null });
    else if (type === "mcp.close") this.#end(value);
  }

  #end(value: unknown): void {
    const lastEvent = McpEnd.safeParse(value).data?.lastEvent ?? this.record?.last_sse_event ?? null;
    this.#change({ session_state: "closed", session_id: null, last_sse_event: lastEvent });
  }

  #begin(value: unknown): void {
    const session = McpGreeting.safeParse(value).data?.session;
    if (session === undefined) return;
    this.record = {
      connection: this.#connection,
      transport_kind: session.transport,
      server_url: session.url,
      session_id: session.id,
      session_state: "new",
      sessions: (this.record?.sessions ?? 0) + 1,
      last_sse_event: this.record?.last_sse_event ?? null,
      initialize_result: session.initialized,
    };
  }

  #change(change: Partial<McpSessionRecord>): void {
    if (this.record !== undefined) this.record = { ...this.record, ...change };
  }
}
