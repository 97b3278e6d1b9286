/** An agent's own tools as sources of its catalogs: trusted ones as they were shown, all others switched off, with why. */
import type { CatalogSource } from "../../schemas/catalog.ts";
import type { TrustLevel } from "../../schemas/provenance.ts";
import { ToolDefinition } from "../../schemas/tool.ts";
import { GovernedName } from "../../schemas/governance.ts";
import type { Seams } from "../seams.ts";
import { type BadToolFile, readToolFiles, type ToolFile } from "./tool_file.ts";
import type { TrustedTools } from "./trusted_tools.ts";

/** Options of {@linkcode authoredSources}. */
export interface AuthoredSourcesOptions {
  readonly trusted: TrustedTools;
  readonly digest: Seams["digest"];
}

/**
 * One source for each tool file of an agent's folder, so that each is known by its own fingerprint. Nothing is run: what
 * a tool is was asked when it was trusted (DM-29). A file that is no tool harms no other one.
 */
export async function authoredSources(
  folder: string,
  { trusted, digest }: AuthoredSourcesOptions,
): Promise<readonly CatalogSource[]> {
  const sources: CatalogSource[] = [];
  for (const file of await readToolFiles(folder, digest)) {
    // A name that no tool may have has no place in a catalog; troupe trust tells of it.
    if (!GovernedName.safeParse(file.name).success) continue;
    if ("problem" in file) {
      if (!sources.some(({ tools }) => tools[0]?.name === file.name)) {
        sources.push(switchedOff(file, file.problem));
      }
      continue;
    }
    const found = await trusted.find(file.fingerprint);
    if (found === undefined) {
      sources.push(switchedOff(file, "its file is not trusted: look at it with troupe trust"));
    } else if ("code" in found) sources.push(switchedOff(file, found.message.slice(0, 400)));
    else sources.push({ ...sourceOf(file, found.level), tools: [found.definition] });
  }
  return sources;
}

function switchedOff(file: ToolFile | BadToolFile, why: string): CatalogSource {
  const definition = ToolDefinition.parse({
    name: file.name,
    title: file.name,
    description: `A tool of the agent that is switched off: ${why}`,
    version: "0",
    inputSchema: { type: "object" },
    riskLevel: "high",
    sideEffects: true,
    resources: [],
    timeoutMs: 1,
    outputPolicy: {},
    effectClass: "non_idempotent",
    approvalPolicy: "deny",
    parallelSafe: false,
  });
  return { ...sourceOf(file, "unknown"), tools: [definition], quarantined: { [file.name]: why } };
}

function sourceOf(file: ToolFile | BadToolFile, trust: TrustLevel): Omit<CatalogSource, "tools"> {
  const fingerprint = "fingerprint" in file ? { fingerprint: file.fingerprint } : {};
  return {
    kind: "agent",
    provenance: { source: "agent", origin: file.file, trust, ...fingerprint },
    adapter: "authored",
    remote: false,
  };
}
