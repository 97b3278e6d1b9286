/** The script of the scripted provider (AR-31..33): prepared answers, one per model call. */
import { z } from "zod";
import { FailureCode } from "./failure.ts";
import { JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { FinishReason, ModelCapabilities, Usage } from "./model.ts";
import { scriptLimits } from "./script_limits.ts";

/** One call of a prepared answer. `arguments_text` replays arguments that are no JSON object. */
const scriptedCall = z.strictObject({
  tool: z.string().min(1).max(256),
  arguments: JsonObject.optional(),
  arguments_text: z.string().max(limits.unitBytesMax).optional(),
  id: z.string().max(200).optional(),
});

/** The failures that a provider may report. */
export const ModelErrorCode = FailureCode.extract([
  "script_exhausted",
  "script_mismatch",
  "model_failed",
  "model_unknown",
  "model_answer_invalid",
  "model_rate_limited",
  "model_unreachable",
  "model_server_failed",
  "model_login_failed",
  "model_quota_exceeded",
  "model_context_exceeded",
  "model_schema_unsupported",
  "model_refused",
]);
/** A failure that a provider may report. */
export type ModelErrorCode = z.infer<typeof ModelErrorCode>;

/** A failure that comes instead of the answer, at the first `times` attempts; without `times` at each. */
const scriptedFailure = z.strictObject({
  code: ModelErrorCode,
  message: z.string().max(1_000).default("The script says so"),
  retry_after_ms: z.int().min(0).max(limits.retryAfterToldMsMax).optional(),
  /** With `model_schema_unsupported`: the tool whose schema it is. Then it fails only while it is told of that tool. */
  tool: z.string().max(128).optional(),
  times: z.int().min(1).max(1_000).optional(),
});

/** One prepared answer: text, calls, or a failure. */
export const ScriptedAnswer = z.strictObject({
  text: z.string().optional(),
  calls: z.array(scriptedCall).max(limits.modelCallsPerAnswerMax * 4).optional(),
  usage: Usage.optional(),
  finish_reason: FinishReason.optional(),
  /** If set, the last message to the model must contain it, or the answer is refused (`script_mismatch`). */
  expect: z.string().optional(),
  /** If set, the provider fails with this code. */
  fail: scriptedFailure.optional(),
  /** The same in short: `model_server_failed` if a retry may help, else `model_failed`. */
  error: z.strictObject({ message: z.string(), retryable: z.boolean().default(false) }).optional(),
});
/** One prepared answer. */
export type ScriptedAnswer = z.infer<typeof ScriptedAnswer>;

const answers = z.array(ScriptedAnswer).max(scriptLimits.scriptAnswersMax);

/** Answers for the conversation that begins with this text of a user: a child agent's, or what a server asks the model. */
const scriptedConversation = z.strictObject({
  prompt: z.string().max(limits.unitBytesMax),
  answers,
});

/** A script: AR-32's capabilities unless it declares others. */
export const Script = z.strictObject({
  capabilities: ModelCapabilities.partial().default({}),
  /** Requests that are answered at once; without it any number. */
  concurrency: z.int().min(1).exactOptional(),
  /** For every conversation that has no answers of its own. */
  answers,
  conversations: z.array(scriptedConversation).max(scriptLimits.scriptConversationsMax).exactOptional(),
});
/** A script. */
export type Script = z.infer<typeof Script>;
