/** Our own MCP servers by Streamable HTTP, on loopback only: who may ask, which session it is of, and how many there are. */
import { limits } from "../../schemas/limits.ts";
import { createToken } from "../door/token.ts";
import { givenUp } from "../effects/deadline.ts";
import type { Clock } from "../seams.ts";
import { type Server, WebStandardStreamableHTTPServerTransport } from "./sdk_v1.ts";

/** Options of {@linkcode openHttpFront}. */
export interface HttpFrontOptions {
  /** 0 for a port that the system chooses. */
  readonly port: number;
  /** Makes the server of one session. */
  readonly createServer: () => Server;
  readonly clock: Clock;
  /** Sessions at once. By default and at most `limits.mcpServedSessionsMax`. */
  readonly sessionsMax?: number;
}

/** An open front. */
export interface HttpFront {
  readonly url: string;
  readonly sessions: number;
  /** Ends every session, and listens no more. Whoever is still being answered has a moment. */
  close(): Promise<void>;
}

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAtMs: number;
  /** Requests of it that are not answered yet. */
  busy: number;
}

/** How long clients may still read their answers. Milliseconds. */
const closeGraceMs = 1_000;

/** Error codes of our own refusals: JSON-RPC leaves these to servers. */
const codes = { refused: -32000, parse: -32700 } as const;

/** Names by which loopback is asked for: any other was made by a page that wants in from a browser (DNS rebinding). */
const loopbackNames: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Opens a front at `http://127.0.0.1:<port>/mcp`. Throws what listening throws. */
export function openHttpFront(options: HttpFrontOptions): HttpFront {
  return new OpenFront(options);
}

class OpenFront implements HttpFront {
  readonly #options: HttpFrontOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #listener: Deno.HttpServer<Deno.NetAddr>;

  constructor(options: HttpFrontOptions) {
    this.#options = options;
    const { port } = options;
    const onError = () => refuse(500, "It broke off");
    this.#listener = Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {}, onError },
      (request) => this.#answer(request),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}/mcp`;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  async close(): Promise<void> {
    for (const id of [...this.#sessions.keys()]) await this.#end(id);
    const { clock } = this.#options;
    const enough = new AbortController();
    const late = clock.sleepUntil(clock.now() + closeGraceMs, enough.signal);
    // One that holds its connection and asks nothing is not waited for.
    await Promise.race([this.#listener.shutdown(), late]);
    enough.abort(givenUp);
  }

  /** Who asks is looked at before anything of what it asks. */
  async #answer(request: Request): Promise<Response> {
    const { headers, method } = request;
    if (!isLoopback(headers.get("host"), this.#listener.addr.port) || !isOwnOrigin(headers.get("origin"))) {
      return refuse(
        403,
        "Only this machine is served: by the name of loopback, and to no page of another origin",
      );
    }
    if (new URL(request.url).pathname !== "/mcp") return refuse(404, "There is nothing here; ask /mcp");
    // Nothing is ever said unasked, so that there is no stream for it.
    if (method !== "POST" && method !== "DELETE") {
      return refuse(405, "Use POST, or DELETE to end a session", { allow: "POST, DELETE" });
    }
    const body = method === "POST" ? await readBody(request) : undefined;
    if (body instanceof Response) return body;
    const id = headers.get("mcp-session-id");
    if (id === null) return await this.#begin(request, body);
    const session = this.#sessions.get(id);
    if (session === undefined) return refuse(404, "Session not found: begin a new one");
    if (method === "DELETE") {
      await this.#end(id);
      return new Response(null, { status: 204 });
    }
    return await this.#pass(session, request, body);
  }

  /** Only `initialize` begins a session. */
  async #begin(request: Request, body: unknown): Promise<Response> {
    if ((body as { readonly method?: unknown } | undefined)?.method !== "initialize") {
      return refuse(400, "Name a session in the header Mcp-Session-Id, or begin one with initialize");
    }
    await this.#expire();
    // Whoever knows it may use the session: it is as hard to guess as the door's.
    const id = await createToken();
    const { sessionsMax = limits.mcpServedSessionsMax, createServer, clock } = this.#options;
    if (this.#sessions.size >= Math.min(sessionsMax, limits.mcpServedSessionsMax)) {
      return refuse(503, "Too many sessions are open; end one, or try again later", { "retry-after": "60" });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      enableJsonResponse: true,
    });
    const session = { server: createServer(), transport, usedAtMs: clock.now(), busy: 0 };
    this.#sessions.set(id, session);
    await session.server.connect(transport);
    const response = await this.#pass(session, request, body);
    if (!response.ok) await this.#end(id);
    return response;
  }

  async #pass(session: Session, request: Request, parsedBody: unknown): Promise<Response> {
    session.busy += 1;
    try {
      return await session.transport.handleRequest(request, { parsedBody });
    } finally {
      session.busy -= 1;
      session.usedAtMs = this.#options.clock.now();
    }
  }

  /** Sessions that nobody has used for long make room. */
  async #expire(): Promise<void> {
    const oldestMs = this.#options.clock.now() - limits.mcpServedIdleMs;
    for (const [id, { usedAtMs, busy }] of [...this.#sessions]) {
      if (busy === 0 && usedAtMs <= oldestMs) await this.#end(id);
    }
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.server.close();
  }
}

function isLoopback(host: string | null, port: number): boolean {
  const [, name = "", given = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host ?? "") ?? [];
  return loopbackNames.has(name.toLowerCase()) && Number(given === "" ? 80 : given) === port;
}

/** Programs name no origin; a page may ask if it comes from this machine itself. */
function isOwnOrigin(origin: string | null): boolean {
  if (origin === null) return true;
  const url = URL.parse(origin);
  return url !== null && /^https?:$/.test(url.protocol) && loopbackNames.has(url.hostname);
}

/** The JSON of a request, or why it is not taken. A body that is too long is not read to its end. */
async function readBody({ body, headers }: Request): Promise<unknown> {
  const tooLong = () =>
    refuse(413, `A message may have ${limits.mcpServedBodyBytesMax} bytes at most`, { connection: "close" });
  if (Number(headers.get("content-length") ?? 0) > limits.mcpServedBodyBytesMax) return tooLong();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > limits.mcpServedBodyBytesMax) return tooLong();
    pieces.push(piece);
  }
  try {
    return JSON.parse(await new Blob(pieces).text());
  } catch {
    return refuse(400, "The message is no JSON", {}, codes.parse);
  }
}

function refuse(
  status: number,
  message: string,
  headers: { readonly [name: string]: string } = {},
  code: number = codes.refused,
): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers });
}
