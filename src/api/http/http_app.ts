/** The actor API by HTTP: routes, and what each request passes on its way (notes of section 12, in that order). */
import { type Context, Hono } from "hono";
import type { IncomingMessage } from "node:http";
import type { ApiMethod } from "../../../schemas/api.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { statusOf } from "../../../schemas/failure_status.ts";
import { principalText } from "../../../schemas/principal.ts";
import type { Seams } from "../../seams.ts";
import type { ActorApi } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Authenticator } from "../authenticator.ts";
import type { Caller } from "../caller.ts";
import { only } from "./head_guard.ts";
import { openApiText } from "./openapi.ts";
import { type Rate, RateLimit } from "./rate_limit.ts";
import { readBody } from "./request_body.ts";
import { type ApiRoute, apiRoutes, isWatched, pathParameter, readQuery } from "./routes.ts";
import { watchStream } from "./watch_stream.ts";

/** What the API is offered with. */
export interface HttpAppOptions {
  readonly api: ActorApi;
  readonly authenticator: Authenticator;
  readonly seams: Pick<Seams, "clock" | "nextId" | "log">;
  /** Undefined: as often as the machine can. */
  readonly rate: Rate | undefined;
  /** Time for a body, in milliseconds. */
  readonly bodyMs: number;
}

/** What comes with each request. */
export interface HttpBindings {
  readonly incoming: IncomingMessage;
  /** Names the request, in answers and in the log. */
  readonly trace: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
  /** Breaks the connection. */
  readonly kill: () => void;
  /** Aborts when the server is to end. */
  readonly ending: AbortSignal;
}

type Asked = Context<{ Bindings: HttpBindings }>;

/** A refusal that says when to come again, in milliseconds. */
class TooOften extends ApiFailure {
  readonly waitMs: number;
  constructor(waitMs: number) {
    super("rate_limited", "Too many requests: wait as long as Retry-After says");
    this.waitMs = waitMs;
  }
}

/** Builds the application. */
export function createHttpApp(options: HttpAppOptions): Hono<{ Bindings: HttpBindings }> {
  const { api, seams: { clock }, rate } = options;
  const app = new Hono<{ Bindings: HttpBindings }>();
  const limiters: Limiters = {
    asked: rate === undefined ? undefined : new RateLimit(rate, clock),
    refused: new RateLimit(apiLimits.refusedTokens, clock),
  };
  app.get("/v1/health", (c) => {
    const isDraining = c.env.ending.aborted;
    return c.json({ state: isDraining ? "draining" : "ok" }, isDraining ? 503 : 200);
  });
  app.get("/v1/openapi.json", (c) => c.body(openApiText(), 200, { "content-type": "application/json" }));
  const verbs = new Map<string, Set<string>>([["/v1/health", new Set(["GET"])], [
    "/v1/openapi.json",
    new Set(["GET"]),
  ]]);
  for (const [method, route] of Object.entries(apiRoutes) as [ApiMethod, ApiRoute][]) {
    for (const path of pathsOf(route.path)) {
      app.on(route.verb, path, (c) => answer(c, { ...options, method, route, limiters }));
      verbs.set(path, (verbs.get(path) ?? new Set()).add(route.verb));
    }
  }
  for (const [path, known] of verbs) {
    app.all(path, (c) => {
      const allow = [...known].join(", ");
      c.header("allow", allow);
      return refusal(c, api, new ApiFailure("method_not_allowed", `This path takes ${allow}`));
    });
  }
  app.notFound((c) => refusal(c, api, new ApiFailure("path_unknown", "No such path: see /v1/openapi.json")));
  app.onError((error, c) => refusal(c, api, error));
  return app;
}

/** An address in one segment, encoded, or in the two that it has. */
function pathsOf(path: string): readonly string[] {
  const hono = path.replace(/\{(\w+)\}/, ":$1");
  return pathParameter(path) === "address" ? [hono.replace(":address", "session/:session"), hono] : [hono];
}

interface Limiters {
  readonly asked: RateLimit | undefined;
  readonly refused: RateLimit;
}

interface Answering extends HttpAppOptions {
  readonly method: ApiMethod;
  readonly route: ApiRoute;
  readonly limiters: Limiters;
}

async function answer(c: Asked, answering: Answering): Promise<Response> {
  const { api, method, route, limiters, seams, bodyMs } = answering;
  const { incoming, gone } = c.env;
  const caller = await admit(c, answering);
  const session = c.req.param("session");
  const named = pathParameter(route.path);
  const value = session === undefined ? c.req.param(named ?? "address") : `session/${session}`;
  const waitMs = limiters.asked?.take([principalText(caller.principal), method, value].join(" ")) ?? 0;
  if (waitMs > 0) throw new TooOften(waitMs);
  const given = route.verb === "POST"
    ? await readBody(incoming, { clock: seams.clock, bodyMs })
    : readQuery(new URL(c.req.url).searchParams);
  const params = withPath(method, given, named === undefined ? undefined : { name: named, value });
  const key = only(incoming.rawHeaders, "idempotency-key");
  const request = { caller, method, params, key, signal: gone };
  if (isWatched(method)) return await watched(c, answering, request);
  if (method === "export") return await exported(api, request);
  // The same reply as before is no second creation (GA-47).
  const isRepeat = (method === "spawn" || method === "invoke") && await api.wasAsked(caller, key);
  const result = await api.call(request);
  const isFound = method === "spawn" && !(result as { readonly is_new: boolean }).is_new;
  const isNew = !isRepeat && !isFound;
  return Response.json(result, { status: isNew ? route.status : 200 });
}

/** Who asks. Refuses without a look at the body, and soon without a look at the token too (B08, B15). */
async function admit(c: Asked, { authenticator, limiters, seams }: Answering): Promise<Caller> {
  const { incoming: { rawHeaders, socket }, trace } = c.env;
  const peer = socket.remoteAddress ?? "";
  const found = await authenticator.authenticate({ authorization: only(rawHeaders, "authorization"), peer });
  if (found instanceof ApiFailure) {
    seams.log({ level: "info", event: "api.refused", detail: { request: trace, code: found.code, peer } });
    const waitMs = limiters.refused.take(peer);
    throw waitMs > 0 ? new TooOften(waitMs) : found;
  }
  if (rawHeaders.some((name, at) => at % 2 === 0 && /scope/i.test(name))) {
    seams.log({ level: "warning", event: "api.scope_claim_ignored", detail: { request: trace, peer } });
  }
  return found;
}

/** The parameters with the one that stands in the path; who says it twice says one too many. */
function withPath(
  method: ApiMethod,
  given: { readonly [name: string]: unknown },
  path: { readonly name: string; readonly value: string | undefined } | undefined,
): { readonly [name: string]: unknown } {
  if (path === undefined) return given;
  const { name, value } = path;
  if (Object.hasOwn(given, name)) {
    throw new ApiFailure("params_invalid", `Cannot ${method}: ${name} stands in the path already`);
  }
  if (method !== "why" || given["actor"] === undefined) return { ...given, [name]: value };
  const { actor, ...rest } = given;
  return { ...rest, [name]: `${value}/${actor}` };
}

type Request_ = Parameters<ActorApi["stream"]>[0];

async function watched(c: Asked, { api, seams: { clock } }: Answering, asked: Request_): Promise<Response> {
  const { incoming: { rawHeaders }, trace, gone, kill, ending } = c.env;
  const leave = new AbortController();
  gone.addEventListener("abort", () => leave.abort(), { once: true });
  if (gone.aborted) leave.abort();
  const last = only(rawHeaders, "last-event-id");
  const params = last === undefined ? asked.params : { ...asked.params as object, after: Number(last) };
  const events = api.stream({ ...asked, params, signal: leave.signal })[Symbol.asyncIterator]();
  // What is refused is refused before anything is awaited from the outside, so one turn of the loop tells.
  const first = events.next();
  await Promise.race([first, new Promise<void>((resolve) => clock.defer(resolve))]);
  const { address } = asked.params as { readonly address?: string };
  const headSeq = address === undefined ? 0 : await api.headOf(address);
  const rest = resumed(first, events);
  const describe = (error: unknown) => api.describe(error, trace);
  return new Response(watchStream({ events: rest, headSeq, clock, ending, leave, kill, describe }), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

async function* resumed(
  first: Promise<IteratorResult<unknown>>,
  events: AsyncIterator<unknown>,
): AsyncIterable<unknown> {
  try {
    for (let next = await first; next.done !== true; next = await events.next()) yield next.value;
  } finally {
    await events.return?.();
  }
}

async function exported(api: ActorApi, asked: Request_): Promise<Response> {
  const pieces = api.stream(asked)[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let next = await pieces.next();
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode((next.value as { readonly text: string }).text));
      next = await pieces.next();
    },
    cancel: async () => void await pieces.return?.(),
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "application/x-ndjson" } });
}

/** A refusal as it is told: code, status, and when to come again. */
export function refusal(
  { env: { trace, incoming } }: { readonly env: Pick<HttpBindings, "trace" | "incoming"> },
  api: ActorApi,
  error: unknown,
): Response {
  const told = api.describe(error, trace);
  const status = statusOf(told.code);
  const headers = new Headers({ "cache-control": "no-store" });
  if (status === 401) headers.set("www-authenticate", "Bearer");
  if (error instanceof TooOften) headers.set("retry-after", String(Math.ceil(error.waitMs / 1_000)));
  if (told.code === "draining") headers.set("retry-after", "1");
  // What was not read of a body is not waited for.
  if (!incoming.complete) headers.set("connection", "close");
  return Response.json(told, { status, headers });
}
