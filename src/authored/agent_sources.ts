/** The sources of a session's catalogs that are there when it begins: the runtime's own, and its agent's own tools. */
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { SessionHome } from "../host/session_home.ts";
import type { Seams } from "../seams.ts";
import { builtinSources } from "../tools/builtin.ts";
import { hasToolFiles } from "./tool_file.ts";

/** Options of {@linkcode agentSources}. */
export interface AgentSourcesOptions {
  readonly trustFile: string | undefined;
  readonly digest: Seams["digest"];
}

/** The sources of an agent. Only an agent in a folder has tools of its own; nothing of them is run here. */
export async function agentSources(
  home: SessionHome["agent"],
  { trustFile, digest }: AgentSourcesOptions,
): Promise<readonly CatalogSource[]> {
  if (home.kind !== "folder") return builtinSources;
  if (!await hasToolFiles(home.path)) return builtinSources;
  const [{ authoredSources }, { TrustedTools, trustedToolsFolder }] = await Promise.all([
    import("./authored_sources.ts"),
    import("./trusted_tools.ts"),
  ]);
  const trusted = new TrustedTools(trustedToolsFolder(trustFile));
  return [...builtinSources, ...await authoredSources(home.path, { trusted, digest })];
}
