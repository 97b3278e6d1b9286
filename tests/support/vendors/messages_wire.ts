/** Anthropic's messages. */
import { data, pieces, type Reply, type Wire } from "./reply.ts";

function event(value: { readonly type: string; readonly [name: string]: unknown }): string {
  return data(value, value.type);
}

function stream({ text = "", calls = [], thought, inputTokens = 12, outputTokens = 7 }: Reply) {
  let index = 0;
  const usage = { input_tokens: inputTokens, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-test", content: [] };
  const events = [
    event({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    event({ type: "ping" }),
  ];
  const block = (content_block: unknown, deltas: readonly unknown[]) => {
    events.push(event({ type: "content_block_start", index, content_block }));
    for (const delta of deltas) events.push(event({ type: "content_block_delta", index, delta }));
    events.push(event({ type: "content_block_stop", index }));
    index++;
  };
  if (thought !== undefined) {
    block({ type: "thinking", thinking: "" }, [
      { type: "thinking_delta", thinking: thought.text },
      { type: "signature_delta", signature: thought.signature },
    ]);
  }
  if (text !== "") {
    block({ type: "text", text: "" }, pieces(text).map((piece) => ({ type: "text_delta", text: piece })));
  }
  for (const { id, name, arguments: given } of calls) {
    block(
      { type: "tool_use", id, name, input: {} },
      pieces(JSON.stringify(given)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }
  const stop_reason = calls.length > 0 ? "tool_use" : "end_turn";
  events.push(
    event({
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: outputTokens },
    }),
    event({ type: "message_stop" }),
  );
  return events;
}

/** The wire. */
export const messagesWire: Wire = {
  kind: "anthropic",
  base: "/v1",
  stream,
  refusal: (type, message) => ({ type: "error", error: { type, message } }),
  failure: (type, message) => event({ type: "error", error: { type, message } }),
};
