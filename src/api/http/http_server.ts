/**
 * The server of the API. It is that of `node:http`, for it alone bounds headers and bodies in time and connections in
 * number: `Deno.serve` holds half a request for as long as its sender likes (B12, F35).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { TraceId } from "../../../schemas/trace.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import { checkHead, type HeadGuard, hostsOf, only } from "./head_guard.ts";
import { ConnectionLanes } from "./connection_lanes.ts";
import type { HttpAppOptions, HttpBindings } from "./asked.ts";
import { createHttpApp, refusal } from "./http_app.ts";

/** What is served, and where. */
export interface HttpServerOptions extends Omit<HttpAppOptions, "bodyMs" | "rate"> {
  readonly hostname: string;
  /** 0: one that the system chooses. */
  readonly port: number;
  readonly rate?: HttpAppOptions["rate"];
  readonly bodyMs?: number;
  readonly headersMs?: number;
}

/** A server that listens. */
export interface HttpServer {
  readonly port: number;
  /** As programs reach it. */
  readonly url: string;
  /**
   * Takes nothing new, answers what was accepted, ends every watch, and closes. When `late` aborts, whoever still waits
   * is told how far it is; what was accepted goes on at the next start.
   */
  drain(late: AbortSignal): Promise<void>;
}

/** Begins to listen. */
export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { hostname, port, headersMs = apiLimits.headersMs, bodyMs = apiLimits.bodyMs } = options;
  const served = new Served({ ...options, bodyMs });
  const server = createServer({
    // A request without one is told so, by our own guard.
    requireHostHeader: false,
    headersTimeout: headersMs,
    // The body has a deadline of its own, which answers; this one is for what never gets that far.
    requestTimeout: headersMs + bodyMs,
    connectionsCheckingInterval: Math.min(headersMs, 1_000),
  }, (incoming, outgoing) => void served.answer(incoming, outgoing));
  server.maxConnections = apiLimits.connectionsMax;
  server.on("clientError", (error, socket) => {
    // A request that came too slowly may be sent again as it is; one that is no HTTP may not.
    const isLate = (error as { readonly code?: string }).code === "ERR_HTTP_REQUEST_TIMEOUT";
    const status = isLate ? "408 Request Timeout" : "400 Bad Request";
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  served.guard = { hosts: hostsOf(hostname, bound) };
  return {
    port: bound,
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`,
    drain: (late) => served.drain(server, late),
  };
}

/** What is being answered. */
class Served {
  guard: HeadGuard = { hosts: new Set() };
  readonly #api: ActorApi;
  readonly #mcp: HttpServerOptions["mcp"];
  readonly #seams: HttpServerOptions["seams"];
  readonly #app: ReturnType<typeof createHttpApp>;
  readonly #ending = new AbortController();
  readonly #late = new AbortController();
  readonly #open = new Set<Promise<void>>();
  readonly #lanes = new ConnectionLanes();

  constructor({ rate, ...options }: Omit<HttpServerOptions, "bodyMs"> & { readonly bodyMs: number }) {
    this.#api = options.api;
    this.#mcp = options.mcp;
    this.#seams = options.seams;
    this.#app = createHttpApp({ ...options, rate });
  }

  /** Answers one request. Never rejects. */
  answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const answered = this.#lanes.take(
      incoming.socket,
      () => this.#answer(incoming, outgoing).catch(() => void outgoing.destroy()),
    );
    this.#open.add(answered);
    return answered.finally(() => this.#open.delete(answered));
  }

  async drain(server: Server, late: AbortSignal): Promise<void> {
    const leave = () => this.#late.abort();
    late.addEventListener("abort", leave, { once: true });
    if (late.aborted) leave();
    this.#ending.abort();
    const over = new AbortController();
    // Who was told and does not read is not waited for.
    late.addEventListener("abort", () => this.#cut(server, over.signal), { once: true });
    if (late.aborted) this.#cut(server, over.signal);
    while (this.#open.size > 0) await Promise.all(this.#open);
    await this.#mcp?.close();
    over.abort();
    late.removeEventListener("abort", leave);
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  #cut(server: Server, over: AbortSignal): void {
    const { clock } = this.#seams;
    clock.sleepUntil(clock.now() + apiLimits.farewellMs, over).then(() =>
      over.aborted || server.closeAllConnections()
    );
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { rawHeaders, method = "GET", url: target = "/" } = incoming;
    const trace = TraceId.safeParse(only(rawHeaders, "x-trace-id")).data ?? this.#seams.nextId("req");
    const gone = new AbortController();
    const left = new AbortController();
    const closed = Promise.withResolvers<void>();
    const leave = () => gone.abort();
    const lose = () => {
      leave();
      left.abort();
      closed.resolve();
    };
    outgoing.once("close", lose);
    // An answer that stands behind others on its connection does not hear of the end itself.
    incoming.socket.once("close", lose);
    if (incoming.socket.destroyed) lose();
    this.#late.signal.addEventListener("abort", leave, { once: true });
    const env: HttpBindings = {
      incoming,
      trace,
      gone: gone.signal,
      left: left.signal,
      kill: () => void outgoing.destroy(),
      ending: this.#ending.signal,
    };
    try {
      if (this.#late.signal.aborted) leave();
      await send(outgoing, await this.#responseOf({ method, target, env }), {
        trace,
        closed: closed.promise,
      });
    } finally {
      incoming.socket.off("close", lose);
      this.#late.signal.removeEventListener("abort", leave);
    }
  }

  async #responseOf(
    { method, target, env }: {
      readonly method: string;
      readonly target: string;
      readonly env: HttpBindings;
    },
  ): Promise<Response> {
    const { rawHeaders } = env.incoming;
    try {
      const path = checkHead({ target, rawHeaders }, this.guard);
      if (this.#ending.signal.aborted && !path.startsWith("/v1/health")) {
        throw new ApiFailure(
          "draining",
          "The server ends: send it again, with the same key, to the next one",
        );
      }
      const isEnd = method === "DELETE" && path.startsWith("/mcp") && this.#mcp !== undefined;
      if (method !== "GET" && method !== "POST" && !isEnd) {
        throw new ApiFailure("method_not_allowed", "Only GET and POST are known here");
      }
      return await this.#app.fetch(new Request(`http://troupe${path}`, { method }), env);
    } catch (error) {
      return refusal({ env }, this.#api, error);
    }
  }
}

/** Writes a response no faster than it is taken, unless its connection ends. */
async function send(
  outgoing: ServerResponse,
  response: Response,
  { trace, closed }: { readonly trace: string; readonly closed: Promise<void> },
): Promise<void> {
  // Whoever has left already hears nothing, and closes no second time.
  if (outgoing.destroyed) return void await response.body?.cancel();
  for (const [name, value] of response.headers) outgoing.setHeader(name, value);
  outgoing.setHeader("x-trace-id", trace);
  outgoing.setHeader("x-content-type-options", "nosniff");
  outgoing.writeHead(response.status);
  if (response.body === null) return await ended(outgoing, closed);
  const type = response.headers.get("content-type") ?? "";
  // At once, so that a watcher of a quiet agent knows that it is heard.
  if (type.startsWith("text/event-stream")) outgoing.flushHeaders();
  const reader = response.body.getReader();
  let isClosed = false;
  // Ends the read that waits. A race against the end for each piece would hold on to all of them until then.
  const left = closed.then(() => {
    isClosed = true;
    return reader.cancel().catch(() => {});
  });
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (!outgoing.write(next.value)) {
      await Promise.race([new Promise<void>((resolve) => outgoing.once("drain", resolve)), closed]);
    }
  }
  if (isClosed) return await left;
  await ended(outgoing, closed);
}

async function ended(outgoing: ServerResponse, closed: Promise<void>): Promise<void> {
  await Promise.race([new Promise<void>((resolve) => outgoing.end(resolve)), closed]);
}
