/** The sessions with MCP servers, as the streams of their connections tell of them (CM-78..82): one record a server. */
import { serverStateOf } from "../../actors/server_session.ts";
import type { Entry, RootRecord } from "../../schemas/entry.ts";
import { McpEnd, McpGreeting } from "../../schemas/effect.ts";
import { Failure } from "../../schemas/failure.ts";
import { type RootAddress, rootKindOf, sessionOf } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { McpSessionRecord } from "../../schemas/record.ts";
import { ServerSession, urlWithoutQuery } from "../../schemas/server_session.ts";
import { peek, peekText } from "../peek.ts";

/** Where the sessions of one session's servers are read from. */
export interface McpSessionsRequest {
  readonly session: RootAddress;
  readonly roots: readonly RootRecord[];
  readonly pages: (root: RootAddress) => AsyncIterable<readonly Entry[]>;
}

/** One record for each server that was ever declared, by its latest session. */
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
    records.push(fold.record);
  }
  return records;
}

const listChanged = "notifications/tools/list_changed";

/** Reads one stream: what was asked, and how it came out. */
class SessionFold {
  record: McpSessionRecord;

  constructor(connection: RootAddress) {
    this.record = {
      connection,
      server: connection.replace(/^connection\//, "").replace(/@.*$/, ""),
      state: "pending",
      failure: null,
      transport_kind: "stdio",
      server_url: null,
      session_id: null,
      session_state: null,
      sessions: 0,
      last_sse_event: null,
      initialize_result: null,
    };
  }

  take({ kind, type, body }: Entry): void {
    if (kind === "created") this.#declared(peek(body, "input", "declaration"));
    else if (kind === "input") this.#declared(peek(body, "message", "declaration"));
    else if (kind === "note") this.#noted(type, body);
    else if (kind === "intent" && type === "mcp.connect") this.#change({ state: "pending", failure: null });
    else if (kind === "outcome") this.#came(type, peekText(body, "status") === "ok", peek(body, "value"));
  }

  #declared(declaration: unknown): void {
    const transport = peekText(declaration, "manifest", "transport");
    if (peek(declaration, "manifest", "enabled") === false) this.#change({ state: "disabled" });
    if (transport === "stdio") this.#change({ transport_kind: "stdio", server_url: null });
    else if (transport === "streamable_http") {
      const url = urlWithoutQuery(peekText(declaration, "manifest", "url"));
      this.#change({ transport_kind: transport, server_url: url });
    }
  }

  #noted(type: string, body: unknown): void {
    if (type === "connection.listed") this.#change({ state: serverStateOf(null), failure: null });
    if (type.startsWith("mcp.server_")) {
      const { data } = Failure.pick({ code: true, message: true }).loose().safeParse(body);
      if (data === undefined) return;
      this.#change({ state: serverStateOf(data.code), failure: { code: data.code, message: data.message } });
    }
    if (type !== "connection.session") return;
    const { data } = ServerSession.safeParse(body);
    if (data === undefined) return;
    const { state, id } = data;
    this.#change({
      session_state: state,
      session_id: id,
      ...(state === "closed" ? { state: "pending" } : {}),
    });
  }

  #came(type: string, isOk: boolean, value: unknown): void {
    if (type === "mcp.connect" && isOk) this.#begin(value);
    // The list is the first that is asked in a session: from then on it is in use.
    else if (type === "mcp.list" && isOk) this.#change({ session_state: "open" });
    else if (type === "mcp.watch" && isOk && peekText(value, "type") !== "ended") {
      if (peekText(value, "type") !== "idle") this.#change({ last_sse_event: listChanged });
    } else if (type === "mcp.watch") this.#change({ session_state: "closed", session_id: null });
    else if (type === "mcp.close" && this.record.sessions > 0) this.#end(value);
  }

  #end(value: unknown): void {
    const lastEvent = McpEnd.safeParse(value).data?.lastEvent ?? this.record.last_sse_event;
    this.#change({ session_state: "closed", session_id: null, last_sse_event: lastEvent });
  }

  #begin(value: unknown): void {
    const { data } = McpGreeting.safeParse(value);
    if (data === undefined) return;
    const { session, protocolVersion, server, capabilities } = data;
    const told = {
      protocolVersion,
      serverInfo: server,
      ...(capabilities === undefined ? {} : { capabilities }),
    };
    this.#change({
      session_id: session?.id ?? null,
      session_state: "new",
      sessions: this.record.sessions + 1,
      initialize_result: session?.initialized ?? told,
    });
  }

  #change(change: Partial<McpSessionRecord>): void {
    this.record = { ...this.record, ...change };
  }
}

/** The session that all calls of a binding share, as the binding shows it; undefined if there was none yet (CM-78). */
export function bindingSession(
  sessions: readonly McpSessionRecord[],
  { binding, tool }: { readonly binding: string; readonly tool: string },
): JsonObject | undefined {
  const found = sessions.find(({ connection }) => connection === binding);
  if (found === undefined || found.sessions === 0) return undefined;
  const { server, transport_kind, server_url, session_id, session_state, last_sse_event, initialize_result } =
    found;
  return {
    server,
    transport_kind,
    server_url,
    tool_name: tool,
    session_id,
    session_state,
    last_sse_event,
    initialize_result,
  };
}
