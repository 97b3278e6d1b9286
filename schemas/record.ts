/** The five records of governance, as they are read off a journal: nothing of them is stored twice (CM-1). */
import { z } from "zod";
import { BindingReason, GovernanceMode, ImplementationRef, ToolKind } from "./governance.ts";
import { FailureCode } from "./failure.ts";
import { Digest, InstallationId, RootAddress, ServerId } from "./ids.ts";
import { InvocationOutcome } from "./invocation.ts";
import { JsonObject } from "./json.ts";
import { SourceKind } from "./provenance.ts";
import { ServerState } from "./server_session.ts";
import { EffectClass } from "./tool.ts";

/** Opaque id of a record: a prefix, `_`, and 26 characters of a hash of what makes it unique (CM-19). */
function recordId(prefix: string) {
  return z.string().regex(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`), `must begin with ${prefix}_`);
}

const installation = InstallationId;

/** Where implementations come from. Unique by installation, kind and reference (CM-10). */
export const SourceRecord = z.strictObject({
  id: recordId("src"),
  installation,
  kind: SourceKind,
  reference: z.string().min(1).max(400),
});
/** Where implementations come from. */
export type SourceRecord = z.infer<typeof SourceRecord>;

/** A tool as it is governed. Unique by agent version and name (CM-5). */
export const DefinitionRecord = z.strictObject({
  id: recordId("def"),
  installation,
  /** Hash of the agent's definition. */
  agentVersion: z.string().max(100),
  toolName: z.string().min(1).max(256),
  toolKind: ToolKind,
  governance: GovernanceMode,
  /** What policy made of it: risk, approval, capability, whether it is on. */
  policy: JsonObject,
});
/** A tool as it is governed. */
export type DefinitionRecord = z.infer<typeof DefinitionRecord>;

/** One way to carry a definition out. Unique by definition, reference and revision (CM-8). */
export const ImplementationRecord = z.strictObject({
  id: recordId("imp"),
  installation,
  definition: recordId("def"),
  source: recordId("src"),
  reference: ImplementationRef,
  /** Hash of what was offered: a tool that its source changed is another implementation. */
  revision: Digest,
  inputSchema: JsonObject,
  resultSchema: JsonObject.optional(),
  /** No tool of this release gives its result in parts. */
  streaming: z.boolean(),
  /** What a repeat would do. */
  idempotency: EffectClass,
  /** True for exactly one of a definition at a time (CM-9). */
  isDefault: z.boolean(),
  /** True if the operator approved it for a tool that takes approved ones only (CM-22). */
  isApproved: z.boolean(),
  metadata: JsonObject,
});
/** One way to carry a definition out. */
export type ImplementationRecord = z.infer<typeof ImplementationRecord>;

/** What an execution froze: one definition, one implementation. Unique by execution or node and definition (CM-11, CM-13). */
export const BindingRecord = z.strictObject({
  id: recordId("bnd"),
  installation,
  /** The turn, or later the task, that owns it: `<address>/turn/<n>`. */
  execution: z.string().max(200).nullable(),
  /** The workflow node that owns it, where no execution does. */
  node: z.string().max(200).nullable(),
  agentVersion: z.string().max(100),
  definition: recordId("def"),
  implementation: recordId("imp"),
  reason: BindingReason,
  /** Agent version, catalog, governance mode, execution policy (CM-54). */
  payload: JsonObject,
}).refine(({ execution, node }) => execution !== null || node !== null, "must have an owner");
/** What an execution froze. */
export type BindingRecord = z.infer<typeof BindingRecord>;

/** How far an invocation is, for everybody (CM-55). */
export const InvocationStatus = z.enum(["running", "succeeded", "failed", "canceled"]);
/** How far an invocation is. */
export type InvocationStatus = z.infer<typeof InvocationStatus>;

/** One call of a bound tool. Unique by binding and attempt, and by binding and key (CM-17). */
export const InvocationRecord = z.strictObject({
  id: recordId("inv"),
  installation,
  binding: recordId("bnd"),
  definition: recordId("def"),
  implementation: recordId("imp"),
  execution: z.string().max(200).nullable(),
  node: z.string().max(200).nullable(),
  status: InvocationStatus,
  /** How it ended, or null while it is running. */
  outcome: InvocationOutcome.nullable(),
  request: JsonObject,
  response: JsonObject,
  error: JsonObject,
  metadata: JsonObject,
  /** Numbers the calls of its binding, from 1 (CM-58). */
  attempt: z.int().min(1),
  key: z.string().max(400).optional(),
  /** In milliseconds since the epoch. */
  startedAt: z.number(),
  finishedAt: z.number().nullable(),
});
/** One call of a bound tool. */
export type InvocationRecord = z.infer<typeof InvocationRecord>;

/** A session's server and the session with it, as it is now (CM-79). */
export const McpSessionRecord = z.strictObject({
  /** The connection that a binding names: its session is that of all calls on the binding (CM-78, CM-82). */
  connection: RootAddress,
  server: ServerId,
  state: ServerState,
  /** Why it cannot be used, if it cannot. */
  failure: z.strictObject({ code: FailureCode, message: z.string() }).nullable(),
  transport_kind: z.enum(["stdio", "streamable_http", "sse"]),
  /** Without what may be secret in it; null for a process. */
  server_url: z.string().nullable(),
  /** Null if the server keeps none, or it is closed. */
  session_id: z.string().nullable(),
  /** Null before the first. */
  session_state: z.enum(["new", "open", "closed"]).nullable(),
  /** How many were opened so far. */
  sessions: z.int().min(0),
  /** The method of the last that the server said unasked, as far as it was noted. */
  last_sse_event: z.string().nullable(),
  /** What the server answered to the handshake; null before the first. */
  initialize_result: JsonObject.nullable(),
});
/** A session's server and the session with it. */
export type McpSessionRecord = z.infer<typeof McpSessionRecord>;

/** The records of one session. */
export const ToolRecords = z.strictObject({
  sources: z.array(SourceRecord),
  definitions: z.array(DefinitionRecord),
  implementations: z.array(ImplementationRecord),
  bindings: z.array(BindingRecord),
  invocations: z.array(InvocationRecord),
});
/** The records of one session. */
export type ToolRecords = z.infer<typeof ToolRecords>;
