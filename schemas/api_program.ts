/** The messages of programs that bring tools: handshake, calls, reports, and calls that they open themselves. */
import { z } from "zod";
import { AgentName } from "./agent.ts";
import { AgentAddress } from "./api_view.ts";
import { CapabilityHandshake } from "./capability.ts";
import { Digest } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { ModelMessage } from "./model.ts";
import { programLimits } from "./program_limits.ts";
import { ProgramName, ProgramRequest, ProgramResult, ProtocolMethodId } from "./program.ts";
import { ApprovalPolicy, EffectClass, OutputPolicy, RiskLevel, ToolDefinition, ToolName } from "./tool.ts";

/** One registration of a program: told with every handshake, and said with all that follows from it. */
const Registration = z.string().max(64);

/** A tool as a program offers it. What it says of a repeat or a risk counts as far as the host trusts it, and never for less. */
export const ProgramTool = z.strictObject({
  name: ToolName,
  title: z.string().max(200).default(""),
  description: z.string().min(1).max(8_000),
  version: z.string().max(100).default("1"),
  /** JSON Schema of the arguments, an object schema. */
  input_schema: JsonObject,
  result_schema: JsonObject.exactOptional(),
  risk: RiskLevel.default("medium"),
  side_effects: z.boolean().default(true),
  /** What a repeat would do. */
  effect: EffectClass.default("non_idempotent"),
  timeout_ms: ToolDefinition.shape.timeoutMs.default(programLimits.callMs),
  /** What opens the gate; default `tool.call:<name>`. */
  capability: z.string().max(200).exactOptional(),
  approval: ApprovalPolicy.default("auto"),
  parallel_safe: z.boolean().default(false),
});
/** A tool as a program offers it. */
export type ProgramTool = z.output<typeof ProgramTool>;

/** The definition that the runtime makes of an offered tool. */
export function definitionOf(tool: ProgramTool): ToolDefinition {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    version: tool.version,
    inputSchema: tool.input_schema,
    ...(tool.result_schema === undefined ? {} : { resultSchema: tool.result_schema }),
    riskLevel: tool.risk,
    sideEffects: tool.side_effects,
    resources: [],
    timeoutMs: tool.timeout_ms,
    outputPolicy: OutputPolicy.parse({}),
    effectClass: tool.effect,
    // Every call comes with its key: a program that deduplicates goes by that.
    ...(tool.effect === "conditional" ? { mechanism: "key" as const } : {}),
    ...(tool.capability === undefined ? {} : { capability: tool.capability }),
    approvalPolicy: tool.approval,
    parallelSafe: tool.parallel_safe,
  };
}

/** The handshake: a program says what it is and what it brings to the sessions of one agent. */
export const RegisterParams = z.strictObject({
  program: ProgramName,
  /** Hash of its release. If the host's configuration names the program, it must be the one that stands there. */
  fingerprint: Digest,
  /** Name of the agent that it serves: one that the host offers. */
  agent: AgentName,
  protocol_methods: z.array(ProtocolMethodId).max(256).default([]),
  tools: z.array(ProgramTool).min(1).max(programLimits.toolsMax),
  config_schema: JsonObject.default({}),
  /** True if it prepares each model round of the sessions that have its tools: see the event `prepare` (CM-38). */
  prepares_rounds: z.boolean().default(false),
  /** Its own earlier registration, if this process of it has one: then calls that it has stay with it. */
  registration: Registration.exactOptional(),
});
/** The handshake. */
export type RegisterParams = z.output<typeof RegisterParams>;

/** What a program is answered: both planes, and the registration that it goes on with. */
export const RegisterResult = z.strictObject({
  registration: Registration,
  /** Time in which it opens its stream of calls, and comes back to it whenever that breaks, in milliseconds. */
  lease_ms: z.int().min(0),
  ...CapabilityHandshake.shape,
});
/** What a program is answered. */
export type RegisterResult = z.output<typeof RegisterResult>;

/** Which program; it must be the caller's. */
export const RefreshParams = z.strictObject({ program: ProgramName });

/** Where the stream of calls begins. */
export const CallsParams = z.strictObject({
  program: ProgramName,
  registration: Registration,
  /** The last event that this registration has seen; 0: from the beginning. */
  after: z.int().min(0).default(0),
});

const seq = z.int().min(1);
/** Names a call to its program: the key that it must meet its target with, so nothing that is lost in a crash shares it (K3). */
const CallId = z.string().min(1).max(400);

/** What a model is to be asked next. A program answers with a report that has it `prepared`. */
export const RoundRequest = z.strictObject({
  session: AgentAddress,
  turn: z.int().min(1),
  step: z.int().min(0),
  messages: z.array(ModelMessage),
  /** Names of the tools that the model may be told of. */
  tool_surface: z.array(z.string()),
});

/** What a program makes of a round: what the model is told, and of which of the tools. */
export const PreparedRound = z.strictObject({
  messages: z.array(ModelMessage).min(1),
  tool_surface: z.array(z.string().max(256)),
});
/** What a program makes of a round. */
export type PreparedRound = z.infer<typeof PreparedRound>;

/** What a program hears: a call, or that nobody waits for one any more. */
export const CallEvent = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("call"),
    seq,
    call_id: CallId,
    /** When the runtime wants the result, and until when a report still counts. Milliseconds since the epoch. */
    deadline_at: z.number(),
    lease_until: z.number(),
    request: ProgramRequest,
  }),
  z.strictObject({
    type: z.literal("prepare"),
    seq,
    call_id: CallId,
    deadline_at: z.number(),
    round: RoundRequest,
  }),
  z.strictObject({
    type: z.literal("cancel"),
    seq,
    call_id: CallId,
    reason: z.enum(["deadline", "canceled"]),
  }),
]);
/** What a program hears. */
export type CallEvent = z.infer<typeof CallEvent>;

/** What a program says of a call: its result, or how far it is. The same `message_id` again is the same report (CM-121). */
export const ReportParams = z.strictObject({
  program: ProgramName,
  message_id: z.string().regex(/^[\x21-\x7e]{1,128}$/, "must be 1 to 128 printable ASCII characters"),
  call_id: CallId,
  result: ProgramResult.exactOptional(),
  /** One line for people. */
  progress: z.string().min(1).max(500).exactOptional(),
  /** Answers a `prepare`: a `PreparedRound`. Anything else is no answer, and the round fails. */
  prepared: JsonObject.exactOptional(),
}).refine(
  ({ result, progress, prepared }) =>
    [result, progress, prepared].filter((one) => one !== undefined).length === 1,
  "has a result, a progress or what was prepared, one of them",
);
/** What a program says of a call. */
export type ReportParams = z.output<typeof ReportParams>;

/** `recorded`: the result is durable. `noted`: it was passed on. */
export const ReportResult = z.strictObject({
  call_id: CallId,
  state: z.enum(["recorded", "noted"]),
});
/** What a report is answered. */
export type ReportResult = z.output<typeof ReportResult>;

/** Opens a call of the program's own tool in the turn that runs. */
export const InvokeParams = z.strictObject({
  address: AgentAddress,
  program: ProgramName,
  tool: z.string().min(1).max(256),
  arguments: JsonObject.default({}),
});

/** The call that was opened: it passes its gates like any other, and comes by the stream of calls. */
export const InvokeResult = z.strictObject({
  address: AgentAddress,
  /** `turn/<n>/call/<step>.<i>` */
  call: z.string(),
  state: z.literal("open"),
});
