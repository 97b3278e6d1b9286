/** The answer to a program that connects: both planes, the effective and the governed catalog (CM-46, CM-109..111). */
import { z } from "zod";
import { GovernanceMode, ImplementationRef, ToolKind } from "./governance.ts";
import { Digest } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { AgentProfile, ProfileKey } from "./profile.ts";
import { ProgramName, ProtocolMethodId } from "./program.ts";
import { SourceKind } from "./provenance.ts";
import { EffectClass } from "./tool.ts";

/** One tool of a published catalog (CM-42, CM-46). A published form: fields are in snake case. */
export const CatalogItem = z.strictObject({
  tool_name: z.string().max(256),
  tool_kind: ToolKind,
  implementation_source: SourceKind,
  implementation_ref: ImplementationRef,
  input_schema: JsonObject,
  result_schema: JsonObject.optional(),
  streaming_support: z.boolean(),
  idempotency_policy: EffectClass,
  execution_policy: z.strictObject({ parallel_safe: z.boolean() }),
  /** Of MCP tools only: how the server is reached, by which URL, what it calls the tool, and its id. */
  transport_kind: z.enum(["stdio", "streamable_http"]).optional(),
  server_url: z.string().nullable().optional(),
  mcp_tool_name: z.string().max(256).optional(),
  server_slug: z.string().max(64).optional(),
});
/** One tool of a published catalog. */
export type CatalogItem = z.infer<typeof CatalogItem>;

/** One tool of a governed catalog (CM-111). The ids are those of its records. */
export const GovernedItem = z.strictObject({
  ...CatalogItem.shape,
  tool_definition_id: z.string().max(64),
  tool_implementation_id: z.string().max(64),
  governance_mode: GovernanceMode,
});
/** One tool of a governed catalog. */
export type GovernedItem = z.infer<typeof GovernedItem>;

/** What a program is answered (CM-110). Names of methods and of tools stand apart (CM-112). */
export const CapabilityHandshake = z.strictObject({
  execution_plane: z.strictObject({
    /** What the tools of the runtime need to be granted. */
    capabilities: z.array(z.string()),
    tool_catalog: z.array(CatalogItem),
  }),
  program_plane: z.strictObject({
    program: ProgramName,
    fingerprint: Digest,
    protocol_methods: z.array(ProtocolMethodId),
    tool_catalog: z.array(CatalogItem),
    profile_catalog: z.record(ProfileKey, AgentProfile),
    config_schema: JsonObject,
  }),
  /** What an agent's sessions can call: reserved tools first, then the others, in the order in which they were offered. */
  effective_tool_catalog: z.array(CatalogItem),
  governed_effective_tool_catalog: z.array(GovernedItem),
});
/** What a program is answered. */
export type CapabilityHandshake = z.infer<typeof CapabilityHandshake>;
