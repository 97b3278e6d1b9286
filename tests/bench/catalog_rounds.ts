/** Speed of catalogs, in this very process: resolved and sealed anew, with one server changed, and unchanged. */
import type { CatalogContext, ServerOffer } from "../../actors/catalog.ts";
import { isNothingNew, resolutionOf } from "../../actors/catalog_rules.ts";
import { expose, noWishes } from "../../actors/exposure.ts";
import { internOffer } from "../../actors/library.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { canonicalBytes } from "../../src/canonical.ts";
import { createCatalogSeal } from "../../src/effects/catalog_seal.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { builtinSources } from "../../src/tools/builtin.ts";
import { sourceOf, toolOf } from "../support/desk.ts";
import { progress } from "./progress.ts";
import { median, quantile } from "./statistics.ts";

/** What one size of catalog takes, in milliseconds. */
export interface CatalogFigures {
  readonly tools: number;
  /** From the sources to the sealed catalog in the library; no tool was ever seen before. */
  readonly fresh: number;
  /** The same once one server of ten offers other tools. */
  readonly oneServer: number;
  /** All servers were asked again, and all offer what they did. */
  readonly unchanged: number;
  readonly unchangedP99: number;
  /** To choose what a step tells its model, of a catalog that was looked at before. */
  readonly exposed: number;
}

const sizes = [10, 100, 1_000] as const;
const serversCount = 10;
const { digest } = createSystemSeams({ log: () => {} });
const seal = createCatalogSeal({ digest, putBlob: () => {} });

/** Measures all sizes, several times each, and takes medians. */
export async function runCatalogRounds(rounds: number): Promise<readonly CatalogFigures[]> {
  const found: CatalogFigures[] = [];
  for (const tools of sizes) {
    const samples = {
      fresh: [] as number[],
      oneServer: [] as number[],
      unchanged: [] as number[],
      exposed: [] as number[],
    };
    for (let round = -3; round < rounds; round++) {
      progress(`catalogs of ${tools} tools`);
      const sources = Array.from(
        { length: serversCount },
        (_, at) => server(at, tools / serversCount, round),
      );
      const first = await contextOf(sources);
      const fresh = await timeOf(() => sealed(first));
      const again = await contextOf(sources.with(3, server(3, tools / serversCount, round + 0.5)));
      const oneServer = await timeOf(() => sealed(again));
      const waiting = JSON.parse(JSON.stringify({ sources: again.sources, offers: again.offers }));
      const renewed = { ...again, waiting };
      const unchanged = await timeOf(() => {
        if (!isNothingNew(renewed)) throw new Error("Nothing is new, and it was taken for new");
      });
      const catalog = catalogIn(again);
      expose(catalog, noWishes);
      const wishes = { ...noWishes, prompt: `Find things of kind ${round + 7} in what the server knows` };
      const exposed = await timeOf(() => void expose(catalog, wishes));
      if (round < 0) continue; // Warm-up.
      samples.fresh.push(fresh);
      samples.oneServer.push(oneServer);
      samples.unchanged.push(unchanged);
      samples.exposed.push(exposed);
    }
    found.push({
      tools,
      fresh: median(samples.fresh),
      oneServer: median(samples.oneServer),
      unchanged: median(samples.unchanged),
      exposed: median(samples.exposed),
      unchangedP99: quantile(samples.unchanged, 0.99),
    });
  }
  progress("");
  return found;
}

function catalogIn(context: CatalogContext): ResolvedCatalog {
  const resolution = resolutionOf(context);
  if (!("catalog" in resolution)) throw new Error(resolution.failure.message);
  return resolution.catalog;
}

async function sealed(context: CatalogContext): Promise<void> {
  await seal({ request: { args: { catalog: catalogIn(context) } } } as never);
}

/** A server's tools; `edition` stands in each description, so that no two editions are the same. */
function server(at: number, count: number, edition: number): CatalogSource {
  const name = `server-${at}`;
  const inputSchema = {
    type: "object",
    properties: {
      query: { type: "string", description: "What is looked for, in the words of whoever asks" },
      limit: { type: "integer", minimum: 1, maximum: 100 },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["query"],
  };
  const tools = Array.from({ length: count }, (_, index) =>
    toolOf(`find_things_${index}`, {
      title: `Find things ${index}`,
      description: `Finds things of kind ${index}, edition ${edition}, in all that this server knows of. `
        .repeat(3),
      inputSchema,
    }));
  return sourceOf("mcp", tools, { server: name, binding: `connection/${name}@ses_bench` });
}

async function contextOf(sources: readonly CatalogSource[]): Promise<CatalogContext> {
  const offers: ServerOffer[] = [];
  for (const source of sources) {
    const offer = await digest(canonicalBytes(source as never));
    internOffer(offer, source);
    const report = { server: source.server ?? "", tools: source.tools.length, rejected: 0 };
    offers.push({ connection: source.binding as never, report, offer });
  }
  const issued = { hash: `sha256:${"0".repeat(64)}`, epoch: 1 };
  return {
    address: "catalog/ses_bench",
    subscriber: "session/ses_bench",
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "bench", model: "scripted/bench", capabilities: ["mcp.call:*"] }),
    policy: HostPolicy.parse({}),
    sources: builtinSources,
    offers,
    epoch: 2,
    waiting: null,
    issued,
    servers: [],
    pending: [],
    asked: null,
    renewal: 0,
  };
}

async function timeOf(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
