/** `troupe catalog`. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { describeProvenance } from "../../schemas/provenance.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { loadAgent } from "../host/agent_folder.ts";
import { readHostSettings } from "../host/home.ts";
import { builtinSources } from "../tools/builtin.ts";
import { defineCommand, jsonOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { printTable } from "./table.ts";
import { safeText } from "./terminal.ts";

/** Shows the tools that an agent gets. */
export const command = defineCommand({
  args: ["AGENT"],
  about: [
    "Shows the catalog that a turn of this agent would get under the host's policy: names, source, risk, effect",
    "class, approval, whether calls may run at once, and where each tool comes from. Nothing is started.",
  ],
  options: { json: jsonOption },
  examples: ["troupe catalog demo", "troupe catalog ./my-agent --json"],
  run: async ({ cli, options, args }) => {
    const { config } = await readHostSettings(cli.env);
    const agent = await loadAgent(args[0] ?? "", { cwd: cli.cwd, digest: cli.seams.digest });
    const resolution = resolveCatalog({
      coreRevision: agent.coreRevision,
      agent: agent.definition,
      policy: config.policy,
      sources: builtinSources,
      epoch: 1,
    });
    if ("failure" in resolution) throw new UsageError(resolution.failure.code, resolution.failure.message);
    const { catalog, dropped } = resolution;
    const { out, err } = cli.terminal;
    if (options.json) out.line(jsonLine({ ...catalog, dropped }));
    else if (catalog.entries.length === 0) err.line("The agent has no tools");
    else {
      const head = [
        "NAME",
        "MODEL CALLS IT",
        "SOURCE",
        "RISK",
        "EFFECT",
        "APPROVAL",
        "PARALLEL",
        "CAPABILITY",
        "FROM",
      ];
      printTable(cli.terminal, head, catalog.entries.map(cellsOf));
    }
    for (const { canonicalName, disabledBy } of catalog.entries) {
      if (disabledBy !== undefined) err.line(safeText(`Switched off ${canonicalName}: ${disabledBy}`));
    }
    const servers = agent.servers.map(({ server }) => server).join(", ");
    if (servers !== "") {
      err.line(`Not shown: tools of the MCP servers ${servers}, which a session starts and asks`);
    }
    for (const { server, tool, reason } of dropped) err.line(`Left out ${server}.${tool}: ${reason}`);
    return exitCodes.ok;
  },
});

function cellsOf(
  { canonicalName, providerName, sourceKind, definition, provenance, enabled }: CatalogEntry,
): string[] {
  const { riskLevel, effectClass, approvalPolicy, parallelSafe, capability } = definition;
  return [
    canonicalName,
    enabled ? providerName : `${providerName} (off)`,
    sourceKind,
    riskLevel,
    effectClass,
    approvalPolicy,
    parallelSafe ? "yes" : "no",
    capability ?? "-",
    describeProvenance(provenance),
  ];
}
