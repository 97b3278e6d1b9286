/** `troupe replay --against`: the catalogs that a session's turns had, against what an agent's turn would have now. */
import { resolveCatalog } from "../../actors/resolve.ts";
import { CatalogSource, type ResolvedCatalog } from "../../schemas/catalog.ts";
import { connectionAddress, type RootAddress } from "../../schemas/ids.ts";
import { SessionScope } from "../../schemas/profile.ts";
import { readJson } from "../border.ts";
import { loadAgent, type LoadedAgent } from "../host/agent_folder.ts";
import { readHostSettings } from "../host/home.ts";
import type { Records } from "../host/host.ts";
import { peek, peekText } from "../peek.ts";
import { agentSources } from "../authored/agent_sources.ts";
import { trustFile } from "../host/trust.ts";
import type { FieldDrift } from "../field_drift.ts";
import { type CatalogDrift, driftBetween, driftCount } from "./catalog_drift.ts";
import type { Cli } from "./cli.ts";
import { CheckFailedError, UsageError } from "./exit.ts";
import { exportLineBounds } from "../export/export_format.ts";
import { jsonLine } from "./json_line.ts";
import { readCatalog } from "./session_catalog.ts";
import { cutTo } from "./table.ts";
import { safeText, type Terminal } from "./terminal.ts";

/** One recorded catalog, compared. */
interface Compared {
  readonly hash: string;
  readonly epoch: number;
  readonly drift: CatalogDrift;
}

/** What was compared, and what could not be. */
export interface AgainstReport {
  readonly session: RootAddress;
  readonly catalogs: readonly Compared[];
  /** Servers that the agent declares and the session never heard of: what they offer is not known. */
  readonly notCompared: readonly string[];
  /** Servers whose tools were taken as the session recorded them. */
  readonly asRecorded: readonly string[];
}

/** Compares every catalog that a turn of a session had with what the agent's turn would have now. Starts nothing. */
export async function compareAgainst(
  cli: Cli,
  records: Records,
  { session, agent: name }: { readonly session: RootAddress; readonly agent: string },
): Promise<AgainstReport> {
  const { config } = await readHostSettings(cli.env);
  const agent = await loadAgent(name, { cwd: cli.cwd, digest: cli.seams.digest });
  const { hashes, scope } = await readTurns(records, session);
  const servers = await readOffers(records, session, agent);
  const own = await agentSources(agent.home, { trustFile: trustFile(cli.env), digest: cli.seams.digest });
  const resolution = resolveCatalog({
    coreRevision: agent.coreRevision,
    agent: agent.definition,
    policy: config.policy,
    sources: [...own, ...servers.offers],
    epoch: 1,
    scope,
  });
  if ("failure" in resolution) throw new UsageError(resolution.failure.code, resolution.failure.message);
  const catalogs: Compared[] = [];
  for (const hash of hashes) {
    const recorded = await readCatalog(records, hash);
    catalogs.push({ hash, epoch: recorded.epoch, drift: driftBetween(recorded, plain(resolution.catalog)) });
  }
  const { notCompared, asRecorded } = servers;
  return { session, catalogs, notCompared, asRecorded };
}

/** As it would be read back: without what JSON leaves out. */
function plain(catalog: ResolvedCatalog): ResolvedCatalog {
  return JSON.parse(JSON.stringify(catalog));
}

/** The catalogs that turns were bound to, in their order; of a session without a turn the one that was issued last. */
async function readTurns(
  records: Records,
  session: RootAddress,
): Promise<{ readonly hashes: readonly string[]; readonly scope: SessionScope | undefined }> {
  const bound = new Set<string>();
  let [issued, scope]: [string, SessionScope | undefined] = ["", undefined];
  for await (const page of records.readPages(session)) {
    for (const { kind, type, body } of page) {
      if (kind === "created") scope = SessionScope.optional().parse(peek(body, "input", "scope"));
      if (type === "catalog.issued") issued = peekText(body, "message", "catalog", "hash") || issued;
      if (kind === "note" && type === "tools.bound") bound.add(peekText(body, "catalog"));
      if (kind === "intent" && type === "model.generate") {
        bound.add(peekText(body, "args", "catalog", "hash"));
      }
    }
  }
  const hashes = [...bound].filter((hash) => hash !== "");
  if (hashes.length > 0) return { hashes, scope };
  if (issued !== "") return { hashes: [issued], scope };
  throw new UsageError("catalog_unavailable", `"${session}" was issued no catalog yet: give it a prompt`);
}

/** What the servers that the agent declares now have offered to the session, the latest of each. */
async function readOffers(records: Records, session: RootAddress, agent: LoadedAgent) {
  const catalog: RootAddress = session.replace(/^session/, "catalog");
  const latest = new Map<string, string>();
  for await (const page of records.readPages(catalog)) {
    for (const { type, body } of page) {
      if (type !== "connection.offered") continue;
      const offer = peekText(body, "message", "offer");
      if (offer !== "") latest.set(peekText(body, "message", "report", "server"), offer);
    }
  }
  const offers: CatalogSource[] = [];
  const notCompared: string[] = [];
  const asRecorded: string[] = [];
  for (const { server } of agent.servers) {
    const hash = latest.get(server);
    if (hash === undefined) {
      notCompared.push(server);
      continue;
    }
    const bytes = await records.readBlob(hash);
    const offer = CatalogSource.parse(readJson(new TextDecoder().decode(bytes), exportLineBounds));
    offers.push({ ...offer, binding: connectionAddress(server, session) });
    asRecorded.push(server);
  }
  return { offers, notCompared, asRecorded };
}

/** Prints what drifted; with `json`, one line. */
export function printAgainst({ out, err }: Terminal, report: AgainstReport, json: boolean): void {
  if (json) out.line(jsonLine(report));
  else {
    for (const { epoch, drift } of report.catalogs) {
      const { added, removed, changed } = drift;
      if (driftCount(drift) === 0) {
        out.line(`catalog ${epoch}: ${out.style.green("the same")}`);
        continue;
      }
      out.line(
        `catalog ${epoch}: ${added.length} added, ${removed.length} removed, ${changed.length} changed`,
      );
      for (const name of added) out.line(safeText(`  added    ${name}`));
      for (const name of removed) out.line(safeText(`  removed  ${name}`));
      for (const { name, fields } of changed) {
        out.line(safeText(`  changed  ${name}`));
        for (const field of fields) out.line(safeText(`    ${fieldText(field)}`));
      }
    }
  }
  if (report.asRecorded.length > 0) {
    err.line(`Tools as they were recorded last, no server was started: ${report.asRecorded.join(", ")}`);
  }
  if (report.notCompared.length > 0) {
    err.line(`Not compared, the session never had these servers: ${report.notCompared.join(", ")}`);
  }
}

function fieldText({ path, before, after }: FieldDrift): string {
  const text = (value: unknown) => value === undefined ? "nothing" : cutTo(jsonLine(value), 200);
  return `${path}: ${text(before)}, now ${text(after)}`;
}

/** Throws if anything drifted. */
export function refuseDrift({ session, catalogs }: AgainstReport): void {
  const names = new Set(
    catalogs.flatMap(({ drift: { added, removed, changed } }) => [
      ...added,
      ...removed,
      ...changed.map(({ name }) => name),
    ]),
  );
  if (names.size === 0) return;
  const shown = [...names].slice(0, 5).join(", ") + (names.size > 5 ? ", …" : "");
  throw new CheckFailedError(
    "catalog_drifted",
    `${names.size} tools of "${session}" are not what the agent has now: ${shown}`,
  );
}
