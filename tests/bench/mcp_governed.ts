/** Governed calls: a whole runtime on a KV file, with the host's own performers and the scripted provider. */
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { connectionAddress, type RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { type McpDeclaration, McpManifest } from "../../schemas/manifest.ts";
import { declareServer } from "../../src/host/declare.ts";
import { noCommands } from "../support/servers.ts";
import { createHostPerformers } from "../../src/host/host_performers.ts";
import { writeHome } from "../../src/host/session_home.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import { Connections } from "../../src/mcp/connections.ts";
import { GuardedClient } from "../../src/net/guarded_client.ts";
import { UrlPolicy } from "../../src/net/url_policy.ts";
import { PrivateHomes } from "../../src/mcp/private_homes.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { type Runtime, startRuntime } from "../../src/runtime.ts";
import type { HostServices } from "../../src/host_services.ts";
import type { Seams } from "../../src/seams.ts";
import { argumentsOf, mark, type McpCase, program, serverId } from "./mcp_case.ts";
import type { McpAnswer, McpRequest, McpSide } from "./mcp_protocol.ts";
import type { Counts } from "./protocol.ts";
import { median } from "./statistics.ts";
import type { Effect } from "./turn_case.ts";

/** Options of {@linkcode openGovernedSide}. */
export interface GovernedOptions {
  readonly seams: Seams;
  /** Holds the store, the scripts and the workspace. */
  readonly folder: string;
}

/** What is used of a running runtime. */
interface Ground {
  readonly runtime: Runtime;
  readonly services: HostServices;
  readonly folder: string;
  /** Messages of the journal that were handled. */
  readonly cranks: () => number;
}

/** Opens a store and starts a runtime on it, as the host does. */
export async function openGovernedSide({ seams, folder }: GovernedOptions): Promise<McpSide> {
  const { clock, digest, log } = seams;
  const location = `${folder}/store.db`;
  const registry = new ProcessRegistry({ store: location, runId: seams.nextId("run"), clock, digest, log });
  const self = { command: Deno.execPath(), args: [], env: {} };
  const homes = new PrivateHomes(location);
  const env = (name: string) => Deno.env.get(name);
  const http = new GuardedClient({ policy: new UrlPolicy({ allow: ["127.0.0.1"] }), clock });
  const connections = new Connections({ registry, clock, env, homes, self, fetch: http.fetch });
  const made: { services?: HostServices } = {};
  const runtime = await startRuntime({
    store: await openKvStore(location, { log }),
    seams,
    performers: (services) => {
      made.services = services;
      return createHostPerformers(services, { connections, http: { fetch }, commands: noCommands });
    },
    awakeMax: 10,
  });
  let cranks = 0;
  runtime.watch((event) => {
    if (event.type !== "entries") return;
    for (const entry of event.entries) if (entry.cause === entry.seq) cranks += 1;
  });
  const ground = { runtime, services: made.services as HostServices, folder, cranks: () => cranks };
  return {
    measure: (request) => measure(ground, request),
    stop: async () => {
      await runtime.stop();
      http.close();
      await registry.closeAll();
      await homes.release();
    },
  };
}

/** One session: its server is started, then turns without calls and turns with calls are run by turns. */
async function measure(ground: Ground, request: McpRequest): Promise<McpAnswer> {
  const { groups, warmUps } = request;
  const { runtime, services: { tellConnection } } = ground;
  const session = await createSession(ground, { ...request, turns: warmUps + groups });
  const connection = connectionAddress(serverId, session);
  await runtime.rest();
  const start = performance.now();
  const { status, value } = await tellConnection(connection, { type: "connection.open" });
  const connectMs = performance.now() - start;
  if (status !== "ok") throw new Error(`The server did not open: ${JSON.stringify(value)}`);
  // The first turn of a session makes its catalog and reads its script.
  await measureTurn(ground, session);
  const empty: Measured[] = [];
  const full: Measured[] = [];
  for (let group = -warmUps; group < groups; group++) {
    const both = [await measureTurn(ground, session), await measureTurn(ground, session)] as const;
    if (group < 0) continue;
    empty.push(both[0]);
    full.push(both[1]);
  }
  await tellConnection(connection, { type: "connection.close", reason: "The bench is done" });
  const emptyTurns = empty.map(({ ms }) => ms);
  const emptyMs = median(emptyTurns);
  return {
    connectMs,
    times: full.map(({ ms }) => ms - emptyMs),
    emptyTurns,
    counts: difference(full, empty),
  };
}

type Counted = Omit<Counts, "turns">;
type Measured = Counted & { readonly ms: number };

async function measureTurn(ground: Ground, session: RootAddress): Promise<Measured> {
  const { runtime } = ground;
  await runtime.rest();
  const before = countsOf(ground);
  const start = performance.now();
  const { report } = await runtime.prompt(session, "Go on");
  const { outcome, failure } = await report;
  const ms = performance.now() - start;
  if (outcome !== "completed") throw new Error(`The turn ${outcome}: ${failure?.message}`);
  await runtime.rest();
  const after = countsOf(ground);
  return {
    ms,
    flushes: after.flushes - before.flushes,
    entries: after.entries - before.entries,
    cranks: after.cranks - before.cranks,
    bytes: after.bytes - before.bytes,
  };
}

function countsOf({ runtime, cranks }: Ground): Counted {
  const { commits, entries, bytes } = runtime.journal.writer.counters;
  return { flushes: commits, entries, bytes, cranks: cranks() };
}

function difference(full: readonly Measured[], empty: readonly Measured[]): Counts {
  const more = (name: keyof Counted) =>
    full.reduce((sum, one) => sum + one[name], 0) - empty.reduce((sum, one) => sum + one[name], 0);
  return {
    turns: full.length,
    flushes: more("flushes"),
    entries: more("entries"),
    cranks: more("cranks"),
    bytes: more("bytes"),
  };
}

interface SessionPlan {
  readonly asked: McpCase;
  readonly effect: Effect;
  readonly url: string;
  /** How many pairs of turns the script is for. */
  readonly turns: number;
}

async function createSession({ runtime, services, folder }: Ground, plan: SessionPlan): Promise<RootAddress> {
  const script = `${folder}/script.yaml`;
  await Deno.writeTextFile(script, JSON.stringify(scriptOf(plan)));
  const policy = HostPolicy.parse({
    effects: plan.effect === "idempotent" ? { [`mcp.${serverId}.*`]: "idempotent" } : {},
  });
  const agent = AgentDefinition.parse({
    name: "bench",
    model: "scripted/script.yaml",
    capabilities: [...capabilities],
    limits: { rounds_per_turn: Math.min(plan.asked.calls + 1, limits.roundsPerTurnMax) },
  });
  return await runtime.createSession({
    agent,
    coreRevision: "bench",
    home: writeHome({ agent: { kind: "folder", path: folder }, workspace: folder, script }),
    sources: [],
    policy,
    servers: [await declare(plan, { folder, policy, seams: services.seams })],
  });
}

/** What the agent needs to have its server started and called. */
const capabilities = [`mcp.connect:${serverId}`, `mcp.call:${serverId}`] as const;

/** The server of a trusted folder whose calls nobody is asked about. */
async function declare(
  { asked, url }: SessionPlan,
  { folder, policy, seams: { digest } }: {
    readonly folder: string;
    readonly policy: HostPolicy;
    readonly seams: Seams;
  },
): Promise<McpDeclaration> {
  const { command, args, env } = program;
  const manifest = McpManifest.parse({
    ...(asked.transport === "stdio" ? { command, args, env } : { transport: "streamable_http", url }),
    approval_policy: "auto",
    risk: "low",
    supports_parallel_tool_calls: true,
  });
  const loaded = { server: serverId, manifest, folder, origin: "mcp/bench.yaml" };
  return await declareServer(loaded, {
    workspace: folder,
    policy,
    capabilities,
    secrets: new Set(),
    digest,
    trustOf: () => Promise.resolve("third_party"),
  });
}

/** Answers for a first turn without calls, then pairs of turns: one without, one with all calls of the case. */
function scriptOf({ asked, turns }: SessionPlan): object {
  const call = { tool: `${serverId}__${asked.tool}`, arguments: argumentsOf(asked) };
  const steps = asked.shape === "apart" ? asked.calls : 1;
  const calls = Array.from({ length: asked.calls / steps }, () => call);
  const done = { text: "Done" };
  const answers: object[] = [done];
  for (let turn = 0; turn < turns; turn++) {
    answers.push(done, { calls });
    for (let step = 1; step < steps; step++) answers.push({ calls, expect: mark(asked) });
    answers.push({ ...done, expect: mark(asked) });
  }
  return { capabilities: { parallelToolCalls: true }, answers };
}
