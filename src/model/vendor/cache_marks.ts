/** Tells a vendor up to where a request is the beginning of the next one, so that it may keep that (prompt caching). */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";

const mark: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Marks what was said to the system, and the last message: each request begins with all of the one before. */
export function markedPrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const system = prompt.findLastIndex(({ role }) => role === "system");
  const marked = new Set([system, prompt.length - 1]);
  return prompt.map((message, index) => marked.has(index) ? { ...message, providerOptions: mark } : message);
}

/** Marks the last tool: tools stand before everything else, and their order is that of the catalog. */
export function markedTools(tools: readonly LanguageModelV4FunctionTool[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool, index) => index === tools.length - 1 ? { ...tool, providerOptions: mark } : tool);
}
