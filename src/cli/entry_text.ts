/** One entry of a journal in one line for people. */
import type { Entry } from "../../schemas/entry.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { previewArguments } from "../../actors/preview.ts";
import { visible } from "../tools/visible.ts";
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
      return `${peekText(body, "value", "outcome")} ${peekText(body, "value", "failure", "message")}`.trim();
    case "note":
      return noteText(type, body);
    case "checkpoint":
      return "state of the root, as truth";
  }
}

function noteText(type: string, body: unknown): string | undefined {
  switch (type) {
    case "turn.planned":
      return planText(body);
    case "invocation.judged":
      return judgedText(body);
    case "tools.bound":
      return boundText(body);
    case "late_outcome":
      return `${peekText(body, "id")} came late, and changes nothing: ${
        peekText(body, "value", "operator") || peekText(body, "status")
      }`;
    case "attempt":
      return `${peekText(body, "id")} ${retryText(body)}`;
    case "invocation.retried":
      return `${peekText(body, "ordinal")} ${retryText(body)}`;
    case "model.retried":
      return `${peekText(body, "model")} turn ${peekText(body, "turn")} step ${peekText(body, "step")} ${
        retryText(body)
      }`;
    case "model.changed":
      return `from ${peekText(body, "from")} to ${peekText(body, "to")} after ${
        peekText(body, "lastErrorCode")
      }`;
    case "approval.requested":
      return requestedText(body);
    case "approval.decided":
    case "approval.denied":
      return decidedText(body);
    case "turn.stuck":
      return `turn ${peekText(body, "turn")} seems stuck: ${peekText(body, "refusals")} calls were refused`;
    default:
      return undefined;
  }
}

/** What a turn is bound to: its catalog, how many of its tools may be called, and what is not the default. */
function boundText(body: unknown): string {
  const [profile, call] = [peekText(body, "profile"), peekText(body, "call")];
  const others = peekList(body, "overrides").map((one) =>
    `${peekText(one, "tool")} by ${peekText(one, "implementation")}`
  );
  return [
    `${peekText(body, "execution")} to ${peekText(body, "catalog").slice(0, 19)}`,
    `${peekText(body, "tools")} tools`,
    ...(profile === "" ? [] : [`profile ${profile}`]),
    ...(call === "" ? [] : [`for the call of ${call}`]),
    ...others,
  ].join(", ");
}

/** Which attempt of how many, at what, and after which failure (AR-28). Notes of earlier releases have only a number. */
function retryText(body: unknown): string {
  const most = peekText(body, "maxAttempts");
  const attempt = `attempt ${peekText(body, "attempt")}`;
  if (most === "") return attempt;
  const by = peekText(body, "by");
  const what = `${peekText(body, "operation")} ${peekText(body, "idempotency")}`;
  return `${attempt} of ${most}, ${what}, after ${peekText(body, "lastErrorCode")}${
    by === "" ? "" : `, by the ${by}`
  }`;
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
  if (type === "catalog.renew") return serverNames(peekList(message, "servers"));
  return peekText(message, "failure", "message") || undefined;
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
      return `${peekText(args, "entry", "name")} ${
        previewArguments(peekObject(args, "arguments") as JsonObject)
      }`;
    case "model.generate":
      return `${peekText(args, "model")} turn ${peekText(args, "turn")} step ${peekText(args, "step")}`;
    case "question.ask":
      return `${peekText(args, "subject", "tool")}: ${peekText(args, "subject", "reason")}`;
    case "timer.set":
      return peekText(args, "label");
    case "mcp.connect":
    case "mcp.list":
      return `${peekText(args, "declaration", "server")} start ${peekText(args, "launch")}`;
    case "mcp.watch":
    case "mcp.close":
      return `start ${peekText(args, "launch")}`;
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
    case "mcp.connect":
      return `${status} ${peekText(value, "server", "name")} ${
        peekText(value, "server", "version")
      }, revision ${peekText(value, "protocolVersion")}`;
    case "mcp.list":
      return `${status} ${peekText(value, "tools")} tools, ${peekText(value, "rejectedCount")} left out`;
    case "mcp.close":
      return `${status} ${endText(value)}`;
    case "tool.call":
    case "mcp.call":
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

function endText(value: unknown): string {
  const [code, signal] = [peekText(value, "code"), peekText(value, "signal")];
  if (signal !== "") return `ended by ${signal}`;
  return code === "" ? "had ended before" : `exit code ${code}`;
}

/** What was judged of a call: the verdict, and the rules that had something to decide. */
function judgedText(body: unknown): string {
  const checks = peekList(body, "checks").map((check) => {
    const [by, why] = [peekText(check, "by"), peekText(check, "why")];
    return `${peekText(check, "check")}${by === "" ? "" : ` by ${by}`}${why === "" ? "" : `: ${why}`}`;
  });
  const head = `${peekText(body, "ordinal")} ${peekText(body, "tool")} ${peekText(body, "verdict")}`;
  return [head, ...checks].join(", ");
}

/** That somebody is asked about a call, in a question of its own or in that of another call. */
function requestedText(body: unknown): string {
  const how = peek(body, "shared") === true ? "waits for the answer to" : "is asked about in";
  return `${peekText(body, "ordinal")} ${peekText(body, "tool")} ${how} ${peekText(body, "question")}`;
}

/** What was decided about a call, by whom, and whether anybody was asked just now. */
function decidedText(body: unknown): string {
  const [kind, via, code] = [peekText(body, "by", "kind"), peekText(body, "via"), peekText(body, "code")];
  const how = [
    ...(peek(body, "cached") === true ? ["by an earlier answer"] : []),
    ...(peek(body, "automatic") === true ? ["automatic"] : []),
    ...(peek(body, "shared") === true ? ["shared"] : []),
    ...(via === "" || via === "answered" ? [] : [via]),
    ...(code === "" ? [] : [code]),
  ];
  const head = `${peekText(body, "ordinal")} ${peekText(body, "tool")} ${peekText(body, "decision")}`;
  const by = kind === "" ? "" : ` by ${kind} ${peekText(body, "by", "id")}`;
  return `${head}${by}${how.length === 0 ? "" : `, ${how.join(", ")}`}`;
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
