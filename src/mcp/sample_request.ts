/** Reads what a server wants a model to answer: texts alone, bounded, with nothing invisible in them. */
import type { ServerRequest } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpAsks } from "../../schemas/manifest.ts";
import { isRecord } from "./json_bounds.ts";
import { withoutUnseen } from "./plain_text.ts";

/** The method by which a server has a model answer. */
export const sampleMethod = "sampling/createMessage";

type Message = Extract<ServerRequest, { readonly kind: "sampling" }>["messages"][number];

/**
 * A request that the session's model can answer, or why it does not. Whatever context the server wants of us, the model
 * is given its texts alone; and no tool.
 */
export function readSampling(
  key: string,
  params: unknown,
  { gate, max_requests: timesMax, max_tokens: tokensMax }: NonNullable<McpAsks["sampling"]>,
): ServerRequest {
  const refused = (why: string): ServerRequest => {
    const message = `what the server wants the model to answer cannot be given to it: ${why}`;
    return { kind: "refused", key, why: failure("mcp_input_invalid", message) };
  };
  if (!isRecord(params)) return refused("it is no request");
  const { messages: given, systemPrompt, maxTokens, tools } = params;
  if (Array.isArray(tools) && tools.length > 0) return refused("it wants tools to be called");
  if (!Array.isArray(given) || given.length === 0) return refused("it has no messages");
  if (given.length > limits.sampleMessagesMax) {
    return refused(`it has ${given.length} messages, and at most ${limits.sampleMessagesMax} are answered`);
  }
  const messages: Message[] = [];
  for (const one of given) {
    const message = readText(one);
    if (message === undefined) return refused("a message of it is no text");
    messages.push(message);
  }
  const system = typeof systemPrompt === "string" ? withoutUnseen(systemPrompt) : "";
  const characters = messages.reduce((sum, { text }) => sum + text.length, system.length);
  if (characters > limits.sampleCharactersMax) {
    return refused(`it has ${characters} characters, and at most ${limits.sampleCharactersMax} are answered`);
  }
  const wanted = typeof maxTokens === "number" && maxTokens >= 1 ? Math.floor(maxTokens) : tokensMax;
  return {
    kind: "sampling",
    key,
    gate,
    ...(system === "" ? {} : { system }),
    messages,
    maxOutputTokens: Math.min(wanted, tokensMax),
    timesMax,
  };
}

function readText(message: unknown): Message | undefined {
  const { role, content } = isRecord(message) ? message : {};
  const [block, ...others] = Array.isArray(content) ? content : [content];
  if ((role !== "user" && role !== "assistant") || others.length > 0) return undefined;
  const { type, text } = isRecord(block) ? block : {};
  return type === "text" && typeof text === "string" ? { role, text: withoutUnseen(text) } : undefined;
}
