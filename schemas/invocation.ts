/** One tool call: its outcomes, its public status, and what a tool call yields. */
import { z } from "zod";
import { IntentId } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { Failure } from "./failure.ts";
import { EntryRef } from "./catalog.ts";
import { Attachment } from "./tool.ts";

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

/**
 * The value of a `tool.call` outcome: the settled result in its views (DM-46). `model` is bounded and redacted;
 * the full result is the attachment, a blob.
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
});
/** The settled result of a tool call. */
export type ToolReturn = z.infer<typeof ToolReturn>;

/** What a turn asks an invocation to do: it carries the exact entry, by reference to its sealed catalog (DM-6). */
export const InvocationRequest = z.strictObject({
  ordinal: z.string().max(128),
  callId: z.string().max(200),
  name: z.string().max(256),
  entry: EntryRef.optional(),
  arguments: JsonObject.optional(),
  argumentsText: z.string().optional(),
  /** Set if the arguments held a secret, which was taken out. */
  hadSecret: z.literal(true).optional(),
  origin: RequestOrigin,
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
  /** `operator` or `verify` if an uncertain outcome was settled that way. */
  via: z.enum(["operator", "verify"]).optional(),
});
/** How an invocation ended. */
export type InvocationResult = z.infer<typeof InvocationResult>;
