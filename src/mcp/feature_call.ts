/** Calls of what a server offers besides tools: which request a call becomes, and how its answer reads. */
import { failure } from "../../schemas/failure.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { McpMethod, ToolResultEnvelope } from "../../schemas/tool.ts";
import { errorEnvelope, structuredEnvelope, textEnvelope } from "../tools/tool.ts";
import type { Binaries } from "./binaries.ts";
import type { McpCallResult, McpRequest } from "./call.ts";
import { type Listed, type ListPage, readListPage } from "./feature_lists.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";
import { textOf, textOfResource, unreadable, uriOf, word } from "./result.ts";

/** What a call is made of. */
export interface FeatureCall {
  readonly method: Exclude<McpMethod, "tools/call">;
  readonly arguments: JsonObject;
  readonly binaries: Binaries;
  readonly send: (request: McpRequest) => Promise<McpCallResult>;
}

/** How a call came back: read, or not at all. */
export type FeatureResult =
  | { readonly status: "read"; readonly envelope: ToolResultEnvelope }
  | Exclude<McpCallResult, { readonly status: "returned" }>;

/** Carries out a call. Never rejects unless `send` does. */
export async function callFeature(call: FeatureCall): Promise<FeatureResult> {
  const { method, arguments: given, binaries, send } = call;
  switch (method) {
    case "resources/list":
      return await listResources(given, send);
    case "resources/read":
      return await ask(
        { method, params: { uri: given["uri"] ?? "" } },
        send,
        (raw) => readContents(raw, binaries),
      );
    case "resources/subscribe":
    case "resources/unsubscribe": {
      const told = method === "resources/subscribe"
        ? "Subscribed. You are told at the beginning of a later turn that it changed"
        : "Unsubscribed";
      return await ask({ method, params: { uri: given["uri"] ?? "" } }, send, () => textEnvelope(told));
    }
    case "prompts/list": {
      const params = "cursor" in given ? { cursor: given["cursor"] ?? "" } : {};
      return await ask({ method, params }, send, (raw) => {
        const page = readListPage(raw, "prompts");
        return "problem" in page ? unreadable(page.problem) : structuredEnvelope(told("prompts", page, ""));
      });
    }
    case "prompts/get": {
      const params = { name: given["name"] ?? "", arguments: given["arguments"] ?? {} };
      return await ask({ method, params }, send, (raw) => readPrompt(raw, binaries));
    }
    case "completion/complete": {
      const params = completionOf(given);
      if (params !== undefined) return await ask({ method, params }, send, readCompletion);
      return refused("Cannot complete this: name either a prompt or a template");
    }
  }
}

/** Says no before anything is asked. */
function refused(message: string): FeatureResult {
  return { status: "read", envelope: errorEnvelope(failure("arguments_invalid", message)) };
}

async function ask(
  request: McpRequest,
  send: FeatureCall["send"],
  read: (raw: unknown) => ToolResultEnvelope,
): Promise<FeatureResult> {
  const answered = await send(request);
  return answered.status === "returned" ? { status: "read", envelope: read(answered.result) } : answered;
}

/** The protocol's code for a question that a server does not know. */
const methodNotFound = -32_601;

/** Resources come first, then templates: a cursor of ours says by its first two characters which it is of. */
const lists = {
  "r:": { method: "resources/list", listed: "resources" },
  "t:": { method: "resources/templates/list", listed: "resourceTemplates" },
} as const;

type Mark = keyof typeof lists;

async function listResources(given: JsonObject, send: FeatureCall["send"]): Promise<FeatureResult> {
  const cursor = typeof given["cursor"] === "string" ? given["cursor"] : "r:";
  const mark = cursor.slice(0, 2);
  if (mark !== "r:" && mark !== "t:") {
    return refused("Cannot use this cursor: take it from next_cursor of the answer before, as it is");
  }
  const first = await listPage(mark, cursor.slice(2), send);
  if ("status" in first) return first;
  if ("problem" in first) return { status: "read", envelope: unreadable(first.problem) };
  const page = told(lists[mark].listed, first, mark);
  if (mark === "t:" || first.next !== undefined) {
    return { status: "read", envelope: structuredEnvelope(page) };
  }
  const second = await listPage("t:", "", send);
  const templates = "status" in second
    ? withoutTemplates(second)
    : "problem" in second
    ? { templates_problem: second.problem }
    : told("resourceTemplates", second, "t:");
  return { status: "read", envelope: structuredEnvelope({ ...page, ...templates }) };
}

async function listPage(
  mark: Mark,
  cursor: string,
  send: FeatureCall["send"],
): Promise<ReturnType<typeof readListPage> | Exclude<McpCallResult, { readonly status: "returned" }>> {
  const { method, listed } = lists[mark];
  const answered = await send({ method, params: cursor === "" ? {} : { cursor } });
  return answered.status === "returned" ? readListPage(answered.result, listed) : answered;
}

/** Most servers that have no templates answer with none; the others do not know the question. */
function withoutTemplates(answered: Exclude<McpCallResult, { readonly status: "returned" }>): JsonObject {
  const isUnknown = answered.status === "refused" && answered.code === methodNotFound;
  return isUnknown ? {} : { templates_problem: answered.failure.message };
}

const keys: { readonly [L in Listed]: readonly [items: string, leftOut: string] } = {
  resources: ["resources", "resources_left_out"],
  resourceTemplates: ["templates", "templates_left_out"],
  prompts: ["prompts", "prompts_left_out"],
};

function told(listed: Listed, { items, leftOut, next }: ListPage, mark: Mark | ""): JsonObject {
  const [key, leftOutKey] = keys[listed];
  return {
    [key]: [...items],
    ...(leftOut === 0 ? {} : { [leftOutKey]: leftOut }),
    ...(next === undefined ? {} : { next_cursor: `${mark}${next}` }),
  };
}

/** The text of one resource as it is; of several, each below its address. */
function readContents(raw: unknown, binaries: Binaries): ToolResultEnvelope {
  const contents = isRecord(raw) ? raw["contents"] : undefined;
  if (!Array.isArray(contents)) return unreadable("it has no contents");
  if (contents.length === 0) return structuredEnvelope({ status: "empty" });
  if (contents.length === 1) return textEnvelope(textOfResource(contents[0], binaries));
  const all = contents.map((one) => {
    const text = textOfResource(one, binaries);
    const isText = isRecord(one) && typeof one["text"] === "string";
    return isText ? `[resource${uriOf(one["uri"])}${word(one["mimeType"])}]\n${text}` : text;
  });
  return textEnvelope(all.join("\n"));
}

/** A prompt is what the server says, and reads so: nobody's own words. */
function readPrompt(raw: unknown, binaries: Binaries): ToolResultEnvelope {
  const messages = isRecord(raw) ? raw["messages"] : undefined;
  if (!isRecord(raw) || !Array.isArray(messages)) return unreadable("it has no messages");
  const description = word(raw["description"]);
  const all = messages.map((one) => {
    const { role, content } = isRecord(one) ? one : {};
    const blocks = Array.isArray(content) ? content : [content];
    return `[${typeof role === "string" ? oneLine(role, 40) : "message"}]\n${textOf(blocks, binaries)}`;
  });
  return textEnvelope([`[prompt${description === "" ? "" : `:${description}`}]`, ...all].join("\n"));
}

/** Undefined if it is not clear what is to be completed. */
function completionOf(given: JsonObject): JsonObject | undefined {
  const { prompt, template, argument, value, given: others } = given;
  if ((prompt === undefined) === (template === undefined)) return undefined;
  const ref: Json = prompt === undefined
    ? { type: "ref/resource", uri: template ?? "" }
    : { type: "ref/prompt", name: prompt };
  return {
    ref,
    argument: { name: argument ?? "", value: value ?? "" },
    ...(others === undefined ? {} : { context: { arguments: others } }),
  };
}

function readCompletion(raw: unknown): ToolResultEnvelope {
  const completion = isRecord(raw) ? raw["completion"] : undefined;
  if (!isRecord(completion) || !Array.isArray(completion["values"])) return unreadable("it has no values");
  const { values, total, hasMore } = completion;
  const read = values.filter((one) => typeof one === "string").slice(0, limits.mcpCompletionsMax)
    .map((one) => oneLine(one, 1_000));
  const isMore = hasMore === true || read.length < values.length;
  return structuredEnvelope({
    values: read,
    ...(Number.isSafeInteger(total) ? { total: Number(total) } : {}),
    ...(isMore ? { has_more: true } : {}),
  });
}
