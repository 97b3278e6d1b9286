/** The client's side of the API by HTTP: what a lost connection breaks off is taken up again. */
import type { ApiMethod } from "../../../schemas/api.ts";
import { ApiError } from "../../../schemas/api_error.ts";
import { apiLimits } from "../../../schemas/api_limits.ts";
import { ActorApiError, type CarriedRequest, type Carrier } from "../../client.ts";
import { readEvents, type ServerEvent } from "../../mcp/event_stream.ts";
import type { Clock } from "../../seams.ts";
import { apiRoutes, isWatched, pathParameter, writeQuery } from "./routes.ts";

/** Where the server is, and who asks. */
export interface HttpCarrierOptions {
  /** As `troupe serve` prints it. */
  readonly url: string;
  readonly token: string;
  readonly clock: Clock;
  /** Times that a request is sent before a lost connection is told. Commands have a key, so a repeat does nothing twice. */
  readonly triesMax?: number;
}

/** Pause before the second try, in milliseconds; it doubles, up to `pauseMsMax`. */
const pauseMs = 100;
const pauseMsMax = 2_000;
const triesMaxDefault = 10;
/** Codes of a refusal after which the same request is sent again. */
const passing: ReadonlySet<string> = new Set(["draining", "slow_consumer"]);

/** Opens a carrier; nothing is sent yet. */
export function httpCarrier(options: HttpCarrierOptions): Carrier {
  const client = Deno.createHttpClient({});
  const wire = new Wire(options, client);
  return {
    call: (request) =>
      wire.patiently(request, async () => {
        const response = await wire.send(request);
        return await response.json();
      }),
    stream: (request) => isWatched(request.method) ? watchAgain(wire, request) : exportOnce(wire, request),
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

/** A connection that ended, or was never there. */
class ConnectionLost extends Error {}

class Wire {
  readonly #options: HttpCarrierOptions;
  readonly #client: Deno.HttpClient;

  constructor(options: HttpCarrierOptions, client: Deno.HttpClient) {
    this.#options = options;
    this.#client = client;
  }

  /** Sends a request once. Throws ActorApiError, or ConnectionLost. */
  async send({ method, params, key, signal }: CarriedRequest): Promise<Response> {
    const { url, init } = requestOf(method, { ...(params as object) });
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${this.#options.token}`);
    if (init.method === "POST" && key !== undefined) headers.set("idempotency-key", key);
    const target = `${this.#options.url.replace(/\/$/, "")}${url}`;
    const sent = { ...init, headers, client: this.#client, signal: signal ?? null };
    const response = await fetch(target, sent).catch((error) => {
      throw signal?.aborted ? error : new ConnectionLost(String(error));
    });
    if (response.ok) return response;
    const told = ApiError.safeParse(await response.json().catch(() => undefined));
    throw told.success
      ? new ActorApiError(told.data)
      : new ActorApiError(foreign(`The server answered with status ${response.status}: is it troupe serve?`));
  }

  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#options;
    await clock.sleepUntil(clock.now() + ms, signal);
  }

  /** Does what can be done again, until it is done, or too often. */
  async patiently<T>({ signal }: CarriedRequest, work: () => Promise<T>): Promise<T> {
    const { clock, triesMax = triesMaxDefault } = this.#options;
    for (let tries = 1;; tries++) {
      try {
        return await work();
      } catch (error) {
        if (signal?.aborted || !isPassing(error)) throw error;
        if (tries >= triesMax) throw lost(error);
        await clock.sleepUntil(clock.now() + Math.min(pauseMs * 2 ** (tries - 1), pauseMsMax), signal);
      }
    }
  }
}

function isPassing(error: unknown): boolean {
  // A body that breaks off in the middle is a TypeError, and one that is cut is no JSON.
  return error instanceof ConnectionLost || error instanceof TypeError || error instanceof SyntaxError ||
    (error instanceof ActorApiError && passing.has(error.code));
}

function lost(error: unknown): unknown {
  if (error instanceof ActorApiError) return error;
  return new ActorApiError({
    ...foreign("The server cannot be reached: send it again, with the same key"),
    code: "connection_lost",
    outcome: "unknown",
    retryable: true,
  });
}

function foreign(message: string): ApiError {
  return { code: "answer_invalid", message, retryable: false, outcome: "unknown", request_id: "" };
}

function requestOf(
  method: ApiMethod,
  params: { [name: string]: unknown },
): { readonly url: string; readonly init: RequestInit } {
  const { verb, path } = apiRoutes[method];
  if (method === "why" && typeof params["address"] === "string") {
    const [kind, id, ...below] = params["address"].split("/");
    params = { address: `${kind}/${id}`, ...(below.length === 0 ? {} : { actor: below.join("/") }) };
  }
  const named = pathParameter(path);
  const { [named ?? ""]: value, ...rest } = params;
  const place = named === undefined ? path : path.replace(`{${named}}`, encodeURIComponent(String(value)));
  if (verb === "POST") {
    const headers = { "content-type": "application/json" };
    return { url: place, init: { method: verb, headers, body: JSON.stringify(rest) } };
  }
  const query = writeQuery(rest).toString();
  return { url: query === "" ? place : `${place}?${query}`, init: { method: verb } };
}

/** Watches, and again from the last event on if the connection breaks off. */
async function* watchAgain(wire: Wire, request: CarriedRequest): AsyncIterable<unknown> {
  const { signal } = request;
  let after = Number((request.params as { readonly after?: number }).after ?? 0);
  for (;;) {
    const params = { ...request.params as object, after };
    const response = await wire.patiently(request, () => wire.send({ ...request, params }));
    try {
      for await (const event of readEvents(response.body ?? new ReadableStream(), Infinity)) {
        const { type, data } = event;
        if (type === "end") return;
        if (type === "error") throw new ActorApiError(ApiError.parse(JSON.parse(data)));
        yield JSON.parse(data);
        after = seqOf(event) ?? after;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
    }
    if (signal?.aborted) return;
    await wire.pause(apiLimits.watchRetryMs, signal);
  }
}

function seqOf({ id }: ServerEvent): number | undefined {
  return id === undefined ? undefined : Number(id);
}

/** A whole session. What breaks off is told: half of an export is none. */
async function* exportOnce(wire: Wire, request: CarriedRequest): AsyncIterable<unknown> {
  const response = await wire.patiently(request, () => wire.send(request));
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) yield { text: decoder.decode(bytes, { stream: true }) };
  } catch (error) {
    throw request.signal?.aborted ? error : lost(error);
  }
}
