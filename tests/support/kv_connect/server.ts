/** A small KV Connect server on loopback, for tests only: metadata, snapshot_read, atomic_write, and faults on demand. */
import {
  type AtomicWrite,
  numbers,
  readAtomicWrite,
  readSnapshotRead,
  writeAtomicOutput,
  writeSnapshot,
} from "./messages.ts";
import { Rows } from "./rows.ts";

/**
 * What goes wrong with one request. `unavailable`: 503, nothing happens; `refused`: 400; `hang`: no answer until the
 * server is closed; `cut`: the connection breaks before anything happens; `lost`: it takes hold, and then the connection breaks.
 */
export type KvFault = "unavailable" | "refused" | "hang" | "hang_after" | "cut" | "lost";

/** A request that a fault may meet. `number` counts the requests of its kind, from 1. */
export interface KvRequest {
  readonly kind: "metadata" | "read" | "write";
  readonly number: number;
}

/** Options of {@linkcode startKvConnect}. */
export interface KvConnectOptions {
  readonly faults?: (request: KvRequest) => KvFault | undefined;
  /** The version of the protocol that it answers with. Default 3. */
  readonly version?: number;
}

/** A server that runs. */
export interface KvConnect extends AsyncDisposable {
  readonly url: string;
  /** The token that opens it. */
  readonly token: string;
  /** Commits that took hold. */
  readonly commits: number;
  /** Every text that came in a header or an address: where no token may stand but in `authorization`. */
  readonly seen: readonly string[];
  /** Replaces the plan of faults. */
  setFaults(faults: KvConnectOptions["faults"]): void;
}

const databaseId = "3f0c7a52-0000-4000-8000-74726f757065";
/** The token of the data path is another one than that of the metadata. */
const dataToken = "token-of-the-data-path";
const protobufType = { "content-type": "application/x-protobuf" };

/** Starts a server with no rows. */
export function startKvConnect(options: KvConnectOptions = {}): KvConnect {
  const server = new Server(options);
  return server;
}

class Server implements KvConnect {
  readonly token = "token-of-the-tests";
  readonly seen: string[] = [];
  readonly #rows = new Rows();
  readonly #counts = { metadata: 0, read: 0, write: 0 };
  readonly #version: number;
  readonly #closing = Promise.withResolvers<Response>();
  readonly #http: Deno.HttpServer<Deno.NetAddr>;
  #faults: KvConnectOptions["faults"];

  constructor({ faults, version = 3 }: KvConnectOptions) {
    this.#faults = faults;
    this.#version = version;
    this.#http = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#http.addr.port}`;
  }

  get commits(): number {
    return this.#rows.version;
  }

  setFaults(faults: KvConnectOptions["faults"]): void {
    this.#faults = faults;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.resolve(new Response("closed", { status: 400 }));
    await this.#http.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.seen.push(request.url);
    for (const [name, value] of request.headers) if (name !== "authorization") this.seen.push(value);
    const body = new Uint8Array(await request.arrayBuffer());
    const kind = pathname.endsWith("/snapshot_read")
      ? "read"
      : pathname.endsWith("/atomic_write")
      ? "write"
      : "metadata";
    if (!isFrom(request, kind === "metadata" ? this.token : dataToken)) {
      return new Response("the token is not known here", { status: 401 });
    }
    const fault = this.#faults?.({ kind, number: ++this.#counts[kind] });
    if (fault === "unavailable") return new Response("not now", { status: 503 });
    if (fault === "refused") return new Response("this is refused", { status: 400 });
    if (fault === "hang") return await this.#closing.promise;
    if (fault === "cut") return broken();
    const answer = this.#perform(kind, body);
    if (fault === "hang_after") return await this.#closing.promise;
    return fault === "lost" ? broken() : answer;
  }

  #perform(kind: KvRequest["kind"], body: Uint8Array): Response {
    if (kind === "metadata") return this.#metadata();
    if (kind === "read") {
      const ranges = readSnapshotRead(body).map((range) => this.#rows.read(range));
      return new Response(writeSnapshot(ranges), { headers: protobufType });
    }
    const write = readAtomicWrite(body);
    const problem = problemOf(write);
    if (problem !== undefined) return new Response(problem, { status: 400 });
    return new Response(writeAtomicOutput(this.#rows.commit(write)), { headers: protobufType });
  }

  #metadata(): Response {
    return Response.json({
      version: this.#version,
      databaseId,
      endpoints: [{ url: "/data", consistency: "strong" }],
      token: dataToken,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
  }
}

function isFrom(request: Request, token: string): boolean {
  return request.headers.get("authorization") === `Bearer ${token}`;
}

/** Only what our store uses is kept by this server; all else is refused rather than misunderstood. */
function problemOf({ enqueues, mutations }: AtomicWrite): string | undefined {
  if (enqueues.length > 0) return "queues are not kept here";
  const isKnown = mutations.every(({ mutationType: type }) =>
    type === numbers.set || type === numbers.delete
  );
  return isKnown ? undefined : "only set and delete are kept here";
}

/** An answer that breaks off before its body has come. */
function broken(): Response {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error("cut by the test")),
  });
  return new Response(body, { headers: { ...protobufType, "content-length": "100" } });
}
