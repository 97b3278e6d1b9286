/** Google's `streamGenerateContent`. */
import { data, pieces, type Reply, type Wire } from "./reply.ts";

function stream({ text = "", calls = [], thought, signature, inputTokens = 12, outputTokens = 7 }: Reply) {
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: inputTokens + outputTokens,
  };
  const candidate = (parts: readonly unknown[], more: object = {}) =>
    data({
      candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
      modelVersion: "gemini-test",
    });
  return [
    ...(thought === undefined ? [] : [candidate([{ text: thought.text, thought: true }])]),
    ...pieces(text).map((piece) => candidate([{ text: piece }])),
    // Google gives no ids, and every call in one piece.
    ...calls.map(({ name, arguments: args }, index) =>
      candidate([{
        functionCall: { name, args },
        ...(index === 0 && signature !== undefined ? { thoughtSignature: signature } : {}),
      }])
    ),
    data({
      candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" }],
      usageMetadata,
    }),
  ];
}

const statuses: { readonly [type: string]: number } = { UNAVAILABLE: 503, RESOURCE_EXHAUSTED: 429 };

/** The wire. */
export const geminiWire: Wire = {
  kind: "google",
  base: "/v1beta",
  stream,
  refusal: (status, message) => ({ error: { code: statuses[status] ?? 400, message, status } }),
  failure: (status, message) => data({ error: { code: statuses[status] ?? 500, message, status } }),
};
