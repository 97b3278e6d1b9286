/** The open connections of one runtime: starts servers, keeps their clients by the address of their root, ends them. */
import { connectMs, isPackageRunner } from "../../actors/package_runner.ts";
import type { McpEnd, McpGreeting, McpNews } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpDeclaration, StdioManifest } from "../../schemas/manifest.ts";
import { ProcessError } from "../processes/child.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { Clock } from "../seams.ts";
import { CallCount } from "./call_count.ts";
import type { HandshakeOptions, McpClient, McpFault } from "./client.ts";
import { Gate } from "./gate.ts";
import { asNotCached } from "./npm_program.ts";
import { HomeError, type PrivateHomes } from "./private_homes.ts";
import { openSession, type SessionDoor } from "./open_session.ts";
import { type OwnProgram, programOf } from "./server_program.ts";
import { cleanFailure, redactingClient } from "./redacting_client.ts";
import { expandVariables, type ReadVariable } from "./variables.ts";

export type { OwnProgram } from "./server_program.ts";

/** Options of {@linkcode Connections}. */
export interface ConnectionsOptions extends SessionDoor {
  readonly registry: ProcessRegistry;
  readonly clock: Clock;
  /** Our own environment: what servers are given of it, and what `${NAME}` stands for. */
  readonly env: ReadVariable;
  /** Told of every value that a server was given by a variable: it is a secret from then on. */
  readonly onBound?: (value: string) => void;
  /** Where servers that are processes are at home. */
  readonly homes: PrivateHomes;
  /** What `troupe` means as a command. */
  readonly self: OwnProgram;
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
  /** After so long without a call the server is idle. Milliseconds; never without. */
  readonly idleMs?: number | undefined;
  /** Aborted when nobody waits any more: then the server is not taken for idle. */
  readonly signal?: AbortSignal;
}

/** What is ended, and how patiently. */
export interface Close extends Launch {
  /** How long calls in flight are waited for. Milliseconds; not at all without. */
  readonly drainMs?: number | undefined;
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
  readonly calls: CallCount;
  /** True once it takes no calls any more. */
  isGone: boolean;
}

/** The clients of one runtime. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #live = new Map<RootAddress, Live>();
  /** Connections that are being opened. */
  readonly #opening = new Set<RootAddress>();
  readonly #gate = new Gate(limits.mcpConnectsAtOnceMax);
  readonly #runners = new Gate(limits.mcpPackageRunnersAtOnceMax);

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

  /**
   * Starts a server and shakes hands. At most four at once, over all sessions (DM-57), in the order in which they were
   * asked for; package runners one at a time, which wait for each other before they take one of the four places.
   */
  async connect(order: ConnectOrder): Promise<McpGreeting | Failure> {
    const { declaration, signal } = order;
    this.#opening.add(order.root);
    const pass = () => this.#gate.passUnless(signal, () => this.#connect(order));
    try {
      const made = isPackageRunner(declaration.manifest)
        ? await this.#runners.passUnless(signal, pass)
        : await pass();
      return made ?? closedEarly(declaration);
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
    const { asks } = declaration;
    const patience = { clock, connectMs: connectMs(manifest, launch), deadlineAtMs, signal, onNotice, asks };
    try {
      const opened = manifest.transport === "stdio"
        ? await this.#openChild(declaration, { manifest, values }, patience)
        : await openSession(this.#options, {
          subject: { server, manifest },
          headers: values,
          handshake: patience,
        });
      if ("code" in opened) return named(server, opened);
      const calls = new CallCount(clock);
      const client = calls.counted(redactingClient(opened, secrets));
      this.#keep(root, { launch, client, server, secrets, calls, isGone: false });
      return { ...client.greeting, tookMs: clock.now() - startedAt };
    } catch (error) {
      const why = whyNot(server, error, secrets);
      const run = manifest.transport === "stdio" ? manifest.run : undefined;
      return run === undefined ? why : asNotCached(why, server, run);
    }
  }

  async #openChild(
    declaration: McpDeclaration,
    { manifest, values }: {
      readonly manifest: StdioManifest;
      readonly values: { readonly [name: string]: string };
    },
    handshake: HandshakeOptions,
  ): Promise<McpClient | Failure> {
    // Loading the SDK takes as long as the server's own start: only who has a server pays for it, and not twice.
    const loading = import("./client.ts");
    loading.catch(() => {});
    const home = await this.#options.homes.homeOf(declaration);
    const { env, self } = this.#options;
    const program = programOf(declaration, manifest, { home, values, env, self });
    if ("code" in program) return program;
    const child = await this.#options.registry.start({ ...program, cwd: declaration.cwd });
    const { openMcpClient } = await loading;
    return await openMcpClient({ ...handshake, child });
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
   * Waits until a server says that its tools changed, unless they are stale anyway, is idle, or ends. One that is idle takes
   * no call from that moment on. One that is not here any more ended with its runtime: a failure.
   */
  async watch({ root, launch, stale, idleMs, signal }: Watch): Promise<McpNews | Failure> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return gone();
    const enough = new AbortController();
    signal?.addEventListener("abort", () => enough.abort(), { once: true });
    const changed = stale === true ? [] : [live.client.listChanged().then(() => "list_changed" as const)];
    const idle = idleMs === undefined ? [] : [this.#idle(live, idleMs, enough.signal)];
    const first = await Promise.race([live.client.closed, ...changed, ...idle]);
    enough.abort();
    if (typeof first === "string") return { type: first };
    this.#forget(root, live);
    return { type: "ended", failure: named(live.server, first.failure), served: live.calls.served };
  }

  /** Resolves when nobody has called for long, and none is in flight; never once `signal` is aborted. */
  async #idle(live: Live, idleMs: number, signal: AbortSignal): Promise<"idle"> {
    const { clock } = this.#options;
    const { calls } = live;
    while (!calls.isQuiet || clock.now() < calls.quietSinceMs + idleMs) {
      if (calls.isQuiet) await clock.sleepUntil(calls.quietSinceMs + idleMs, signal);
      else await calls.quiet;
      if (signal.aborted) return await new Promise(() => {});
    }
    // From here on no call finds it: what is ended now is certainly not in use.
    live.isGone = true;
    return "idle";
  }

  /** Ends a server, once its calls have ended or took too long; one that is not here has ended already. */
  async close({ root, launch, drainMs = 0 }: Close): Promise<McpEnd> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return { code: null, signal: null, stderr: "" };
    live.isGone = true;
    if (!live.calls.isQuiet && drainMs > 0) await this.#drained(live, drainMs);
    const end = await live.client.close();
    this.#forget(root, live);
    return end;
  }

  async #drained({ calls, client }: Live, drainMs: number): Promise<void> {
    const { clock } = this.#options;
    const enough = new AbortController();
    const late = clock.sleepUntil(clock.now() + drainMs, enough.signal);
    await Promise.race([calls.quiet, client.closed, late]);
    enough.abort();
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
  return failure("interrupted", "The server ended with the runtime that had started it");
}

function named(server: string, why: Failure): Failure {
  return { ...why, message: `${server}: ${why.message}`.slice(0, 2_000) };
}

/** Why a server cannot be used. What is no expected ending is thrown on. */
function whyNot(server: string, error: unknown, secrets: readonly string[]): Failure {
  if (error instanceof HomeError) return error.failure;
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
