/** Profiles of an agent and its children: which tools a session sees (CM-95..106). */
import { z } from "zod";
import { ToolPattern } from "./config.ts";
import { limits } from "./limits.ts";
import { OutputSchema } from "./output_schema.ts";

/** Key of a profile: lower-case letters, digits, `_`, `-`; at most 48. `default` is no key: it means the usual child. */
export const ProfileKey = z.string().regex(
  /^(?!default$)[a-z][a-z0-9_-]{0,47}$/,
  'must be lower-case letters, digits, "_" and "-", beginning with a letter, at most 48, and not "default"',
);
/** Key of a profile. */
export type ProfileKey = z.infer<typeof ProfileKey>;

/** One way to use an agent: which of its tools are visible in it. */
export const AgentProfile = z.strictObject({
  description: z.string().max(500).default(""),
  /** The tools that are visible, by full name or pattern; without the list all are, with an empty one none (CM-96). */
  allowed_tool_names: z.array(ToolPattern).max(256).optional(),
  /** True for the profile that child agents get if nobody says which (CM-106). */
  default_subagent: z.boolean().default(false),
  /** The form of the answers in this profile, instead of the agent's own. */
  output_schema: OutputSchema.exactOptional(),
});
/** One way to use an agent. */
export type AgentProfile = z.infer<typeof AgentProfile>;

/** Whether an agent may have child agents, and how deep (CM-98, CM-99). */
export const SubagentPolicy = z.strictObject({
  enabled: z.boolean().default(true),
  /** True if a child may have children of its own. */
  allow_nested: z.boolean().default(true),
  /** Depth at which no more children are begun; the root has depth 0. */
  max_depth: z.int().min(1).max(limits.agentDepthMax).default(limits.agentDepthDefault),
  /** Children that one turn may begin (DM-126). */
  per_turn_max: z.int().min(1).max(limits.agentsPerTurnMax).optional(),
  /** Children of one session that run at once; the others wait (DM-126). */
  running_max: z.int().min(1).max(limits.agentsRunningAllowedMax).optional(),
});
/** Whether an agent may have child agents. */
export type SubagentPolicy = z.infer<typeof SubagentPolicy>;

/** Which part of its agent a session is: nothing said means a root session in the profile for people. */
export const SessionScope = z.strictObject({
  profile: ProfileKey.optional(),
  /** 0 at the root, one more for each child (CM-105). */
  depth: z.int().min(0).max(limits.agentDepthMax).optional(),
  /** What holds for this conversation besides the agent's own policy; can only take away (CM-98). */
  subagents: z.strictObject({
    enabled: z.boolean().optional(),
    allow_nested: z.boolean().optional(),
    max_depth: z.int().min(1).max(limits.agentDepthMax).optional(),
  }).optional(),
  /** The tools that its parent left to it, by full name; without the list those of its profile (DM-127). */
  tools: z.array(z.string().min(1).max(256)).max(limits.childToolsMax).optional(),
});
/** Which part of its agent a session is. */
export type SessionScope = z.infer<typeof SessionScope>;
