/** What the tests of MCP servers share: agents with manifests, processes found by a mark, an owner in this process. */
import assert from "node:assert/strict";
import { HostConfig } from "../../schemas/config.ts";
import { loadAgent, type LoadedAgent } from "../../src/host/agent_folder.ts";
import type { ActingHost } from "../../src/host/host.ts";
import { openOwner } from "../../src/host/open_host.ts";
import type { SessionHome } from "../../src/host/session_home.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import type { ServerPlan } from "./mcp_server.ts";
import { type Ended, linesOf, onStage, type Running, type Stage } from "./troupe.ts";

/** The `troupe` command. */
export const main = new URL("../../main.ts", import.meta.url).pathname;
/** The server that behaves and leaves traces. */
export const plannedServer = new URL("mcp_server.ts", import.meta.url).pathname;
/** The server that misbehaves as told. */
export const badServer = new URL("../support/bad_server.ts", import.meta.url).pathname;

/** True where processes can be found by what they were started with. */
const hasProc = Deno.build.os === "linux";

/** A value that a journal, an answer or a file holds. */
export type Line = { readonly [key: string]: unknown };

/** One prepared answer of the model. */
export interface Answer {
  readonly text?: string;
  readonly expect?: string;
  readonly calls?: readonly { readonly tool: string; readonly arguments: Line }[];
}

/** One call of a tool by the script. */
export function callOf(tool: string, given: Line = {}) {
  return { tool, arguments: given };
}

/** Manifests by server id: fields that are left out have these tests' defaults. */
export type Manifests = { readonly [server: string]: Line };

/** The manifest of a script that Deno runs. Its calls need no person unless `more` says so. */
export function scriptManifest(script: string, args: readonly string[], more: Line = {}): Line {
  const command = Deno.execPath();
  return {
    command,
    args: ["run", "-A", "--quiet", "--no-config", script, ...args],
    approval_policy: "auto",
    ...more,
  };
}

/** The manifest of a server that behaves. The folder of the stage in its arguments is its mark. */
export function planned(stage: Stage, plan: ServerPlan, more: Line = {}): Line {
  return scriptManifest(plannedServer, [JSON.stringify(plan), markOf(stage, plan.name)], more);
}

/** The manifest of a server that misbehaves. */
export function bad(stage: Stage, args: readonly string[], more: Line = {}): Line {
  return scriptManifest(badServer, [...args, "--mark", markOf(stage, args[0] ?? "")], more);
}

/** What no other process has in its arguments; without a name, of all servers of a stage. */
export function markOf(stage: Stage, name = ""): string {
  return `${stage.folder}/mark/${name}`;
}

/** An agent's folder. */
export interface AgentSketch {
  readonly servers: Manifests;
  readonly answers: readonly Answer[];
  readonly folder?: string;
  readonly tools?: readonly string[];
  readonly capabilities?: readonly string[];
}

/** Writes an agent with its servers; JSON is YAML. Its workspace holds `a.txt`. */
export async function writeMcpAgent(stage: Stage, sketch: AgentSketch): Promise<void> {
  const { servers, answers, folder = "agent", tools = [], capabilities = ["mcp.connect:*", "mcp.call:*"] } =
    sketch;
  const agent = { name: "tester", model: "scripted/script.yaml", tools, capabilities };
  await stage.write({
    [`${folder}/agent.yaml`]: JSON.stringify(agent),
    [`${folder}/script.yaml`]: JSON.stringify({ answers }),
    "ws/a.txt": "alpha\n",
  });
  await declare(stage, servers, folder);
}

/** Writes manifests into an agent's folder. */
export async function declare(stage: Stage, servers: Manifests, folder = "agent"): Promise<void> {
  for (const [server, manifest] of Object.entries(servers)) {
    await stage.write({ [`${folder}/mcp/${server}.yaml`]: JSON.stringify(manifest) });
  }
}

/** The first turn of a session of `agent`. */
export const firstTurn = ["run", "agent", "hi", "--workspace", "ws"];
/** A later turn of the newest session of `agent`. */
export const nextTurn = ["run", "agent", "again", "--session", "last"];

/** Trust in the servers of `agent` where these turns are at home. */
export const trustAgent = ["trust", "./agent", "--workspace", "ws", "--yes"];

/** The id of the session that a run told of. */
export function sessionIn({ err, out }: Ended): string {
  const id = /^session (ses_[0-9A-Z]{26})/m.exec(err)?.[1];
  assert.ok(id, `no session in:\n${out}\n${err}`);
  return id;
}

/** The entries of a root. */
export async function entriesOf(stage: Stage, root: string): Promise<Line[]> {
  return linesOf(await stage.output("log", root, "--json"));
}

/** What entries of one kind and type say. */
export function bodiesOf(entries: readonly Line[], kind: string, type: string): Line[] {
  return entries.filter((entry) => entry["kind"] === kind && entry["type"] === type)
    .map((entry) => entry["body"] as Line);
}

/** The lines of a file of JSON lines; none if there is no file. */
export async function linesIn(path: string): Promise<Line[]> {
  try {
    return linesOf(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Waits until something holds, within a bound that only a broken build comes near. */
export async function until(claim: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 1_500; looks++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`did not come to hold: ${claim}`);
}

/** Waits until a call has reached a server, by its ledger. */
export async function untilCalled(ledger: string, calls = 1): Promise<void> {
  await until(`${calls} calls in ${ledger}`, async () => (await linesIn(ledger)).length >= calls);
}

/** Processes with a mark in their arguments. One that has ended has none, also if nobody has waited for it yet. */
export function findMarked(mark: string): readonly number[] {
  const pids: number[] = [];
  if (!hasProc) return pids;
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(mark)) pids.push(Number(name));
    } catch {
      // It ended while we looked.
    }
  }
  return pids;
}

/** The one process that has a mark. */
export function theMarked(mark: string): number {
  const [pid, ...others] = findMarked(mark);
  assert.ok(pid !== undefined && others.length === 0, `not one process is marked ${mark}`);
  return pid;
}

/** Waits until no process has a mark. */
export async function untilNone(mark: string): Promise<void> {
  await until(`no process is marked ${mark}`, () => findMarked(mark).length === 0);
}

/** A test that finds processes: it is left out where there is no `/proc`. */
export function testProcesses(name: string, play: (stage: Stage) => Promise<void>): void {
  Deno.test({ name, ignore: !hasProc, fn: () => onMcpStage(play) });
}

/** Plays a test on a stage; servers that it or a broken build leaves behind are ended, each by its own pid. */
export async function onMcpStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  await onStage(async (stage) => {
    try {
      await play(stage);
    } finally {
      for (const pid of findMarked(markOf(stage))) killQuietly(pid);
    }
  });
}

function killQuietly(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

/** Starts the command with variables of its own, which no argument shows. */
export async function startWith(
  stage: Stage,
  variables: { readonly [name: string]: string },
  ...args: readonly string[]
): Promise<Running> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await Deno.writeTextFile(stage.path("variables"), lines.join(""));
  return stage.startDeno("run", "-A", "--quiet", `--env-file=${stage.path("variables")}`, main, ...args);
}

/** An owner in this process, and a session of `agent` in it. */
export interface Held {
  readonly host: ActingHost;
  readonly session: `session/${string}`;
  /** Gives a prompt and waits for the end of its turn; every question is answered with `allow`. */
  prompt(text: string): Promise<TurnReport>;
  /** Declares what the agent's folder declares now. */
  redeclare(): Promise<void>;
  /** Begins a session of another agent in the same owner. */
  begin(folder: string): Promise<Pick<Held, "session" | "prompt">>;
}

/** Holds the store of a stage in this process while `play` goes on. */
export async function withOwner(
  stage: Stage,
  play: (held: Held) => Promise<void>,
  config: Line = {},
  goesOn = false,
): Promise<void> {
  const seams = createSystemSeams({ log: () => {} });
  const env = (name: string) => ["PATH", "HOME"].includes(name) ? Deno.env.get(name) : undefined;
  const host = await openOwner({
    location: stage.path("store.db"),
    config: HostConfig.parse(config),
    seams,
    env,
    self: { command: Deno.execPath(), args: [], env: {} },
    isAttended: true,
    goesOn,
  });
  try {
    const load = (folder: string) => loadAgent(folder, { cwd: stage.folder, digest: seams.digest });
    const begin = async (folder: string) => {
      const agent: LoadedAgent = await load(folder);
      const home: SessionHome = { agent: agent.home, workspace: stage.path("ws") };
      const { definition, coreRevision, servers } = agent;
      const order = { agent: definition, coreRevision, home, title: definition.name, servers };
      const session = await host.createSession(order) as Held["session"];
      return { session, home, prompt: (text: string) => givePrompt(host, session, text) };
    };
    const { session, home, prompt } = await begin("agent");
    const redeclare = async () => await host.declareServers(session, home, (await load("agent")).servers);
    await play({ host, session, prompt, redeclare, begin });
  } finally {
    await host.close();
  }
}

async function givePrompt(host: ActingHost, session: Held["session"], text: string): Promise<TurnReport> {
  const fromSeq = (await host.readHead(session)).seq + 1;
  const key = `${session} ${fromSeq}`;
  return await host.prompt({ session, request: { text }, key, fromSeq, answers: true }, (event) => {
    if (event.type !== "question") return;
    const { id, shown } = event.question;
    const by = { kind: "operator", id: "local" } as const;
    host.answer(id, { decision: "allow", by, shown });
  });
}
