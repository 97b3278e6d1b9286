/** Agents that lie in folders, or come with troupe, as a host offers them to programs. */
import { ConfigError } from "../config_file.ts";
import type { HostConfig } from "../../schemas/config.ts";
import type { Env } from "../host/home.ts";
import { openDirectory } from "../host/host_models.ts";
import { loadAgent, type LoadedAgent } from "../host/agent_folder.ts";
import type { SessionHome } from "../host/session_home.ts";
import type { Seams } from "../seams.ts";
import type { AgentShelf } from "./agent_shelf.ts";
import { SharedRead } from "./shared_read.ts";

/** What is offered. */
export interface FolderShelfOptions {
  /** Each a folder with `agent.yaml`, such a file, or the name of an agent that comes with troupe. */
  readonly agents: readonly string[];
  readonly cwd: string;
  /** Where the file tools of sessions work: a real, absolute path. */
  readonly workspace: string;
  /** A script that stands for every agent's own model; for demonstrations and tests. */
  readonly script?: string | undefined;
  readonly digest: Seams["digest"];
  /** Whose models the agents name. Without it none is looked for before it is asked. */
  readonly host?: { readonly config: HostConfig; readonly env: Env };
}

/** Reads what is offered once, to refuse what cannot be; each session begins with what is there by then. */
export async function openFolderShelf(options: FolderShelfOptions): Promise<AgentShelf> {
  const { agents, cwd, digest, workspace, script, host } = options;
  // A script stands for every model: then none is looked for.
  const models = script === undefined && host !== undefined
    ? { models: await openDirectory(host.config, host.env) }
    : {};
  const paths = new Map<string, string>();
  const reads = new Map<string, SharedRead<LoadedAgent>>();
  for (const path of agents) {
    const { definition: { name } } = await loadAgent(path, { cwd, digest, ...models });
    const other = paths.get(name);
    if (other !== undefined) {
      const message = `Cannot offer "${path}": "${other}" has an agent of the same name, "${name}"`;
      throw new ConfigError(message, path, { line: 1, column: 1 });
    }
    paths.set(name, path);
    reads.set(name, new SharedRead(() => loadAgent(path, { cwd, digest, ...models })));
  }
  const placeOf = (agent: SessionHome["agent"]): SessionHome => ({
    agent,
    workspace,
    ...(script === undefined ? {} : { script }),
  });
  return {
    names: [...paths.keys()],
    place: placeOf({ kind: "inline" }),
    find: async (name) => {
      const loaded = await reads.get(name)?.get();
      if (loaded === undefined) return undefined;
      return { ...loaded, place: placeOf(loaded.home) };
    },
  };
}
