/** What the journal keeps of every attempt after the first (AR-28), and of a turn that goes on with another model. */
import { z } from "zod";
import { FailureCode } from "./failure.ts";
import { FailureKind } from "./failure_kind.ts";
import { EffectClass } from "./tool.ts";

/** What is tried again. */
export const Operation = z.enum(["model_generate", "mcp_tool_call", "local_tool_call"]);
/** What is tried again. */
export type Operation = z.infer<typeof Operation>;

/** An attempt after the first: which one of how many, at what, and why the one before was not enough. */
export const RetryContext = z.strictObject({
  operation: Operation,
  idempotency: EffectClass,
  attempt: z.int().min(2),
  maxAttempts: z.int().min(1),
  lastErrorCode: FailureCode,
});
/** An attempt after the first. */
export type RetryContext = z.infer<typeof RetryContext>;

/** Body of the note `invocation.retried`. `by` is set if a person said so, whatever the class allows. */
export const InvocationRetried = RetryContext.extend({
  ordinal: z.string().max(128),
  by: z.literal("operator").exactOptional(),
});
/** Body of the note `invocation.retried`. */
export type InvocationRetried = z.infer<typeof InvocationRetried>;

/** Body of the note `model.retried`. */
export const ModelRetried = RetryContext.extend({
  turn: z.int().min(1),
  step: z.int().min(0),
  model: z.string().max(200),
});
/** Body of the note `model.retried`. */
export type ModelRetried = z.infer<typeof ModelRetried>;

/** Body of the note `model.changed`: the turn goes on with another model, since the one before was not to be had. */
export const ModelChanged = z.strictObject({
  turn: z.int().min(1),
  step: z.int().min(0),
  from: z.string().max(200),
  to: z.string().max(200),
  lastErrorCode: FailureCode,
  kind: FailureKind,
});
/** Body of the note `model.changed`. */
export type ModelChanged = z.infer<typeof ModelChanged>;

/** Body of the notes `model.tool_simplified` and `model.tool_hidden`: first its schema is told in basic words, then, for the rest of the turn the model is not told of a tool whose schema it refused. */
export const ModelToolHidden = z.strictObject({
  turn: z.int().min(1),
  step: z.int().min(0),
  model: z.string().max(200),
  tool: z.string().max(128),
  lastErrorCode: FailureCode,
});
/** Body of the notes `model.tool_simplified` and `model.tool_hidden`. */
export type ModelToolHidden = z.infer<typeof ModelToolHidden>;
