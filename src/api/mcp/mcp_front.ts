/** The actor API as MCP by Streamable HTTP: sessions for the older era, none for the newer. Who asks is known already. */
import { apiLimits } from "../../../schemas/api_limits.ts";
import { limits } from "../../../schemas/limits.ts";
import { principalText } from "../../../schemas/principal.ts";
import { createToken } from "../../door/token.ts";
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  WebStandardStreamableHTTPServerTransport,
} from "../../mcp/sdk_server.ts";
import { authOf, type McpCaller } from "./mcp_caller.ts";
import { createApiServer, type McpApiServer, type McpServerParts } from "./mcp_server.ts";
import { SessionWatches } from "./session_watches.ts";

/** A request, with what the server found out about it. */
export interface McpHttpRequest {
  /** Its method and headers; its body is not read from it. Aborts when the client has gone. */
  readonly request: Request;
  /** Undefined if there is none. */
  readonly body: { readonly [name: string]: unknown } | undefined;
  readonly asks: McpCaller;
  /** Aborts when what goes on for ever is to end. */
  readonly ending: AbortSignal;
}

interface Session extends McpApiServer {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** A session is nobody else's. */
  readonly owner: string;
  usedAtMs: number;
  busy: number;
}

/** A handler for each principal: what it publishes goes to everybody who listens at it. */
const principalsMax = 1_024;

/** Error code of our own refusals: JSON-RPC leaves it to servers. */
const refused = -32_000;

/** Answers requests at `/mcp`. */
export class McpFront {
  readonly #parts: McpServerParts;
  readonly #sessions = new Map<string, Session>();
  readonly #modern = new Map<string, McpHttpHandler>();

  constructor(parts: McpServerParts) {
    this.#parts = parts;
  }

  /** Answers one request. */
  async answer(asked: McpHttpRequest): Promise<Response> {
    const { request, body, ending } = asked;
    const isLegacy = await isLegacyRequest(request, body);
    const isListening = body?.["method"] === "subscriptions/listen";
    const response = isLegacy
      ? await this.#inSession(asked)
      : isListening
      ? await this.#listen(asked)
      : await this.#pass(asked);
    return request.method === "GET" || isListening ? endedBy(response, ending) : response;
  }

  /** Ends every session and every listener. */
  async close(): Promise<void> {
    for (const id of [...this.#sessions.keys()]) await this.#end(id);
    for (const handler of this.#modern.values()) await handler.close();
  }

  async #pass({ request, body, asks }: McpHttpRequest): Promise<Response> {
    return await this.#handlerOf(asks).fetch(request, { parsedBody: body, authInfo: authOf(asks) });
  }

  #handlerOf({ caller }: McpCaller): McpHttpHandler {
    const owner = principalText(caller.principal);
    const known = this.#modern.get(owner);
    if (known !== undefined) return known;
    const handler = createMcpHandler(() => createApiServer(this.#parts).server, {
      legacy: "reject",
      onerror: (error) => this.#note(error),
    });
    const [oldest] = this.#modern.size >= principalsMax ? this.#modern : [];
    if (oldest !== undefined) {
      this.#modern.delete(oldest[0]);
      void oldest[1].close();
    }
    this.#modern.set(owner, handler);
    return handler;
  }

  /** Watches what a listener names for as long as it listens. What it may not see is never told of, as if nothing happened. */
  async #listen(asked: McpHttpRequest): Promise<Response> {
    const { api, seams } = this.#parts;
    const uris = listenedUris(asked.body);
    const most = apiLimits.mcpSubscriptionsMax;
    if (uris.length > most) return refuse(400, `A client listens to ${most} sessions at most: name fewer`);
    const watches = new SessionWatches(api, seams.clock);
    const handler = this.#handlerOf(asked.asks);
    const response = await this.#pass(asked);
    for (const uri of uris) {
      const tell = () => handler.notify.resourceUpdated(uri);
      await watches.begin(uri, asked.asks.caller, tell).catch((error) => this.#note(error));
    }
    return whenEnded(response, () => watches.endAll());
  }

  /** Only `initialize` begins a session; it is found again by whoever began it. */
  async #inSession(asked: McpHttpRequest): Promise<Response> {
    const { request, body, asks } = asked;
    const owner = principalText(asks.caller.principal);
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      return body?.["method"] === "initialize"
        ? await this.#begin(asked, owner)
        : refuse(400, "Name a session in the header Mcp-Session-Id, or begin one with initialize");
    }
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== owner) {
      return refuse(404, "Session not found: begin a new one with initialize");
    }
    if (request.method !== "DELETE") return await this.#use(session, asked);
    await this.#end(id);
    return new Response(null, { status: 204 });
  }

  async #begin(asked: McpHttpRequest, owner: string): Promise<Response> {
    await this.#expire();
    if (this.#sessions.size >= limits.mcpServedSessionsMax) {
      return refuse(503, "Too many sessions are open; end one, or try again later", { "retry-after": "60" });
    }
    // Whoever knows it still needs the token; it is as hard to guess as that.
    const id = await createToken();
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const { server, end } = createApiServer(this.#parts);
    server.onerror = (error) => this.#note(error);
    const session = { server, end, transport, owner, usedAtMs: this.#parts.seams.clock.now(), busy: 0 };
    this.#sessions.set(id, session);
    await server.connect(transport);
    const response = await this.#use(session, asked);
    if (!response.ok) await this.#end(id);
    return response;
  }

  async #use(session: Session, { request, body, asks }: McpHttpRequest): Promise<Response> {
    const { clock } = this.#parts.seams;
    session.busy += 1;
    const release = () => {
      session.busy -= 1;
      session.usedAtMs = clock.now();
      return Promise.resolve();
    };
    try {
      const response = await session.transport.handleRequest(request, {
        ...(body === undefined ? {} : { parsedBody: body }),
        authInfo: authOf(asks),
      });
      return whenEnded(response, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Sessions that nobody has used for long make room. */
  async #expire(): Promise<void> {
    const oldestMs = this.#parts.seams.clock.now() - limits.mcpServedIdleMs;
    for (const [id, { usedAtMs, busy }] of [...this.#sessions]) {
      if (busy === 0 && usedAtMs <= oldestMs) await this.#end(id);
    }
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.end();
    await session?.server.close();
  }

  #note(error: unknown): void {
    const detail = { message: String(error).slice(0, 500) };
    this.#parts.seams.log({ level: "info", event: "api.mcp_refused", detail });
  }
}

function listenedUris(body: McpHttpRequest["body"]): readonly string[] {
  const { notifications } = (body?.["params"] ?? {}) as { readonly notifications?: unknown };
  const { resourceSubscriptions: uris } = (notifications ?? {}) as {
    readonly resourceSubscriptions?: unknown;
  };
  return Array.isArray(uris) ? [...new Set(uris.filter((uri) => typeof uri === "string"))] : [];
}

/** The same answer; something is done once it was sent, or nobody reads it any more. */
function whenEnded(response: Response, done: () => Promise<void>): Response {
  return piped(response, new AbortController().signal, done);
}

/** The same answer, which ends when it is asked to. */
function endedBy(response: Response, ending: AbortSignal): Response {
  return piped(response, ending, () => Promise.resolve());
}

function piped(
  { body, status, headers }: Response,
  ending: AbortSignal,
  done: () => Promise<void>,
): Response {
  if (body === null) {
    void done();
    return new Response(null, { status, headers });
  }
  const reader = body.getReader();
  const over = Promise.withResolvers<{ readonly done: true; readonly value: undefined }>();
  const end = () => over.resolve({ done: true, value: undefined });
  ending.addEventListener("abort", end, { once: true });
  if (ending.aborted) end();
  const finish = async () => {
    ending.removeEventListener("abort", end);
    await reader.cancel().catch(() => {});
    await done();
  };
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await Promise.race([reader.read(), over.promise]);
      if (!next.done) return controller.enqueue(next.value);
      await finish();
      controller.close();
    },
    cancel: finish,
  }, { highWaterMark: 0 });
  return new Response(stream, { status, headers });
}

function refuse(
  status: number,
  message: string,
  headers: { readonly [name: string]: string } = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: refused, message } }, { status, headers });
}
