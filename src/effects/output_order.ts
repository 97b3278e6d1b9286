/** Tells a model which form its answer must have: by the provider's own means, or by its instructions. */
import type { JsonObject } from "../../schemas/json.ts";
import { canonicalJson } from "../../schemas/json.ts";
import type { ModelCapabilities, ModelMessage, ModelRequest } from "../../schemas/model.ts";

/** A request before it says anything of the form. */
type Bare = Pick<ModelRequest, "messages" | "tools">;

/** The request with the form of its answer. The same form gives the same beginning of every request (stable prefix). */
export function withOutput<R extends Bare>(
  request: R,
  schema: JsonObject | undefined,
  { structuredOutput = "never" }: ModelCapabilities,
): R & Pick<ModelRequest, "outputSchema"> {
  if (schema === undefined) return request;
  const isTaken = structuredOutput === "always" ||
    structuredOutput === "without_tools" && request.tools.length === 0;
  // Vendors take nothing but objects: any other form is left to the instructions.
  if (isTaken && schema["type"] === "object") return { ...request, outputSchema: schema };
  return { ...request, messages: instructed(request.messages, orderText(schema)) };
}

/** What the instructions say of the form. */
export function orderText(schema: JsonObject): string {
  return "Your last message of this turn must be one JSON value that fits this JSON Schema, and nothing else: " +
    `no words before or behind it.\n${canonicalJson(schema)}`;
}

/** What the model is told of an answer that does not fit. */
export function repairText(problems: readonly string[]): string {
  return `Your answer does not have the form that was asked for:\n${
    problems.map((one) => `- ${one}`).join("\n")
  }\nAnswer again with one JSON value that fits the JSON Schema, and nothing else`;
}

function instructed(messages: readonly ModelMessage[], order: string): readonly ModelMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== "system") return [{ role: "system", text: order }, ...messages];
  return [{ role: "system", text: `${first.text}\n\n${order}` }, ...rest];
}
