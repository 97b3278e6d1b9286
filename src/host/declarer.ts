/** Declares the MCP servers of sessions as this host decides: by its policy, and by what its operator trusts. */
import type { HostPolicy } from "../../schemas/config.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import type { Seams } from "../seams.ts";
import { agentSources } from "../authored/agent_sources.ts";
import { declareServer, type LoadedServer } from "./declare.ts";
import { embeddedAgent } from "./embedded.ts";
import type { SessionHome } from "./session_home.ts";
import { TrustStore } from "./trust.ts";

/** Options of {@linkcode Declarer}. */
export interface DeclarerOptions {
  readonly policy: HostPolicy;
  readonly digest: Seams["digest"];
  /** Names of the host's secrets. */
  readonly secrets: ReadonlySet<string>;
  /** Folders outside workspaces that servers from npm may be given. */
  readonly serverPaths?: readonly string[];
  /** Where trust is kept; undefined if no place is known: then nothing is trusted. */
  readonly trustFile: string | undefined;
  /** Told of a session with tools of its agent's own. */
  readonly onAuthored?: () => void;
}

/** Declares servers for one host. */
export class Declarer {
  readonly #options: DeclarerOptions;

  constructor(options: DeclarerOptions) {
    this.#options = options;
  }

  /** The sources of a session: the runtime's own, and the tools of its agent's folder as far as they are trusted. */
  async sources(home: SessionHome): Promise<readonly CatalogSource[]> {
    const sources = await agentSources(home.agent, this.#options);
    if (sources.some(({ kind }) => kind === "agent")) this.#options.onAuthored?.();
    return sources;
  }

  /**
   * The declarations of a session's servers. For an agent that comes with troupe the servers are our own, whatever
   * `servers` says; nobody else's word makes a server trusted. `capabilities` are the agent's: without
   * `mcp.connect:<server>` a server is not started (DM-54).
   */
  async declare(
    home: SessionHome,
    servers: readonly LoadedServer[],
    capabilities: readonly string[],
  ): Promise<readonly McpDeclaration[]> {
    const { policy, digest, secrets, trustFile, serverPaths = [] } = this.#options;
    const embedded = home.agent.kind === "embedded" ? embeddedAgent(home.agent.name) : undefined;
    const loaded = home.agent.kind === "embedded" ? embedded?.servers ?? [] : servers;
    const trustOf = async (fingerprint: string) =>
      trustFile === undefined ? undefined : await new TrustStore(trustFile).levelOf(fingerprint);
    const builtIn = embedded === undefined ? {} : { builtIn: { effects: embedded.effects } };
    const { workspace } = home;
    const declarations: McpDeclaration[] = [];
    for (const server of loaded) {
      const options = {
        workspace,
        policy,
        capabilities,
        secrets,
        digest,
        trustOf,
        serverPaths,
        ...builtIn,
      };
      declarations.push(await declareServer(server, options));
    }
    return declarations;
  }
}
