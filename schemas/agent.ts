/** `agent.yaml`: an agent as data. */
import { z } from "zod";
import { limits } from "./limits.ts";
import { Capability } from "./principal.ts";
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

/** The definition of an agent: the content of `agent.yaml`. Unknown keys are refused. */
export const AgentDefinition = z.strictObject({
  name: AgentName,
  description: z.string().max(1_000).default(""),
  instructions: z.string().max(50_000).default(""),
  /** `<provider>/<model>`; the scripted provider is `scripted/<script file>`. */
  model: z.string().regex(/^[a-z][a-z0-9_-]*\/.+$/, "must look like scripted/script.yaml").max(200),
  /** Built-in tools that the agent uses, by name. */
  tools: z.array(z.string().max(limits.toolNameCharactersMax)).max(256).default([]),
  capabilities: z.array(Capability).max(256).default([]),
  overrides: z.record(z.string().max(limits.toolNameCharactersMax), ToolOverride).default({}),
  limits: AgentLimits.prefault({}),
});
/** The definition of an agent. */
export type AgentDefinition = z.infer<typeof AgentDefinition>;
