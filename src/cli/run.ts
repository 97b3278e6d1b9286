/** `troupe run`. */
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import type { LoadedAgent } from "../host/agent_folder.ts";
import { isAbsolute, readHostSettings, storeLocation, workspaceFolder } from "../host/home.ts";
import type { ActingHost } from "../host/host.ts";
import { readHome, type SessionHome } from "../host/session_home.ts";
import type { TurnReport } from "../runtime.ts";
import { type Call, type Cli, defineCommand, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { peekList, peekText } from "./peek.ts";
import { playTurn } from "./play_turn.ts";
import { withSeat } from "./seat.ts";
import { findSession } from "./session_name.ts";
import { createJsonView, createTranscript } from "./transcript.ts";

const options = {
  store: storeOption,
  workspace: {
    kind: "text",
    value: "FOLDER",
    help: "the folder that file tools may read; default: the host's troupe.yaml, or the working folder",
  },
  session: { kind: "text", value: "SESSION", help: "go on with this session instead of beginning one" },
  answer: {
    kind: "choice",
    choices: ["allow", "deny", "wait"],
    help: "answer approvals without asking; wait leaves them to troupe answer",
  },
  mode: {
    kind: "choice",
    choices: PermissionMode.options,
    help: "plan: nothing with side effects runs; auto: low-risk reads pass unasked; default: policy decides",
  },
  script: { kind: "text", value: "FILE", help: "play this script instead of the one that the agent names" },
  strict: { kind: "flag", help: "let everything wait for the disk, not only what could hurt" },
  json: { kind: "flag", help: "print one JSON line for each durable entry, and nothing else" },
} as const;

/** What runs if nobody says what. */
const defaultAgent = "demo";
const defaultPrompt = "Look around in this folder, and tell me what you found.";

/** Runs one turn of an agent. */
export const command = defineCommand({
  args: ["[AGENT]", "[PROMPT]"],
  about: [
    "Runs one turn and shows it as it happens. AGENT is a folder with agent.yaml, such a file, or the name of an",
    "agent that comes with troupe: demo, which is also meant if no agent is named. With --session, AGENT must be",
    "the agent of that session; the MCP servers that it declares now hold for the turn.",
    "Questions are asked at the terminal; without one, and without --answer, they are denials.",
    "Ctrl-C cancels the turn, a second one leaves. Exit code 1 if the turn did not complete.",
    "If another process runs the store, that process does the work, and its configuration counts.",
  ],
  options,
  examples: [
    'troupe run "Look around"',
    'troupe run ./my-agent "Explain src/main.ts" --workspace .',
    'troupe run ./my-agent "Go on" --session last --answer deny',
    'troupe run ./my-agent "Say what you would change" --mode plan',
    'troupe run ./my-agent "Look around" --json > entries.jsonl',
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const settings = await readHostSettings(cli.env);
  const { isAgent, loadAgent } = await import("../host/agent_folder.ts");
  const [name, text] = args.length > 1
    ? [args[0] ?? "", args[1] ?? ""]
    : [defaultAgent, args[0] ?? defaultPrompt];
  if (args.length === 1 && await isAgent(text, cli.cwd)) {
    throw new UsageError("argument_missing", `troupe run ${text} needs PROMPT: say what the agent shall do`);
  }
  checkPrompt(text);
  const agent = await loadAgent(name, { cwd: cli.cwd, digest: cli.seams.digest });
  const home = given.session === undefined ? await homeOf(agent, { cli, given, settings }) : undefined;
  if (home === undefined) refuseWithSession(given);
  const acting = {
    location: storeLocation(given.store, cli.env, settings),
    config: settings.config,
    strict: given.strict,
    isAttended: cli.terminal.canAsk || given.answer !== undefined,
  };
  return await withSeat(cli, acting, async (seat) => {
    const place = home === undefined
      ? await resume(seat.host, agent, given.session ?? "")
      : { session: await begin(seat.host, agent, { home, mode: given.mode }), fromSeq: 1 };
    const view = given.json ? createJsonView(cli.terminal) : createTranscript(cli.terminal);
    if (!given.json) sayWhere(cli, seat.host, { session: place.session, strict: given.strict });
    const report = await playTurn(cli, seat, { ...place, text, standing: given.answer, view });
    if (report.outcome !== "completed") throw notCompleted(report);
    return exitCodes.ok;
  });
}

function checkPrompt(text: string): void {
  if (text.trim() === "") {
    throw new UsageError("argument_invalid", "The prompt is empty: say what the agent shall do");
  }
  if (text.length <= limits.promptCharactersMax) return;
  throw new UsageError(
    "argument_invalid",
    `The prompt has more than ${limits.promptCharactersMax} characters`,
  );
}

interface HomeOptions {
  readonly cli: Cli;
  readonly given: Call<typeof options>["options"];
  readonly settings: Awaited<ReturnType<typeof readHostSettings>>;
}

/** Absolute, real paths: whoever resumes the session may work elsewhere. */
async function homeOf(agent: LoadedAgent, { cli, given, settings }: HomeOptions): Promise<SessionHome> {
  const folder = workspaceFolder(given.workspace, { env: cli.env, settings, cwd: cli.cwd });
  const workspace = await realPath(cli, folder, "workspace");
  if (!(await Deno.stat(workspace)).isDirectory) {
    throw new UsageError("workspace_invalid", `Cannot use "${folder}" as workspace: it is not a folder`);
  }
  if (given.script === undefined) return { agent: agent.home, workspace };
  return { agent: agent.home, workspace, script: await realPath(cli, given.script, "script") };
}

async function realPath(cli: Cli, path: string, what: string): Promise<string> {
  try {
    return await Deno.realPath(isAbsolute(path) ? path : `${cli.cwd}/${path}`);
  } catch {
    throw new UsageError(
      `${what}_invalid`,
      `Cannot use "${path}" as ${what}: there is no such file or folder`,
    );
  }
}

/** What a session began with stays: its script, its workspace and its mode are in its journal. */
function refuseWithSession(given: Call<typeof options>["options"]): void {
  for (const option of ["script", "workspace", "mode"] as const) {
    if (given[option] === undefined) continue;
    throw new UsageError(
      "option_invalid",
      `--${option} cannot be changed in a session: begin one without --session`,
    );
  }
}

/** How a session begins. */
export interface Beginning {
  readonly home: SessionHome;
  readonly mode?: PermissionMode | undefined;
}

/** Begins a session of an agent. */
export function begin(
  host: ActingHost,
  agent: LoadedAgent,
  { home, mode = "default" }: Beginning,
): Promise<RootAddress> {
  const { definition, coreRevision, servers } = agent;
  return host.createSession({ agent: definition, coreRevision, home, title: definition.name, servers, mode });
}

async function resume(
  host: ActingHost,
  agent: LoadedAgent,
  name: string,
): Promise<{ readonly session: RootAddress; readonly fromSeq: number }> {
  const { address, kind } = await findSession(host, name);
  if (kind !== "session") {
    throw new UsageError("root_not_found", `"${address}" is no session: see troupe sessions`);
  }
  const created = await firstEntry(host, address);
  const recorded = peekText(created, "input", "agent", "name");
  if (recorded !== agent.definition.name) {
    throw new UsageError(
      "agent_differs",
      `The session "${address}" is of the agent "${recorded}": name that one`,
    );
  }
  const home = readHome(peekText(created, "input", "home"));
  const hadServers = peekList(created, "input", "servers").length > 0;
  if (home !== undefined && (hadServers || agent.servers.length > 0)) {
    await host.declareServers(address, home, agent.servers);
  }
  return { session: address, fromSeq: (await host.readHead(address)).seq + 1 };
}

async function firstEntry(host: ActingHost, address: RootAddress): Promise<unknown> {
  for await (const [first] of host.readPages(address)) return first?.body;
  return undefined;
}

function sayWhere(
  { terminal: { err } }: Cli,
  host: ActingHost,
  { session, strict }: { readonly session: RootAddress; readonly strict: boolean },
): void {
  const where = host.owner === undefined ? "" : `, run by process ${host.owner} that holds the store`;
  err.line(err.style.dim(`session ${session.slice("session/".length)}${where}`));
  if (strict && host.owner !== undefined) {
    err.line("--strict has no effect: the process that holds the store decides");
  }
}

/** A turn that did not complete. Its own failure says why; a cancel has none. */
export function notCompleted({ turn, outcome, failure }: TurnReport): CheckFailedError {
  const why = failure?.message ?? "it has no answer";
  return new CheckFailedError(
    failure?.code ?? `turn_${outcome}`,
    `The turn ${turn} ended as ${outcome}: ${why}`,
  );
}
