/** `mcp/<server>.yaml`: how an MCP server is reached (DM-66). Declaring one grants nothing (DM-29). */
import { z } from "zod";
import { Failure } from "./failure.ts";
import { Digest, ServerId } from "./ids.ts";
import { limits } from "./limits.ts";
import { McpAuth } from "./mcp_auth.ts";
import { McpRevision } from "./mcp_revision.ts";
import { NpmPaths, NpmRun, steering } from "./npm_run.ts";
import { Capability } from "./principal.ts";
import { TrustLevel } from "./provenance.ts";
import { ApprovalPolicy, EffectClass, RiskLevel } from "./tool.ts";

function seconds(most: number) {
  return z.number().positive().max(most);
}

function hasLogin(url: string): boolean {
  const { username = "", password = "" } = URL.parse(url) ?? {};
  return username + password !== "";
}

/** A glob over names of tools: `*` stands for any characters, `?` for one. */
const ToolGlob = z.string().min(1).max(limits.toolNameCharactersMax);

const VariableName = z.string().regex(
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  "must be the name of a variable: letters, digits and underscores",
);

/** A name of a header: a token of RFC 9110. */
const HeaderName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/, "must be the name of a header");

/** How often within one call a server may have the model answer, and with how many tokens each time. */
export const Sampling = z.strictObject({
  max_requests: z.int().min(1).max(limits.sampleRequestsMax),
  max_tokens: z.int().min(1).max(1_000_000),
});
/** What of the model a server may use. */
export type Sampling = z.infer<typeof Sampling>;

const shared = {
  enabled: z.boolean().default(true),
  tools: z.strictObject({
    /** Without a list, every tool is in. */
    include: z.array(ToolGlob).max(1_024).optional(),
    /** Wins over `include`. */
    exclude: z.array(ToolGlob).max(1_024).default([]),
  }).prefault({}),
  /** What the server's tools are at least taken for; what they say themselves cannot lower it (AR-10). */
  risk: RiskLevel.default("medium"),
  approval_policy: ApprovalPolicy.default("prompt"),
  /** What an agent needs to call the server's tools. Default `mcp.call:<server>`. */
  capability: Capability.startsWith("mcp.call:", "must begin with mcp.call:").optional(),
  /** Default 30; 120 for the first start of a command that may have to fetch its package. */
  connect_timeout_seconds: seconds(600).optional(),
  timeout_seconds: seconds(limits.toolCallDurationMsMax / 1_000).default(60),
  supports_parallel_tool_calls: z.boolean().default(false),
  /** The revision of the protocol. Default `auto`: what the server speaks is found out. */
  protocol: z.enum(["auto", ...McpRevision.options]).optional(),
  /** Tools that are called as tasks, if they may be; those that must be always are. */
  run_as_task: z.array(ToolGlob).max(1_024).optional(),
  /** True to tell the server where its agent works, if it is of a revision in which servers ask for that. */
  roots: z.literal(true).optional(),
  /** Lets the server have the agent's model answer it, if it is of a revision in which servers ask for that. */
  sampling: Sampling.optional(),
};

/** A server that is started as a process and spoken to over its standard input and output: `command`, or `run`. */
export const StdioManifest = z.strictObject({
  transport: z.literal("stdio").default("stdio"),
  ...shared,
  /** A program on the PATH or an absolute path; `troupe` is the program that is running. No shell looks at it. */
  command: z.string().min(1).max(limits.pathCharactersMax).optional(),
  /** A package of npm, run by Deno under permissions of its own. */
  run: NpmRun.optional(),
  args: z.array(z.string().max(32_768)).max(256).default([]),
  /** Variables of the server's environment. `${NAME}` is a variable of ours, taken once connecting was approved. */
  env: z.record(VariableName, z.string().max(32_768)).default({}),
  /** The working folder, inside the workspace. Default: the workspace. */
  cwd: z.string().min(1).max(limits.pathCharactersMax).optional(),
}).superRefine(({ command, run, args, env }, { addIssue }) => {
  if (command === undefined && run === undefined) {
    addIssue({ code: "invalid_type", expected: "string", path: ["command"], input: command });
  }
  if (run === undefined) return;
  if (command !== undefined) {
    addIssue({
      code: "custom",
      path: ["run"],
      message: "must not stand beside command: leave one of them out",
    });
  }
  if (args.length > 0) {
    addIssue({ code: "custom", path: ["args"], message: "must stand inside run, which has args of its own" });
  }
  const name = Object.keys(env).find((one) => steering.test(one));
  if (name === undefined) return;
  addIssue({
    code: "custom",
    path: ["env", name],
    message: "must not be set: it changes what Deno itself does",
  });
}).meta({ anyOf: [{ required: ["command"] }, { required: ["run"] }] });
/** A server that is started as a process. */
export type StdioManifest = z.infer<typeof StdioManifest>;

/** A server that is reached by Streamable HTTP. */
export const HttpManifest = z.strictObject({
  transport: z.literal("streamable_http"),
  ...shared,
  url: z.url({ protocol: /^https?$/, error: "must be an http or https URL" }).refine(
    (url) => !hasLogin(url),
    "must have no user name and no password: a header may name a variable instead",
  ),
  /** Headers of every request. `${NAME}` is a variable of ours, taken once connecting was approved. */
  headers: z.record(HeaderName, z.string().max(8_192)).default({}),
  /** Without it no login is sent, unless `troupe mcp auth` made one. */
  auth: McpAuth.optional(),
}).refine(
  ({ auth, headers }) =>
    auth === undefined || !Object.keys(headers).some((name) => name.toLowerCase() === "authorization"),
  { path: ["auth"], error: "must not stand beside the header Authorization: leave one of them out" },
);
/** A server that is reached by Streamable HTTP. */
export type HttpManifest = z.infer<typeof HttpManifest>;

/** What to write instead of a transport that there is not (LC-24). */
function transportProblem(input: unknown): string {
  const { transport } = Object(input) as { readonly transport?: unknown };
  if (transport === "sse") return "must be streamable_http, which finds servers of sse too";
  const isSocket = transport === "ws" || transport === "websocket";
  return `must be stdio or streamable_http${isSocket ? ": mcp_transport_unsupported" : ""}`;
}

/** The manifest of one MCP server; the name of its file is the server's id. Unknown keys are refused (DM-66, DM-67). */
export const McpManifest = z.discriminatedUnion("transport", [StdioManifest, HttpManifest], {
  error: ({ code, input }) => code === "invalid_union" ? transportProblem(input) : undefined,
});
/** The manifest of one MCP server. */
export type McpManifest = z.infer<typeof McpManifest>;

/** Whether a server may be started: an operator trusts this very declaration, must be asked, or policy forbids it. */
export const ConnectGate = z.enum(["granted", "prompt", "denied"]);
/** Whether a server may be started. */
export type ConnectGate = z.infer<typeof ConnectGate>;

/** What a server may ask of us while it works, as the host decides; without it, persons are asked for it. */
export const McpAsks = z.strictObject({
  /** Questions to a person: asked, answered by their defaults where those are enough, or not offered to the server. */
  elicitation: ApprovalPolicy.optional(),
  /** The agent's model, for servers that were given leave to use it: asked about each time, or not. */
  sampling: Sampling.extend({ gate: z.enum(["auto", "prompt"]) }).optional(),
  /** Where its agent works, for servers that were given leave to know. */
  roots: z.strictObject({ uri: z.url({ protocol: /^file$/ }), name: z.string().max(200) }).optional(),
});
/** What a server may ask of us while it works. */
export type McpAsks = z.infer<typeof McpAsks>;

/** What a connection is told of its server: the manifest, and what the host knows and decides about it. No secret. */
export const McpDeclaration = z.strictObject({
  server: ServerId,
  manifest: McpManifest,
  /** Hash of everything that connecting depends on: another one needs another approval (DM-62). */
  fingerprint: Digest,
  /** The working folder, absolute; empty for servers that are no process. */
  cwd: z.string().max(limits.pathCharactersMax),
  /** What a server from npm may read and write: real paths. */
  paths: NpmPaths.optional(),
  /** Where the manifest was found, for people: `mcp/docs.yaml`. */
  origin: z.string().min(1).max(200),
  trust: TrustLevel,
  gate: ConnectGate,
  /** Why the server cannot be started, if the host knows so already. */
  problem: Failure.optional(),
  /** What the operator is shown before the server is started (DM-73). */
  preview: z.string().max(4_000),
  /** Effect classes that the host or a built-in manifest assigns, by tool name or `*`; everything else is harmful. */
  effects: z.record(z.string().max(limits.toolNameCharactersMax), EffectClass).default({}),
  asks: McpAsks.optional(),
});
/** What a connection is told of its server. */
export type McpDeclaration = z.infer<typeof McpDeclaration>;
