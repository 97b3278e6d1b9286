/** What the commands about servers stand on: the agent, the workspace, and what this host decides about each server. */
import { nearest } from "../../../actors/nearest.ts";
import type { McpDeclaration } from "../../../schemas/manifest.ts";
import type { LoadedAgent } from "../../host/agent_folder.ts";
import type { LoadedServer } from "../../host/declare.ts";
import { type HostSettings, isAbsolute, readHostSettings, workspaceFolder } from "../../host/home.ts";
import { pinFolder, PinStore } from "../../host/pins.ts";
import { trustFile } from "../../host/trust.ts";
import type { Cli } from "../cli.ts";
import { UsageError } from "../exit.ts";

/** The option that says whose servers are meant. */
export const agentOption = {
  kind: "text",
  value: "FOLDER",
  help: "the agent's folder; default: the working folder",
} as const;

/** The option that says where they would work. */
export const workspaceOption = {
  kind: "text",
  value: "FOLDER",
  help: "the workspace that it would work in; default: that of troupe run",
} as const;

/** How a person is asked whether a server may be started. */
export const answerOption = {
  kind: "choice",
  choices: ["allow", "deny"],
  help: "answer without asking whether the server may be started",
} as const;

/** What a command is told about its ground. */
export interface Asked {
  readonly agent?: string | undefined;
  readonly workspace?: string | undefined;
}

/** One server of an agent, as this host would treat it. */
export interface Ground {
  readonly loaded: LoadedServer;
  readonly declaration: McpDeclaration;
}

/** All servers of an agent, as this host would treat them. */
export interface Grounds {
  readonly settings: HostSettings;
  readonly agent: LoadedAgent;
  /** Real and absolute. */
  readonly workspace: string;
  readonly servers: readonly Ground[];
  readonly pins: PinStore;
}

/** The agent that a command means. */
export function agentOf({ agent = "." }: Asked): string {
  return agent;
}

/** The folder of the agent that a command means, with its `agent.yaml`. */
export async function agentFolder(cli: Cli, asked: Asked): Promise<string> {
  const name = agentOf(asked);
  const folder = isAbsolute(name) ? name : `${cli.cwd}/${name}`;
  try {
    const real = await Deno.realPath(folder);
    if ((await Deno.stat(`${real}/agent.yaml`)).isFile) return real;
  } catch {
    // Said below.
  }
  const why = "there is no agent.yaml in it; name the agent's folder with --agent";
  throw new UsageError("agent_not_found", `Cannot use ${JSON.stringify(name)} as agent: ${why}`);
}

/** Reads an agent and declares its servers as a session of it would. Nothing is started. */
export async function readGrounds(cli: Cli, asked: Asked): Promise<Grounds> {
  const [{ loadAgent }, { Declarer }] = await Promise.all([
    import("../../host/agent_folder.ts"),
    import("../../host/declarer.ts"),
  ]);
  const { digest } = cli.seams;
  const settings = await readHostSettings(cli.env);
  const agent = await loadAgent(agentOf(asked), { cwd: cli.cwd, digest });
  const workspace = await realWorkspace(cli, asked.workspace, settings);
  const { policy, secrets, server_paths: serverPaths } = settings.config;
  const names = new Set(Object.keys(secrets));
  const trust = trustFile(cli.env);
  const declarer = new Declarer({ policy, digest, secrets: names, trustFile: trust, serverPaths });
  const home = { agent: agent.home, workspace };
  const declarations = await declarer.declare(home, agent.servers, agent.definition.capabilities);
  const servers = agent.servers.flatMap((loaded, at) => {
    const declaration = declarations[at];
    return declaration === undefined ? [] : [{ loaded, declaration }];
  });
  return { settings, agent, workspace, servers, pins: new PinStore(pinFolder(trust)) };
}

/** The server of a name. */
export function serverOf({ servers }: Grounds, name: string): Ground {
  const names = servers.map(({ loaded }) => loaded.server);
  const found = servers.find(({ loaded }) => loaded.server === name);
  if (found !== undefined) return found;
  const near = nearest(name, names);
  const known = names.length === 0 ? "it has none: troupe mcp add" : `there are: ${names.join(", ")}`;
  const hint = near === undefined ? known : `did you mean ${near}?`;
  throw new UsageError("server_unknown", `The agent has no server ${JSON.stringify(name)}: ${hint}`);
}

async function realWorkspace(cli: Cli, asked: string | undefined, settings: HostSettings): Promise<string> {
  const folder = workspaceFolder(asked, { env: cli.env, settings, cwd: cli.cwd });
  try {
    return await Deno.realPath(isAbsolute(folder) ? folder : `${cli.cwd}/${folder}`);
  } catch {
    throw new UsageError("workspace_invalid", `Cannot use "${folder}" as workspace: there is no such folder`);
  }
}
