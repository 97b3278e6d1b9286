/** What programs of tests have in common that bring a runtime into need: an owner of a store, and one session of its agent. */
import { HostConfig } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { loadAgent } from "../../src/host/agent_folder.ts";
import { openOwner, type OwnerHost } from "../../src/host/open_host.ts";
import type { Seams } from "../../src/seams.ts";

/** What is opened. */
export interface OwnerSessionOptions {
  readonly location: string;
  /** The folder of the test, with `agent` and `ws`. */
  readonly folder: string;
  readonly seams: Seams;
  readonly config?: unknown;
}

/** Opens a store and begins a session of the agent in `folder`. */
export async function openOwnerSession(
  { location, folder, seams, config = {} }: OwnerSessionOptions,
): Promise<{ readonly host: OwnerHost; readonly session: RootAddress }> {
  const host = await openOwner({
    location,
    config: HostConfig.parse(config),
    seams,
    env: (name) => Deno.env.get(name) || undefined,
    self: { command: Deno.execPath(), args: [], env: {} },
    isAttended: true,
  });
  const agent = await loadAgent(`${folder}/agent`, { cwd: folder, digest: seams.digest });
  const session = await host.createSession({
    agent: agent.definition,
    coreRevision: agent.coreRevision,
    home: { agent: agent.home, workspace: `${folder}/ws` },
    title: "hand",
    servers: [],
  });
  return { host, session };
}
