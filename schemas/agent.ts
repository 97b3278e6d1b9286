/** `agent.yaml`: an agent as data. */
import { z } from "zod";
import { Budget } from "./budget.ts";
import { ImplementationRef } from "./governance.ts";
import { limits } from "./limits.ts";
import { OutputSchema } from "./output_schema.ts";
import { Capability } from "./principal.ts";
import { AgentProfile, ProfileKey, SubagentPolicy } from "./profile.ts";
import { Recovery } from "./recovery.ts";
import { ApprovalPolicy, RiskLevel } from "./tool.ts";

/** Name of an agent: lower-case letters, digits, dashes; at most 48. */
export const AgentName = z.string().regex(
  /^[a-z][a-z0-9-]{0,47}$/,
  "must be lower-case letters, digits and dashes, beginning with a letter, at most 48",
);

/** What `agent.yaml` may say of one tool. A built-in's metadata can only become stricter (DM-3). */
export const ToolOverride = z.strictObject({
  risk: RiskLevel.optional(),
  approval_policy: ApprovalPolicy.optional(),
  model_output_characters: z.int().min(1).max(1_000_000).optional(),
  enabled: z.boolean().optional(),
  execution_policy: z.strictObject({ parallel_safe: z.boolean() }).optional(),
});
/** What `agent.yaml` may say of one tool. */
export type ToolOverride = z.infer<typeof ToolOverride>;

/** Limits that an agent may set for itself, within the runtime's own. */
export const AgentLimits = z.strictObject({
  rounds_per_turn: z.int().min(1).max(limits.roundsPerTurnMax).default(limits.roundsPerTurnDefault),
  max_output_tokens: z.int().min(1).max(1_000_000).default(4_096),
  tool_timeout_ms: z.int().min(1).max(limits.toolCallDurationMsMax).optional(),
});

/**
 * Changes how calls of some tools are carried out, never what they are (CM-85, CM-86). Every key of `match` must equal:
 * `tool_source` the source kind, `server_slug` the MCP server, any other key the field of that name of the catalog entry.
 */
export const ToolOverlay = z.strictObject({
  match: z.record(z.string().max(64), z.string().max(256)),
  execution_policy: z.strictObject({ parallel_safe: z.boolean() }),
});
/** Changes how calls of some tools are carried out. */
export type ToolOverlay = z.infer<typeof ToolOverlay>;

interface WithProfiles {
  readonly profiles?: { readonly [key: string]: AgentProfile } | undefined;
  readonly interactive?: { readonly profile: string } | undefined;
}

/** A session must find its profile, and a child must not have to choose between two. */
function checkProfiles({ profiles, interactive }: WithProfiles, context: z.RefinementCtx): void {
  const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
  const keys = Object.keys(profiles ?? {});
  const wanted = interactive?.profile ?? (keys.length > 0 ? "main" : undefined);
  if (wanted !== undefined && !keys.includes(wanted)) {
    if (interactive === undefined) refuse(["profiles"], 'needs a profile "main", or interactive.profile');
    else {refuse(
        ["interactive", "profile"],
        `must be one of profiles: ${keys.join(", ") || "there are none"}`,
      );}
  }
  const usual = Object.entries(profiles ?? {}).filter(([, profile]) => profile.default_subagent);
  if (usual.length > 1) refuse(["profiles"], "must have at most one profile with default_subagent");
}

const model = z.string().max(200).regex(
  /^[a-z](?:[a-z0-9_-]*\/.+|[a-z0-9_.-]{0,47})$/,
  "must look like scripted/script.yaml, provider/model, or be a name of models in troupe.yaml",
);

/** How many tools a model is told of in one step, and how many characters their descriptions may have together. */
export const ExposureBudget = z.strictObject({
  tools_max: z.int().min(1).max(limits.toolsPerCatalogMax).optional(),
  characters_max: z.int().min(1).max(10_000_000).optional(),
});
/** How many tools a model is told of in one step. */
export type ExposureBudget = z.infer<typeof ExposureBudget>;

/** The definition of an agent: the content of `agent.yaml`. Unknown keys are refused. */
export const AgentDefinition = z.strictObject({
  name: AgentName,
  description: z.string().max(1_000).default(""),
  instructions: z.string().max(50_000).default(""),
  /** `<provider>/<model>`, or a name of the host's `models`; the scripted provider is `scripted/<script file>`. */
  model,
  /** Models that may answer instead, in this order, while those before are not to be had: never after a refusal. */
  model_fallbacks: z.array(model).max(limits.modelFallbacksMax).optional(),
  /** Built-in tools that the agent uses, by name. */
  tools: z.array(z.string().max(limits.toolNameCharactersMax)).max(256).default([]),
  capabilities: z.array(Capability).max(256).default([]),
  overrides: z.record(z.string().max(limits.toolNameCharactersMax), ToolOverride).default({}),
  limits: AgentLimits.prefault({}),
  /** What each session of the agent may spend in all, with its children. */
  budget: Budget.optional(),
  /** How turns go on after failures of the model; by default they wait, if need be for a person. */
  recovery: Recovery.exactOptional(),
  exposure: ExposureBudget.optional(),
  /** The form of the answers to those who begin it; its children have that of their profile. Not every answer: the last of a turn. */
  output_schema: OutputSchema.exactOptional(),
  profiles: z.record(ProfileKey, AgentProfile).optional(),
  /** The profile of a session that a person begins; without it `main` (CM-97). */
  interactive: z.strictObject({ profile: ProfileKey }).optional(),
  subagents: SubagentPolicy.optional(),
  tool_policy_overlays: z.array(ToolOverlay).max(64).optional(),
  /** Implementations other than the default ones, by the tool's name; the tool's governance mode decides (CM-21..23). */
  implementations: z.record(z.string().max(limits.toolNameCharactersMax), ImplementationRef).optional(),
}).superRefine(checkProfiles);
/** The definition of an agent. */
export type AgentDefinition = z.infer<typeof AgentDefinition>;
