/** One tool call: its outcomes, its public status, and what a tool call yields. */
import { z } from "zod";
import { Digest, IntentId, TaskNews } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { Failure } from "./failure.ts";
import { EntryRef } from "./catalog.ts";
import { limits } from "./limits.ts";
import { Attachment } from "./tool.ts";
import { ToolError } from "./tool_error.ts";

/** The final outcomes, one per final state of the invocation machine (design.md section 5). */
export const InvocationOutcome = z.enum([
  "succeeded",
  "completed_with_error",
  "failed",
  "denied",
  "invalid",
  "not_found",
  "timed_out",
  "canceled",
  "unknown",
]);
/** A final outcome of a tool call. */
export type InvocationOutcome = z.infer<typeof InvocationOutcome>;

/** Who asked for the call (DM-8). */
export const RequestOrigin = z.enum(["model", "host", "authored"]);
/** Who asked for the call. */
export type RequestOrigin = z.infer<typeof RequestOrigin>;

/** A mark in a model's text: its place, and what other views say there (DM-51). `print` is for the debug view alone. */
export const ResultMark = z.strictObject({
  at: z.int().min(0),
  name: z.string().max(64),
  source: z.string().max(210),
  print: z.string().regex(/^[0-9a-f]{16}$/).optional(),
});
/** A mark in a model's text. */
export type ResultMark = z.infer<typeof ResultMark>;

/**
 * The value of a `tool.call` outcome: the settled result in its views (DM-46). `model` is bounded and redacted; the
 * event and debug views are `model` with other marks; the durable one is the attachment, a blob, or else `model` too.
 */
export const ToolReturn = z.strictObject({
  isError: z.boolean(),
  /** What the model is told, at most the output policy's characters. */
  model: z.string(),
  /** One line for people. */
  operator: z.string().max(500),
  /** True if `model` was cut. */
  truncated: z.boolean(),
  /** The full envelope, kept as a blob, if it is larger than what `model` holds. */
  full: Attachment.optional(),
  /** What other views say at the marks of `model`; absent if it has none. */
  marks: z.array(ResultMark).max(limits.resultMarksMax).optional(),
  /** What the call changes of the session's state, in order, as merge patches: null removes. Merged after its stage. */
  changes: z.array(JsonObject).max(limits.stateChangesMax).optional(),
  /** Tasks of whose end the model is told by this result: no notice follows (DM-121). */
  told: z.array(TaskNews).max(limits.tasksOpenMax).optional(),
  /** Why the tool said no; set if and only if it did. Absent in entries of earlier releases. */
  error: ToolError.optional(),
});
/** The settled result of a tool call. */
export type ToolReturn = z.infer<typeof ToolReturn>;

/** On whose behalf a call is made: a turn, or a principal that the host names; one of both, which policy checks (DM-25). */
export const CallScope = z.strictObject({
  /** The turn, and the catalog that it is bound to. */
  turn: z.strictObject({ number: z.int().min(1), catalog: Digest }).optional(),
  principal: z.string().min(1).max(200).optional(),
});
/** On whose behalf a call is made. */
export type CallScope = z.infer<typeof CallScope>;

/** What a turn asks an invocation to do: it carries the exact entry, by reference to its sealed catalog (DM-6). */
export const InvocationRequest = z.strictObject({
  ordinal: z.string().max(128),
  callId: z.string().max(200),
  name: z.string().max(256),
  entry: EntryRef.optional(),
  arguments: JsonObject.optional(),
  argumentsText: z.string().optional(),
  /** Set if the arguments held a secret, which was taken out: see `ModelCall`. */
  hadSecret: z.literal(true).optional(),
  origin: RequestOrigin,
  /** Absent in snapshots of earlier releases only. */
  scope: CallScope.optional(),
  /** The how manieth call of its tool in its turn this is, from 1 (CM-15, CM-58). */
  bindingAttempt: z.int().min(1).optional(),
});
/** What a turn asks an invocation to do. */
export type InvocationRequest = z.infer<typeof InvocationRequest>;

/** A call that a host makes for itself: no model is asked. `tool` is a full name, or the name that a model would call. */
export const HostCall = z.strictObject({
  tool: z.string().min(1).max(256),
  arguments: JsonObject,
  /** Set if the arguments held a secret, which was taken out. */
  hadSecret: z.literal(true).optional(),
});
/** A call that a host makes for itself. */
export type HostCall = z.infer<typeof HostCall>;

/** How an invocation ended: what the turn keeps of it until the step is answered. */
export const InvocationResult = z.strictObject({
  ordinal: z.string().max(128),
  callId: z.string().max(200),
  name: z.string().max(256),
  outcome: InvocationOutcome,
  /** The intent whose outcome holds the model's view; absent if the tool was never reached. */
  outcomeOf: IntentId.optional(),
  failure: Failure.optional(),
  attempts: z.int().min(0),
  /** Set if the outcome changes the session's state. */
  changesState: z.literal(true).optional(),
  /** Tasks of whose end the outcome tells the model. */
  told: z.array(TaskNews).max(limits.tasksOpenMax).optional(),
  /** `operator` or `verify` if an uncertain outcome was settled that way. */
  via: z.enum(["operator", "verify"]).optional(),
  /** Set if the tool, or its server, needed a person and nobody was there, and the call was the worse for it. */
  unasked: z.literal(true).optional(),
});
/** How an invocation ended. */
export type InvocationResult = z.infer<typeof InvocationResult>;
