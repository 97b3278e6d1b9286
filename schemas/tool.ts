/** What a tool is (LC-5, LC-6, AR-6) and what it returns (LC-10, LC-15). */
import { z } from "zod";
import { Digest } from "./ids.ts";
import { Json, JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { Failure } from "./failure.ts";
import { Capability } from "./principal.ts";

/** What a repeat would do (notes on reliability, 3.2). Only built-in manifests and operator policy better the default. */
export const EffectClass = z.enum(["idempotent", "conditional", "non_idempotent"]);
/** What a repeat would do. */
export type EffectClass = z.infer<typeof EffectClass>;

/** How a repeat of a `conditional` call is made harmless. */
export const Mechanism = z.enum(["key", "precondition", "verify"]);
/** How a repeat of a `conditional` call is made harmless. */
export type Mechanism = z.infer<typeof Mechanism>;

/** How much can go wrong, in rising order. */
export const RiskLevel = z.enum(["low", "medium", "high", "critical"]);
/** How much can go wrong. */
export type RiskLevel = z.infer<typeof RiskLevel>;

/** Whether a call needs a person, in rising strictness. Merging policies takes the stricter. */
export const ApprovalPolicy = z.enum(["auto", "prompt", "deny"]);
/** Whether a call needs a person. */
export type ApprovalPolicy = z.infer<typeof ApprovalPolicy>;

/** What is looked at in a call before it is judged: the command that it would run (DM-91). */
export const CallReview = z.enum(["command"]);
/** What is looked at in a call before it is judged. */
export type CallReview = z.infer<typeof CallReview>;

/** Name of a tool inside its source: 1 to 128 of letters, digits, `_`, `.`, `-`. */
export const ToolName = z.string().regex(
  /^[A-Za-z0-9_.-]{1,128}$/,
  "must be 1 to 128 of letters, digits, _ . -",
);

/** What a call of an MCP server's tool may ask of the server: a tool of its own, or what it offers besides tools. */
export const McpMethod = z.enum([
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
]);
/** What a call of an MCP server's tool may ask of the server. */
export type McpMethod = z.infer<typeof McpMethod>;

/** What results of a tool are cut to before a model sees them, in characters. */
export const OutputPolicy = z.strictObject({
  modelCharactersMax: z.int().min(1).max(1_000_000).default(limits.toolOutputCharactersMax),
});
/** What results of a tool are cut to. */
export type OutputPolicy = z.infer<typeof OutputPolicy>;

/** A resource that a tool touches: `kind` such as file, network, mcp; `scope` such as workspace or a server id. */
export const ToolResource = z.strictObject({ kind: z.string().max(64), scope: z.string().max(256) });

/** The wrapped definition of a tool: the only form in which a tool reaches a model (AR-5, AR-6). */
export const ToolDefinition = z.strictObject({
  name: ToolName,
  title: z.string().max(200),
  description: z.string().max(8_000),
  version: z.string().max(100),
  /** JSON Schema of the arguments, an object schema. */
  inputSchema: JsonObject,
  /** JSON Schema of the result, if the source tells one that can be used. */
  resultSchema: JsonObject.optional(),
  /** What a call asks of an MCP server; absent for `tools/call`, and for tools of other sources. */
  mcpMethod: McpMethod.optional(),
  /** Set if a call is to be carried out as a task: its server wants it so, or the operator does. */
  asTask: z.literal(true).optional(),
  riskLevel: RiskLevel,
  sideEffects: z.boolean(),
  resources: z.array(ToolResource).max(16),
  timeoutMs: z.int().min(1).max(limits.toolCallDurationMsMax),
  outputPolicy: OutputPolicy,
  effectClass: EffectClass,
  mechanism: Mechanism.optional(),
  capability: z.string().optional(),
  /**
   * What the tool checks by itself while it runs: of what the agent was granted, it is told these alone. They never stand
   * for `capability`, which is the gate before the call (DM-28).
   */
  capabilities: z.array(Capability).max(32).optional(),
  approvalPolicy: ApprovalPolicy,
  /** Absent for tools whose calls are judged by policy alone. */
  review: CallReview.optional(),
  parallelSafe: z.boolean(),
});
/** The wrapped definition of a tool. */
export type ToolDefinition = z.infer<typeof ToolDefinition>;

/** The part of a definition that a model is told: name, description, input schema (LC-6). */
export const ToolSpec = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputSchema: JsonObject,
});
/** The part of a definition that a model is told. */
export type ToolSpec = z.infer<typeof ToolSpec>;

/** One piece of a tool's result. A result is a list of these, never assumed to be one string. */
export const ToolContent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("structured"), value: Json }),
  z.strictObject({ type: z.literal("error"), failure: Failure }),
]);
/** One piece of a tool's result. */
export type ToolContent = z.infer<typeof ToolContent>;

/** A result kept as a whole in a blob: `digest` finds it, `bytes` is its size, `mediaType` says what it is. */
export const Attachment = z.strictObject({
  name: z.string().max(200),
  mediaType: z.string().max(100),
  bytes: z.int().min(0),
  digest: Digest,
});
/** A result kept as a whole in a blob. */
export type Attachment = z.infer<typeof Attachment>;

/** What every tool returns, whatever its source (LC-10, LC-13). */
export const ToolResultEnvelope = z.strictObject({
  ok: z.boolean(),
  content: z.array(ToolContent).max(1_000),
  /** True if the tool ran and said no; the call itself is then `completed_with_error`. */
  isError: z.boolean(),
  attachments: z.array(Attachment).max(100),
});
/** What every tool returns. */
export type ToolResultEnvelope = z.infer<typeof ToolResultEnvelope>;
