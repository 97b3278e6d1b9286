/** `troupe.yaml`: what the operator of the host decides. A project folder never overrides it. */
import { z } from "zod";
import { ApiConfig } from "./api_config.ts";
import { ApprovalPolicy, EffectClass, RiskLevel } from "./tool.ts";
import { Capability } from "./principal.ts";
import { ImplementationRef } from "./governance.ts";
import { Digest } from "./ids.ts";
import { NetworkConfig } from "./network.ts";
import { TrustLevel } from "./provenance.ts";
import { ModelConfigs, ProviderConfigs } from "./provider.ts";
import { SecretSources } from "./secret.ts";

/**
 * A pattern over full names of tools: `*` at the end stands for any rest, and as a whole part between two dots for that
 * part: `mcp.docs.*`, `mcp.*.delete_page`, `read_*`.
 */
export const ToolPattern = z.string().min(1).max(256).regex(
  /^(?:(?:[A-Za-z0-9_-]*|\*)\.)*[A-Za-z0-9_-]*\*?$/,
  "must be a full name of a tool, with * only at its end or as a whole part between dots",
);

const patternsMax = 256;

/**
 * What the host lets agents do; it can only tighten. `deny`, `allow` and `risk_ceiling` take tools away (AR-12); the
 * others say which calls need a person, looked up by tool, capability, risk, default (DM-23).
 */
export const HostPolicy = z.strictObject({
  /** Tools that no agent of this host gets, whatever else allows them (DM-14). */
  deny: z.array(ToolPattern).max(patternsMax).default([]),
  /** If it is there, every tool that it does not name is off (DM-14). */
  allow: z.array(ToolPattern).max(patternsMax).optional(),
  /** Tools of a higher risk are off (DM-14). */
  risk_ceiling: RiskLevel.optional(),
  tools: z.record(z.string().max(256), ApprovalPolicy).default({}),
  capabilities: z.record(Capability, ApprovalPolicy).default({}),
  risks: z.partialRecord(RiskLevel, ApprovalPolicy).default({}),
  default: ApprovalPolicy.default("auto"),
  /**
   * What a repeat of a tool's call would do, by full name or `mcp.<server>.*`, where the operator knows it. `conditional`
   * means that the tool deduplicates by the key that it is sent. Everything else of an MCP server is `non_idempotent`.
   */
  effects: z.record(z.string().max(256), EffectClass).default({}),
  /**
   * Implementations that the operator approves besides the default one, by the tool's name: needed for tools of the
   * runtime that are to be carried out by somebody else (CM-22).
   */
  implementations: z.record(z.string().max(256), z.array(ImplementationRef).max(32)).optional(),
  /** Whether MCP servers may be started: `prompt` asks unless the agent's folder is trusted. */
  connect: z.enum(["prompt", "deny"]).default("prompt"),
});
/** What the host lets agents do. */
export type HostPolicy = z.infer<typeof HostPolicy>;

/** What commands of agents may be given. */
export const CommandConfig = z.strictObject({
  /** Variables that a call may set for its command. Those that decide what programs run are refused all the same. */
  environment: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be the name of a variable"))
    .max(256).default([]),
});
/** What commands of agents may be given. */
export type CommandConfig = z.infer<typeof CommandConfig>;

/** What sessions may read of the past (DM-130): `session`, themselves alone; `operator`, all that their owner has. */
export const HistoryScope = z.enum(["session", "operator"]);
/** What sessions may read of the past. */
export type HistoryScope = z.infer<typeof HistoryScope>;

/** A program that the operator knows: only this release of it may bring tools, and is trusted so far. */
export const KnownProgram = z.strictObject({ fingerprint: Digest, trust: TrustLevel.default("third_party") });

/** The host's configuration. Unknown keys are refused. */
export const HostConfig = z.strictObject({
  /** Where sessions are kept: a path of a KV file, or the address of a remote KV. */
  store: z.string().max(4_096).optional(),
  /** The folder that file tools may read. */
  workspace: z.string().max(4_096).optional(),
  /** Folders outside the workspace in which servers from npm may be given files to read and to write. */
  server_paths: z.array(z.string().min(1).max(4_096)).max(64).default([]),
  /** `fast`: only what could hurt waits for the disk (K9). `strict`: everything waits. */
  durability: z.enum(["fast", "strict"]).default("fast"),
  policy: HostPolicy.prefault({}),
  /** What commands of the tool `terminal` may be given. */
  commands: CommandConfig.prefault({}),
  /** How far the tool `session_search` reaches; a person is asked before each search all the same. */
  session_search: z.strictObject({ scope: HistoryScope.default("session") }).prefault({}),
  /** What may be reached over the network besides public https servers. */
  network: NetworkConfig.prefault({}),
  /** Programs that bring tools, by name. One that does not stand here may bring tools too, as a third party. */
  programs: z.record(z.string().max(64), KnownProgram).default({}),
  /** Who serves models. Nobody but the scripted provider without it. */
  providers: ProviderConfigs.default({}),
  /** Names that agents may use for models. */
  models: ModelConfigs.default({}),
  /** Secrets by name, never by value: where each one is. They are taken out of everything that comes in. */
  secrets: SecretSources.default({}),
  /** Who else may use the actor API, besides who shows a token of the store. */
  api: ApiConfig.prefault({}),
});
/** The host's configuration. */
export type HostConfig = z.infer<typeof HostConfig>;
