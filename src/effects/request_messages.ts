/**
 * The conversation as any provider takes it (LC-32): every call has its result right behind it, and no result is without
 * its call; no two neighbours say something in the same role; nothing is in it that is only ours.
 */
import type { ModelCall, ModelMessage } from "../../schemas/model.ts";

type ToolMessage = Extract<ModelMessage, { readonly role: "tool" }>;
type AssistantMessage = Extract<ModelMessage, { readonly role: "assistant" }>;

/** What a model is told of a call of which no result is there. */
export const noResultText = "There is no result of this call: nobody can say whether it was made";

/** The messages of a conversation, fit for a request. The same conversation gives the same messages, always. */
export function requestMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const made: ModelMessage[] = [];
  for (let at = 0; at < messages.length;) {
    const message = messages[at];
    if (message === undefined) break;
    at += 1;
    if (message.role !== "assistant") {
      add(made, message.role === "tool" ? withoutCall(message) : message);
      continue;
    }
    // All until the model speaks again may hold results of its calls.
    const end = messages.findIndex(({ role }, index) => index >= at && role === "assistant");
    const behind = messages.slice(at, end < 0 ? messages.length : end);
    at += behind.length;
    add(made, published(message));
    const results = [...behind.filter(({ role }) => role === "tool") as ToolMessage[]];
    for (const call of message.calls) made.push(resultOf(call, results));
    const left = new Set(results);
    for (const other of behind) {
      if (other.role !== "tool") add(made, other);
      else if (left.has(other)) add(made, withoutCall(other));
    }
  }
  return made;
}

/** The result of a call, taken out of those that are left: ids may come twice, then the order tells. */
function resultOf({ callId, name }: ModelCall, results: ToolMessage[]): ToolMessage {
  const at = results.findIndex((result) => result.callId === callId);
  const [found] = at < 0 ? [] : results.splice(at, 1);
  return found ?? { role: "tool", callId, name, text: noResultText, isError: true };
}

/** A result whose call is not in the conversation: no provider takes it as one, and it is not lost. */
function withoutCall({ name, text }: ToolMessage): ModelMessage {
  return { role: "user", text: `[result of ${name}, of a call that is not shown here]\n${text}` };
}

/** What the model said, without what only we know of it. */
function published(message: AssistantMessage): AssistantMessage {
  if (message.calls.every(({ hadSecret }) => hadSecret === undefined)) return message;
  const calls = message.calls.map(({ hadSecret: _, ...call }): ModelCall => call);
  return { ...message, calls };
}

/** Adds a message; to the one before it, if that is of the same role. Results stay each for itself. */
function add(made: ModelMessage[], message: ModelMessage): void {
  const last = made.at(-1);
  if (last === undefined || last.role !== message.role || message.role === "tool" || last.role === "tool") {
    made.push(message);
    return;
  }
  const text = [last.text, message.text].filter((one) => one !== "").join("\n\n");
  const calls = message.role === "assistant" ? message.calls : [];
  if (last.role === "user" && message.role === "user") {
    const images = [...last.images ?? [], ...message.images ?? []];
    made[made.length - 1] = { ...last, text, ...(images.length === 0 ? {} : { images }) };
    return;
  }
  made[made.length - 1] = last.role === "assistant" ? { ...last, text, calls } : { ...last, text };
}
