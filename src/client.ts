/** The typed client of the actor API: one interface over every carrier. */
import {
  type ApiCall,
  ApiMethod,
  apiMethods,
  type ApiParams,
  type ApiResult,
  type ApiStream,
} from "../schemas/api.ts";
import { ApiError } from "../schemas/api_error.ts";
import { ApiScope } from "../schemas/api_scope.ts";
import { localOperator } from "../schemas/principal.ts";
import type { ActorApi } from "./api/actor_api.ts";
import type { Caller } from "./api/caller.ts";

export { type ServedCall, type ServedTools, serveTools, type ToolService } from "./serve_tools.ts";

/** A request as a carrier takes it. */
export interface CarriedRequest {
  readonly method: ApiMethod;
  readonly params: unknown;
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How requests reach a runtime: in this process, by HTTP, over a pipe. Throws {@linkcode ActorApiError}. */
export interface Carrier {
  call(request: CarriedRequest): Promise<unknown>;
  stream(request: CarriedRequest): AsyncIterable<unknown>;
  close(): Promise<void>;
}

/** A request that was not carried out, as the runtime told it. */
export class ActorApiError extends Error {
  override readonly name = "ActorApiError";
  readonly code: string;
  readonly retryable: boolean;
  readonly outcome: ApiError["outcome"];
  readonly requestId: string;
  constructor({ code, message, retryable, outcome, request_id: requestId }: ApiError) {
    super(message);
    [this.code, this.retryable, this.outcome, this.requestId] = [code, retryable, outcome, requestId];
  }
}

/** How a call is made. */
export interface CallOptions {
  /** A key of one's own, to ask again later: the same key is the same command. By default a new one. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

type ClientMethods =
  & {
    readonly [M in ApiCall]: (params: ApiParams<M>, options?: CallOptions) => Promise<ApiResult<M>>;
  }
  & {
    readonly [M in ApiStream]: (
      params: ApiParams<M>,
      options?: Pick<CallOptions, "signal">,
    ) => AsyncIterable<ApiResult<M>>;
  };

/** A client: one function for each method of the API. */
export interface ActorClient extends ClientMethods {
  close(): Promise<void>;
}

/** Makes a client over a carrier. `newKey` mints what commands without a key of their own are given. */
export function createClient(carrier: Carrier, newKey: () => string): ActorClient {
  const asCall = (method: ApiMethod) => (params: unknown, { key = newKey(), signal }: CallOptions = {}) =>
    carrier.call({ method, params, key, signal });
  const asStream = (method: ApiMethod) => (params: unknown, { signal }: CallOptions = {}) =>
    carrier.stream({ method, params, signal });
  const methods = Object.fromEntries(
    ApiMethod.options.map((
      method,
    ) => [method, apiMethods[method].kind === "stream" ? asStream(method) : asCall(method)]),
  ) as unknown as ClientMethods;
  return { ...methods, close: () => carrier.close() };
}

/** The carrier within one process: what every other one does, without a wire. */
export function inProcess(api: ActorApi, caller: Caller, newId: () => string): Carrier {
  const never = new AbortController().signal;
  const told = (error: unknown) => new ActorApiError(api.describe(error, newId()));
  return {
    call: async ({ signal = never, ...request }) => {
      try {
        return await api.call({ ...request, caller, signal });
      } catch (error) {
        throw told(error);
      }
    },
    stream: async function* ({ signal = never, ...request }) {
      try {
        yield* api.stream({ ...request, caller, signal });
      } catch (error) {
        throw told(error);
      }
    },
    close: () => Promise.resolve(),
  };
}

/** What {@linkcode connect} reaches. */
export interface ConnectOptions {
  /** As `troupe serve` prints it. */
  readonly url: string;
  readonly token: string;
}

/**
 * The client of a server that another process runs: the same as in process. A lost connection is taken up again: commands
 * are sent once more with their key, and a watch goes on behind the last event that it gave.
 */
export async function connect(options: ConnectOptions): Promise<ActorClient> {
  const [{ createSystemSeams }, { httpCarrier }] = await Promise.all([
    import("./system_seams.ts"),
    import("./api/http/http_carrier.ts"),
  ]);
  const { clock, nextId } = createSystemSeams({ log: () => {} });
  return createClient(httpCarrier({ ...options, clock }), () => nextId("key"));
}

/** What {@linkcode openTroupe} opens. */
export interface TroupeOptions {
  /** File of the store; made if it is not there. */
  readonly store: string;
  /** Agents that can be spawned by their names: folders with `agent.yaml`, such files, or names that come with troupe. */
  readonly agents: readonly string[];
  /** Folder of the agents' file tools. Default: the working folder. */
  readonly workspace?: string;
  /** A script that stands for every agent's own model; for tests. */
  readonly script?: string;
}

/**
 * Opens a store in this process, as its owner, and gives the client of its operator. Configuration and secrets are the
 * host's own. Throws a StoreError with `store_in_use` if another process owns the store: reach that one by its API.
 */
export async function openTroupe(options: TroupeOptions): Promise<ActorClient> {
  const { store, agents, workspace = ".", script } = options;
  const [{ createSystemSeams }, { readHostSettings }, { openOwner }, { openFolderShelf }, { ownProgram }] =
    await Promise.all([
      import("./system_seams.ts"),
      import("./host/home.ts"),
      import("./host/open_host.ts"),
      import("./api/folder_shelf.ts"),
      import("./host/own_program.ts"),
    ]);
  const seams = createSystemSeams({ log: () => {} });
  const env = (name: string) => Deno.env.get(name) || undefined;
  const { config } = await readHostSettings(env);
  const shelf = await openFolderShelf({
    agents,
    cwd: Deno.cwd(),
    workspace: await Deno.realPath(workspace),
    ...(script === undefined ? {} : { script: await Deno.realPath(script) }),
    digest: seams.digest,
    host: { config, env },
  });
  const host = await openOwner({
    location: store,
    config,
    seams,
    env,
    self: ownProgram(env),
    isAttended: true,
    goesOn: true,
  });
  const api = await host.openApi({ shelf, mode: "auto" });
  const connection = api.connect();
  const scopes = new Set(ApiScope.options);
  const caller = { principal: localOperator, scopes, connection: connection.id };
  const carrier = inProcess(api, caller, () => seams.nextId("req"));
  const close = async () => {
    await carrier.close();
    await connection.end();
    await host.close();
  };
  return createClient({ ...carrier, close }, () => seams.nextId("key"));
}

/** What {@linkcode spawnTroupe} starts. */
export interface SpawnTroupeOptions {
  /** The `troupe` program: a path, or a name that is looked up in `PATH`. Default `troupe`. */
  readonly command?: string;
  /** What comes before `serve --stdio`: where `command` is Deno, how it runs the source. */
  readonly before?: readonly string[];
  /** What comes behind it: agents and options, as in `troupe serve --help`. */
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Its whole environment. Default: that of this program. */
  readonly env?: { readonly [name: string]: string };
}

/**
 * Starts a runtime as a child of this program and gives its client. It holds its store until `close`, or until this
 * program ends, however that happens: then agents begun with `on_parent_exit: stop` are stopped.
 */
export async function spawnTroupe(options: SpawnTroupeOptions): Promise<ActorClient> {
  const { command = "troupe", before = [], args, cwd = Deno.cwd(), env = Deno.env.toObject() } = options;
  const [{ createSystemSeams }, { startTroupe }] = await Promise.all([
    import("./system_seams.ts"),
    import("./api/spawned_troupe.ts"),
  ]);
  const { clock, nextId } = createSystemSeams({ log: () => {} });
  const carrier = startTroupe({ command, args: [...before, "serve", "--stdio", ...args], cwd, env, clock });
  return createClient(carrier, () => nextId("key"));
}
