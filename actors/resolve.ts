/** Makes one catalog from all sources: names, risks, policies, selection; pure, so that equal sources give equal JSON. */
import type { AgentDefinition, ToolOverride } from "../schemas/agent.ts";
import type { CatalogEntry, CatalogSource, ResolvedCatalog } from "../schemas/catalog.ts";
import type { HostPolicy } from "../schemas/config.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { schemaProblem } from "../schemas/json_schema.ts";
import { limits } from "../schemas/limits.ts";
import { describeProvenance } from "../schemas/provenance.ts";
import type { ToolDefinition } from "../schemas/tool.ts";
import { canonicalName, compare, plainName, providerNames, refuseName } from "./naming.ts";
import { type ApprovalSubject, effectiveApproval } from "./policy/approval.ts";
import { matchCapability } from "./policy/capability.ts";
import { takenOutBy } from "./policy/tool_policy.ts";
import { assessRisk, higherRisk } from "./risk.ts";

/** Everything that a catalog depends on. */
export interface ResolveRequest {
  readonly coreRevision: string;
  readonly agent: AgentDefinition;
  readonly policy: HostPolicy;
  readonly sources: readonly CatalogSource[];
  readonly epoch: number;
}

/** A tool of an MCP server that was left out; the server's others are kept (B83, B85). */
export interface DroppedTool {
  readonly server: string;
  readonly tool: string;
  readonly reason: string;
}

/** A catalog, not yet sealed, or why there is none. */
export type Resolution =
  | { readonly catalog: ResolvedCatalog; readonly dropped: readonly DroppedTool[] }
  | { readonly failure: Failure };

/** One tool as its source offers it. */
interface Offer {
  readonly source: CatalogSource;
  readonly tool: ToolDefinition;
  readonly canonical: string;
}

/** Longest list of names in a failure's message. */
const namesShownMax = 40;

/**
 * Resolves a catalog. Offers with invalid or reserved names and MCP tools with unusable schemas are dropped if an MCP
 * server made them and are a failure otherwise; two offers of one name are a failure that names both (DM-10, LC-27);
 * built-in tools (`troupe`, `runtime`) are in if the agent lists them, all others are in (DM-2). Entries come in the
 * order of their canonical names. No sources, or sources without tools, give an empty catalog (AR-1).
 */
export function resolveCatalog(request: ResolveRequest): Resolution {
  const { dropped, kept, refusal } = sift(request.sources);
  const stop = refusal ?? findCollision(kept) ?? findUnknownName(request.agent, kept);
  if (stop !== undefined) return { failure: stop };
  const chosen = kept.filter((offer) =>
    !isBuiltIn(offer.source) || request.agent.tools.includes(offer.canonical)
  );
  if (chosen.length > limits.toolsPerCatalogMax) {
    const text =
      `The catalog would have ${chosen.length} tools, at most ${limits.toolsPerCatalogMax} fit: use fewer`;
    return { failure: failure("catalog_too_large", text) };
  }
  chosen.sort((left, right) => compare(left.canonical, right.canonical));
  const names = providerNames(chosen.map(({ source, tool }) => ({ source, name: tool.name })));
  const entries = chosen.map((offer) =>
    entryFor(request, offer, names.get(offer.canonical) ?? offer.canonical)
  );
  return { catalog: { epoch: request.epoch, coreRevision: request.coreRevision, entries }, dropped };
}

/** Tools that belong to the runtime itself: an agent picks them, and can only make them stricter (DM-3). */
function isBuiltIn(source: CatalogSource): boolean {
  return source.kind === "troupe" || source.kind === "runtime";
}

function sift(sources: readonly CatalogSource[]) {
  const dropped: DroppedTool[] = [];
  const kept: Offer[] = [];
  let refusal: Failure | undefined;
  for (const source of sources) {
    for (const tool of source.tools) {
      const refused = refuseName(source, tool.name);
      const reason = refused?.message ?? schemaProblem(tool.inputSchema);
      const isOut = source.kind === "mcp" ? reason !== undefined : refused !== undefined;
      if (!isOut) kept.push({ source, tool, canonical: canonicalName(source, tool.name) });
      else if (source.kind !== "mcp") refusal ??= refused;
      else dropped.push({ server: source.server ?? "", tool: tool.name.slice(0, 128), reason: reason ?? "" });
    }
  }
  return { dropped, kept, refusal };
}

/** Both full names and names for models must be unique: nobody may pose as another's tool, and nobody wins silently. */
function findCollision(offers: readonly Offer[]): Failure | undefined {
  const seen = new Map<string, Offer>();
  for (const offer of offers) {
    for (const name of new Set([offer.canonical, plainName(offer.source, offer.tool.name)])) {
      const other = seen.get(name);
      if (other !== undefined && other !== offer) {
        const both = [other, offer].map((one) => describeProvenance(one.source.provenance)).join(" and ");
        const text = `Two tools are called "${name}": from ${both}; rename one of them`;
        return failure("tool_name_collision", text);
      }
      seen.set(name, offer);
    }
  }
  return undefined;
}

/** A name in agent.yaml that means nothing is a mistake; only tools of MCP servers may come later (AR-2, DM-4). */
function findUnknownName(agent: AgentDefinition, offers: readonly Offer[]): Failure | undefined {
  const known = new Set(offers.map((offer) => offer.canonical));
  const unknown = [...agent.tools, ...Object.keys(agent.overrides)].find((name) =>
    !known.has(name) && !(name.startsWith("mcp.") && !agent.tools.includes(name))
  );
  if (unknown === undefined) return undefined;
  const names = [...known].filter((name) => !name.startsWith("mcp.")).sort(compare);
  const more = names.length > namesShownMax ? `, and ${names.length - namesShownMax} more` : "";
  const list = names.slice(0, namesShownMax).join(", ") + more;
  const text = `Agent "${agent.name}" names the tool "${unknown}", which does not exist; there are: ${
    list || "none"
  }`;
  return failure("tool_unknown", text);
}

function entryFor(request: ResolveRequest, offer: Offer, providerName: string): CatalogEntry {
  const { source, canonical } = offer;
  const overrides = request.agent.overrides;
  const override = Object.hasOwn(overrides, canonical) ? overrides[canonical] ?? {} : {};
  const { definition, subject, approvalBy, mayPassUnasked } = wrap(request, offer, override);
  const disabledBy = override.enabled === false
    ? "overrides in agent.yaml switch it off"
    : takenOutBy(request.policy, subject);
  return {
    sourceKind: source.kind,
    canonicalName: canonical,
    providerName,
    definition,
    provenance: source.provenance,
    coreRevision: request.coreRevision,
    adapter: source.adapter,
    binding: isBuiltIn(source) ? "" : source.binding ?? source.server ?? source.provenance.origin,
    enabled: disabledBy === undefined,
    ...(disabledBy === undefined ? {} : { disabledBy }),
    ...(approvalBy === undefined ? {} : { approvalBy }),
    ...(mayPassUnasked ? { mayPassUnasked } : {}),
  };
}

/** A tool's definition, and what policy made of it. */
interface Wrapped extends Pick<CatalogEntry, "approvalBy"> {
  readonly definition: ToolDefinition;
  readonly subject: ApprovalSubject;
  readonly mayPassUnasked: boolean;
}

/** The definition under which a tool reaches a model: the source's own, distrusted, assessed, overridden (AR-5..7). */
function wrap(request: ResolveRequest, offer: Offer, override: ToolOverride): Wrapped {
  const { source, canonical } = offer;
  const tool = { ...distrusted(offer), ...assignedEffect(request.policy, offer) };
  const capability = neededCapability(offer);
  const grant = capability === undefined
    ? undefined
    : matchCapability(request.agent.capabilities, capability);
  const signals = {
    trust: source.provenance.trust,
    remote: source.remote,
    broadGrant: grant?.endsWith(":*") === true,
  };
  const assessed = assessRisk(tool, signals).level;
  // The host's rules look at the higher of the two, so that an agent cannot lower a risk to get around them.
  const risk = higherRisk(assessed, override.risk ?? "low");
  const subject = { canonicalName: canonical, capability, risk };
  const { approval, by, isAskedByHost } = effectiveApproval(
    request.policy,
    subject,
    tool.approvalPolicy,
    override.approval_policy,
  );
  const agentLimit = request.agent.limits.tool_timeout_ms ?? limits.toolCallDurationMsMax;
  const definition: ToolDefinition = {
    ...tool,
    title: tool.title === "" ? tool.name : tool.title,
    riskLevel: isBuiltIn(source) ? risk : override.risk ?? assessed,
    timeoutMs: Math.min(tool.timeoutMs, agentLimit),
    outputPolicy: { modelCharactersMax: outputMax(offer, override) },
    ...(capability === undefined ? {} : { capability }),
    approvalPolicy: approval,
    parallelSafe: isParallelSafe(offer, override),
  };
  return {
    definition,
    subject,
    approvalBy: by,
    mayPassUnasked: approval === "prompt" && risk === "low" && !tool.sideEffects && !isAskedByHost,
  };
}

/** Nothing that only an untrusted source says may make a repeat or a grant harmless (AR-10, B89). */
function distrusted({ source, tool }: Offer): ToolDefinition {
  if (source.provenance.trust === "trusted_local" || source.provenance.trust === "team_audited") return tool;
  const { mechanism: _, ...rest } = tool;
  return { ...rest, sideEffects: true, effectClass: "non_idempotent" };
}

/** What the operator knows of a repeat, by full name or for the whole server; a built-in needs nobody's word. */
function assignedEffect(
  { effects }: HostPolicy,
  { source, canonical }: Offer,
): Pick<ToolDefinition, "effectClass" | "mechanism"> | undefined {
  if (isBuiltIn(source)) return undefined;
  const names = source.kind === "mcp" ? [canonical, `mcp.${source.server}.*`] : [canonical];
  const name = names.find((one) => Object.hasOwn(effects, one));
  const effectClass = name === undefined ? undefined : effects[name];
  if (effectClass === undefined) return undefined;
  return effectClass === "conditional" ? { effectClass, mechanism: "key" } : { effectClass };
}

/** What an agent must be granted. Nobody but the runtime may say that a tool needs nothing (DM-29, DM-30). */
function neededCapability({ source, tool }: Offer): string | undefined {
  if (source.kind === "mcp") {
    // Nothing that an agent has for another purpose may open a server.
    return tool.capability?.startsWith("mcp.call:") === true ? tool.capability : `mcp.call:${source.server}`;
  }
  return isBuiltIn(source) ? tool.capability : tool.capability ?? `tool.call:${tool.name}`;
}

function outputMax({ source, tool }: Offer, override: ToolOverride): number {
  const own = tool.outputPolicy.modelCharactersMax;
  const asked = override.model_output_characters ?? own;
  return isBuiltIn(source) ? Math.min(own, asked) : asked;
}

/** Own value, then the source's (MCP: what its manifest says), then the agent's; a built-in only loses it (CM-84, DM-3). */
function isParallelSafe({ source, tool }: Offer, override: ToolOverride): boolean {
  const own = source.kind === "mcp" ? source.parallelSafe ?? false : tool.parallelSafe;
  const asked = override.execution_policy?.parallel_safe ?? own;
  return isBuiltIn(source) ? own && asked : asked;
}
