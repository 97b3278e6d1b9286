/** The session that the calls of an MCP binding share, as its binding shows it (CM-78, CM-79). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { Entry } from "../../schemas/entry.ts";
import { type RootAddress, rootKindOf } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { ServerSession } from "../../schemas/server_session.ts";

/** Reads a stream, page by page. */
export type ReadPages = (root: RootAddress) => AsyncIterable<readonly Entry[]>;

/** Sessions as their connections' journals tell them last, each read once. */
export class BindingSessions {
  readonly #readPages: ReadPages | undefined;
  readonly #known = new Map<RootAddress, Promise<ServerSession | undefined>>();

  /** Without `readPages` no binding has a session. */
  constructor(readPages: ReadPages | undefined) {
    this.#readPages = readPages;
  }

  /** What is stored of the session of an entry's binding; undefined if there was none yet, or it needs none. */
  async of({ binding, definition }: CatalogEntry): Promise<JsonObject | undefined> {
    if (this.#readPages === undefined || rootKindOf(binding) !== "connection") return undefined;
    const root = binding as RootAddress;
    const reading = this.#known.get(root) ?? lastSession(this.#readPages(root));
    this.#known.set(root, reading);
    const session = await reading;
    if (session === undefined) return undefined;
    return {
      server: session.server,
      transport_kind: session.transport,
      server_url: session.url,
      tool_name: definition.name,
      session_id: session.id,
      session_state: session.state,
      last_sse_event: session.lastEvent,
      initialize_result: session.initialize as JsonObject | null,
    };
  }
}

async function lastSession(pages: AsyncIterable<readonly Entry[]>): Promise<ServerSession | undefined> {
  let last: ServerSession | undefined;
  for await (const page of pages) {
    for (const { kind, type, body } of page) {
      if (kind === "note" && type === "connection.session") last = ServerSession.safeParse(body).data;
    }
  }
  return last;
}
