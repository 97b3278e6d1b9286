/** Which tools of an agent are visible in a session: by its profile, and by what is left to child agents (CM-95..106). */
import type { AgentDefinition } from "../schemas/agent.ts";
import { type Failure, failure } from "../schemas/failure.ts";
import type { JsonObject } from "../schemas/json.ts";
import { limits } from "../schemas/limits.ts";
import type { ProfileKey, SessionScope, SubagentPolicy } from "../schemas/profile.ts";
import type { ToolDefinition } from "../schemas/tool.ts";
import { reservedNames } from "./naming.ts";
import { matchesToolPattern } from "./policy/tool_pattern.ts";

/** The word by which a child's profile is left to the agent (CM-100, CM-106). */
export const defaultProfileAlias = "default";

/** Tools that begin child agents. */
const beginningNames: readonly string[] = ["subagent_spawn", "delegate_task"];

/** The profile of a session: its own, else that for people, else `main`; undefined if the agent has none (CM-97). */
export function profileKeyOf(agent: AgentDefinition, scope: SessionScope): ProfileKey | undefined {
  if (agent.profiles === undefined) return undefined;
  return scope.profile ?? agent.interactive?.profile ?? "main";
}

/** Why a session may not have the profile that it asks for; undefined if it may. */
export function refuseProfile(agent: AgentDefinition, { profile }: SessionScope): Failure | undefined {
  if (profile === undefined || Object.hasOwn(agent.profiles ?? {}, profile)) return undefined;
  const keys = Object.keys(agent.profiles ?? {}).join(", ") || "none";
  return failure("profile_unknown", `Agent "${agent.name}" has no profile "${profile}": there are ${keys}`);
}

/**
 * True if a tool takes part at all: if any profile says which tools it allows, only what one of them allows is governed
 * (CM-43).
 */
export function isProjected({ profiles }: AgentDefinition, name: string): boolean {
  const lists = Object.values(profiles ?? {}).flatMap(({ allowed_tool_names: list }) => list ?? []);
  const hasList = Object.values(profiles ?? {}).some((one) => one.allowed_tool_names !== undefined);
  return !hasList || lists.some((pattern) => matchesToolPattern(pattern, name));
}

/** The rule that hides a tool from a session, as one clause; undefined if it is visible (CM-95). */
export function hiddenBy(agent: AgentDefinition, scope: SessionScope, name: string): string | undefined {
  const key = profileKeyOf(agent, scope);
  const allowed = key === undefined ? undefined : agent.profiles?.[key]?.allowed_tool_names;
  if (allowed !== undefined && !allowed.some((pattern) => matchesToolPattern(pattern, name))) {
    return `the profile "${key}" does not name it`;
  }
  if (scope.tools !== undefined && !scope.tools.includes(name)) {
    return "its parent did not leave it to this child";
  }
  return hiddenByDepth(subagentsOf(agent, scope), scope.depth ?? 0, name);
}

/** What an agent's children may do: its own policy, with what holds for this conversation (CM-98). */
export function subagentsOf(
  agent: AgentDefinition,
  scope: SessionScope,
): Pick<SubagentPolicy, "enabled" | "allow_nested" | "max_depth"> {
  const usual = { enabled: true, allow_nested: true, max_depth: limits.agentDepthDefault };
  const { enabled, allow_nested: nested, max_depth: deep } = { ...usual, ...agent.subagents };
  const { subagents: over = {} } = scope;
  // What holds for one conversation comes from its parent, so it can only take away.
  return {
    enabled: enabled && over.enabled !== false,
    allow_nested: nested && over.allow_nested !== false,
    max_depth: Math.min(deep, over.max_depth ?? deep),
  };
}

function hiddenByDepth(
  policy: ReturnType<typeof subagentsOf>,
  depth: number,
  name: string,
): string | undefined {
  if (!reservedNames.includes(name) && !beginningNames.includes(name)) return undefined;
  if (!policy.enabled) return "subagents.enabled is false";
  if (!beginningNames.includes(name) || depth === 0) return undefined;
  if (!policy.allow_nested) return "subagents.allow_nested is false, and this is a child agent";
  return depth >= policy.max_depth ? `the depth ${depth} is that of subagents.max_depth` : undefined;
}

/** The depth of a child (CM-105). */
export function childDepth(parent: SessionScope): number {
  return (parent.depth ?? 0) + 1;
}

/**
 * The profile of a child: the one that was asked for; for `default` or nothing the one marked as usual, else the first
 * that is not for people, else that for people (CM-106). A key that the agent does not have is refused.
 */
export function childProfile(
  agent: AgentDefinition,
  wanted: string | undefined,
): { readonly profile: ProfileKey | undefined } | { readonly failure: Failure } {
  const { profiles = {} } = agent;
  if (wanted !== undefined && wanted !== "" && wanted !== defaultProfileAlias) {
    const refusal = refuseProfile(agent, { profile: wanted });
    return refusal === undefined ? { profile: wanted } : { failure: refusal };
  }
  const forPeople = profileKeyOf(agent, {});
  const keys = Object.keys(profiles);
  const usual = keys.find((key) => profiles[key]?.default_subagent);
  return { profile: usual ?? keys.find((key) => key !== forPeople) ?? forPeople };
}

/** What a tool needs that begins children of the agent whose tool it is, whoever that is. */
export const ownChildren = "agents.spawn:self";

/**
 * The definition of a tool for one agent: what begins children needs `agents.spawn:<agent>`, and the schema of
 * `subagent_spawn` names the profiles that there are (CM-100).
 */
export function contextualised(tool: ToolDefinition, agent: AgentDefinition): ToolDefinition {
  const capability = tool.capability === ownChildren ? { capability: `agents.spawn:${agent.name}` } : {};
  return withProfiles({ ...tool, ...capability }, agent);
}

function withProfiles(tool: ToolDefinition, { profiles }: AgentDefinition): ToolDefinition {
  const { properties } = tool.inputSchema as { readonly properties?: { readonly profile_key?: JsonObject } };
  if (tool.name !== "subagent_spawn" || profiles === undefined || properties?.profile_key === undefined) {
    return tool;
  }
  const keys = [defaultProfileAlias, ...Object.keys(profiles)];
  const inputSchema = {
    ...tool.inputSchema,
    properties: { ...properties, profile_key: { ...properties.profile_key, enum: keys } },
  };
  return { ...tool, inputSchema: inputSchema as JsonObject };
}
