/** The resolved catalog: immutable, content-hashed, one per turn (DM-5..9). */
import { z } from "zod";
import { BindingReason, GovernanceMode, ImplementationRef, ToolKind } from "./governance.ts";
import { Digest } from "./ids.ts";
import { limits } from "./limits.ts";
import { Provenance, SourceKind } from "./provenance.ts";
import { ToolDefinition } from "./tool.ts";

/** How a tool of a source is reached: the adapter that performs it, and what it is bound to. */
export const AdapterKey = z.enum(["builtin", "authored", "program", "mcp"]);
/** How a tool of a source is reached. */
export type AdapterKey = z.infer<typeof AdapterKey>;

/** Whose rule made an entry's approval policy what it is: the strictest one; of equal ones the host's counts first. */
export const ApprovalRule = z.enum([
  "tool",
  "agent",
  "host_tool",
  "host_capability",
  "host_risk",
  "host_default",
]);
/** Whose rule made an entry's approval policy what it is. */
export type ApprovalRule = z.infer<typeof ApprovalRule>;

/** One implementation that was offered for a definition (CM-8, CM-45). */
export const Implementation = z.strictObject({
  ref: ImplementationRef,
  sourceKind: SourceKind,
  provenance: Provenance,
  /** True for exactly one: that of the source which defines the tool (CM-9). */
  isDefault: z.boolean(),
  definition: ToolDefinition,
});
/** One implementation that was offered for a definition. */
export type Implementation = z.infer<typeof Implementation>;

/** One callable tool of a turn, with all that its dispatch needs (DM-7). */
export const CatalogEntry = z.strictObject({
  sourceKind: SourceKind,
  /** Full name, in trace and policy: `mcp.<server>.<tool>`, or the tool's own name for built-ins. */
  canonicalName: z.string().min(1).max(256),
  /** Name that the model calls: at most 64 characters, injective over the catalog. */
  providerName: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  definition: ToolDefinition,
  provenance: Provenance,
  /** Hash of the agent definition that asked for this catalog (DM-9). */
  coreRevision: z.string().max(100),
  adapter: AdapterKey,
  /** What the adapter is bound to: a server id, a folder; empty for built-ins. */
  binding: z.string().max(256),
  /** What was decided about implementations; catalogs of earlier releases do not say (CM-20, CM-49, CM-54). */
  governance: GovernanceMode.optional(),
  toolKind: ToolKind.optional(),
  implementation: ImplementationRef.optional(),
  /** Absent for the default implementation. */
  bindingReason: BindingReason.optional(),
  /** All implementations that were offered, the default first; absent if there was one. */
  candidates: z.array(Implementation).max(limits.implementationsPerToolMax)
    .refine((all) => all.filter(({ isDefault }) => isDefault).length === 1, "must have exactly one default")
    .optional(),
  enabled: z.boolean(),
  /** Set if the tool is not visible in this session: its profile leaves it out, or its depth does (CM-95, CM-101). */
  hidden: z.literal(true).optional(),
  /** Why it is not enabled, one clause; absent if it is (AR-12). */
  disabledBy: z.string().max(400).optional(),
  /** Who asks or denies; absent if the approval policy is `auto`. */
  approvalBy: ApprovalRule.optional(),
  /** True if the mode `auto` may let calls pass without the question that its policy asks for; else absent (LC-21). */
  mayPassUnasked: z.boolean().optional(),
  /** Hash of the entry without this field, set when its catalog is sealed; catalogs of earlier releases have none. */
  hash: Digest.optional(),
});
/** One callable tool of a turn. */
export type CatalogEntry = z.infer<typeof CatalogEntry>;

/** All tools of a turn. Issued once, sealed by its hash, never changed. */
export const ResolvedCatalog = z.strictObject({
  epoch: z.int().min(1),
  coreRevision: z.string().max(100),
  /** In canonical order, so that equal catalogs have equal hashes. */
  entries: z.array(CatalogEntry).max(limits.toolsPerCatalogMax),
  /** The program that prepares each model round, if one does (CM-38). */
  preparedBy: z.string().max(64).optional(),
});
/** All tools of a turn. */
export type ResolvedCatalog = z.infer<typeof ResolvedCatalog>;

/** One source of tools, as it is offered to the catalog actor. `server` is set for MCP only. */
export const CatalogSource = z.strictObject({
  kind: SourceKind,
  provenance: Provenance,
  adapter: AdapterKey,
  server: z.string().max(64).optional(),
  /** What calls are bound to, if not to the server's or the folder's name: the connection of an MCP server. */
  binding: z.string().max(256).optional(),
  remote: z.boolean(),
  /** How an MCP server is reached; absent for other sources, and in what earlier releases wrote. */
  transport: z.strictObject({
    kind: z.enum(["stdio", "streamable_http"]),
    url: z.string().max(4_000).optional(),
  })
    .optional(),
  /** `implementations`: its tools define nothing, each can be bound to a definition of the same name (CM-40, CM-45). */
  role: z.enum(["definitions", "implementations"]).optional(),
  /** Set for a program that prepares each model round. */
  prepares: z.literal(true).optional(),
  /** True if the operator's manifest says that calls of an MCP server may run at once; its tools' own word never does. */
  parallelSafe: z.boolean().optional(),
  /** Tools that are not what was approved of them, by name, and why they are off: one clause. */
  quarantined: z.record(z.string().max(limits.toolNameCharactersMax), z.string().max(400)).optional(),
  tools: z.array(ToolDefinition).max(limits.toolsPerCatalogMax),
});
/** One source of tools. */
export type CatalogSource = z.infer<typeof CatalogSource>;

/** Sources that many catalogs are made from, kept once, by the hash of their canonical JSON. */
export const SharedSources = z.array(CatalogSource).min(1).max(limits.sourcesPerCatalogMax);
/** Sources that many catalogs are made from. */
export type SharedSources = z.infer<typeof SharedSources>;

/** Names a sealed catalog: what messages, contexts and the journal carry instead of its content. */
export const CatalogRef = z.strictObject({ hash: Digest, epoch: z.int().min(1) });
/** Names a sealed catalog. */
export type CatalogRef = z.infer<typeof CatalogRef>;

/** Names one entry of one sealed catalog, and what it says: what a request carries (DM-6, DM-8). */
export const EntryRef = z.strictObject({
  catalog: Digest,
  name: z.string().max(256),
  /** Hash of the entry, so that a call alone tells what it was made with. */
  hash: Digest.optional(),
});
/** Names one entry of one sealed catalog. */
export type EntryRef = z.infer<typeof EntryRef>;
