/** `troupe catalog`. */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import { describeProvenance } from "../../schemas/provenance.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { loadAgent } from "../host/agent_folder.ts";
import { readHostSettings } from "../host/home.ts";
import { agentSources } from "../authored/agent_sources.ts";
import { trustFile } from "../host/trust.ts";
import { explainCatalog, explainedJson, printExplained } from "./catalog_explain.ts";
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openOwnersDoor, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { isSessionName, readSessionCatalog, type SessionCatalog, wishesFor } from "./session_catalog.ts";
import { findSession } from "./session_name.ts";
import { placeOptions } from "./place.ts";
import { printTable } from "./table.ts";
import { safeText } from "./terminal.ts";

const options = {
  explain: { kind: "flag", help: "say of each tool whether the model is told of it, and why or why not" },
  prompt: {
    kind: "text",
    value: "TEXT",
    help: "with --explain: what a turn is asked; it decides what is told",
  },
  profile: placeOptions.profile,
  refresh: { kind: "flag", help: "ask the open servers of a session for their tools again first" },
  store: storeOption,
  json: jsonOption,
} as const;

/** Shows the tools that an agent or a session gets. */
export const command = defineCommand({
  args: ["AGENT|SESSION"],
  about: [
    "Shows the catalog that a turn of this agent would get under the host's policy: names, source, risk, effect",
    "class, approval, whether calls may run at once, and where each tool comes from. Nothing is started. Of a session",
    "(ses_…, or last) it shows the catalog that its next turn begins with, as far as it is known. --explain tells which",
    "tools were discovered, which of them are enabled, and which of these a model is told of, and why.",
  ],
  options,
  examples: [
    "troupe catalog demo",
    'troupe catalog last --explain --prompt "Refund the order"',
    "troupe catalog last --refresh",
    "troupe catalog ./my-agent --json",
  ],
  run,
});

async function run(call: Call<typeof options>): Promise<0> {
  const { cli, options: given, args } = call;
  const name = args[0] ?? "";
  if (given.prompt !== undefined && !given.explain) {
    throw new UsageError("option_invalid", "--prompt says what --explain shall explain: give both");
  }
  if (isSessionName(name)) return await runSession(call, name);
  if (given.refresh) {
    throw new UsageError("option_invalid", "--refresh is for a session: an agent has no open servers");
  }
  const { config } = await readHostSettings(cli.env);
  const agent = await loadAgent(name, { cwd: cli.cwd, digest: cli.seams.digest });
  const resolution = resolveCatalog({
    coreRevision: agent.coreRevision,
    agent: agent.definition,
    policy: config.policy,
    sources: await agentSources(agent.home, { trustFile: trustFile(cli.env), digest: cli.seams.digest }),
    epoch: 1,
    scope: { profile: given.profile },
  });
  if ("failure" in resolution) throw new UsageError(resolution.failure.code, resolution.failure.message);
  const { catalog, dropped } = resolution;
  const { capabilities, exposure: budget = {} } = agent.definition;
  await show(call, { catalog, hashes: [], wishes: wishesFor(undefined), budget, capabilities }, { dropped });
  const { err } = cli.terminal;
  const servers = agent.servers.map(({ server }) => server).join(", ");
  if (servers !== "") {
    err.line(`Not shown: tools of the MCP servers ${servers}, which a session starts and asks`);
  }
  for (const { server, tool, reason } of dropped) err.line(`Left out ${server}.${tool}: ${reason}`);
  return exitCodes.ok;
}

async function runSession({ cli, options: given, ...rest }: Call<typeof options>, name: string): Promise<0> {
  const location = await locateStore(cli, given.store);
  if (given.refresh) await refresh(cli, location, name);
  const host = await openReading(cli, location);
  try {
    const { address } = await findSession(host, name);
    const read = await readSessionCatalog(host, address);
    await show({ cli, options: given, ...rest }, read, {});
    return exitCodes.ok;
  } finally {
    await host.close();
  }
}

async function refresh(cli: Cli, location: string, name: string): Promise<void> {
  const host = await openOwnersDoor(cli, location);
  try {
    const { address } = await findSession(host, name);
    const reports = await host.refreshServers(address);
    const words = { ready: "asked again", not_open: "not open: its next start asks it", failed: "failed" };
    for (const { server, result, failure } of reports) {
      const why = failure === undefined ? "" : `: ${failure.message}`;
      cli.terminal.err.line(safeText(`${server} ${words[result]}${why}`));
    }
    if (reports.length === 0) cli.terminal.err.line("The session has no servers");
  } finally {
    await host.close();
  }
}

async function show(
  { cli, options: given }: Call<typeof options>,
  { catalog, wishes, budget, capabilities }: SessionCatalog,
  more: { readonly dropped?: readonly unknown[] },
): Promise<void> {
  const { out, err } = cli.terminal;
  if (given.explain) {
    const lines = await explainCatalog({
      catalog,
      wishes: wishesFor(given.prompt, wishes),
      budget,
      capabilities,
      digest: cli.seams.digest,
    });
    if (!given.json) return printExplained(cli.terminal, lines);
    return out.line(jsonLine({ epoch: catalog.epoch, tools: lines.map(explainedJson), ...more }));
  }
  if (given.json) out.line(jsonLine({ ...catalog, ...more }));
  else if (catalog.entries.length === 0) err.line("The agent has no tools");
  else printTable(cli.terminal, head, catalog.entries.map(cellsOf));
  for (const { canonicalName, disabledBy } of catalog.entries) {
    if (disabledBy !== undefined) err.line(safeText(`Switched off ${canonicalName}: ${disabledBy}`));
  }
}

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
