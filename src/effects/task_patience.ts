/** How long an attempt is waited for, and who ends it. */
import type { Failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { Redactor } from "../redact/redactor.ts";
import type { Clock } from "../seams.ts";
import type { Routed } from "./adapter.ts";
import type { Bounds } from "./deadline.ts";
import type { ToolCall } from "./tool_call.ts";

/** The task that an attempt looks after; undefined for one that makes the call. */
export function taskIn({ request, signal }: ToolCall, deadlineAtMs: number): Routed["task"] {
  return request.port === "mcp.task" ? { handle: request.args.task, signal, deadlineAtMs } : undefined;
}

/**
 * The bounds of an attempt. Who looks after a task ends by itself: it tells the server that the task is not wanted any
 * more, hears what became of it, and looks once also if the runtime was away until the deadline was over.
 */
export function boundsOf({ signal }: ToolCall, task: Routed["task"], bounds: Omit<Bounds, "signal">): Bounds {
  if (task === undefined) return { ...bounds, signal };
  const { clock } = bounds;
  return { clock, deadlineAtMs: lastLookMs(task, clock) + limits.mcpTaskFarewellMs, signal: never };
}

function lastLookMs({ deadlineAtMs }: NonNullable<Routed["task"]>, clock: Clock): number {
  return Math.max(deadlineAtMs, clock.now() + limits.mcpTaskLookMs) + limits.mcpTaskLookMs;
}

const never = new AbortController().signal;

/** How a call ended that was begun and brought no result: only an idempotent one may be said to have failed (R3). */
export function statusOfLost(
  effect: EffectClass,
  { code }: Failure,
): "unknown" | "failed" | "timed_out" | "canceled" {
  if (effect !== "idempotent") return "unknown";
  if (code === "tool_timed_out") return "timed_out";
  return code === "tool_canceled" ? "canceled" : "failed";
}

/** Withholds everything: for results that may hold a secret which nobody knows any more (DM-49). */
export function blind(redactor: Redactor): Redactor {
  const withheld = <T>(value: T) => ({ value, findings: [], isWithheld: true });
  return {
    text: () => withheld("(withheld)"),
    json: () => withheld<Json>(null),
    error: () => withheld("(withheld)"),
    stream: (view) => redactor.stream(view),
    remembering: () => blind(redactor),
  };
}
