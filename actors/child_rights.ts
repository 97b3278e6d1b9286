/** What a child agent may do: always a part of what its parent may, settled when it is begun (I10, DM-127). */
import type { AgentDefinition } from "../schemas/agent.ts";
import type { ChildRights } from "../schemas/child_agent.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import { canonicalJson, type Json } from "../schemas/json.ts";
import type { PermissionMode } from "../schemas/mode.ts";
import type { SessionScope } from "../schemas/profile.ts";
import { matchCapability } from "./policy/capability.ts";
import { childDepth, childProfile, subagentsOf } from "./profile.ts";

/** A session, as far as its rights go. */
export interface Holder {
  readonly agent: AgentDefinition;
  readonly mode: PermissionMode;
  readonly scope: SessionScope;
  /** The folder of its file tools; empty where none is known. */
  readonly workspace: string;
}

/** What a call asks for; what it does not say is as the parent has it. */
export interface WantedRights {
  /** The agent itself by its name, or one of its profiles by its key. */
  readonly core?: string | undefined;
  readonly profile?: string | undefined;
  readonly model?: string | undefined;
  readonly mode?: PermissionMode | undefined;
  readonly tools?: "all" | "none" | readonly string[] | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly workspace?: string | undefined;
  readonly maxDepth?: number | undefined;
}

/** A tool of the catalog that a name is looked up in. */
export interface KnownTool {
  readonly canonicalName: string;
  readonly providerName: string;
}

/** Modes from the strictest to the freest. */
const modes: readonly PermissionMode[] = ["plan", "default", "auto"];

/** What a child is given; or why it is not begun. Everything can only become less. */
export function resolveRights(
  parent: Holder,
  wanted: WantedRights,
  known: readonly KnownTool[],
): { readonly rights: ChildRights } | { readonly failure: Failure } {
  const { agent, scope } = parent;
  const deep = resolveDepth(parent, wanted);
  if ("failure" in deep) return deep;
  const core = resolveCore(agent, wanted.core);
  if ("failure" in core) return core;
  const profile = childProfile(agent, core.profile ?? wanted.profile);
  if ("failure" in profile) return profile;
  const tools = resolveTools(wanted.tools, known);
  if ("failure" in tools) return tools;
  const capabilities = wanted.tools === "none" ? [] : wanted.capabilities ?? agent.capabilities;
  const [model, mode] = [wanted.model ?? agent.model, wanted.mode ?? parent.mode];
  const left = tools.tools?.filter((name) => scope.tools?.includes(name) ?? true) ?? scope.tools;
  const rights: ChildRights = {
    model,
    mode,
    capabilities: [...capabilities],
    ...deep,
    ...(profile.profile === undefined ? {} : { profile: profile.profile }),
    ...(left === undefined ? {} : { tools: [...left] }),
    ...(wanted.workspace === undefined ? {} : { workspace: wanted.workspace }),
  };
  const excess = excessOf(narrow(parent, rights), parent);
  return excess === undefined ? { rights } : { failure: exceeded(excess) };
}

/** The failure of a child that would be given more than its parent has. */
export function exceeded(excess: string): Failure {
  return failure(
    "rights_exceeded",
    `Cannot begin this child: ${excess}; a child may do less than its parent`,
  );
}

/** An agent of another kind is none that this one may begin. */
function resolveCore(
  { name, profiles = {} }: AgentDefinition,
  core: string | undefined,
): { readonly profile?: string } | { readonly failure: Failure } {
  if (core === undefined || core === name) return {};
  if (Object.hasOwn(profiles, core)) return { profile: core };
  const known = [name, ...Object.keys(profiles)].join(", ");
  const message = `There is no agent ${
    JSON.stringify(core.slice(0, 60))
  } that this one may begin: there are ${known}`;
  return { failure: failure("agent_unknown", message) };
}

function resolveDepth(
  { agent, scope }: Holder,
  { maxDepth }: WantedRights,
): Pick<ChildRights, "depth" | "maxDepth"> | { readonly failure: Failure } {
  const policy = subagentsOf(agent, scope);
  if (!policy.enabled) {
    return { failure: failure("agents_off", "This agent begins no children: subagents.enabled is false") };
  }
  const depth = childDepth(scope);
  const deepest = Math.min(policy.max_depth, maxDepth ?? policy.max_depth);
  if (depth > deepest) {
    const why = `A child would have the depth ${depth}, and no more than ${deepest} is allowed`;
    return { failure: failure("agent_depth", `${why}: do the work here`) };
  }
  if (depth > 1 && !policy.allow_nested) {
    const why = "This is a child agent, and subagents.allow_nested is false: do the work here";
    return { failure: failure("agent_depth", why) };
  }
  return { depth, maxDepth: deepest };
}

/** Full names of the tools that are left; undefined for all. A name that nobody knows is a mistake (DM-127). */
function resolveTools(
  wanted: WantedRights["tools"] = "all",
  known: readonly KnownTool[],
): { readonly tools: readonly string[] | undefined } | { readonly failure: Failure } {
  if (wanted === "all") return { tools: undefined };
  if (wanted === "none") return { tools: [] };
  const names = wanted.map((name) =>
    known.find(({ canonicalName, providerName }) => canonicalName === name || providerName === name)
      ?.canonicalName
  );
  const unknown = names.indexOf(undefined);
  if (unknown >= 0) {
    const shown = (wanted[unknown] ?? "").slice(0, 80);
    const message = `Cannot leave the tool ${
      JSON.stringify(shown)
    } to a child: this agent has none of that name`;
    return { failure: failure("arguments_invalid", message) };
  }
  return { tools: [...new Set(names.filter((name) => name !== undefined))] };
}

/** A child of `parent` with these rights. Its workspace is a folder of the parent's. */
export function narrow(parent: Holder, rights: ChildRights): Holder {
  const { agent, scope } = parent;
  const { tools, capabilities, depth, maxDepth, model, mode, profile, workspace } = rights;
  const models = modelsOf(agent);
  return {
    agent: {
      ...agent,
      model,
      ...(agent.model_fallbacks === undefined
        ? {}
        : { model_fallbacks: models.slice(models.indexOf(model) + 1) }),
      tools: tools === undefined ? agent.tools : agent.tools.filter((name) => tools.includes(name)),
      capabilities: [...capabilities],
    },
    mode,
    scope: {
      ...(profile === undefined ? {} : { profile }),
      depth,
      subagents: { ...scope.subagents, max_depth: maxDepth },
      ...(tools === undefined ? {} : { tools }),
    },
    workspace: workspace === undefined ? parent.workspace : `${parent.workspace}/${workspace}`,
  };
}

/** True if a session may do nothing that another may not (I10). */
export function isSubset(child: Holder, parent: Holder): boolean {
  return excessOf(child, parent) === undefined;
}

/**
 * The first thing that a session may do and its parent may not, as a clause; undefined if there is none. A profile is no
 * right: it says which of the agent's tools are shown, and what the operator granted to the agent holds for all of them.
 */
export function excessOf(child: Holder, parent: Holder): string | undefined {
  const { agent } = child;
  const models = modelsOf(parent.agent);
  const tool = agent.tools.find((name) => !parent.agent.tools.includes(name));
  if (tool !== undefined) return `the parent does not have the tool "${tool}"`;
  const capability = agent.capabilities.find((one) => !covers(parent.agent.capabilities, one));
  if (capability !== undefined) return `the parent does not have the capability "${capability}"`;
  if (modes.indexOf(child.mode) > modes.indexOf(parent.mode)) {
    return `the mode "${child.mode}" is freer than the parent's, "${parent.mode}"`;
  }
  const model = modelsOf(agent).find((one) => !models.includes(one));
  if (model !== undefined) return `the model "${model}" is none of the parent's: ${models.join(", ")}`;
  if (!isInside(child.workspace, parent.workspace)) return "its workspace lies outside the parent's";
  if (rest(agent) !== rest(parent.agent)) return "its definition differs from the parent's";
  return excessOfScope(child.scope, parent);
}

function excessOfScope(scope: SessionScope, { agent, scope: above }: Holder): string | undefined {
  const shown = above.tools;
  if (shown !== undefined && !(scope.tools?.every((name) => shown.includes(name)) ?? false)) {
    return "it would see tools that were not left to the parent";
  }
  if ((scope.depth ?? 0) !== childDepth(above)) return "its depth is not one more than the parent's";
  const [mine, yours] = [subagentsOf(agent, scope), subagentsOf(agent, above)];
  const isFreer = mine.max_depth > yours.max_depth || (mine.enabled && !yours.enabled) ||
    (mine.allow_nested && !yours.allow_nested);
  return isFreer ? "it might begin children where the parent may not" : undefined;
}

function covers(granted: readonly string[], capability: string): boolean {
  return granted.includes(capability) || matchCapability(granted, capability) !== undefined;
}

function isInside(folder: string, parent: string): boolean {
  if (folder.split("/").includes("..")) return false;
  return folder === parent || folder.startsWith(parent.endsWith("/") ? parent : `${parent}/`);
}

function modelsOf({ model, model_fallbacks: fallbacks = [] }: AgentDefinition): readonly string[] {
  return [model, ...fallbacks];
}

/** What a child has exactly as its parent has it. */
function rest(agent: AgentDefinition): string {
  const { tools: _tools, capabilities: _capabilities, model: _model, model_fallbacks: _fallbacks, ...same } =
    agent;
  return canonicalJson(same as unknown as Json);
}
