/** The provider interface as data (AR-16..20): what a model is asked, and what comes back. */
import { z } from "zod";
import { FailureCode } from "./failure.ts";
import { IntentId } from "./ids.ts";
import { ShownImage } from "./image.ts";
import { ResultMark } from "./invocation.ts";
import { Json, JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { OutputProblems } from "./output_schema.ts";
import { ToolSpec } from "./tool.ts";

/** What a provider can do (AR-19). */
export const ModelCapabilities = z.strictObject({
  toolCalling: z.boolean(),
  strictToolSchema: z.boolean(),
  parallelToolCalls: z.boolean(),
  streaming: z.boolean(),
  responseContinuation: z.boolean(),
  maxContextTokens: z.int().min(1),
  /** Keeps what requests begin with, where it is told up to where (Anthropic); others do it unasked, or not at all. */
  promptCaching: z.boolean().exactOptional(),
  /** Takes images as parts of a prompt. Without it a prompt that brings some is refused before anything is sent. */
  imageInput: z.boolean().exactOptional(),
  /** Takes the form of an answer by means of its own. Without it, or where it does not, the instructions say it. */
  structuredOutput: z.enum(["never", "without_tools", "always"]).exactOptional(),
});
/** What a provider can do. */
export type ModelCapabilities = z.infer<typeof ModelCapabilities>;

/** `auto`, `none`, or one tool by its provider name (AR-17). */
export const ToolChoice = z.union([
  z.literal("auto"),
  z.literal("none"),
  z.strictObject({ tool: z.string().max(64) }),
]);
/** How freely the model may call tools. */
export type ToolChoice = z.infer<typeof ToolChoice>;

/** Why a model stopped. */
export const FinishReason = z.enum(["stop", "tool_calls", "length", "content_filter", "other"]);
/** Why a model stopped. */
export type FinishReason = z.infer<typeof FinishReason>;

/** Tokens of one model call; a provider that does not count says 0. Its cost, if the provider tells it. */
export const Usage = z.strictObject({
  inputTokens: z.int().min(0),
  outputTokens: z.int().min(0),
  /** Those of the input that the provider had kept from an earlier request. */
  cachedInputTokens: z.int().min(0).exactOptional(),
  costUsd: z.number().min(0).max(limits.budgetCostUsdMax).exactOptional(),
});
/** Tokens and cost of one model call. */
export type Usage = z.infer<typeof Usage>;

/** One tool call as the model made it. `argumentsText` is set instead of `arguments` if it was no JSON object. */
export const ModelCall = z.strictObject({
  /** The provider's own id, kept for the provider; never an id of ours (K6). */
  callId: z.string().max(200),
  name: z.string().max(256),
  arguments: JsonObject.optional(),
  argumentsText: z.string().max(limits.unitBytesMax).optional(),
  /**
   * Set if the arguments held a secret, which was taken out. With `arguments` the call is made with what the model wrote,
   * which is kept in memory only; without, it is refused.
   */
  hadSecret: z.literal(true).optional(),
});
/** One tool call as the model made it. */
export type ModelCall = z.infer<typeof ModelCall>;

/** A whole model answer: the value of a `model.generate` outcome. */
export const ModelAnswer = z.strictObject({
  text: z.string(),
  calls: z.array(ModelCall).max(limits.modelCallsPerAnswerMax),
  usage: Usage,
  finishReason: FinishReason,
  /** What only this vendor says; kept, never acted upon (AR-20). */
  metadata: JsonObject,
  /** What other views say at the marks of `text`; absent if it has none. */
  marks: z.array(ResultMark).max(limits.resultMarksMax).optional(),
});
/** A whole model answer. */
export type ModelAnswer = z.infer<typeof ModelAnswer>;

/** One message of the conversation as a provider is given it. */
export const ModelMessage = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), text: z.string() }),
  z.strictObject({
    role: z.literal("user"),
    text: z.string(),
    images: z.array(ShownImage).exactOptional(),
  }),
  z.strictObject({
    role: z.literal("assistant"),
    text: z.string(),
    calls: z.array(ModelCall),
    /** What its vendor wants back with it; for every other nothing. */
    metadata: JsonObject.exactOptional(),
  }),
  z.strictObject({
    role: z.literal("tool"),
    callId: z.string(),
    name: z.string(),
    text: z.string(),
    isError: z.boolean(),
  }),
]);
/** One message of the conversation. */
export type ModelMessage = z.infer<typeof ModelMessage>;

/**
 * What a step adds to the conversation, by reference: history stays in the journal, never in a machine.
 * `prompt` and `notice` name the input entry that holds the text (a notice is another session's answer, or news of a resource); `result` names the outcome that holds the model's view.
 */
export const HistoryItem = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("prompt"), seq: z.int().min(1) }),
  z.strictObject({
    type: z.literal("notice"),
    seq: z.int().min(1),
    /** Of news of a resource, its server and its URI: it is told once. */
    about: z.string().max(limits.mcpSubscribedUriCharactersMax + 100).exactOptional(),
  }),
  /** The model's answer was cut off: it is asked to go on. */
  z.strictObject({ type: z.literal("continuation") }),
  /** The model's answer did not have its form: it is told what is wrong, and answers anew. */
  z.strictObject({ type: z.literal("repair"), problems: OutputProblems }),
  z.strictObject({ type: z.literal("result"), callId: z.string(), name: z.string(), outcome: IntentId }),
  z.strictObject({
    type: z.literal("refusal"),
    callId: z.string(),
    name: z.string(),
    text: z.string(),
    /** Why, as a code, if there was a failure. Absent in entries of earlier releases. */
    code: FailureCode.optional(),
  }),
]);
/** What a step adds to the conversation. */
export type HistoryItem = z.infer<typeof HistoryItem>;

/** What a provider is asked (AR-17); the abort signal is passed beside it. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly maxOutputTokens: number;
  /** The form of the answer, for a provider that takes it by means of its own: an object at its root. */
  readonly outputSchema?: JsonObject;
  /** The bytes of the images in the messages, by digest. */
  readonly images?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** Which attempt at this answer; absent on the first. */
  readonly attempt?: number;
}

/** What a provider says while it answers (AR-18). Everything before `done` is provisional (K12). */
export type ModelEvent =
  | { readonly type: "text_delta"; readonly text: string }
  | {
    readonly type: "tool_call_delta";
    readonly callId: string;
    readonly name?: string;
    readonly argumentsDelta?: string;
  }
  | {
    readonly type: "tool_call_done";
    readonly callId: string;
    readonly name: string;
    readonly arguments: Json;
  }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "done"; readonly finishReason: FinishReason; readonly metadata?: JsonObject };
