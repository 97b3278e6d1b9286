/** What an `always_allow_for_session` is worth: exactly what it was given for, and no longer than it was given for. */
import { z } from "zod";
import { Digest } from "./ids.ts";
import { PermissionMode } from "./mode.ts";
import { Principal } from "./principal.ts";

/**
 * What an approval is about. Two requests have the same scope only if all of it is equal (DM-35); session and principal
 * are those of the session that keeps it.
 */
export const ApprovalScope = z.strictObject({
  /** Action and target: see `ruleKey`. */
  rule: z.string().min(1).max(600),
  /** Full name of the tool, or of the server. */
  subject: z.string().max(256),
  /** Hash of the catalog entry, with its definition and its effective policy, or of the server's declaration. */
  entry: Digest,
  coreRevision: z.string().max(100),
  /** What the agent was granted, sorted, one a line: the capability snapshot. */
  capabilities: z.string(),
  mode: PermissionMode,
});
/** What an approval is about. */
export type ApprovalScope = z.infer<typeof ApprovalScope>;

/** A person's answer for the whole session. */
export const Grant = z.strictObject({
  scope: ApprovalScope,
  /** Whose answer it was. */
  by: Principal,
  /** When it was given, in milliseconds since the epoch. */
  at: z.number(),
  /** The runtime that it was given to: no other one takes it over. */
  epoch: z.int().min(1),
});
/** A person's answer for the whole session. */
export type Grant = z.infer<typeof Grant>;

/** Grants as snapshots keep them. Earlier releases kept rules alone, which count for nothing. */
export type KeptGrant = Grant | string;
