/** `spawn`: begins an agent, or finds the one that its owner calls by this name (CM-102, DM-127). */
import { notYours } from "../../actors/session_close.ts";
import { resolveRights } from "../../actors/child_rights.ts";
import { capabilityProblem } from "../../actors/policy/known_capability.ts";
import type { AgentDefinition } from "../../schemas/agent.ts";
import type { ApiGiven, ApiResult, SpawnRights } from "../../schemas/api.ts";
import type { Json } from "../../schemas/json.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { principalText } from "../../schemas/principal.ts";
import { Recovery } from "../../schemas/recovery.ts";
import type { SessionScope } from "../../schemas/profile.ts";
import { canonicalBytes } from "../canonical.ts";
import { writeHome } from "../host/session_home.ts";
import { firstPromptKey } from "../kernel/forget_commands.ts";
import type { OfferedAgent } from "./agent_shelf.ts";
import { ApiFailure } from "./api_failure.ts";
import type { ApiCallContext } from "./api_parts.ts";
import { connectionOf } from "./fates.ts";
import { spawnChild } from "./spawn_child.ts";
import { sessionFor } from "./visible.ts";

/** Begins an agent; resolves once it is durable. Its first prompt goes on in the background. */
export async function spawn(
  context: ApiCallContext,
  given: ApiGiven<"spawn">,
): Promise<ApiResult<"spawn">> {
  const { parts, caller, key, trace } = context;
  if (given.parent !== undefined) {
    const parent = sessionFor(context, given.parent);
    if (parent.parent !== undefined) throw new ApiFailure("session_not_yours", notYours(parent.parent));
    return await spawnChild(context, { ...given, parent: given.parent });
  }
  const { definition, coreRevision, place, servers } = await agentOf(context, given.agent);
  const { agent, mode, scope } = narrowed(definition, given.rights ?? {}, parts.mode);
  const { runtime, declarer, config } = parts;
  const sourcesNow = () =>
    typeof given.agent === "string"
      ? parts.programs.sourcesFor(agent.name, principalText(caller.principal))
      : [];
  const brought = sourcesNow();
  const connection = given.on_parent_exit === "stop" ? connectionOf(caller) : undefined;
  const { address, isNew } = await runtime.spawnSession({
    draft: {
      agent,
      coreRevision,
      home: writeHome(place),
      sources: [...await declarer.sources(place), ...brought],
      policy: config.policy,
      servers: await declarer.declare(place, servers, agent.capabilities),
      mode,
      scope,
      budget: given.budget,
      recovery: agent.recovery ?? Recovery.parse({}),
      title: given.title ?? given.name ?? agent.name,
    },
    ref: { principal: principalText(caller.principal), key },
    content: { spawn: given },
    owner: caller.principal,
    name: given.name,
    labels: given.labels,
    rows: connection === undefined
      ? undefined
      : (address) => parts.fates.rowsOf(connection, address, caller.principal),
  });
  // A program may have come or gone while this was being done.
  if (isNew && JSON.stringify(sourcesNow()) !== JSON.stringify(brought)) {
    await parts.programs.settle(address, agent.name);
  }
  if (given.prompt !== undefined && isNew) {
    // A key of its own that follows from this one: a repeat after a crash in between gives the same prompt, once.
    const { accepted } = await runtime.prompt(address, given.prompt, {
      key: firstPromptKey(key),
      by: caller.principal,
      trace,
    });
    await accepted();
  }
  // The program may have gone while this was being done.
  if (isNew && connection !== undefined && !parts.fates.isAlive(connection)) {
    await parts.fates.end(connection);
  }
  return { address, is_new: isNew };
}

async function agentOf(
  { parts: { shelf, seams }, caller }: ApiCallContext,
  agent: ApiGiven<"spawn">["agent"],
): Promise<Omit<OfferedAgent, "home">> {
  if (typeof agent === "string") {
    const found = await shelf.find(agent);
    if (found !== undefined) return found;
    throw new ApiFailure(
      "agent_unknown",
      `No agent "${agent}" is offered here: there are ${shelf.names.join(", ") || "none"}`,
    );
  }
  if (!caller.scopes.has("agents:define")) {
    throw new ApiFailure(
      "scope_missing",
      "An agent as data needs the scope agents:define: name one that the host offers",
    );
  }
  for (const capability of agent.capabilities) {
    const problem = capabilityProblem(capability);
    if (problem !== undefined) throw new ApiFailure("agent_invalid", problem);
  }
  const coreRevision = await seams.digest(canonicalBytes(agent as unknown as Json));
  return { definition: agent, coreRevision, servers: [], place: shelf.place };
}

/** The agent with the rights that are left to it. Asking for more than it has is refused, never silently cut. */
function narrowed(
  agent: AgentDefinition,
  { mode, capabilities, tools, child_depth_max: depth }: SpawnRights,
  modeMax: PermissionMode,
): {
  readonly agent: AgentDefinition;
  readonly mode: PermissionMode;
  readonly scope: SessionScope | undefined;
} {
  const wanted = { mode, capabilities };
  const holder = { agent, mode: modeMax, scope: {}, workspace: "" };
  const resolved = resolveRights(holder, wanted, []);
  if ("failure" in resolved) throw new ApiFailure(resolved.failure.code, resolved.failure.message);
  const subagents = depth === undefined ? undefined : depth === 0 ? { enabled: false } : { max_depth: depth };
  const isScoped = tools !== undefined || subagents !== undefined;
  return {
    agent: { ...agent, capabilities: resolved.rights.capabilities },
    mode: mode ?? (modeMax === "auto" ? "default" : modeMax),
    scope: isScoped
      ? { ...(tools === undefined ? {} : { tools }), ...(subagents === undefined ? {} : { subagents }) }
      : undefined,
  };
}
