/** The actor API by HTTP, over real sockets and a real store in a folder of its own. */
import { ApiScope } from "../../schemas/api_scope.ts";
import { HostConfig } from "../../schemas/config.ts";
import { ApiFailure } from "../../src/api/api_failure.ts";
import type { Authenticator } from "../../src/api/authenticator.ts";
import type { Caller } from "../../src/api/caller.ts";
import { openFolderShelf } from "../../src/api/folder_shelf.ts";
import { type HttpServer, type HttpServerOptions, openHttpServer } from "../../src/api/http/http_server.ts";
import { McpFront } from "../../src/api/mcp/mcp_front.ts";
import { openOwner, type OwnerHost } from "../../src/host/open_host.ts";
import type { LogEvent, Seams } from "../../src/seams.ts";
import { createSystemSeams } from "../../src/system_seams.ts";

/** A server with everything behind it. */
export interface HttpStage {
  readonly server: HttpServer;
  readonly host: OwnerHost;
  /** The folder of the store `store.db`. */
  readonly folder: string;
  readonly logged: readonly LogEvent[];
  /** Asks as a principal, by its token: `p1`, `p2`, or `operator`. */
  ask(path: string, init?: AskInit): Promise<Response>;
  /** Says exactly these bytes, and gives what is answered until the other side ends, or `until` was said. */
  raw(text: string, until?: RegExp): Promise<string>;
  connect(): Promise<Deno.TcpConn>;
  /** Asks the server to end, and waits until it has; in haste once `late` aborts. */
  drained(late?: AbortSignal): Promise<void>;
  /** Closes the server and opens another one at the same port and store; `between`, nobody holds the store. */
  reopen(between?: () => Promise<void>): Promise<void>;
  end(): Promise<void>;
}

/** What is asked. With `body` it is a POST. */
export interface AskInit {
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly key?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal;
}

/** Options of {@linkcode openHttpStage}. */
export interface HttpStageOptions
  extends Partial<Pick<HttpServerOptions, "rate" | "bodyMs" | "headersMs" | "authenticator">> {
  readonly script?: string;
  /** True to speak MCP too. */
  readonly mcp?: boolean;
  /** What stands in `agent.yaml`. */
  readonly agent?: string;
  readonly config?: unknown;
  readonly seams?: (seams: Seams) => Seams;
  /** Makes the way in from the host, anew for each server. */
  readonly access?: (host: OwnerHost, seams: Seams) => Promise<Authenticator>;
  /** More files of the agent's folder. */
  readonly files?: { readonly [path: string]: string };
}

const operator: Caller = {
  principal: { kind: "operator", id: "local" },
  scopes: new Set(ApiScope.options),
};

/** Callers by their tokens. */
const callers: { readonly [token: string]: Caller } = { operator, p1: program("p1"), p2: program("p2") };

function program(id: string): Caller {
  const scopes = ApiScope.options.filter((scope) => scope !== "admin" && scope !== "approvals:decide");
  return { principal: { kind: "program", id }, scopes: new Set(scopes) };
}

const byName: Authenticator = {
  authenticate: ({ authorization = "" }) =>
    Promise.resolve(
      callers[authorization.replace(/^Bearer /, "")] ?? new ApiFailure("token_invalid", "No token"),
    ),
};

/** Opens a store and its server. */
export async function openHttpStage(options: HttpStageOptions = {}): Promise<HttpStage> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "troupe-http-" }));
  const logged: LogEvent[] = [];
  const own = createSystemSeams({ log: (event) => void logged.push(event) });
  const seams = options.seams?.(own) ?? own;
  await Deno.writeTextFile(
    `${folder}/agent.yaml`,
    options.agent ??
      "name: tester\nmodel: scripted/script.yaml\ntools: [read_file]\ncapabilities: [fs.read]\n",
  );
  await Deno.writeTextFile(`${folder}/a.txt`, "alpha\n");
  await Deno.writeTextFile(
    `${folder}/script.yaml`,
    options.script ?? "answers:\n  - text: Hello\n  - text: Again\n",
  );
  for (const [path, text] of Object.entries(options.files ?? {})) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
  const open = async (port: number) => {
    const host = await openOwner({
      location: `${folder}/store.db`,
      config: HostConfig.parse(options.config ?? {}),
      seams,
      env: () => undefined,
      self: { command: Deno.execPath(), args: [] } as never,
      isAttended: true,
      goesOn: true,
    });
    const shelf = await openFolderShelf({
      agents: [folder],
      cwd: folder,
      workspace: folder,
      digest: seams.digest,
    });
    const api = await host.openApi({ shelf, mode: "default" });
    const server = await openHttpServer({
      ...options,
      authenticator: await options.access?.(host, seams) ?? options.authenticator ?? byName,
      mcp: options.mcp === true ? new McpFront({ api, seams }) : undefined,
      api,
      seams,
      hostname: "127.0.0.1",
      port,
    });
    return { host, server };
  };
  let opened = await open(0);
  const { port } = opened.server;
  const client = Deno.createHttpClient({});
  const drained = (late: AbortSignal) => within("the server to end", opened.server.drain(late));
  const close = async () => {
    const late = new AbortController();
    late.abort();
    await drained(late.signal);
    await opened.host.close({ hurry: true });
  };
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port });
  return {
    get host() {
      return opened.host;
    },
    folder,
    get server() {
      return opened.server;
    },
    logged,
    drained: (late = new AbortController().signal) => drained(late),
    connect,
    ask: (path, { token = "p1", body, key, headers = {}, signal } = {}) =>
      fetch(`http://127.0.0.1:${port}/v1${path}`, {
        client,
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
          ...headers,
        },
        body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
        signal: signal ?? null,
      }),
    raw: async (text, until = /(?!)/) => {
      using connection = await connect();
      await connection.write(new TextEncoder().encode(text)).catch(() => {});
      return await heard(connection, until);
    },
    reopen: async (between) => {
      await close();
      await between?.();
      opened = await open(port);
    },
    end: async () => {
      await close();
      client.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Longest wait for anything, in milliseconds: only a broken build comes near it. */
const patienceMs = 30_000;

async function within<T>(what: string, coming: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${patienceMs} ms for ${what}`)), patienceMs);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What a connection says until it ends or a pattern was said. */
export async function heard(connection: Deno.Conn, until: RegExp): Promise<string> {
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(65_536);
  let text = "";
  while (!until.test(text)) {
    const size = await connection.read(bytes).catch(() => null);
    if (size === null) break;
    text += decoder.decode(bytes.subarray(0, size), { stream: true });
  }
  return text;
}

/** What a stream says until it ends. One that does not end in time is a failure, not a wait. */
export async function wholeOf(answer: Response): Promise<string> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve("the stream goes on"), 30_000);
  const text = answer.text();
  text.catch(() => {});
  const first = await Promise.race([text, late.promise]);
  clearTimeout(timer);
  return first;
}

/** Plays a test on a stage of its own. */
export async function onHttpStage(
  options: HttpStageOptions,
  play: (stage: HttpStage) => Promise<void>,
): Promise<void> {
  const stage = await openHttpStage(options);
  try {
    await play(stage);
  } finally {
    await stage.end();
  }
}
