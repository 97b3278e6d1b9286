/** One entry of a journal in one line for people. */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { previewArguments } from "../../actors/preview.ts";
import { visible } from "../tools/visible.ts";
import { peek, peekList, peekObject, peekText } from "./peek.ts";

/** What an entry says, in short. Safe to show. What is not known is shown as bounded JSON. */
export function entryText(entry: Entry): string {
  const text = textOf(entry) ?? fallback(entry);
  return visible(text);
}

function textOf({ kind, type, body }: Entry): string | undefined {
  switch (kind) {
    case "created":
      return `agent ${peekText(body, "input", "agent", "name") || "-"}`;
    case "input":
      return inputText(type, body);
    case "intent":
      return intentText(type, peek(body, "args"));
    case "outcome":
      return `${peekText(body, "id")} ${outcomeText(type, body)}`;
    case "message":
      return `to ${peekText(body, "to")}`;
    case "reply":
      return `${peekText(body, "value", "outcome")} ${peekText(body, "value", "failure", "message")}`.trim();
    case "note":
      return type === "turn.planned" ? planText(body) : undefined;
    case "checkpoint":
      return "state of the root, as truth";
  }
}

function inputText(type: string, body: unknown): string | undefined {
  const message = peek(body, "message");
  const text = peekText(message, "text") || peekText(message, "reason");
  if (text !== "") return JSON.stringify(text);
  if (type === "catalog.issued") {
    return `epoch ${peekText(message, "catalog", "epoch")} ${
      peekText(message, "catalog", "hash").slice(0, 19)
    }`;
  }
  return peekText(message, "failure", "message") || undefined;
}

function intentText(type: string, args: unknown): string | undefined {
  switch (type) {
    case "tool.call":
    case "tool.verify":
      return `${peekText(args, "entry", "name")} ${
        previewArguments(peekObject(args, "arguments") as JsonObject)
      }`;
    case "model.generate":
      return `${peekText(args, "model")} turn ${peekText(args, "turn")} step ${peekText(args, "step")}`;
    case "question.ask":
      return `${peekText(args, "subject", "tool")}: ${peekText(args, "subject", "reason")}`;
    case "timer.set":
      return peekText(args, "label");
    case "catalog.seal":
      return `${peekList(args, "catalog", "entries").length} tools`;
    default:
      return undefined;
  }
}

function outcomeText(type: string, body: unknown): string {
  const status = peekText(body, "status");
  const failure = peek(body, "failure");
  if (failure !== undefined) return `${status} ${peekText(failure, "code")}: ${peekText(failure, "message")}`;
  const value = peek(body, "value");
  switch (type) {
    case "tool.call":
      return `${peek(value, "isError") === true ? "error" : status} ${peekText(value, "operator")}`;
    case "model.generate": {
      const calls = peekList(value, "calls").map((call) => peekText(call, "name"));
      return [JSON.stringify(peekText(value, "text")), ...calls.map((name) => `-> ${name}`)].join(" ");
    }
    case "question.ask":
      return `${peekText(value, "decision")} by ${peekText(value, "by", "kind")} ${
        peekText(value, "by", "id")
      }`;
    default:
      return status;
  }
}

function planText(body: unknown): string {
  const stages = peekList(body, "stages").map((stage) => peekList(stage, "members").length);
  return `${stages.length} ${stages.length === 1 ? "stage" : "stages"}: ${stages.join(" then ")} calls`;
}

function fallback({ body }: Entry): string {
  return typeof body === "object" && body !== null && !Array.isArray(body)
    ? previewArguments(body as JsonObject)
    : JSON.stringify(body ?? null);
}
