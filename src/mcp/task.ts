/** Reads what a server says of a task: of 2025-11-25, and of the extension of 2026-07-28; both by their own words. */
import type { CallTask } from "../../schemas/call_pause.ts";
import { limits } from "../../schemas/limits.ts";
import { isRecord } from "./json_bounds.ts";
import { oneLine } from "./plain_text.ts";
import { elicitMethod } from "./server_request.ts";

/** What a server says of a task. */
export interface TaskState {
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly message: string;
  readonly pollMs: number | undefined;
  /** Of a task of 2026-07-28 that has ended: its result, or the error of the protocol that it ended with. */
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  /** The keys of what it wants of a person before it goes on (2026-07-28). */
  readonly asked?: readonly string[];
}

const statuses: ReadonlySet<unknown> = new Set<TaskState["status"]>([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
]);

type Fields = { readonly [key: string]: unknown };

/**
 * The handle of the task that a raw result stands for; undefined if it is a result. A handle of 2025-11-25 stands in a
 * field of its own, one of 2026-07-28 is the result itself, and says so.
 */
export function taskOf(raw: unknown, nowMs: number): CallTask | undefined {
  if (!isRecord(raw)) return undefined;
  if (raw["resultType"] === "task") return handleOf(raw, "told", nowMs);
  if (!isRecord(raw["task"]) || raw["content"] !== undefined) return undefined;
  return handleOf(raw["task"], "asked", nowMs);
}

function handleOf(fields: Fields, result: CallTask["result"], nowMs: number): CallTask | undefined {
  const id = fields["taskId"];
  if (typeof id !== "string" || id === "" || id.length > limits.mcpTaskIdCharactersMax) return undefined;
  if (!statuses.has(fields["status"])) return undefined;
  const ttlMs = fields["ttlMs"] ?? fields["ttl"];
  const message = messageOf(fields);
  return {
    type: "task",
    id,
    result,
    pollMs: pollOf(fields) ?? limits.mcpTaskPollMs,
    keptUntilMs: Number.isSafeInteger(ttlMs) ? nowMs + Math.max(0, Number(ttlMs)) : null,
    ...(message === "" ? {} : { message }),
  };
}

/** What a server answered to `tasks/get`; undefined if that is no state of a task. */
export function taskStateOf(raw: unknown): TaskState | undefined {
  if (!isRecord(raw) || !statuses.has(raw["status"])) return undefined;
  const status = raw["status"] as TaskState["status"];
  const { error } = raw;
  return {
    status,
    message: messageOf(raw),
    pollMs: pollOf(raw),
    ...(isRecord(raw["result"]) ? { result: raw["result"] } : {}),
    ...(isRecord(error) ? { error: errorOf(error) } : {}),
    ...(isRecord(raw["inputRequests"]) ? { asked: askedOf(raw["inputRequests"]) } : {}),
  };
}

function askedOf(requests: Fields): readonly string[] {
  const asked = Object.entries(requests).filter(([key, one]) =>
    key.length <= limits.mcpRequestKeyCharactersMax && isRecord(one) && one["method"] === elicitMethod
  );
  return asked.map(([key]) => key).slice(0, limits.mcpRequestsAtOnceMax);
}

function errorOf({ code, message }: Fields): { readonly code: number; readonly message: string } {
  return {
    code: Number.isSafeInteger(code) ? Number(code) : 0,
    message: typeof message === "string" ? message : "",
  };
}

function messageOf({ statusMessage }: Fields): string {
  return typeof statusMessage === "string" ? oneLine(statusMessage, limits.mcpTaskMessageCharactersMax) : "";
}

/** As often as the server wants, within bounds of ours. */
function pollOf(fields: Fields): number | undefined {
  const asked = fields["pollIntervalMs"] ?? fields["pollInterval"];
  if (typeof asked !== "number" || !Number.isFinite(asked)) return undefined;
  return Math.round(Math.min(Math.max(asked, limits.mcpTaskPollMsMin), limits.mcpTaskPollMsMax));
}
