/** How tools are governed: which implementation of one may be bound, and what kind of call it is (CM-7, CM-12, CM-20). */
import { z } from "zod";
import { ToolName } from "./tool.ts";

/**
 * Which implementations of a definition may be bound: `reserved`, only the default; `whitelist_only`, those that the
 * operator approved, the default first; `replaceable`, any that was offered for it. Assigned when a catalog is resolved.
 */
export const GovernanceMode = z.enum(["reserved", "whitelist_only", "replaceable"]);
/** Which implementations of a definition may be bound. */
export type GovernanceMode = z.infer<typeof GovernanceMode>;

/** What a call is to the one who governs it: of the runtime itself, only looking, or meant to change something. */
export const ToolKind = z.enum(["kernel_primitive", "agent_observation", "effect_intent"]);
/** What a call is to the one who governs it. */
export type ToolKind = z.infer<typeof ToolKind>;

/** Why an implementation is bound: it was the default, a recovery needed it, or somebody asked for it. */
export const BindingReason = z.enum(["snapshot_default", "recovery_override", "explicit_override"]);
/** Why an implementation is bound. */
export type BindingReason = z.infer<typeof BindingReason>;

/** Names one implementation of a definition: `<source kind>/<where from>/<tool>@<version>`. */
export const ImplementationRef = z.string().min(1).max(400);
/** Names one implementation of a definition. */
export type ImplementationRef = z.infer<typeof ImplementationRef>;

/** A name by which definitions of programs and the runtime are known: lower-case letters, digits, `_` (CM-6, CM-135). */
export const GovernedName = ToolName.regex(
  /^[a-z0-9_]+$/,
  "must be lower-case letters, digits and underscores",
);
