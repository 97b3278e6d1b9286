/** Where a command acts: a session that it begins, or one that it goes on with. */
import type { Budget } from "../../schemas/budget.ts";
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { PermissionMode } from "../../schemas/mode.ts";
import type { SessionScope } from "../../schemas/profile.ts";
import { refuseProfile } from "../../actors/profile.ts";
import { notYours } from "../../actors/session_close.ts";
import type { LoadedAgent } from "../host/agent_folder.ts";
import { isAbsolute, type readHostSettings, workspaceFolder } from "../host/home.ts";
import type { ActingHost } from "../host/host.ts";
import { readHome, type SessionHome } from "../host/session_home.ts";
import { budgetOption, parseBudget } from "./budget_option.ts";
import type { Call, Cli } from "./cli.ts";
import { UsageError } from "./exit.ts";
import { peekList, peekText } from "../peek.ts";
import { findSession } from "./session_name.ts";

/** Options by which a place is given. All but `session` are settled when a session begins. */
export const placeOptions = {
  workspace: {
    kind: "text",
    value: "FOLDER",
    help: "the folder that file tools may read; default: the host's troupe.yaml, or the working folder",
  },
  session: { kind: "text", value: "SESSION", help: "go on with this session instead of beginning one" },
  mode: {
    kind: "choice",
    choices: PermissionMode.options,
    help: "plan: nothing with side effects runs; auto: low-risk reads pass unasked; default: policy decides",
  },
  profile: {
    kind: "text",
    value: "KEY",
    help: "the profile of agent.yaml whose tools are visible; default: that for people",
  },
  budget: budgetOption,
  script: {
    kind: "text",
    value: "FILE",
    help: "play this script in place of the agent's model, whoever serves that",
  },
} as const;

type Given = Call<typeof placeOptions>["options"];

interface PlaceRequest {
  readonly given: Given;
  readonly settings: Awaited<ReturnType<typeof readHostSettings>>;
}

/** A session, and the first entry of it that is new to the command. */
export interface Place {
  readonly session: RootAddress;
  readonly fromSeq: number;
}

/** Checks what was given, before a store is opened; what it returns begins the session, or finds it. */
export async function preparePlace(
  cli: Cli,
  agent: LoadedAgent,
  { given, settings }: PlaceRequest,
): Promise<(host: ActingHost) => Promise<Place>> {
  const { session: name, mode, profile, budget: asked } = given;
  if (name !== undefined) {
    refuseWithSession(given);
    return (host) => resume(host, agent, name);
  }
  const scope = profile === undefined ? undefined : { profile };
  const refused = refuseProfile(agent.definition, scope ?? {});
  if (refused !== undefined) throw new UsageError(refused.code, refused.message);
  const budget = asked === undefined ? undefined : parseBudget(asked);
  const home = await homeOf(cli, agent, { given, settings });
  return async (host) => ({
    session: await begin(host, agent, { home, mode, scope, budget }),
    fromSeq: 1,
  });
}

/** Absolute, real paths: whoever resumes the session may work elsewhere. */
async function homeOf(
  cli: Cli,
  agent: LoadedAgent,
  { given, settings }: PlaceRequest,
): Promise<SessionHome> {
  const workspace = await workspaceOf(cli, given.workspace, settings);
  if (given.script === undefined) return { agent: agent.home, workspace };
  return { agent: agent.home, workspace, script: await realPath(cli, given.script, "script") };
}

/** The folder that file tools may read, as an absolute, real path. */
export async function workspaceOf(
  cli: Cli,
  asked: string | undefined,
  settings: PlaceRequest["settings"],
): Promise<string> {
  const folder = workspaceFolder(asked, { env: cli.env, settings, cwd: cli.cwd });
  const workspace = await realPath(cli, folder, "workspace");
  if ((await Deno.stat(workspace)).isDirectory) return workspace;
  throw new UsageError("workspace_invalid", `Cannot use "${folder}" as workspace: it is not a folder`);
}

/** A path as it is for every process. `what` names it in a refusal. */
export async function realPath(cli: Cli, path: string, what: string): Promise<string> {
  try {
    return await Deno.realPath(isAbsolute(path) ? path : `${cli.cwd}/${path}`);
  } catch {
    throw new UsageError(
      `${what}_invalid`,
      `Cannot use "${path}" as ${what}: there is no such file or folder`,
    );
  }
}

/** What a session began with stays: it is in its journal. */
function refuseWithSession(given: Given): void {
  for (const option of ["script", "workspace", "mode", "profile", "budget"] as const) {
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
  readonly scope?: SessionScope | undefined;
  readonly budget?: Budget | undefined;
}

/** Begins a session of an agent. */
export function begin(
  host: ActingHost,
  agent: LoadedAgent,
  { home, mode = "default", scope, budget }: Beginning,
): Promise<RootAddress> {
  const { definition, coreRevision, servers } = agent;
  const title = definition.name;
  return host.createSession({ agent: definition, coreRevision, home, title, servers, mode, scope, budget });
}

async function resume(host: ActingHost, agent: LoadedAgent, name: string): Promise<Place> {
  const { address, kind, parent } = await findSession(host, name);
  if (kind !== "session") {
    throw new UsageError("root_not_found", `"${address}" is no session: see troupe sessions`);
  }
  if (parent !== undefined) {
    throw new UsageError("session_not_yours", notYours(sessionOf(parent) ?? parent));
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

/** Says on the second output which session is meant, and who runs it. */
export function sayWhere(
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
