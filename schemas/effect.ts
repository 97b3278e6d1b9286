/** What machines may ask of the world, and what comes back: the requests and outcomes of the one port. */
import { z } from "zod";
import { Budget } from "./budget.ts";
import { CallRound, CallTask, SampleMessages } from "./call_pause.ts";
import { EntryRef, ResolvedCatalog } from "./catalog.ts";
import { AgentWork } from "./child_agent.ts";
import { Failure } from "./failure.ts";
import { Digest, IntentId, RootAddress, ServerId, TaskId } from "./ids.ts";
import { RequestOrigin } from "./invocation.ts";
import { Json, JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { McpDeclaration } from "./manifest.ts";
import { McpEra } from "./mcp_revision.ts";
import { GenerateArgs } from "./generate.ts";
import { QuestionSubject, WholeText } from "./question.ts";
import { NextDueArgs } from "./schedule.ts";
import { EffectClass, Mechanism } from "./tool.ts";
import { TaskWork } from "./task.ts";
import { ErrorProvenance } from "./tool_error.ts";

/** The kinds of effects, one performer each. */
export const PortKind = z.enum([
  "model.generate",
  "tool.call",
  "tool.verify",
  "question.ask",
  "timer.set",
  "catalog.seal",
  "command.review",
  "child.start",
  "child.stop",
  "mcp.connect",
  "mcp.list",
  "mcp.watch",
  "mcp.close",
  "mcp.call",
  "mcp.task",
  "model.sample",
  "schedule.next",
  "task.run",
  "agent.open",
]);
/** A kind of effect. */
export type PortKind = z.infer<typeof PortKind>;

const toolArgs = z.strictObject({
  invocation: z.string().max(128),
  entry: EntryRef,
  arguments: JsonObject,
  origin: RequestOrigin,
  attempt: z.int().min(1),
  /** The idempotency key of the first attempt, for later ones; absent on the first, whose own id it is. */
  key: IntentId.optional(),
  /** Set if secrets were taken out of the arguments: what the model wrote is in memory only, so a crash loses it. */
  redacted: z.literal(true).optional(),
});

const launch = z.int().min(1);

/** What a server may say that it offers. */
export const McpCapability = z.enum([
  "tools",
  "resources",
  "prompts",
  "completions",
  "logging",
  /** Calls of tools as tasks. */
  "tasks",
  /** Subscriptions to resources. */
  "subscriptions",
]);
/** What a server may say that it offers. */
export type McpCapability = z.infer<typeof McpCapability>;

/** A resource that is subscribed to. */
export const ResourceUri = z.string().min(1).max(limits.mcpSubscribedUriCharactersMax);

const capabilities = z.array(McpCapability).max(McpCapability.options.length);

/** Arguments of each kind of effect. */
export const portArgs = {
  "model.generate": GenerateArgs,
  /** `round`: the tool wanted a person's answer first, and this is how the call goes on. */
  "tool.call": toolArgs.extend({ round: CallRound.optional() }),
  "tool.verify": toolArgs,
  /** `whole`: everything of which the subject's preview shows a part. It is shown before `allow` is taken (B18). */
  "question.ask": z.strictObject({ subject: QuestionSubject, whole: WholeText.optional() }),
  "timer.set": z.strictObject({
    dueAtMs: z.number(),
    /** Up to this much is added by the performer, so that many timers do not fire as one. Milliseconds. */
    jitterMs: z.number().min(0),
    label: z.string().max(100),
  }),
  "catalog.seal": z.strictObject({ catalog: ResolvedCatalog }),
  /** Looks at the command of a call, and runs nothing. Yields a `CommandReview`. */
  "command.review": toolArgs.pick({ invocation: true, entry: true, arguments: true, redacted: true }),
  "child.start": z.strictObject({ child: RootAddress, mode: z.enum(["resume", "clean"]) }),
  "child.stop": z.strictObject({ child: RootAddress, graceMs: z.int().min(0), quarantine: z.boolean() }),
  /** Starts a server and shakes hands. `launch` counts the starts of this connection. */
  "mcp.connect": z.strictObject({ declaration: McpDeclaration, launch }),
  /** Reads and checks the server's tools; keeps them as a blob. `capabilities`: what else the server offers. */
  "mcp.list": z.strictObject({ declaration: McpDeclaration, launch, capabilities: capabilities.optional() }),
  /**
   * Waits for what the server does by itself, an `McpNews`. While its list is `stale` anyway, not for a change of it.
   * Fails as `interrupted` if the server ended with its runtime.
   */
  "mcp.watch": z.strictObject({
    launch,
    stale: z.literal(true).optional(),
    /** After so long without a call it is idle, and takes no call any more. Milliseconds. */
    idleMs: z.int().min(1).optional(),
    /** Resources that its session is subscribed to: those of an earlier launch are asked for again. */
    subscriptions: z.array(ResourceUri).max(limits.mcpSubscriptionsMax).optional(),
  }),
  /** Ends the server: end of input, TERM, KILL. Ending what has ended is no failure. */
  "mcp.close": z.strictObject({
    launch,
    /** How long calls in flight are waited for. New ones are not taken. Milliseconds. */
    drainMs: z.int().min(0).optional(),
  }),
  /** `round`: the server wanted something first, and this is how the call goes on. */
  "mcp.call": toolArgs.extend({ round: CallRound.optional() }),
  /** Looks after a call that its server carries out as a task, until it ends. Yields what the call would have. */
  "mcp.task": toolArgs.extend({ task: CallTask }),
  /** The session's model answers a server, during a call of it: yields a `Sample`. */
  "model.sample": z.strictObject({
    server: ServerId,
    /** The call during which the server asks. */
    call: z.string().max(128),
    system: z.string().max(limits.sampleCharactersMax).optional(),
    messages: SampleMessages,
    maxOutputTokens: z.int().min(1),
  }),
  /** When a schedule is due next. Yields a `NextDue`. */
  "schedule.next": NextDueArgs,
  /** Does the work of a task to its end, on behalf of its session. Yields a `TaskOutcome`. */
  "task.run": z.strictObject({ task: TaskId, owner: RootAddress, work: TaskWork }),
  /** Makes the session of a child agent, with its catalog and connections, unless it is there. */
  "agent.open": z.strictObject({
    task: TaskId,
    owner: RootAddress,
    work: AgentWork,
    budget: Budget.exactOptional(),
  }),
} as const satisfies { readonly [K in PortKind]: z.ZodType };

/** Arguments of one kind of effect. */
export type PortArgs<K extends PortKind> = z.infer<(typeof portArgs)[K]>;

/** One request to the world: the input of a port, and the body of an `intent`. */
export type PortRequest = {
  readonly [K in PortKind]: {
    readonly port: K;
    readonly effect: EffectClass;
    readonly mechanism?: Mechanism | undefined;
    readonly args: PortArgs<K>;
    /** When the performer gives up, in milliseconds since the epoch (K11). */
    readonly deadlineAtMs?: number | undefined;
  };
}[PortKind];

/** A request of one kind. */
export type PortRequestOf<K extends PortKind> = Extract<PortRequest, { readonly port: K }>;

/** How an effect that did not end well ended. `unknown` means that it may have happened. */
export const PortFailureStatus = z.enum(["failed", "timed_out", "canceled", "unknown"]);

/** The body of an `outcome` entry. */
export const PortOutcome = z.strictObject({
  id: IntentId,
  attempt: z.int().min(1),
  status: z.enum(["ok", ...PortFailureStatus.options]),
  value: Json.optional(),
  failure: Failure.optional(),
  /** Of calls of tools that brought no result, with `failure`: whether they were begun, and who says so (DM-45). */
  started: z.boolean().optional(),
  provenance: ErrorProvenance.optional(),
});
/** The body of an `outcome` entry. */
export type PortOutcome = z.infer<typeof PortOutcome>;

/** A session by HTTP, as it was opened (CM-79). Its id is shown, and used by whoever opened it only. */
export const McpSession = z.strictObject({
  /** `sse`: of 2024-11-05, whose stream is the session. */
  transport: z.enum(["streamable_http", "sse"]),
  url: z.string().max(limits.urlCharactersMax),
  /** Null if the server keeps no session. */
  id: z.string().max(limits.mcpSessionIdCharactersMax).nullable(),
  /** What the server answered to `initialize`, without what is too long. */
  initialized: JsonObject,
});
/** A session by HTTP. */
export type McpSession = z.infer<typeof McpSession>;

/** What `mcp.connect` yields: who answered, and what was agreed on. Identity never comes from here. */
export const McpGreeting = z.strictObject({
  protocolVersion: z.string().max(40),
  /** Greetings of earlier releases do not tell: they are legacy. */
  era: McpEra.exactOptional(),
  server: z.strictObject({ name: z.string().max(200), version: z.string().max(200) }),
  /** Time from the start of the process to the end of the handshake. */
  tookMs: z.number().min(0),
  session: McpSession.exactOptional(),
  /** What the server says that it offers; greetings of earlier releases do not tell. */
  capabilities: capabilities.exactOptional(),
});
/** What `mcp.connect` yields. */
export type McpGreeting = z.infer<typeof McpGreeting>;

/** What `mcp.watch` yields: the tools or resources changed, nobody called for long, or the server ended by itself. */
export const McpNews = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("list_changed") }),
  z.strictObject({ type: z.literal("idle") }),
  /** Of those that are subscribed to, each once. */
  z.strictObject({
    type: z.literal("resources_updated"),
    uris: z.array(ResourceUri).min(1).max(limits.mcpSubscriptionsMax),
  }),
  /** `served`: calls that it has answered since it was started. */
  z.strictObject({
    type: z.literal("ended"),
    failure: Failure,
    served: z.int().min(0),
    /** How a process ended, and the end of what it wrote to its standard error; earlier releases do not tell. */
    end: z.strictObject({
      code: z.int().nullable(),
      signal: z.string().max(20).nullable(),
      stderr: z.string().max(20_000),
    }).exactOptional(),
  }),
]);
/** What `mcp.watch` yields. */
export type McpNews = z.infer<typeof McpNews>;

/** A tool of a server that was left out, and why (B83, B85). */
export const McpRejected = z.strictObject({ tool: z.string().max(128), reason: z.string().max(500) });

/** What `mcp.list` yields: the blob that holds the tools as a catalog source, and what was left out. */
export const McpListing = z.strictObject({
  offer: Digest,
  tools: z.int().min(0),
  /** How many were left out; the first 100 of them are named. */
  rejectedCount: z.int().min(0),
  rejected: z.array(McpRejected).max(100),
  /** The first of those that are off since they are not what was approved; absent if there is none. */
  quarantined: z.array(McpRejected).max(100).exactOptional(),
  /** Tools whose results are not checked, since their outputSchema cannot be used: the first 100 of them. */
  unchecked: z.array(McpRejected).max(100).exactOptional(),
});
/** What `mcp.list` yields. */
export type McpListing = z.infer<typeof McpListing>;

/** How a server ended, where that is known: what `mcp.close` yields. */
export const McpEnd = z.strictObject({
  code: z.int().nullable(),
  signal: z.string().max(20).nullable(),
  /** The end of what it wrote to its standard error, without secrets. */
  stderr: z.string().max(20_000),
  /** Of a session by HTTP: the method of the last that the server said unasked. */
  lastEvent: z.string().max(200).nullable().exactOptional(),
  /** Of a session by HTTP that was given back: true if the server ended it, false if it did not know it, else why not. */
  goodbye: z.union([z.boolean(), Failure]).exactOptional(),
  /** The end of what it told by `notifications/message` outside of calls, each line with its level, without secrets. */
  log: z.string().max(20_000).exactOptional(),
});
/** How a server ended. */
export type McpEnd = z.infer<typeof McpEnd>;

/** What a machine's `onDone` gets from a port: `event.output`. The kernel adds `at`, `epoch` and `intent` (K7). */
export interface PortDone {
  readonly value: Json;
  readonly at: number;
  readonly epoch: number;
  readonly intent: IntentId;
}

/** What a machine's `onError` gets from a port: `event.error`. */
export interface PortFailed {
  readonly status: z.infer<typeof PortFailureStatus>;
  readonly failure: Failure;
  readonly at: number;
  readonly epoch: number;
  readonly intent: IntentId;
}
