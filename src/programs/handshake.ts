/** What a program that connects is answered: a projection of what every source offers to one agent (CM-39..46, CM-109..112). */
import { implementationRef, toolKindOf } from "../../actors/governance.ts";
import { canonicalName } from "../../actors/naming.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import type { AgentDefinition } from "../../schemas/agent.ts";
import { CapabilityHandshake, type CatalogItem, type GovernedItem } from "../../schemas/capability.ts";
import type { CatalogEntry, CatalogSource } from "../../schemas/catalog.ts";
import type { HostPolicy } from "../../schemas/config.ts";
import type { ProgramManifest } from "../../schemas/program.ts";
import type { z } from "zod";
import { boundTool } from "../records/bound_tools.ts";
import type { Seams } from "../seams.ts";
import { ProgramError } from "./program_error.ts";

/** What an answer depends on. Equal ones give equal answers, with the same ids: nothing is kept of it (CM-44). */
export interface HandshakeRequest {
  readonly program: string;
  readonly manifest: z.output<typeof ProgramManifest>;
  readonly agent: AgentDefinition;
  readonly coreRevision: string;
  readonly policy: HostPolicy;
  /** All sources, in the order in which they are merged: the runtime's, then the program's. */
  readonly sources: readonly CatalogSource[];
  readonly installation: string;
  readonly digest: Seams["digest"];
}

/** Makes the answer. Throws {@linkcode ProgramError} if the sources do not fit each other or the agent. */
export async function makeHandshake(request: HandshakeRequest): Promise<CapabilityHandshake> {
  const { program, manifest, agent, coreRevision, policy, sources } = request;
  const resolution = resolveCatalog({ coreRevision, agent, policy, sources, epoch: 1 });
  if ("failure" in resolution) {
    throw new ProgramError(resolution.failure.code, resolution.failure.message);
  }
  const ordered = inOrder(resolution.catalog.entries.filter(({ enabled }) => enabled), sources);
  const governed = await Promise.all(ordered.map((entry) => governedItem(entry, request)));
  const own = sources.filter(({ kind, provenance }) => kind === "program" && provenance.origin === program);
  const others = sources.filter((source) => source.kind === "troupe" || source.kind === "runtime");
  return CapabilityHandshake.parse({
    execution_plane: {
      capabilities: [
        ...new Set(others.flatMap(({ tools }) => tools.flatMap(({ capability }) => capability ?? []))),
      ].sort(),
      tool_catalog: others.flatMap(offeredItems),
    },
    program_plane: {
      program,
      fingerprint: manifest.fingerprint,
      protocol_methods: manifest.protocolMethods,
      tool_catalog: own.flatMap(offeredItems),
      profile_catalog: agent.profiles ?? {},
      config_schema: manifest.configSchema,
    },
    effective_tool_catalog: governed.map(withoutGovernance),
    governed_effective_tool_catalog: governed,
  });
}

/** Reserved tools first, then the others, each in the order in which they were offered (CM-41). */
function inOrder(
  entries: readonly CatalogEntry[],
  sources: readonly CatalogSource[],
): readonly CatalogEntry[] {
  const seen = sources.flatMap((source) => source.tools.map(({ name }) => canonicalName(source, name)));
  const place = (entry: CatalogEntry) =>
    (entry.governance === "reserved" ? 0 : seen.length) + seen.indexOf(entry.canonicalName);
  return entries.toSorted((left, right) => place(left) - place(right));
}

async function governedItem(
  entry: CatalogEntry,
  { installation, digest, sources }: HandshakeRequest,
): Promise<GovernedItem> {
  const freeze = { installation, digest, execution: "", hash: "" };
  const { definition, binding } = await boundTool(freeze, entry);
  const { inputSchema, resultSchema, effectClass, parallelSafe } = entry.definition;
  return {
    tool_name: entry.canonicalName,
    tool_kind: entry.toolKind ?? toolKindOf(entry.sourceKind, entry.definition),
    implementation_source: entry.sourceKind,
    implementation_ref: entry.implementation ?? entry.canonicalName,
    input_schema: inputSchema,
    ...(resultSchema === undefined ? {} : { result_schema: resultSchema }),
    streaming_support: false,
    idempotency_policy: effectClass,
    execution_policy: { parallel_safe: parallelSafe },
    ...serverFields(sources.find((source) => offers(source, entry)), entry.definition.name),
    tool_definition_id: definition.id,
    tool_implementation_id: binding?.implementation ?? "",
    governance_mode: definition.governance,
  };
}

/** What a source offers, before anything was made of it. */
function offeredItems(source: CatalogSource): readonly CatalogItem[] {
  return source.tools.map((tool) => ({
    tool_name: canonicalName(source, tool.name),
    tool_kind: toolKindOf(source.kind, tool),
    implementation_source: source.kind,
    implementation_ref: implementationRef(source, tool),
    input_schema: tool.inputSchema,
    ...(tool.resultSchema === undefined ? {} : { result_schema: tool.resultSchema }),
    streaming_support: false,
    idempotency_policy: tool.effectClass,
    execution_policy: { parallel_safe: tool.parallelSafe },
    ...serverFields(source, tool.name),
  }));
}

function offers(
  source: CatalogSource,
  { sourceKind, canonicalName: full, definition }: CatalogEntry,
): boolean {
  return source.kind === sourceKind && canonicalName(source, definition.name) === full;
}

/** What is told of a tool of an MCP server besides; nothing of any other (CM-46). */
function serverFields(source: CatalogSource | undefined, tool: string): Partial<CatalogItem> {
  if (source?.kind !== "mcp") return {};
  const { server, transport } = source;
  return {
    ...(transport === undefined ? {} : { transport_kind: transport.kind, server_url: transport.url ?? null }),
    mcp_tool_name: tool,
    ...(server === undefined ? {} : { server_slug: server }),
  };
}

function withoutGovernance(item: GovernedItem): CatalogItem {
  const { tool_definition_id: _, tool_implementation_id: __, governance_mode: ___, ...rest } = item;
  return rest;
}
