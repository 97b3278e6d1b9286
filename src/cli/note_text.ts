/** One note of a journal in one line for people. */
import { RefreshRule } from "../../schemas/refresh.ts";
import { ScheduleState } from "../../schemas/schedule.ts";
import { peek, peekList, peekText } from "../peek.ts";
import { scheduleText } from "../schedule_text.ts";
import { durationText } from "./table.ts";
import { historyText, usedText } from "./use_text.ts";
import { compactedText, hiddenText, queuedText, waitNoteText } from "./wait_note.ts";

/** Most tools that one line names. */
const namedMax = 6;

/** What a note says, in short; undefined if it is of a kind that is not known here. */
export function noteText(type: string, body: unknown): string | undefined {
  switch (type) {
    case "turn.planned":
      return planText(body);
    case "turn.exposed":
      return exposedText(body);
    case "invocation.judged":
      return judgedText(body);
    case "tools.bound":
      return boundText(body);
    case "poisoned":
      return poisonedText(body);
    case "supervisor.escalated":
      return escalatedText(body);
    case "late_outcome":
      return `${peekText(body, "id")} came late, and changes nothing: ${
        peekText(body, "value", "operator") || peekText(body, "status")
      }`;
    case "session.forked":
      return forkedText(body);
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
    case "server.answered":
    case "tool.answered":
      return elicitationText(body);
    case "authored.used":
      return usedText(body);
    case "history.read":
      return historyText(body);
    case "turn.stuck":
      return `turn ${peekText(body, "turn")} seems stuck: ${peekText(body, "refusals")} calls were refused`;
    case "catalog.changed":
      return changedText(body);
    case "catalog.tools_dropped":
      return droppedText(body);
    case "catalog.renewing":
      return `servers are asked for their tools: ${ruleText(peekText(body, "rule"))}`;
    case "connection.listed":
      return listedText(body);
    case "connection.session":
      return sessionText(body);
    case "mcp.url_decision":
      return urlText(body);
    case "mcp.server_denied":
    case "mcp.server_failed":
    case "mcp.server_disabled":
      return `${peekText(body, "server")} ${peekText(body, "code")}: ${peekText(body, "message")}`;
    case "command.started":
      return startedText(body);
    case "command.ended":
      return endedText(body);
    default:
      return ofOthers(type, body);
  }
}

function ofOthers(type: string, body: unknown): string | undefined {
  if (type === "model.tool_simplified" || type === "model.tool_hidden") return hiddenText(type, body);
  if (type === "context.compacted") return compactedText(body);
  if (type === "model.queued") return queuedText(body);
  if (type === "turn.waiting" || type === "turn.wait_ended") return waitNoteText(type, body);
  if (type === "schedule.fired") return firedText(body);
  return type === "schedule.state" ? stateText(body) : undefined;
}

/** Whether a schedule was in time: what was missed while nothing ran is done once. */
function firedText(body: unknown): string {
  if (peek(body, "isOverdue") !== true) return "the session is given its prompt";
  const late = durationText(Number(peekText(body, "lateMs")));
  return `the session is given its prompt once, ${late} late: nothing ran when it was due`;
}

function stateText(body: unknown): string {
  const state = ScheduleState.safeParse(body);
  return state.success ? scheduleText(state.data) : peekText(body, "status");
}

/** What was started, where, and with which secrets, by name (DM-85). */
function startedText(body: unknown): string {
  const program = peekText(body, "shell") || peekText(body, "executable");
  const secrets = peekList(body, "secrets").map((one) =>
    `${peekText(one, "variable")} from ${peekText(one, "source")}`
  );
  return [
    `${peekText(body, "ordinal")} ${program} in ${peekText(body, "cwd")}`,
    `${peekList(body, "environment").length} variables`,
    ...secrets,
  ].join(", ");
}

function endedText(body: unknown): string {
  const [code, signal, left] = ["exitCode", "signal", "leftBehind"].map((name) => peekText(body, name));
  const how = signal ? `by ${signal}` : `with ${code}`;
  const rest = left === "0" ? [] : [`${left} processes left behind were ended`];
  const head = `${peekText(body, "ordinal")} ${peekText(body, "state")} ${how}`;
  return [`${head} after ${peekText(body, "durationMs")} ms`, ...rest].join(", ");
}

const rules: { readonly [R in RefreshRule]: string } = {
  connect: "it was started",
  reconnect: "it was started again",
  list_changed: "it said that its tools changed",
  call_refused: "it refused a call as one that it does not know",
  age: "the list was old",
  manual: "somebody asked for it",
  disconnect: "it was lost",
  declared: "the servers were declared",
  failed: "a server had failed",
};

/** Why the tools of a server are asked for again. */
export function ruleText(rule: string): string {
  const known = RefreshRule.safeParse(rule);
  return known.success ? rules[known.data] : rule;
}

function sessionText(body: unknown): string {
  const id = peekText(body, "id");
  return `session of ${peekText(body, "server")} is ${peekText(body, "state")}${id === "" ? "" : `: ${id}`}`;
}

/** What was decided about URLs of requests, and how often. */
function urlText(body: unknown): string {
  const [scheme, host, port] = ["scheme", "host", "port"].map((part) => peekText(body, part));
  const count = peekText(body, "count");
  const place = host === "" ? "" : `${scheme}://${host}${port === "" ? "" : `:${port}`} `;
  return `${place}${peekText(body, "reason")}, ${peekText(body, "phase")}${
    count === "1" ? "" : `, ${count} times`
  }`;
}

function listedText(body: unknown): string {
  const same = peek(body, "same");
  const change = same === true ? ", the same as before" : same === false ? ", others than before" : "";
  const head = `${peekText(body, "server")} ${peekText(body, "tools")} tools${change}`;
  return `${head}: ${ruleText(peekText(body, "rule"))}`;
}

/** Which tools came, went and changed. */
function changedText(body: unknown): string {
  const parts = ["added", "removed", "changed"].flatMap((kind) => {
    const count = peekText(body, "counts", kind);
    if (count === "" || count === "0") return [];
    return [`${count} ${kind} (${namesOf(peekList(body, kind).map(changeText), Number(count))})`];
  });
  return `epoch ${peekText(body, "epoch")}: ${parts.join(", ")}`;
}

function changeText(tool: unknown): string {
  const [name, from, to] = [peekText(tool, "name"), peekText(tool, "from"), peekText(tool, "to")];
  return to === "" ? name : `${name} ${shortHash(from)} to ${shortHash(to)}`;
}

function shortHash(hash: string): string {
  return hash === "" ? "no hash" : hash.replace("sha256:", "").slice(0, 8);
}

function droppedText(body: unknown): string {
  const tools = peekList(body, "dropped").map((tool) =>
    `${peekText(tool, "server")}.${peekText(tool, "tool")}: ${peekText(tool, "reason")}`
  );
  return `${peekText(body, "count")} left out (${namesOf(tools, Number(peekText(body, "count")))})`;
}

/** What a model was told of. */
function exposedText(body: unknown): string {
  const step = `turn ${peekText(body, "turn")} step ${peekText(body, "step")}`;
  const count = peekText(body, "exposed");
  if (peek(body, "whole") === true) return `${step}: all ${count} tools`;
  const names = peekList(body, "names").map(String);
  return `${step}: ${count} tools (${namesOf(names, names.length)})`;
}

function namesOf(names: readonly string[], count: number): string {
  const rest = count - Math.min(names.length, namedMax);
  return [...names.slice(0, namedMax), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
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
function forkedText(body: unknown): string {
  const [settled, closed] = [peekList(body, "settled").length, peekList(body, "closed").length];
  const from = `${peekText(body, "origin", "address")} at entry ${peekText(body, "origin", "seq")}`;
  return `from ${from}: ${settled} intents settled, ${closed} closed`;
}

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

/** What a server or a tool that asked was told, and if no person said so, why. */
function elicitationText(body: unknown): string {
  const [action, via] = [peekText(body, "action"), peekText(body, "via")];
  const how = via === "answered" ? "" : ` (${via})`;
  const asker = peekText(body, "server") || peekText(body, "tool");
  return `${peekText(body, "ordinal")} ${asker} round ${peekText(body, "round")}: ${action}${how}`;
}

function planText(body: unknown): string {
  const stages = peekList(body, "stages").map((stage) => peekList(stage, "members").length);
  return `${stages.length} ${stages.length === 1 ? "stage" : "stages"}: ${stages.join(" then ")} calls`;
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

function poisonedText(body: unknown): string {
  const message = peekText(body, "input", "message", "type");
  return `${message} broke the machine, and is set aside: ${peekText(body, "failure", "message")}`;
}

function escalatedText(body: unknown): string {
  const [child, restarts] = [peekText(body, "child"), peekText(body, "restarts")];
  return `${child} is given up after ${restarts} restarts: ${peekText(body, "cause", "message")}`;
}
