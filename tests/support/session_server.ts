/**
 * An MCP server by Streamable HTTP, in this process, on loopback: keeps sessions `session-1`, `session-2`, … and does to
 * its calls, in their order, what a test says.
 *
 * Answers 202 to notifications, 404 with error -32000 for sessions that it does not know, 204 to DELETE, 405 to every
 * other method but GET, whose stream brings `notifications/ready` once. Has one tool, `echo`, which gives its arguments
 * back as text.
 */

/** What becomes of one call. */
export type CallPlan =
  | "ok"
  /** Its session is forgotten, and the call answered as one of a session that nobody knows. */
  | "session_not_found"
  /** An answer with neither a result nor an error. */
  | "protocol_error"
  /** Error -32001. */
  | "semantic_error"
  /** No answer, ever. */
  | "silence"
  /** It is carried out, and its answer broken off before its end. */
  | "cut";

/** A message as it came. */
interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly [key: string]: unknown };
    readonly _meta?: { readonly [key: string]: unknown };
  };
}

/** One request as it came. */
export interface Heard {
  readonly method: string;
  readonly session: string | null;
  /** The method of the message in it. */
  readonly message: string;
  readonly headers: Headers;
  /** `_meta` of the message. */
  readonly meta: { readonly [key: string]: unknown };
}

/** The server. */
export class SessionServer {
  /** All requests, in order. */
  readonly heard: Heard[] = [];
  /** Calls that were carried out: what `echo` was given. */
  readonly echoed: unknown[] = [];
  readonly #plans: CallPlan[];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #sessions = new Set<string>();
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  #opened = 0;
  readonly #silence = Promise.withResolvers<Response>();
  /** If it is set, whoever comes without it is refused with 401. */
  token: string | undefined;

  constructor(plans: readonly CallPlan[] = [], port = 0) {
    this.#plans = [...plans];
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  get port(): number {
    return this.#server.addr.port;
  }

  /** Sessions that were issued. */
  get issued(): number {
    return this.#opened;
  }

  /** Sessions that were issued and neither given back nor forgotten. */
  get open(): readonly string[] {
    return [...this.#sessions];
  }

  /** What its clients sent by one method, as `<message> <session>`. */
  said(method: string): readonly string[] {
    return this.heard.filter((one) => one.method === method).map(({ message, session }) =>
      `${message} ${session}`
    );
  }

  async close(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    this.#silence.resolve(new Response(null, { status: 500 }));
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    if (this.token !== undefined && request.headers.get("authorization") !== `Bearer ${this.token}`) {
      return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
    }
    const { method, headers } = request;
    const session = headers.get("mcp-session-id");
    const text = method === "POST" ? await request.text() : "";
    const message: Message = text === "" ? {} : JSON.parse(text);
    const meta = message.params?._meta ?? {};
    this.heard.push({ method, session, message: message.method ?? "-", headers, meta });
    if (method === "POST" && message.method === "initialize") return this.#initialize(message);
    if (!["POST", "GET", "DELETE"].includes(method)) return new Response(null, { status: 405 });
    if (session === null || !this.#sessions.has(session)) return unknown(message);
    if (method === "GET") return this.#listen();
    if (method === "POST") return this.#take(message, session);
    this.#sessions.delete(session);
    return new Response(null, { status: 204 });
  }

  #initialize({ id }: Message): Response {
    const session = `session-${++this.#opened}`;
    this.#sessions.add(session);
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "sessions", version: "1" },
    };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: { "mcp-session-id": session } });
  }

  #listen(): Response {
    const ready = `event: message\ndata: ${
      JSON.stringify({ jsonrpc: "2.0", method: "notifications/ready" })
    }\n\n`;
    const held: { controller?: ReadableStreamDefaultController<Uint8Array> } = {};
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        held.controller = controller;
        this.#streams.add(controller);
        controller.enqueue(new TextEncoder().encode(`: open\n\n${ready}`));
      },
      cancel: () => void (held.controller && this.#streams.delete(held.controller)),
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  }

  #take(message: Message, session: string): Response | Promise<Response> {
    const { id, method, params } = message;
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === "tools/list") {
      const inputSchema = { type: "object", properties: { message: { type: "string" } } };
      const tools = [{ name: "echo", description: "Gives its arguments back", inputSchema }];
      return Response.json({ jsonrpc: "2.0", id, result: { tools } });
    }
    if (method !== "tools/call") return error(id, -32601, "Method not found");
    switch (this.#plans.shift() ?? "ok") {
      case "session_not_found":
        this.#sessions.delete(session);
        return unknown(message);
      case "protocol_error":
        return Response.json({ jsonrpc: "2.0", id });
      case "cut":
        this.echoed.push(params?.arguments);
        return cut(id, JSON.stringify(params?.arguments));
      case "semantic_error":
        return error(id, -32001, "The echo is out of order");
      case "silence":
        return this.#silence.promise;
      case "ok": {
        this.echoed.push(params?.arguments);
        const text = JSON.stringify(params?.arguments);
        return Response.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
      }
    }
  }
}

/** All of an answer but its end: more was promised than comes. */
function cut(id: Message["id"], text: string): Response {
  const whole = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(`data: ${whole.slice(0, -1)}`));
      controller.close();
    },
  });
  const headers = { "content-type": "text/event-stream", "content-length": "1000000" };
  return new Response(body, { headers });
}

function unknown({ id }: Message): Response {
  return error(id ?? null, -32000, "Session not found", 404);
}

function error(id: number | string | null, code: number, message: string, status = 200): Response {
  return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status });
}
