/** OpenAI's responses. */
import { data, pieces, type Reply, type Wire } from "./reply.ts";

function stream({ text = "", calls = [], thought, inputTokens = 12, outputTokens = 7 }: Reply) {
  let sequence = 0;
  let index = 0;
  const event = (type: string, more: object) => data({ type, sequence_number: sequence++, ...more }, type);
  const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-test", output: [] };
  const events = [event("response.created", { response: { ...response, status: "in_progress" } })];
  if (thought !== undefined) {
    const item = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: thought.signature };
    events.push(
      event("response.output_item.added", { output_index: index, item }),
      event("response.reasoning_summary_part.added", {
        item_id: "rs_1",
        output_index: index,
        summary_index: 0,
        part: { type: "summary_text", text: "" },
      }),
      event("response.reasoning_summary_text.delta", {
        item_id: "rs_1",
        output_index: index,
        summary_index: 0,
        delta: thought.text,
      }),
      event("response.output_item.done", {
        output_index: index++,
        item: { ...item, summary: [{ type: "summary_text", text: thought.text }] },
      }),
    );
  }
  if (text !== "") {
    const item = { id: "msg_1", type: "message", role: "assistant", content: [] };
    events.push(event("response.output_item.added", { output_index: index, item }));
    for (const delta of pieces(text)) {
      const at = { item_id: "msg_1", output_index: index, content_index: 0 };
      events.push(event("response.output_text.delta", { ...at, delta }));
    }
    const content = [{ type: "output_text", text, annotations: [] }];
    events.push(event("response.output_item.done", { output_index: index++, item: { ...item, content } }));
  }
  for (const { id, name, arguments: given } of calls) {
    const whole = JSON.stringify(given);
    const item = { id: `fc_${id}`, type: "function_call", call_id: id, name, arguments: "" };
    events.push(event("response.output_item.added", { output_index: index, item }));
    for (const delta of pieces(whole)) {
      const at = { item_id: item.id, output_index: index };
      events.push(event("response.function_call_arguments.delta", { ...at, delta }));
    }
    const finished = { ...item, arguments: whole, status: "completed" };
    events.push(event("response.output_item.done", { output_index: index++, item: finished }));
  }
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
  events.push(event("response.completed", { response: { ...response, status: "completed", usage } }));
  return events;
}

/** The wire. */
export const responsesWire: Wire = {
  kind: "openai",
  base: "/v1",
  stream,
  refusal: (type, message) => ({ error: { message, type, param: null, code: type } }),
  failure: (type, message) =>
    data({
      type: "error",
      sequence_number: 3,
      code: type,
      message,
      param: null,
      error: { type, code: type, message },
    }),
};
