/** An MCP server by Streamable HTTP, in this process, that behaves but where a test says otherwise. */

/** A message as it came. */
export interface HttpMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number };
}

/** One request as it came. */
export interface HttpHeard {
  readonly method: string;
  readonly path: string;
  readonly message: HttpMessage;
  readonly headers: Headers;
}

type Answer = Response | Promise<Response>;

/** What the server does otherwise than it should. */
export interface HttpQuirks {
  readonly initialize?: (message: HttpMessage) => Answer;
  /** Without it, a server of the legacy era that knows no better than to answer with nothing. */
  readonly discover?: (message: HttpMessage, heard: HttpHeard) => Answer;
  /** The stream of changes in the modern era; without it, there is none. */
  readonly listen?: (message: HttpMessage, heard: HttpHeard) => Answer;
  readonly list?: (message: HttpMessage) => Answer;
  readonly call?: (message: HttpMessage, heard: HttpHeard) => Answer;
  /** Streams of what nobody asked for, and those that are opened again. */
  readonly get?: (heard: HttpHeard) => Answer;
  readonly delete?: () => Answer;
  /** What comes for another path than `/mcp`. */
  readonly elsewhere?: (heard: HttpHeard) => Answer;
}

/** The server. It names its session `session-1`, and has no stream of its own unless a test gives it one. */
export class HttpServer {
  readonly heard: HttpHeard[] = [];
  readonly #quirks: HttpQuirks;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(quirks: HttpQuirks = {}) {
    this.#quirks = quirks;
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(options, (request) => this.#answer(request));
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Requests of one kind: the method of the message, or of HTTP where there is none. */
  heardOf(what: string): readonly HttpHeard[] {
    return this.heard.filter(({ method, message }) => (message.method ?? method) === what);
  }

  close(): Promise<void> {
    return this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { method, headers } = request;
    const text = method === "POST" ? await request.text() : "";
    const message: HttpMessage = text === "" ? {} : JSON.parse(text);
    const heard = { method, path: new URL(request.url).pathname, message, headers };
    this.heard.push(heard);
    const quirks = this.#quirks;
    if (heard.path !== "/mcp" && quirks.elsewhere) return await quirks.elsewhere(heard);
    if (method === "GET") return await (quirks.get?.(heard) ?? status(405));
    if (method === "DELETE") return await (quirks.delete?.() ?? status(204));
    if (message.id === undefined || message.method === undefined) return status(202);
    switch (message.method) {
      case "initialize":
        return await (quirks.initialize?.(message) ?? greet(message));
      case "server/discover":
        return await (quirks.discover?.(message, heard) ?? json(message, {}));
      case "subscriptions/listen":
        return await (quirks.listen?.(message, heard) ?? refused(message, -32_601, "Method not found"));
      case "tools/list":
        return await (quirks.list?.(message) ?? json(message, { tools: [] }));
      case "tools/call":
        return await (quirks.call?.(message, heard) ?? json(message, said("done")));
      default:
        return json(message, {});
    }
  }
}

/** An answer without a body. */
export function status(code: number): Response {
  return new Response(null, { status: code });
}

/** A result of a tool. */
export function said(text: string) {
  return { content: [{ type: "text", text }] };
}

/** A result as one piece of JSON. */
export function json({ id }: HttpMessage, result: unknown, headers: HeadersInit = {}): Response {
  return Response.json({ jsonrpc: "2.0", id, result }, { headers });
}

/** An error of the protocol as one piece of JSON; `more` says its status and its data, if it has any. */
export function refused(
  { id }: HttpMessage,
  code: number,
  message: string,
  { status, data }: { readonly status?: number; readonly data?: unknown } = {},
): Response {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return Response.json({ jsonrpc: "2.0", id, error }, { status: status ?? 200 });
}

/** The answer to `server/discover` of a server that speaks 2026-07-28. */
export function discovered(message: HttpMessage, capabilities: object = { tools: {} }): Response {
  return json(message, {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities,
    ttlMs: 0,
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "modern", version: "3" } },
  });
}

/** The answer to `initialize`. */
export function greet(message: HttpMessage, session = "session-1"): Response {
  const result = {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "http", version: "1" },
  };
  return json(message, result, { "mcp-session-id": session });
}

/** A message as an event. */
export function event(message: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;
}

/** A result as an event. */
export function resultEvent({ id }: HttpMessage, text: string): string {
  return event({ jsonrpc: "2.0", id, result: said(text) });
}

const encoder = new TextEncoder();

/** A stream of events. `end`: how it goes on behind its pieces. Pieces may be made one at a time. */
export function events(
  pieces: Iterable<string | Uint8Array<ArrayBuffer>>,
  end: "closed" | "broken" | "open" = "closed",
): Response {
  const source = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const next = source.next();
      if (!next.done) {
        return controller.enqueue(typeof next.value === "string" ? encoder.encode(next.value) : next.value);
      }
      if (end !== "open") controller.close();
      // One that stays open waits for a reader that goes away.
      return new Promise(() => {});
    },
  });
  // More is promised than comes.
  const length = end === "broken" ? { "content-length": "1000000" } : {};
  return new Response(body, { headers: { "content-type": "text/event-stream", ...length } });
}
