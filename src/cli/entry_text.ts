/** One entry of a journal in one line for people. */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { ScheduleTimes } from "../../schemas/schedule.ts";
import { previewArguments } from "../../actors/preview.ts";
import { isPaused } from "../journal/named_blobs.ts";
import { accessText, tokenReplyText } from "./access_text.ts";
import { timesText } from "../schedule_text.ts";
import { visible } from "../tools/visible.ts";
import { noteText, ruleText } from "./note_text.ts";
import { peek, peekList, peekObject, peekText } from "../peek.ts";

/** What an entry says, in short. Safe to show. What is not known is shown as bounded JSON. */
export function entryText(entry: Entry): string {
  const text = textOf(entry) ?? fallback(entry);
  return visible(text);
}

function textOf({ kind, type, body }: Entry): string | undefined {
  switch (kind) {
    case "created": {
      const server = peekText(body, "input", "declaration", "server");
      const times = ScheduleTimes.safeParse(peek(body, "input", "times"));
      if (times.success) {
        return `${timesText(times.data)}: ${JSON.stringify(peekText(body, "input", "prompt"))}`;
      }
      if (peekText(body, "machine") === "audit") return "the record of who may use the API, and who tried";
      return server === "" ? `agent ${peekText(body, "input", "agent", "name") || "-"}` : `server ${server}`;
    }
    case "input":
      return inputText(type, body);
    case "intent":
      return intentText(type, peek(body, "args"));
    case "outcome":
      return `${peekText(body, "id")} ${outcomeText(type, body)}`;
    case "message":
      return `to ${peekText(body, "to")}`;
    case "reply":
      return tokenReplyText(peek(body, "value")) ??
        `${peekText(body, "value", "outcome")} ${peekText(body, "value", "failure", "message")}`.trim();
    case "note":
      return noteText(type, body);
    case "checkpoint":
      return peek(body, "origin") === undefined
        ? "state of the root, as truth"
        : `fork of ${peekText(body, "origin", "address")} at entry ${peekText(body, "origin", "seq")}`;
  }
}

function inputText(type: string, body: unknown): string | undefined {
  const message = peek(body, "message");
  if (type === "session.call") {
    const given = peekObject(message, "call", "arguments") as JsonObject;
    return `${peekText(message, "call", "tool")} ${previewArguments(given)}`;
  }
  const text = peekText(message, "text") || peekText(message, "reason");
  if (text !== "") return JSON.stringify(text);
  if (type === "catalog.issued") {
    const epoch = `epoch ${peekText(message, "catalog", "epoch")} ${
      peekText(message, "catalog", "hash").slice(0, 19)
    }`;
    return [epoch, ...peekList(message, "servers").map(serverText)].join(", ");
  }
  if (type === "connection.offered") return serverText(peek(message, "report"));
  if (type === "session.servers") {
    return serverNames(peekList(message, "servers").map((one) => peek(one, "declaration")));
  }
  if (type === "catalog.stale" || type === "connection.stale" || type === "connection.refresh") {
    return `${peekText(message, "server")} ${ruleText(peekText(message, "rule"))}`.trim();
  }
  if (type.startsWith("token.") || type === "access.refused") return accessText(message);
  if (type === "task.opened") return `${peekText(message, "task")} ${peekText(message, "kind")}`;
  if (type === "task.ended") {
    return `${peekText(message, "task")} ${peekText(message, "status")}: ${peekText(message, "title")}`;
  }
  if (type === "resource.updated") return `${peekText(message, "server")} ${peekText(message, "uri")}`;
  if (type === "catalog.renew") return serverNames(peekList(message, "servers"));
  const failure = peekText(message, "failure", "message");
  // A failure of being out of service names the root itself.
  if (type === "child.crashed") return `${peekText(message, "child")}: ${failure}`;
  return failure || peekText(message, "child") || undefined;
}

function serverNames(servers: readonly unknown[]): string {
  return servers.length === 0 ? "no servers" : servers.map((server) => peekText(server, "server")).join(", ");
}

/** What became of a server: its tools, or why there are none. */
function serverText(report: unknown): string {
  const code = peekText(report, "failure", "code");
  const what = code === ""
    ? `${peekText(report, "tools")} tools`
    : `${code}: ${peekText(report, "failure", "message")}`;
  return `${peekText(report, "server")} ${what}`;
}

function intentText(type: string, args: unknown): string | undefined {
  switch (type) {
    case "tool.call":
    case "tool.verify":
    case "mcp.call":
    case "mcp.task":
    case "command.review":
      return `${peekText(args, "entry", "name")} ${
        previewArguments(peekObject(args, "arguments") as JsonObject)
      }`;
    case "model.generate":
      return `${peekText(args, "model")} turn ${peekText(args, "turn")} step ${peekText(args, "step")}${
        continuationText(peekText(args, "continuation", "reason"))
      }`;
    case "question.ask":
      return `${peekText(args, "subject", "tool")}: ${peekText(args, "subject", "reason")}`;
    case "model.sample":
      return `for the server ${peekText(args, "server")}, ${peekList(args, "messages").length} messages`;
    case "schedule.next":
      return `${peekText(args, "expression")} in ${peekText(args, "zone")}`;
    case "timer.set":
      return peekText(args, "label");
    case "mcp.connect":
    case "mcp.list":
      return `${peekText(args, "declaration", "server")} start ${peekText(args, "launch")}`;
    case "mcp.watch":
    case "mcp.close":
      return `start ${peekText(args, "launch")}`;
    case "task.run":
      return `${peekText(args, "work", "kind")} for ${peekText(args, "owner")}`;
    case "catalog.seal":
      return `${peekList(args, "catalog", "entries").length} tools`;
    default:
      return undefined;
  }
}

/** Why a model is asked although nothing new came of calls. */
function continuationText(reason: string): string {
  return reason === "" || reason === "tool_result_continuation" ? "" : `, ${reason}`;
}

function outcomeText(type: string, body: unknown): string {
  const status = peekText(body, "status");
  const failure = peek(body, "failure");
  if (failure !== undefined) return `${status} ${peekText(failure, "code")}: ${peekText(failure, "message")}`;
  const value = peek(body, "value");
  switch (type) {
    case "mcp.connect":
      return `${status} ${peekText(value, "server", "name")} ${
        peekText(value, "server", "version")
      }, revision ${peekText(value, "protocolVersion")}`;
    case "mcp.list":
      return `${status} ${peekText(value, "tools")} tools, ${peekText(value, "rejectedCount")} left out`;
    case "mcp.close":
      return `${status} ${endText(value)}`;
    case "mcp.watch":
      return `${status} ${watchText(value)}`;
    case "tool.call":
    case "mcp.call":
    case "mcp.task":
      if (isPaused(body)) return `${status} ${pauseText(peek(value, "pause"))}`;
      return `${peek(value, "isError") === true ? "error" : status} ${peekText(value, "operator")}`;
    case "command.review": {
      const rules = peekList(value, "findings").map((one) => peekText(one, "rule"));
      return [peekText(value, "verdict"), ...(rules.length === 0 ? [] : [rules.join(", ")])].join(": ");
    }
    case "model.generate": {
      const calls = peekList(value, "calls").map((call) => peekText(call, "name"));
      return [JSON.stringify(peekText(value, "text")), ...calls.map((name) => `-> ${name}`)].join(" ");
    }
    case "model.sample":
      return `${status} ${JSON.stringify(peekText(value, "text"))}`;
    case "task.run":
      return peekText(value, "status") || status;
    case "question.ask":
      return `${peekText(value, "decision")} by ${peekText(value, "by", "kind")} ${
        peekText(value, "by", "id")
      }`;
    default:
      return status;
  }
}

function pauseText(pause: unknown): string {
  if (peekText(pause, "type") === "task") return "the server goes on with it as task";
  const count = peekList(pause, "requests").length;
  const server = peekText(pause, "server");
  return `not yet: ${server === "" ? "the tool" : `the server ${server}`} wants ${count} ${
    count === 1 ? "answer" : "answers"
  } first`;
}

function watchText(value: unknown): string {
  switch (peekText(value, "type")) {
    case "list_changed":
      return "the server says that its tools changed";
    case "resources_updated":
      return `resources changed: ${peekList(value, "uris").join(", ")}`;
    case "idle":
      return "nobody has called it for long";
    case "ended":
      return `the server ended by itself, ${peekText(value, "failure", "code")}: ${
        peekText(value, "failure", "message")
      }`;
    default:
      return "";
  }
}

function endText(value: unknown): string {
  const [code, signal] = [peekText(value, "code"), peekText(value, "signal")];
  if (signal !== "") return `ended by ${signal}`;
  return code === "" ? "had ended before" : `exit code ${code}`;
}

function fallback({ body }: Entry): string {
  return typeof body === "object" && body !== null && !Array.isArray(body)
    ? previewArguments(body as JsonObject)
    : JSON.stringify(body ?? null);
}
