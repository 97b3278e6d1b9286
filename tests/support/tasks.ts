/** Calls that a server carries out as tasks: what the port yields, and a machine that looks after one. */
import type { CallTask } from "../../schemas/call_pause.ts";
import type { Json } from "../../schemas/json.ts";
import { type Call, type CallSketch, startCall } from "./calls.ts";

/** The handle of a task of 2025-11-25. */
export function taskHandle(changes: Partial<CallTask> = {}): CallTask {
  return { type: "task", id: "task-1", result: "asked", pollMs: 1_000, keptUntilMs: null, ...changes };
}

/** What the port yields for a call that became a task. */
export function pausedCall(changes: Partial<CallTask> = {}): Json {
  return { pause: taskHandle(changes) } as unknown as Json;
}

/** A call of an MCP tool that became a task. */
export function callInTask(sketch: CallSketch = {}): Call {
  const call = startCall({ ...sketch, entry: { adapter: "mcp", ...sketch.entry } });
  call.settle("mcp.call", pausedCall());
  return call;
}
