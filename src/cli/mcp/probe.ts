/** One start of a server for a person who looks at it: no session, the same gate, and an end. */
import { trustFile } from "../../host/trust.ts";
import { connectMs } from "../../../actors/package_runner.ts";
import { obstacle } from "../../../actors/connection_rules.ts";
import { type Failure, failure } from "../../../schemas/failure.ts";
import type { McpEnd, McpGreeting } from "../../../schemas/effect.ts";
import { readSecrets } from "../../host/secrets.ts";
import type { Connections } from "../../mcp/connections.ts";
import { type Drift, driftFailure, pinTools } from "../../mcp/pinned_tools.ts";
import { lastWords } from "../../mcp/plain_text.ts";
import { readTools, type ToolList } from "../../mcp/tool_list.ts";
import type { Cli } from "../cli.ts";
import { UsageError } from "../exit.ts";
import { withProgress } from "../progress.ts";
import { safeText } from "../terminal.ts";
import type { Ground, Grounds } from "./ground.ts";

const lastWordsCharactersMax = 1_000;

/** What a start showed. */
export interface Probe {
  readonly greeting?: McpGreeting;
  readonly capabilities?: readonly string[];
  readonly listMs?: number;
  /** The tools as the server told of them. */
  readonly raw: readonly unknown[];
  readonly list?: ToolList;
  readonly drifted: ReadonlyMap<string, Drift>;
  readonly notices: readonly string[];
  /** The end of what it wrote to its standard error, on one line. */
  readonly stderr: string;
  /** Why it cannot be used. */
  readonly failure?: Failure;
}

/** How a server may be started. */
export interface ProbeOptions {
  readonly answer: "allow" | "deny" | undefined;
}

/** Starts a server, lists its tools, and ends it. What stands in its way is a failure, not an error. */
export async function probeServer(
  cli: Cli,
  grounds: Grounds,
  ground: Ground,
  { answer }: ProbeOptions,
): Promise<Probe> {
  const { declaration } = ground;
  const nothing = { raw: [], drifted: new Map(), notices: [], stderr: "" };
  const why = obstacle({ declaration }) ?? await gate(cli, ground, answer);
  if (why !== null) return { ...nothing, failure: why };
  const fetched = await fetchPackage(cli, ground);
  if (fetched !== undefined) return { ...nothing, failure: fetched };
  return await withConnections(cli, grounds, (connections) => probe(cli, { grounds, ground, connections }));
}

/** The same question as before a session's first turn: trust answers it, or the person at the terminal. */
async function gate(
  cli: Cli,
  { declaration: { gate, server, preview } }: Ground,
  answer: ProbeOptions["answer"],
): Promise<Failure | null> {
  if (gate === "granted" || answer === "allow") return null;
  const denied = (state: string) =>
    failure("mcp_connect_denied", `The server "${server}" is not started: ${state}`);
  if (answer === "deny") return denied("the answer was no");
  if (!cli.terminal.canAsk) {
    return denied(`nobody can be asked here; troupe mcp trust ${server}, or --answer allow`);
  }
  const { askPerson } = await import("../trust.ts");
  cli.terminal.err.line(safeText(preview));
  return await askPerson(cli, `Start the server ${server} now?`) ? null : denied("the answer was no");
}

/** Fetches what a server from npm needs, so that its start never has to. */
export async function fetchPackage(
  cli: Cli,
  { loaded }: Pick<Ground, "loaded">,
): Promise<Failure | undefined> {
  const { manifest } = loaded;
  if (manifest.transport !== "stdio" || manifest.run === undefined) return undefined;
  const { run } = manifest;
  const { fetchNpm } = await import("../../mcp/npm_fetch.ts");
  return await withProgress(cli, `fetching npm:${run.npm} (deno cache)`, () => fetchNpm(run, cli.env));
}

async function withConnections<T>(
  cli: Cli,
  { settings }: Grounds,
  act: (connections: Connections) => Promise<T>,
): Promise<T> {
  const [{ Connections }, { PrivateHomes }, { ProcessRegistry }, { GuardedClient }, { UrlPolicy }] =
    await Promise.all([
      import("../../mcp/connections.ts"),
      import("../../mcp/private_homes.ts"),
      import("../../processes/registry.ts"),
      import("../../net/guarded_client.ts"),
      import("../../net/url_policy.ts"),
    ]);
  const { clock, digest, log, nextId } = cli.seams;
  const registry = new ProcessRegistry({ store: ":memory:", runId: nextId("run"), clock, digest, log });
  const secrets = new Map(
    (await readSecrets(settings.config.secrets, cli.env)).map(({ name, value }) => [name, value]),
  );
  const env = (name: string) => secrets.has(name) ? secrets.get(name) : cli.env(name);
  const { createLogins } = await import("../../host/logins.ts");
  const { KnownSecrets } = await import("../../redact/known_secrets.ts");
  const { eraFile, EraStore } = await import("../../host/eras.ts");
  const eras = new EraStore(eraFile(trustFile(cli.env)), clock);
  const homes = new PrivateHomes(":memory:");
  const http = new GuardedClient({ policy: new UrlPolicy(settings.config.network), clock });
  const way = { fetch: http.fetch, clock, digest };
  const known = new KnownSecrets();
  const authorize = createLogins({ ...way, trustFile: trustFile(cli.env), known, readSecret: env });
  const stopListening = cli.onInterrupt(() => registry.killAll());
  try {
    return await act(
      new Connections({ registry, clock, env, self: cli.self, homes, authorize, fetch: http.fetch, eras }),
    );
  } finally {
    stopListening();
    await registry.closeAll();
    await homes.release();
    http.close();
  }
}

interface ProbeParts {
  readonly grounds: Grounds;
  readonly ground: Ground;
  readonly connections: Connections;
}

async function probe(cli: Cli, { grounds, ground, connections }: ProbeParts): Promise<Probe> {
  const { declaration } = ground;
  const { clock, digest } = cli.seams;
  const at = { root: `connection/${declaration.server}@probe`, launch: 1 } as const;
  const { signal } = new AbortController();
  const notices: string[] = [];
  const greeting = await connections.connect({
    ...at,
    declaration,
    deadlineAtMs: clock.now() + connectMs(declaration.manifest, at.launch),
    signal,
    onNotice: (text) => notices.push(text),
  });
  const none = { raw: [], drifted: new Map<string, Drift>(), notices, stderr: "" };
  if ("code" in greeting) return { ...none, failure: greeting };
  const capabilities = connections.clientOf(at.root)?.capabilities ?? [];
  const startedAt = clock.now();
  const raw = await connections.list(at, signal);
  const listMs = clock.now() - startedAt;
  const repeatsArguments = connections.repeatsArguments(at);
  const stderr = wordsOf(await connections.close(at));
  const known = { ...none, greeting, capabilities, stderr };
  if ("code" in raw) return { ...known, failure: raw };
  const list = readTools(raw, { declaration, connection: at.root, repeatsArguments });
  const offered = new Set(list.source.tools.map(({ name }) => name));
  const review = declaration.trust === "trusted_local"
    ? { drifted: new Map<string, Drift>(), isAnother: false }
    : await grounds.pins.review(declaration, await pinTools(raw, offered, digest));
  if ("code" in review) return { ...known, listMs, raw, list, failure: review };
  const { drifted, isAnother } = review;
  const why = isAnother ? { failure: driftFailure(declaration.server) } : {};
  return { ...known, listMs, raw, list, drifted, ...why };
}

function wordsOf({ stderr }: McpEnd): string {
  return lastWords(stderr, lastWordsCharactersMax);
}

/** Refuses a probe that showed nothing. */
export function refuseFailed({ failure: why }: Probe): void {
  if (why !== undefined) throw new UsageError(why.code, why.message);
}
