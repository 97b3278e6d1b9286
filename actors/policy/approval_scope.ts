/** The one function that says what an approval is about: for calls, for servers, for everything that is asked for (DM-35). */
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { ApprovalScope } from "../../schemas/grant.ts";
import type { Digest } from "../../schemas/ids.ts";
import type { McpDeclaration } from "../../schemas/manifest.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { bindsSecret } from "./offer.ts";

/** What is asked for, and under which circumstances. */
export interface ApprovalCircumstances {
  /** Action and target; empty if no exact rule can be made. */
  readonly rule: string;
  readonly subject: string;
  /** Hash of what is used: a tool's entry, a server's declaration. Catalogs of earlier releases have none. */
  readonly entry: Digest | undefined;
  readonly coreRevision: string;
  readonly capabilities: readonly string[];
  readonly mode: PermissionMode;
}

/** The scope of an approval. Null if it has none: then nothing is remembered, and nothing is shared. */
export function approvalScope(circumstances: ApprovalCircumstances): ApprovalScope | null {
  const { rule, entry } = circumstances;
  return rule === "" || entry === undefined ? null : scopeOf({ ...circumstances, entry });
}

function scopeOf(circumstances: ApprovalCircumstances & { readonly entry: Digest }): ApprovalScope {
  const { rule, subject, entry, coreRevision, capabilities, mode } = circumstances;
  return { rule, subject, entry, coreRevision, capabilities: [...capabilities].sort().join("\n"), mode };
}

/** The scope of an approval of a call. Null also for one that binds a secret: that is approved anew each time (DM-39). */
export function callScope(
  entry: CatalogEntry,
  { rule, capabilities, mode }: Pick<ApprovalCircumstances, "rule" | "capabilities" | "mode">,
): ApprovalScope | null {
  if (bindsSecret(entry)) return null;
  const { canonicalName: subject, hash, coreRevision } = entry;
  return approvalScope({ rule, subject, entry: hash, coreRevision, capabilities, mode });
}

/** The scope of an approval to start a server: everything that connecting depends on is in the hash (DM-62). */
export function connectScope({ server, fingerprint }: McpDeclaration): ApprovalScope {
  const [rule, subject] = [`mcp.connect:${server}`, `mcp.${server}`];
  return scopeOf({ rule, subject, entry: fingerprint, coreRevision: "", capabilities: [], mode: "default" });
}

/** True if both are about the very same. */
export function isSameScope(left: ApprovalScope, right: ApprovalScope): boolean {
  return left.rule === right.rule && left.subject === right.subject && left.entry === right.entry &&
    left.coreRevision === right.coreRevision && left.capabilities === right.capabilities &&
    left.mode === right.mode;
}
