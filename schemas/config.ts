/** `troupe.yaml`: what the operator of the host decides. A project folder never overrides it. */
import { z } from "zod";
import { ApprovalPolicy, EffectClass, RiskLevel } from "./tool.ts";
import { Capability } from "./principal.ts";

/** Approval rules of the host; they can only tighten what a tool asks for. Looked up by tool, capability, risk, default. */
export const HostPolicy = z.strictObject({
  tools: z.record(z.string().max(256), ApprovalPolicy).default({}),
  capabilities: z.record(Capability, ApprovalPolicy).default({}),
  risks: z.partialRecord(RiskLevel, ApprovalPolicy).default({}),
  default: ApprovalPolicy.default("auto"),
  /**
   * What a repeat of a tool's call would do, by full name or `mcp.<server>.*`, where the operator knows it. `conditional`
   * means that the tool deduplicates by the key that it is sent. Everything else of an MCP server is `non_idempotent`.
   */
  effects: z.record(z.string().max(256), EffectClass).default({}),
  /** Whether MCP servers may be started: `prompt` asks unless the agent's folder is trusted. */
  connect: z.enum(["prompt", "deny"]).default("prompt"),
});
/** Approval rules of the host. */
export type HostPolicy = z.infer<typeof HostPolicy>;

/** The host's configuration. Unknown keys are refused. */
export const HostConfig = z.strictObject({
  /** Where sessions are kept: a path of a KV file. */
  store: z.string().max(4_096).optional(),
  /** The folder that file tools may read. */
  workspace: z.string().max(4_096).optional(),
  /** `fast`: only what could hurt waits for the disk (K9). `strict`: everything waits. */
  durability: z.enum(["fast", "strict"]).default("fast"),
  policy: HostPolicy.prefault({}),
});
/** The host's configuration. */
export type HostConfig = z.infer<typeof HostConfig>;
