/** The scripted provider: prepared answers instead of a model (AR-31..33). */
import { ModelCapabilities, type ModelEvent, type ModelRequest } from "../../schemas/model.ts";
import type { Script, ScriptedAnswer } from "../../schemas/script.ts";
import { throughJson } from "../canonical.ts";
import { ModelError, type ModelProvider } from "./provider.ts";

/** What the scripted provider can do unless the script says otherwise (AR-32). */
export const scriptedCapabilities: ModelCapabilities = {
  toolCalling: true,
  strictToolSchema: true,
  parallelToolCalls: false,
  streaming: false,
  responseContinuation: false,
  maxContextTokens: 64_000,
};

/**
 * Makes a provider that plays `script`.
 *
 * It keeps no state: which answer comes is read off the request, from the number of answers that are in its
 * conversation already. So a crash, a replay and a fork get the answer that they got before. A failure adds nothing to
 * the conversation and therefore comes again each time its place is reached, unless it says how many times it comes.
 */
export function createScriptedProvider(script: Script): ModelProvider {
  const declared = throughJson(script.capabilities);
  const capabilities = ModelCapabilities.parse({ ...scriptedCapabilities, ...declared });
  return {
    name: "scripted",
    capabilities,
    concurrency: script.concurrency ?? Infinity,
    async *generate(request, signal) {
      const answers = answersFor(script, request);
      const number = request.messages.filter((message) => message.role === "assistant").length + 1;
      for (const event of eventsOf(answerOf(answers, number, request), number, capabilities.streaming)) {
        signal.throwIfAborted();
        yield event;
      }
    },
  };
}

type Answers = Script["answers"];

/** The answers of this conversation, which is known by how its user began it. */
function answersFor({ answers, conversations = [] }: Script, { messages }: ModelRequest): Answers {
  const prompt = messages.find(({ role }) => role === "user")?.text;
  return conversations.find((one) => one.prompt === prompt)?.answers ?? answers;
}

/** The answer of this number, counted from 1. */
function answerOf(answers: Answers, number: number, request: ModelRequest): ScriptedAnswer {
  const answer = answers[number - 1];
  if (answer === undefined) {
    const message = `The script has ${answers.length} answers and is used up: add an answer ${number}`;
    throw new ModelError("script_exhausted", message);
  }
  const last = request.messages.at(-1)?.text ?? "";
  if (answer.expect !== undefined && !last.includes(answer.expect)) {
    const message = `The script's answer ${number} expects ${
      JSON.stringify(answer.expect)
    } in the last message`;
    throw new ModelError("script_mismatch", message);
  }
  const { error, fail } = answer;
  if (error !== undefined) {
    throw new ModelError(error.retryable ? "model_server_failed" : "model_failed", error.message);
  }
  if (fail !== undefined && failsNow(fail, request)) {
    throw new ModelError(fail.code, fail.message, { retryAfterMs: fail.retry_after_ms, tool: fail.tool });
  }
  return answer;
}

/** True while the attempts of a failure are not used up; of one about a tool, only while that is told of. */
function failsNow(
  { tool, times = Infinity }: NonNullable<ScriptedAnswer["fail"]>,
  request: ModelRequest,
): boolean {
  if (tool !== undefined && !request.tools.some(({ name }) => name === tool)) return false;
  return (request.attempt ?? 1) <= times;
}

function eventsOf(answer: ScriptedAnswer, number: number, isStreaming: boolean): readonly ModelEvent[] {
  const pieces = isStreaming ? (answer.text ?? "").split(/(?<=\s)(?=\S)/) : [answer.text ?? ""];
  const texts = pieces.filter((text) => text !== "").map((text): ModelEvent => ({
    type: "text_delta",
    text,
  }));
  const calls = (answer.calls ?? []).map((call, index): ModelEvent => ({
    type: "tool_call_done",
    callId: call.id ?? `call_${number}_${index + 1}`,
    name: call.tool,
    // Text that is no JSON object goes on as a string: the collector reads it as it reads any model's.
    arguments: call.arguments_text ?? call.arguments ?? {},
  }));
  const usage: readonly ModelEvent[] = answer.usage === undefined
    ? []
    : [{ type: "usage", usage: answer.usage }];
  return [...texts, ...calls, ...usage, { type: "done", finishReason: answer.finish_reason ?? "stop" }];
}
