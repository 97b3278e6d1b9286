/** Tells a raw result from what is none yet: a call that its server has begun, and that goes on. */
import type { CallPause } from "../../schemas/call_pause.ts";
import { taskOf } from "./task.ts";

/** What a call waits for now; undefined if the server has answered with a result. Takes whatever JSON there is. */
export function pauseOf(raw: unknown, nowMs: number): CallPause | undefined {
  return taskOf(raw, nowMs);
}
