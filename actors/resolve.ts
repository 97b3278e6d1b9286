/** Makes one catalog from all sources: names, risks, policies, selection; pure, so that equal sources give equal JSON. */
import type { AgentDefinition, ToolOverride } from "../schemas/agent.ts";
import type { CatalogEntry, CatalogSource, Implementation, ResolvedCatalog } from "../schemas/catalog.ts";
import type { HostPolicy } from "../schemas/config.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { limits } from "../schemas/limits.ts";
import type { ToolDefinition } from "../schemas/tool.ts";
import type { SessionScope } from "../schemas/profile.ts";
import {
  chooseImplementation,
  governanceModeOf,
  implementationRef,
  runnerOf,
  toolKindOf,
} from "./governance.ts";
import { compare, providerNames } from "./naming.ts";
import { type DroppedTool, findUnknownName, isBuiltIn, isOwnTool, type Offer, siftOffers } from "./offers.ts";
import { overlaidParallelSafe } from "./overlay.ts";
import { contextualised, hiddenBy, isProjected, refuseProfile } from "./profile.ts";
import { type ApprovalSubject, effectiveApproval, stricter } from "./policy/approval.ts";
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
  /** The session's profile and depth; without it a root session for people. */
  readonly scope?: SessionScope | undefined;
}

/** A catalog, not yet sealed, or why there is none. */
export type Resolution =
  | { readonly catalog: ResolvedCatalog; readonly dropped: readonly DroppedTool[] }
  | { readonly failure: Failure };

/**
 * Resolves a catalog. Offers with invalid or reserved names and MCP tools with unusable schemas are dropped if an MCP
 * server made them and are a failure otherwise; two offers of one name are a failure that names both (DM-10, LC-27);
 * built-in tools (`troupe`, `runtime`) are in if the agent lists them, all others are in (DM-2), as far as a profile
 * allows them (CM-43). Each definition is bound to one implementation by its governance mode (CM-49). Entries come in
 * the order of their canonical names. No sources, or sources without tools, give an empty catalog (AR-1).
 */
export function resolveCatalog(request: ResolveRequest): Resolution {
  const { agent, scope = {} } = request;
  const { dropped, definitions, alternatives, refusal } = siftOffers(request.sources);
  const stop = refusal ?? refuseProfile(agent, scope) ?? findUnknownName(agent, definitions);
  if (stop !== undefined) return { failure: stop };
  const listed = definitions.filter(({ source, canonical }) =>
    (!isBuiltIn(source) || agent.tools.includes(canonical)) && isProjected(agent, canonical)
  );
  if (listed.length > limits.toolsPerCatalogMax) {
    const text =
      `The catalog would have ${listed.length} tools, at most ${limits.toolsPerCatalogMax} fit: use fewer`;
    return { failure: failure("catalog_too_large", text) };
  }
  listed.sort((left, right) => compare(left.canonical, right.canonical));
  const names = providerNames(listed.map(({ source, tool }) => ({ source, name: tool.name })));
  const entries: CatalogEntry[] = [];
  for (const offer of listed) {
    const bound = bind(request, offer, alternatives.get(offer.canonical) ?? []);
    if ("failure" in bound) return bound;
    entries.push(entryFor(request, bound, names.get(offer.canonical) ?? offer.canonical));
  }
  const { epoch, coreRevision } = request;
  return { catalog: { epoch, coreRevision, entries, ...preparerIn(request.sources) }, dropped };
}

/** The first program that prepares rounds: a session has one at most. */
function preparerIn(sources: readonly CatalogSource[]): Pick<ResolvedCatalog, "preparedBy"> {
  const preparer = sources.find(({ kind, prepares }) => kind === "program" && prepares === true);
  return preparer === undefined ? {} : { preparedBy: preparer.provenance.origin };
}

/** One definition, and the offer that carries it out. */
interface Bound {
  readonly offer: Offer;
  readonly governance: Pick<
    CatalogEntry,
    "governance" | "implementation" | "bindingReason" | "candidates"
  >;
}

/** Chooses the implementation of one definition by its governance mode (CM-21..24). */
function bind(
  { agent, policy }: ResolveRequest,
  definition: Offer,
  alternatives: readonly Offer[],
): Bound | { readonly failure: Failure } {
  const { source, tool, canonical: name } = definition;
  const offers = [definition, ...alternatives].slice(0, limits.implementationsPerToolMax);
  const offered = offers.map((one) => implementationRef(one.source, one.tool));
  const mode = governanceModeOf(source.kind, tool.name);
  const wanted = Object.hasOwn(agent.implementations ?? {}, name) ? agent.implementations?.[name] : undefined;
  const approved = Object.hasOwn(policy.implementations ?? {}, name) ? policy.implementations?.[name] : [];
  const chosen = chooseImplementation({ name, mode, offered, wanted, approved: approved ?? [] });
  if ("failure" in chosen) return chosen;
  const alternative = offers[offered.indexOf(chosen.ref)] ?? definition;
  const offer = alternative === definition ? definition : carriedOutBy(definition, alternative);
  const governance = {
    governance: mode,
    implementation: chosen.ref,
    ...(chosen.reason === "snapshot_default" ? {} : { bindingReason: chosen.reason }),
    ...(offers.length === 1 ? {} : { candidates: offers.map(candidateOf) }),
  };
  return { offer, governance };
}

/** Another implementation of a tool: it needs what the tool needs, is looked at as it is, and at least as risky and strict. */
function carriedOutBy(definition: Offer, { source, tool, canonical }: Offer): Offer {
  const { riskLevel, approvalPolicy, review } = definition.tool;
  const capability = neededCapability(definition);
  const floored = {
    ...tool,
    riskLevel: higherRisk(tool.riskLevel, riskLevel),
    approvalPolicy: stricter(tool.approvalPolicy, approvalPolicy),
    parallelSafe: tool.parallelSafe && definition.tool.parallelSafe,
    ...(capability === undefined ? {} : { capability }),
    ...(review === undefined ? {} : { review }),
  };
  return { source, tool: floored, canonical, definedBy: definition.source };
}

function candidateOf({ source, tool }: Offer, index: number): Implementation {
  const { kind: sourceKind, provenance } = source;
  const ref = implementationRef(source, tool);
  return { ref, sourceKind, provenance, isDefault: index === 0, definition: tool };
}

function entryFor(request: ResolveRequest, bound: Bound, providerName: string): CatalogEntry {
  const { agent, coreRevision, policy, scope = {} } = request;
  const { governance } = bound;
  const offer = { ...bound.offer, tool: contextualised(bound.offer.tool, agent) };
  const { source, canonical } = offer;
  const override = Object.hasOwn(agent.overrides, canonical) ? agent.overrides[canonical] ?? {} : {};
  const { definition, subject, approvalBy, mayPassUnasked } = wrap(request, offer, override);
  const hidden = hiddenBy(agent, scope, canonical);
  const disabledBy = hidden ?? quarantinedBy(offer) ??
    (override.enabled === false ? "overrides in agent.yaml switch it off" : takenOutBy(policy, subject));
  return {
    sourceKind: source.kind,
    canonicalName: canonical,
    providerName,
    definition,
    provenance: source.provenance,
    coreRevision,
    adapter: runnerOf(source.kind),
    binding: isBuiltIn(source) ? "" : source.binding ?? source.server ?? source.provenance.origin,
    ...governance,
    toolKind: toolKindOf(source.kind, definition),
    enabled: disabledBy === undefined,
    ...(hidden === undefined ? {} : { hidden: true }),
    ...(disabledBy === undefined ? {} : { disabledBy }),
    ...(approvalBy === undefined ? {} : { approvalBy }),
    ...(mayPassUnasked ? { mayPassUnasked } : {}),
  };
}

/** Why a tool is off that is not what was approved of it; a tool may be called `constructor`. */
function quarantinedBy({ source: { quarantined = {} }, tool }: Offer): string | undefined {
  return Object.hasOwn(quarantined, tool.name) ? quarantined[tool.name] : undefined;
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
    riskLevel: isOwnTool(offer) ? risk : override.risk ?? assessed,
    timeoutMs: Math.min(tool.timeoutMs, agentLimit),
    outputPolicy: { modelCharactersMax: outputMax(offer, override) },
    ...(capability === undefined ? {} : { capability }),
    approvalPolicy: approval,
    parallelSafe: isParallelSafe(request, offer, override),
  };
  return {
    definition,
    subject,
    approvalBy: by,
    mayPassUnasked: approval === "prompt" && risk === "low" && !tool.sideEffects && !isAskedByHost,
  };
}

/** Nothing that only an untrusted source says may make a repeat, a grant or a call harmless (AR-10, B89). */
function distrusted(offer: Offer): ToolDefinition {
  const { source } = offer;
  const { review, ...unreviewed } = offer.tool;
  // What a review allows needs no person: only a tool of the runtime may say that its calls are reviewed.
  const tool = isOwnTool(offer) && review !== undefined ? offer.tool : unreviewed;
  if (source.provenance.trust === "trusted_local" || source.provenance.trust === "team_audited") return tool;
  // What has no way out of its jail applies nothing: that is the runtime's word, not the tool's.
  if (source.kind === "agent" && !tool.sideEffects) return tool;
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

function outputMax(offer: Offer, override: ToolOverride): number {
  const { tool } = offer;
  const own = tool.outputPolicy.modelCharactersMax;
  const asked = override.model_output_characters ?? own;
  return isOwnTool(offer) ? Math.min(own, asked) : asked;
}

/**
 * Own value (MCP: what its manifest says), then overlays in their order, then what the agent says of this very tool; a
 * built-in only loses it (CM-84, CM-132, DM-3).
 */
function isParallelSafe({ agent }: ResolveRequest, offer: Offer, override: ToolOverride): boolean {
  const { source, tool } = offer;
  const own = source.kind === "mcp" ? source.parallelSafe ?? false : tool.parallelSafe;
  const fields = {
    tool_kind: toolKindOf(source.kind, distrusted(offer)),
    implementation_ref: implementationRef(source, tool),
    version: tool.version,
    risk: tool.riskLevel,
  };
  const overlaid = overlaidParallelSafe(agent.tool_policy_overlays ?? [], { source, tool, fields }, own);
  const asked = override.execution_policy?.parallel_safe ?? overlaid;
  return isOwnTool(offer) ? own && asked : asked;
}
