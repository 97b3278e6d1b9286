/** The open connections of one runtime: starts servers, keeps their clients by the address of their root, ends them. */
import { connectMs, isPackageRunner } from "../../actors/package_runner.ts";
import type { McpEnd, McpGreeting, McpNews } from "../../schemas/effect.ts";
import type { Failure } from "../../schemas/failure.ts";
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { StdioManifest } from "../../schemas/manifest.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import type { Clock } from "../seams.ts";
import { CallCount } from "./call_count.ts";
import type { HandshakeOptions, McpClient } from "./client.ts";
import { closedEarly, gone, missingVariables, named, whyNot } from "./connect_failure.ts";
import type { Close, ConnectOrder, Launch, Watch } from "./connection_orders.ts";
import type { EraMemory } from "./era.ts";
import { EraSearch } from "./era_search.ts";
import { Gate } from "./gate.ts";
import { asNotCached } from "./npm_program.ts";
import type { PrivateHomes } from "./private_homes.ts";
import { openSession, type SessionDoor } from "./open_session.ts";
import type { ServerEnd } from "./server_log.ts";
import { type OwnProgram, programOf } from "./server_program.ts";
import { redactingClient } from "./redacting_client.ts";
import { watchUpdates } from "./subscriptions.ts";
import { type CountedDecision, UrlTally } from "./url_tally.ts";
import { expandVariables, type ReadVariable } from "./variables.ts";

export type { Close, ConnectOrder, Launch, Watch } from "./connection_orders.ts";
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
  /** Remembers what servers speak; without it, each start finds out. */
  readonly eras?: EraMemory;
  /** Told of every process that ended, however it did. */
  readonly onEnd?: (end: ServerEnd) => void;
}

interface Live {
  readonly launch: number;
  readonly client: McpClient;
  readonly server: string;
  /** Of the declaration that it was started by. */
  readonly fingerprint: string;
  readonly secrets: readonly string[];
  readonly calls: CallCount;
  /** True once it takes no calls any more. */
  isGone: boolean;
}

/** The clients of one runtime. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #live = new Map<RootAddress, Live>();
  /** What was decided about the URLs of their requests. */
  readonly #tallies = new Map<RootAddress, UrlTally>();
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

  /** How many resources the open connections of a session are subscribed to. */
  subscribed(session: RootAddress): number {
    const own = [...this.#live].filter(([root]) => sessionOf(root) === session);
    return own.reduce((sum, [, { client }]) => sum + (client.subscriptions?.size ?? 0), 0);
  }

  /** The client of an open connection. */
  clientOf(root: RootAddress): McpClient | undefined {
    const live = this.#live.get(root);
    return live === undefined || live.isGone ? undefined : live.client;
  }

  /** Fingerprint of the declaration that an open connection was started by. */
  fingerprintOf(root: RootAddress): string | undefined {
    return this.#live.get(root)?.fingerprint;
  }

  /** What was decided about URLs for a connection since this was asked last (DM-71). */
  takeUrlDecisions(root: RootAddress): readonly CountedDecision[] {
    const taken = this.#tallies.get(root)?.take() ?? [];
    if (!this.#live.has(root)) this.#tallies.delete(root);
    return taken;
  }

  #tallyOf(root: RootAddress): UrlTally {
    const tally = this.#tallies.get(root) ?? new UrlTally();
    this.#tallies.set(root, tally);
    return tally;
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
    const search = new EraSearch(this.#options.eras, declaration);
    const tried = await search.begin();
    const patience = {
      clock,
      connectMs: connectMs(manifest, launch),
      deadlineAtMs,
      signal,
      onNotice,
      asks: declaration.asks ?? {},
      ...tried,
    };
    try {
      const opened = manifest.transport === "stdio"
        ? await this.#openChild({ root, declaration }, { manifest, values }, patience)
        : await openSession(this.#options, {
          subject: { server, manifest },
          headers: values,
          handshake: patience,
          onDecision: (decision) => this.#tallyOf(root).note(decision),
        });
      if ("code" in opened) return named(server, opened);
      await search.found(opened);
      const calls = new CallCount(clock);
      const client = calls.counted(redactingClient(opened, secrets));
      const { fingerprint } = declaration;
      this.#keep(root, { launch, client, server, fingerprint, secrets, calls, isGone: false });
      return { ...client.greeting, tookMs: clock.now() - startedAt };
    } catch (error) {
      await search.failed();
      const why = whyNot(server, error, secrets);
      const run = manifest.transport === "stdio" ? manifest.run : undefined;
      return run === undefined ? why : asNotCached(why, server, run);
    }
  }

  async #openChild(
    { root, declaration }: Pick<ConnectOrder, "root" | "declaration">,
    { manifest, values }: {
      readonly manifest: StdioManifest;
      readonly values: { readonly [name: string]: string };
    },
    handshake: HandshakeOptions,
  ): Promise<McpClient | Failure> {
    // Loading the SDK takes as long as the server's own start: only who has a server pays for it, and not twice.
    const isModern = handshake.eras?.[0]?.era === "modern";
    const loading = Promise.all([
      import("./client.ts"),
      isModern ? import("./protocol_v2.ts") : import("./protocol_v1.ts"),
    ]);
    loading.catch(() => {});
    const home = await this.#options.homes.homeOf(declaration);
    const { env, self, onEnd } = this.#options;
    const program = programOf(declaration, manifest, { home, values, env, self });
    if ("code" in program) return program;
    const child = await this.#options.registry.start({ ...program, cwd: declaration.cwd });
    void child.ended.then((end) => onEnd?.({ connection: root, ...end, stderr: child.stderr() }));
    const [{ openMcpClient }] = await loading;
    return await openMcpClient({ ...handshake, child });
  }

  #keep(root: RootAddress, live: Live): void {
    this.#live.set(root, live);
    live.client.closed.then(() => live.isGone = true);
  }

  /** True if a server wants arguments of calls repeated in headers, and so tools that say well which. */
  repeatsArguments({ root, launch }: Launch): boolean {
    const client = this.#liveOf({ root, launch })?.client;
    return client?.isRemote === true && client.greeting.era === "modern";
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
  async watch(
    { root, launch, stale, idleMs, subscriptions = [], signal }: Watch,
  ): Promise<McpNews | Failure> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return gone();
    const enough = new AbortController();
    signal?.addEventListener("abort", () => enough.abort(), { once: true });
    const changed = stale === true ? [] : [live.client.listChanged().then(() => "list_changed" as const)];
    const idle = idleMs === undefined ? [] : [this.#idle(live, idleMs, enough.signal)];
    const { clock } = this.#options;
    const updated = watchUpdates(live.client, subscriptions, { clock, signal: enough.signal });
    const first = await Promise.race([live.client.closed, updated, ...changed, ...idle]);
    enough.abort();
    if (typeof first === "string") return { type: first };
    if ("type" in first) return first;
    this.#forget(root, live);
    const { failure: why, end } = first;
    const told = { type: "ended", failure: named(live.server, why), served: live.calls.served } as const;
    return end === undefined || live.client.isRemote ? told : { ...told, end };
  }

  /** Resolves when nobody has called for long, and none is in flight; never once `signal` is aborted. */
  async #idle(live: Live, idleMs: number, signal: AbortSignal): Promise<"idle"> {
    const { subscriptions } = live.client;
    // Who waits for updates calls nothing, and is not idle.
    await live.calls.idle({ idleMs, signal, isHeld: () => (subscriptions?.size ?? 0) > 0 });
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
