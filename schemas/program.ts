/** A connected program: what it says of itself, how it is called, and what it answers (CM-47, CM-109..112, CM-122, CM-123). */
import { z } from "zod";
import { RequestOrigin } from "./invocation.ts";
import { Digest, RootAddress } from "./ids.ts";
import { ToolKind } from "./governance.ts";
import { Json, JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { PermissionMode } from "./mode.ts";
import { TrustLevel } from "./provenance.ts";
import { Attachment, ToolDefinition } from "./tool.ts";

const snakeCase = /^[a-z][a-z0-9_]{0,63}$/;

/** Name of a program: 1 to 64 of lower-case letters, digits, `_`, beginning with a letter. */
export const ProgramName = z.string().regex(
  snakeCase,
  "must be 1 to 64 of a-z, 0-9, _ and begin with a letter",
);
/** Name of a program. */
export type ProgramName = z.infer<typeof ProgramName>;

/** Id of a method of a protocol. Methods and tools are two families of names: one may be called like the other (CM-112). */
export const ProtocolMethodId = z.string().regex(
  snakeCase,
  "must be 1 to 64 of a-z, 0-9, _ and begin with a letter; no dots",
);
/** Id of a method of a protocol. */
export type ProtocolMethodId = z.infer<typeof ProtocolMethodId>;

/** Which program the host has made sure that it is. How far it is trusted is the host's to say, never its own. */
export const ProgramIdentity = z.strictObject({
  program: ProgramName,
  /** Hash of the release that was authenticated. */
  fingerprint: Digest,
  trust: TrustLevel.default("third_party"),
});
/** Which program the host has made sure that it is. */
export type ProgramIdentity = z.input<typeof ProgramIdentity>;

/** What a program says of itself. It cannot say what kind of source it is, nor how its tools are governed (CM-24, CM-27). */
export const ProgramManifest = z.strictObject({
  fingerprint: Digest,
  protocolMethods: z.array(ProtocolMethodId).max(256).default([]),
  /** Tools that it defines. */
  tools: z.array(ToolDefinition).max(limits.toolsPerCatalogMax).default([]),
  /** Other ways to carry out tools that somebody else defines. */
  implementations: z.array(ToolDefinition).max(limits.toolsPerCatalogMax).default([]),
  /** True if it prepares each model round. */
  preparesRounds: z.boolean().default(false),
  /** JSON Schema of its configuration. */
  configSchema: JsonObject.default({}),
});
/** What a program says of itself. */
export type ProgramManifest = z.input<typeof ProgramManifest>;

/** One call, as a program gets it (CM-122). A published form: fields are in snake case. */
export const ProgramRequest = z.strictObject({
  /** Of the invocation's record; the same for every attempt. */
  invocation_id: z.string().max(64),
  tool_name: z.string().max(256),
  tool_kind: ToolKind,
  caller_context: z.strictObject({
    session: RootAddress,
    origin: RequestOrigin,
    mode: PermissionMode,
    /** Of the tool's own list those that the agent was granted. */
    capabilities: z.array(z.string()),
  }),
  input: JsonObject,
  /** The same for every attempt: a program that deduplicates goes by this. */
  idempotency_key: z.string().max(400),
  /** Left until the runtime gives the call up. */
  timeout_ms: z.int().min(0),
  /** No tool of this release gives its result in parts. */
  streaming_mode: z.literal("none"),
});
/** One call, as a program gets it. */
export type ProgramRequest = z.infer<typeof ProgramRequest>;

/** What a program answers (CM-123). Anything else is no answer: the call is then judged by its class. */
export const ProgramResult = z.strictObject({
  invocation_id: z.string().max(64),
  status: z.enum(["succeeded", "failed"]),
  output: Json.default(null),
  artifacts: z.array(Attachment).max(100).default([]),
  /** True if it did nothing because it wants a person's approval first. */
  approval_required: z.boolean().default(false),
  /** True if the same call may succeed later. Told to the model; nothing is repeated because of it. */
  retryable: z.boolean().default(false),
  error: z.strictObject({
    code: z.string().max(100),
    message: z.string().max(2_000),
    diagnostics: JsonObject.default({}),
  }).optional(),
}).refine(
  ({ status, error }) => (status === "failed") === (error !== undefined),
  "has an error if and only if it failed",
)
  .refine(
    ({ status, approval_required }) => !approval_required || status === "failed",
    "needs approval only if it failed",
  );
/** What a program answers. */
export type ProgramResult = z.input<typeof ProgramResult>;
