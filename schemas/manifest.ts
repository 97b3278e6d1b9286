/** `mcp/<server>.yaml`: how an MCP server is reached (DM-66). Declaring one grants nothing (DM-29). */
import { z } from "zod";
import { limits } from "./limits.ts";
import { TrustLevel } from "./provenance.ts";
import { ToolOverride } from "./agent.ts";

/** Id of a server: no underscore, so that the first `__` of a provider name splits one way. */
export const ServerId = z.string().regex(
  /^[a-z][a-z0-9-]{0,23}$/,
  "must be lower-case letters, digits and dashes, beginning with a letter, at most 24",
);
/** Id of a server. */
export type ServerId = z.infer<typeof ServerId>;

const timeouts = z.strictObject({
  connect_ms: z.int().min(1).max(600_000).default(30_000),
  call_ms: z.int().min(1).max(limits.toolCallDurationMsMax).default(limits.toolCallDurationMsDefault),
}).prefault({});

const shared = {
  id: ServerId,
  description: z.string().max(1_000).default(""),
  enabled: z.boolean().default(true),
  required: z.boolean().default(false),
  trust: TrustLevel.default("unknown"),
  tools: z.strictObject({
    include: z.array(z.string().max(limits.toolNameCharactersMax)).max(1_024).optional(),
    exclude: z.array(z.string().max(limits.toolNameCharactersMax)).max(1_024).default([]),
    overrides: z.record(z.string().max(limits.toolNameCharactersMax), ToolOverride).default({}),
  }).prefault({}),
  timeouts,
};

/** The manifest of one MCP server. Secrets are named (`env:NAME`), never written. Unknown keys are refused. */
export const McpManifest = z.discriminatedUnion("transport", [
  z.strictObject({
    transport: z.literal("stdio"),
    ...shared,
    command: z.string().min(1).max(4_096),
    args: z.array(z.string().max(32_768)).max(256).default([]),
    /** Names of variables passed through, and fixed values that are no secret. */
    env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768)).default({}),
    cwd: z.string().max(4_096).optional(),
  }),
  z.strictObject({
    transport: z.literal("http"),
    ...shared,
    url: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string().max(200), z.string().max(8_192)).default({}),
  }),
]);
/** The manifest of one MCP server. */
export type McpManifest = z.infer<typeof McpManifest>;
