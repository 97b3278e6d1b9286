/**
 * An MCP server of 2024-11-05, in this process: `GET /sse` is the stream of a session, whose first event names the place
 * where its messages are sent to, and which brings all answers. Everything else is answered with 404.
 */

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly [key: string]: unknown } };
}

/** What the server does otherwise than it should. */
export interface OldQuirks {
  /** What the first event names; `/message?session=<n>` without. */
  readonly endpoint?: string;
  /** True if its streams begin with nothing. */
  readonly isMute?: boolean;
  /** The status of whatever it does not know; 404 without. */
  readonly refusal?: number;
  /** What it answers to a message other than the handshake's; undefined: as it should. */
  readonly post?: (message: Message, server: OldServer) => Response | undefined;
  /** False if it has no stream either. */
  readonly hasStream?: boolean;
}

/** The server. */
export class OldServer {
  /** Requests as they came: the method and the path, and what message it was. */
  readonly heard: string[] = [];
  readonly headers: Headers[] = [];
  readonly #quirks: OldQuirks;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #streams = new Map<string, ReadableStreamDefaultController<Uint8Array>>();

  constructor(quirks: OldQuirks = {}) {
    this.#quirks = quirks;
    const place = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(place, (request) => this.#answer(request));
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/sse`;
  }

  /** Streams that are open. */
  get open(): number {
    return this.#streams.size;
  }

  /** Sends an event to all sessions. */
  say(event: string): void {
    for (const stream of this.#streams.values()) stream.enqueue(new TextEncoder().encode(event));
  }

  /** Ends all streams. */
  hangUp(): void {
    for (const [session, stream] of this.#streams) {
      this.#streams.delete(session);
      stream.close();
    }
  }

  async close(): Promise<void> {
    this.hangUp();
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const session = searchParams.get("session") ?? "";
    const text = await request.text();
    const message: Message = text === "" ? {} : JSON.parse(text);
    this.heard.push(`${request.method} ${pathname} ${message.method ?? "-"}`);
    this.headers.push(request.headers);
    const { hasStream = true, refusal = 404, post } = this.#quirks;
    if (request.method === "GET" && pathname === "/sse" && hasStream) return this.#listen();
    if (request.method !== "POST" || pathname !== "/message") return new Response("no", { status: refusal });
    if (!this.#streams.has(session)) return new Response("no such session", { status: 404 });
    const odd = message.method === "initialize" ? undefined : post?.(message, this);
    if (odd !== undefined) return odd;
    if (message.id !== undefined && message.method !== undefined) this.say(eventOf(message));
    return new Response("Accepted", { status: 202 });
  }

  #listen(): Response {
    const session = `${this.heard.length}`;
    const endpoint = this.#quirks.endpoint ?? `/message?session=${session}`;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (stream) => {
        this.#streams.set(session, stream);
        const first = this.#quirks.isMute === true ? ": \n\n" : `event: endpoint\ndata: ${endpoint}\n\n`;
        stream.enqueue(new TextEncoder().encode(first));
      },
      cancel: () => void this.#streams.delete(session),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
}

/** The answer to a request, as an event. */
function eventOf({ id, method, params }: Message): string {
  const echo = { name: "echo", description: "Echoes", inputSchema: { type: "object" } };
  const results: { readonly [method: string]: unknown } = {
    initialize: {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "old", version: "1" },
    },
    "tools/list": { tools: [echo] },
    "tools/call": { content: [{ type: "text", text: `old ${JSON.stringify(params?.arguments)}` }] },
  };
  return `event: message\ndata: ${
    JSON.stringify({ jsonrpc: "2.0", id, result: results[method ?? ""] ?? {} })
  }\n\n`;
}
