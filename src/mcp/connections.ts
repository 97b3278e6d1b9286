/** The open connections of one runtime: starts servers, keeps their clients by the address of their root, ends them. */
import type { McpEnd, McpGreeting } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration, StdioManifest } from "../../schemas/manifest.ts";
import { ProcessError } from "../processes/child.ts";
import type { GuardedClient } from "../net/guarded_client.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { Clock } from "../seams.ts";
import type { HandshakeOptions, McpClient, McpFault } from "./client.ts";
import { Gate } from "./gate.ts";
import { cleanFailure, redactingClient } from "./redacting_client.ts";
import { expandVariables, type ReadVariable } from "./variables.ts";

/** How the program that is running is started once more. */
export interface OwnProgram {
  readonly command: string;
  /** Arguments that come before those of the manifest. */
  readonly args: readonly string[];
  /** Variables that it needs in order to start. */
  readonly env: { readonly [name: string]: string };
}

/** Options of {@linkcode Connections}. */
export interface ConnectionsOptions {
  readonly registry: ProcessRegistry;
  readonly clock: Clock;
  /** Our own environment: what servers are given of it, and what `${NAME}` stands for. */
  readonly env: ReadVariable;
  /** Told of every value that a server was given by a variable: it is a secret from then on. */
  readonly onBound?: (value: string) => void;
  /** What `troupe` means as a command. */
  readonly self: OwnProgram;
  /** The one way out by HTTP. */
  readonly fetch: GuardedClient["fetch"];
}

/** One start of one server. */
export interface Launch {
  readonly root: RootAddress;
  readonly launch: number;
}

/** What is waited for of a start. */
export interface Watch extends Launch {
  /** True if a change of its tools is no news. */
  readonly stale?: boolean | undefined;
}

/** What is started, and until when. */
export interface ConnectOrder extends Launch {
  readonly declaration: McpDeclaration;
  readonly deadlineAtMs: number;
  readonly signal: AbortSignal;
  readonly onNotice: (text: string) => void;
}

interface Live {
  readonly launch: number;
  readonly client: McpClient;
  readonly server: string;
  readonly secrets: readonly string[];
  isGone: boolean;
}

/** Variables of ours that every server gets, if they are set: nothing else is inherited. */
const inherited = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL"];
/** Windows programs do not start without these. */
const inheritedOnWindows = ["SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "PATHEXT"];

/** The clients of one runtime. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #live = new Map<RootAddress, Live>();
  /** Connections that are being opened. */
  readonly #opening = new Set<RootAddress>();
  readonly #gate = new Gate(limits.mcpConnectsAtOnceMax);

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Connections that are open, or being opened. */
  get busy(): readonly RootAddress[] {
    const open = [...this.#live].filter(([, { isGone }]) => !isGone).map(([root]) => root);
    return [...new Set([...open, ...this.#opening])];
  }

  /** The client of an open connection. */
  clientOf(root: RootAddress): McpClient | undefined {
    const live = this.#live.get(root);
    return live === undefined || live.isGone ? undefined : live.client;
  }

  /** Starts a server and shakes hands. At most four at once, over all sessions (DM-57). */
  async connect(order: ConnectOrder): Promise<McpGreeting | Failure> {
    this.#opening.add(order.root);
    try {
      return await this.#gate.passUnless(order.signal, () => this.#connect(order)) ??
        closedEarly(order.declaration);
    } finally {
      this.#opening.delete(order.root);
    }
  }

  async #connect({ root, launch, declaration, deadlineAtMs, signal, onNotice }: ConnectOrder) {
    const { server, manifest } = declaration;
    const { clock } = this.#options;
    const templates = manifest.transport === "stdio" ? manifest.env : manifest.headers;
    const expanded = expandVariables(templates, this.#options.env);
    if ("missing" in expanded) return missingVariables(server, expanded.missing);
    const { values, secrets } = expanded;
    for (const secret of secrets) this.#options.onBound?.(secret);
    await this.close({ root, launch: this.#live.get(root)?.launch ?? launch });
    if (signal.aborted) return closedEarly(declaration);
    const startedAt = clock.now();
    const connectMs = manifest.connect_timeout_seconds * 1_000;
    const handshake = { clock, connectMs, deadlineAtMs, signal, onNotice };
    try {
      const opened = manifest.transport === "stdio"
        ? await this.#openChild(this.#programOf(manifest, values), declaration.cwd, handshake)
        : await this.#openSession(manifest.url, values, handshake);
      const client = redactingClient(opened, secrets);
      this.#keep(root, { launch, client, server, secrets, isGone: false });
      return { ...client.greeting, tookMs: clock.now() - startedAt };
    } catch (error) {
      return whyNot(server, error, secrets);
    }
  }

  async #openChild(program: OwnProgram, cwd: string, handshake: HandshakeOptions): Promise<McpClient> {
    // Loading the SDK takes as long as the server's own start: only who has a server pays for it, and not twice.
    const loading = import("./client.ts");
    loading.catch(() => {});
    const child = await this.#options.registry.start({ ...program, cwd });
    const { openMcpClient } = await loading;
    return await openMcpClient({ ...handshake, child });
  }

  async #openSession(
    url: string,
    headers: { readonly [name: string]: string },
    handshake: HandshakeOptions,
  ): Promise<McpClient> {
    const { openHttpClient } = await import("./http_client.ts");
    return await openHttpClient({ ...handshake, url, headers, fetch: this.#options.fetch });
  }

  #programOf(manifest: StdioManifest, values: { readonly [name: string]: string }) {
    const { env, self } = this.#options;
    const names = Deno.build.os === "windows" ? [...inherited, ...inheritedOnWindows] : inherited;
    const base: Record<string, string> = {};
    for (const name of names) {
      const value = env(name);
      if (value !== undefined) base[name] = value;
    }
    if (manifest.command !== "troupe") {
      return { command: manifest.command, args: manifest.args, env: { ...base, ...values } };
    }
    return {
      command: self.command,
      args: [...self.args, ...manifest.args],
      env: { ...base, ...self.env, ...values },
    };
  }

  #keep(root: RootAddress, live: Live): void {
    this.#live.set(root, live);
    live.client.closed.then(() => live.isGone = true);
  }

  /** All tools as the server tells them. */
  async list({ root, launch }: Launch, signal: AbortSignal): Promise<readonly unknown[] | Failure> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return gone();
    try {
      return await live.client.list(signal);
    } catch (error) {
      return whyNot(live.server, error, live.secrets);
    }
  }

  /**
   * Waits until a server says that its tools changed, unless they are stale anyway, or ends, and says how that came. One
   * that is not here any more ended with its runtime.
   */
  async watch({ root, launch, stale }: Watch): Promise<Failure | "list_changed"> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return gone();
    const changed = stale === true ? [] : [live.client.listChanged()];
    const closed = await Promise.race([live.client.closed, ...changed]);
    if (closed === undefined) return "list_changed";
    this.#forget(root, live);
    return named(live.server, closed.failure);
  }

  /** Ends a server; one that is not here has ended already. */
  async close({ root, launch }: Launch): Promise<McpEnd> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return { code: null, signal: null, stderr: "" };
    live.isGone = true;
    const end = await live.client.close();
    this.#forget(root, live);
    return end;
  }

  #liveOf({ root, launch }: Launch): Live | undefined {
    const live = this.#live.get(root);
    return live?.launch === launch ? live : undefined;
  }

  #forget(root: RootAddress, live: Live): void {
    if (this.#live.get(root) === live) this.#live.delete(root);
  }
}

function missingVariables(server: string, missing: readonly string[]): Failure {
  const names = missing.join(", ");
  return failure(
    "mcp_variable_missing",
    `The server "${server}" is left out: its manifest names ${names}, which is not set; set it and try again`,
  );
}

function closedEarly({ server }: McpDeclaration): Failure {
  return retryableFailure(
    "mcp_connection_closed",
    `The connection to "${server}" was closed before it was ready`,
  );
}

function gone(): Failure {
  return retryableFailure("mcp_connection_lost", "The server ended with the runtime that had started it");
}

function named(server: string, why: Failure): Failure {
  return { ...why, message: `${server}: ${why.message}`.slice(0, 2_000) };
}

/** Why a server cannot be used. What is no expected ending is thrown on. */
function whyNot(server: string, error: unknown, secrets: readonly string[]): Failure {
  if (isMcpFault(error)) return named(server, cleanFailure(error.failure, secrets));
  if (error instanceof ProcessError) {
    const why = failure("mcp_connect_failed", error.message);
    return named(server, cleanFailure(why, secrets));
  }
  throw error;
}

/** By its name: its class comes with the SDK, which may not be loaded. */
function isMcpFault(error: unknown): error is McpFault {
  return error instanceof Error && error.name === "McpFault";
}
