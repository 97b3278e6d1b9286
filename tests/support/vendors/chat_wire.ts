/** OpenAI's chat completions, as llama.cpp, Ollama, vLLM and their like speak them. */
import { data, pieces, type Reply, type Wire } from "./reply.ts";

/** One chunk. */
export function chunk(delta: unknown, finish: string | null = null): string {
  return data({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "local-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
}

/** The chunk with the count of tokens. */
export function counted(input: number, output: number): string {
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return data({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "local-model",
    choices: [],
    usage,
  });
}

/** The end mark. */
export const done = "data: [DONE]\n\n";

/** A piece of a call. */
export function callDelta(
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  text: string,
) {
  return {
    tool_calls: [{
      ...(index === undefined ? {} : { index }),
      ...(id === undefined ? {} : { id, type: "function" }),
      function: { ...(name === undefined ? {} : { name }), arguments: text },
    }],
  };
}

function stream({ text = "", calls = [], thought, inputTokens = 12, outputTokens = 7 }: Reply) {
  const said = pieces(text).map((content) => chunk({ content }));
  const asked = calls.flatMap(({ id, name, arguments: given }, index) => [
    chunk(callDelta(index, id, name, "")),
    ...pieces(JSON.stringify(given)).map((piece) => chunk(callDelta(index, undefined, undefined, piece))),
  ]);
  return [
    chunk({ role: "assistant", content: "" }),
    ...(thought === undefined ? [] : [chunk({ reasoning_content: thought.text })]),
    ...said,
    ...asked,
    chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    counted(inputTokens, outputTokens),
    done,
  ];
}

/** The wire. */
export const chatWire: Wire = {
  kind: "openai_compatible",
  base: "/v1",
  stream,
  refusal: (type, message) => ({ error: { message, type, param: null, code: type } }),
  failure: (type, message) => data({ error: { message, type, code: type } }),
};
