/** Our conversation as the AI SDK's prompt: every call has its one result, and what a vendor wants back goes back. */
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { ShownImage } from "../../../schemas/image.ts";
import type { ModelCall, ModelMessage, ModelRequest } from "../../../schemas/model.ts";
import type { ToolNames } from "./tool_names.ts";
import { keptParts, type VendorIdentity } from "./kept_parts.ts";

/** What stands in for the result of a call that has none: no vendor takes a call alone. */
const noResult = "There is no result: the call was not carried out to its end.";

type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

interface OpenCall {
  readonly vendorId: string;
  readonly name: string;
}

/** How a conversation is told. */
export interface PromptOptions {
  readonly names: ToolNames;
  /** Whom it is told to: what only another vendor or model understands is left out. */
  readonly identity: VendorIdentity;
  /** The bytes of images, by digest. */
  readonly images?: ModelRequest["images"];
}

/** Makes the prompt of a conversation. */
export function promptOf(messages: readonly ModelMessage[], options: PromptOptions): LanguageModelV4Prompt {
  const writer = new PromptWriter(options);
  for (const message of messages) writer.take(message);
  return writer.finish();
}

class PromptWriter {
  readonly #options: PromptOptions;
  readonly #prompt: LanguageModelV4Message[] = [];
  /** Calls that wait for their result, by our id, in the order in which they were made. */
  readonly #open = new Map<string, OpenCall[]>();
  readonly #usedIds = new Set<string>();
  #results: LanguageModelV4ToolResultPart[] = [];

  constructor(options: PromptOptions) {
    this.#options = options;
  }

  take(message: ModelMessage): void {
    if (message.role === "tool") return this.#result(message);
    this.#endResults();
    switch (message.role) {
      case "system":
        this.#prompt.push({ role: "system", content: message.text });
        return;
      case "user":
        this.#say(message.text, message.images);
        return;
      case "assistant": {
        const content = this.#answer(message);
        if (content.length > 0) this.#prompt.push({ role: "assistant", content });
      }
    }
  }

  finish(): LanguageModelV4Prompt {
    this.#endResults();
    return this.#prompt;
  }

  #say(text: string, images: readonly ShownImage[] = []): void {
    const content: UserPart[] = [{ type: "text", text: text === "" ? "(nothing)" : text }];
    for (const { digest, mediaType } of images) {
      const data = this.#options.images?.get(digest);
      if (data !== undefined) content.push({ type: "file", mediaType, data: { type: "data", data } });
    }
    this.#prompt.push({ role: "user", content });
  }

  #answer(message: Extract<ModelMessage, { role: "assistant" }>): AssistantPart[] {
    const content: AssistantPart[] = [];
    const calls = [...message.calls];
    let isTextTold = false;
    for (const part of keptParts(message, this.#options.identity)) {
      if (part.type === "call") {
        const at = calls.findIndex(({ callId }) => callId === part.callId);
        const [call] = at < 0 ? [] : calls.splice(at, 1);
        if (call !== undefined) content.push(this.#call(call, part.options));
        continue;
      }
      isTextTold ||= part.type === "text";
      const more = part.options === undefined ? {} : { providerOptions: part.options };
      if (part.type === "reasoning" || part.text !== "") {
        content.push({ type: part.type, text: part.text, ...more });
      }
    }
    if (!isTextTold && message.text !== "") content.push({ type: "text", text: message.text });
    for (const call of calls) content.push(this.#call(call, undefined));
    return content;
  }

  #call(call: ModelCall, options: SharedV4ProviderOptions | undefined): AssistantPart {
    const toolName = this.#options.names.toVendor(call.name);
    const vendorId = this.#freshId(call.callId);
    const waiting = this.#open.get(call.callId) ?? [];
    waiting.push({ vendorId, name: toolName });
    this.#open.set(call.callId, waiting);
    return {
      type: "tool-call",
      toolCallId: vendorId,
      toolName,
      // What was no JSON object is shown as one: vendors take nothing else.
      input: call.arguments ?? { unreadable: call.argumentsText ?? "" },
      ...(options === undefined ? {} : { providerOptions: options }),
    };
  }

  /** Ids that come twice, or that not every vendor takes, are changed: only call and result must agree. */
  #freshId(callId: string): string {
    const plain = callId.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "call";
    let id = plain;
    for (let again = 2; this.#usedIds.has(id); again++) {
      const suffix = `_${again}`;
      id = plain.slice(0, 64 - suffix.length) + suffix;
    }
    this.#usedIds.add(id);
    return id;
  }

  #result({ callId, text, isError }: Extract<ModelMessage, { role: "tool" }>): void {
    const call = this.#open.get(callId)?.shift();
    // A result without its call is told as text: no vendor takes it as a result.
    if (call === undefined) {
      this.#endResults();
      return this.#say(text);
    }
    this.#results.push({
      type: "tool-result",
      toolCallId: call.vendorId,
      toolName: call.name,
      output: { type: isError ? "error-text" : "text", value: text === "" ? "(nothing)" : text },
    });
  }

  #endResults(): void {
    for (const { vendorId, name } of [...this.#open.values()].flat()) {
      this.#results.push({
        type: "tool-result",
        toolCallId: vendorId,
        toolName: name,
        output: { type: "error-text", value: noResult },
      });
    }
    this.#open.clear();
    if (this.#results.length > 0) this.#prompt.push({ role: "tool", content: this.#results });
    this.#results = [];
  }
}
