/** The script of the scripted provider (AR-31..33): prepared answers, one per model call. */
import { z } from "zod";
import { JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { FinishReason, ModelCapabilities, Usage } from "./model.ts";

/** One call of a prepared answer. `arguments_text` replays arguments that are no JSON object. */
const scriptedCall = z.strictObject({
  tool: z.string().min(1).max(256),
  arguments: JsonObject.optional(),
  arguments_text: z.string().max(limits.unitBytesMax).optional(),
  id: z.string().max(200).optional(),
});

/** One prepared answer: text, calls, or a failure. */
export const ScriptedAnswer = z.strictObject({
  text: z.string().optional(),
  calls: z.array(scriptedCall).max(limits.modelCallsPerAnswerMax * 4).optional(),
  usage: Usage.optional(),
  finish_reason: FinishReason.optional(),
  /** If set, the last message to the model must contain it, or the answer is refused (`script_mismatch`). */
  expect: z.string().optional(),
  /** If set, this answer is an error of the provider instead. */
  error: z.strictObject({ message: z.string(), retryable: z.boolean().default(false) }).optional(),
});
/** One prepared answer. */
export type ScriptedAnswer = z.infer<typeof ScriptedAnswer>;

/** A script: AR-32's capabilities unless it declares others. */
export const Script = z.strictObject({
  capabilities: ModelCapabilities.partial().default({}),
  answers: z.array(ScriptedAnswer).max(10_000),
});
/** A script. */
export type Script = z.infer<typeof Script>;
