/** The actor API by HTTP: routes, and what each request passes on its way (notes of section 12, in that order). */
import { Hono } from "hono";
import type { ApiMethod } from "../../../schemas/api.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { statusOf } from "../../../schemas/failure_status.ts";
import { principalText } from "../../../schemas/principal.ts";
import type { ActorApi, ApiRequest } from "../actor_api.ts";
import { ApiFailure } from "../api_failure.ts";
import type { Caller } from "../caller.ts";
import { tokenInvalid } from "../token_file.ts";
import {
  admit,
  type Asked,
  type HttpAppOptions,
  type HttpBindings,
  type Limiters,
  TooOften,
} from "./asked.ts";
import { only } from "./head_guard.ts";
import { answerMcp, mcpPath, mcpVerbs } from "./mcp_answer.ts";
import { openApiText } from "./openapi.ts";
import { RateLimit } from "./rate_limit.ts";
import { readBody } from "./request_body.ts";
import { type ApiRoute, apiRoutes, isWatched, pathParameter, readQuery } from "./routes.ts";
import { exported, watched } from "./streams.ts";

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
  const { mcp } = options;
  if (mcp !== undefined) {
    app.on([...mcpVerbs], mcpPath, (c) => answerMcp(c, { ...options, limiters, mcp }));
    verbs.set(mcpPath, new Set(mcpVerbs));
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

interface Answering extends HttpAppOptions {
  readonly method: ApiMethod;
  readonly route: ApiRoute;
  readonly limiters: Limiters;
}

async function answer(c: Asked, answering: Answering): Promise<Response> {
  const caller = await admit(c, answering);
  try {
    return await answered(c, answering, caller);
  } catch (error) {
    noteRefused(c, answering, caller, error);
    throw error;
  }
}

async function answered(c: Asked, answering: Answering, caller: Caller): Promise<Response> {
  const { api, method, route, limiters, seams, bodyMs } = answering;
  const { incoming, gone, trace } = c.env;
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
  const request = { caller, method, params, key, trace, signal: gone };
  if (isWatched(method)) return await watched(c, answering, request);
  if (method === "export") return await exported(api, request);
  // The same reply as before is no second creation (GA-47).
  const isRepeat = (method === "spawn" || method === "invoke") && await api.wasAsked(caller, key);
  const result = await called(api, request);
  const isFound = method === "spawn" && !(result as { readonly is_new: boolean }).is_new;
  const isNew = !isRepeat && !isFound;
  return Response.json(result, { status: isNew ? route.status : 200 });
}

/** The result of a call, unless its token ends while it is waited for: what was accepted goes on, but for somebody else. */
async function called(api: ActorApi, request: ApiRequest): Promise<unknown> {
  const { caller: { ended }, signal: gone } = request;
  if (ended === undefined) return await api.call(request);
  const [stop, over] = [new AbortController(), new AbortController()];
  // The token outlives the request: nothing of it stays behind there.
  for (const one of [gone, ended]) {
    one.addEventListener("abort", () => stop.abort(), { once: true, signal: over.signal });
    if (one.aborted) stop.abort();
  }
  try {
    return await api.call({ ...request, signal: stop.signal });
  } finally {
    over.abort();
    // deno-lint-ignore no-unsafe-finally -- whatever came of it is not for whoever holds that token
    if (ended.aborted) throw tokenInvalid();
  }
}

/** What a caller may not do is written down, as it is who is nobody. */
function noteRefused(
  c: Asked,
  { authenticator, method }: Answering,
  { principal }: Caller,
  error: unknown,
): void {
  if (!(error instanceof ApiFailure) || statusOf(error.code) !== 403) return;
  const peer = c.env.incoming.socket.remoteAddress ?? "";
  authenticator.onRefused?.({ code: error.code, peer, principal: principalText(principal), method });
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
