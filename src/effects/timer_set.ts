/** `timer.set`: waits until an absolute time, and a drawn bit longer. The row that outlives a crash is the kernel's. */
import { failure } from "../../schemas/failure.ts";
import type { Seams } from "../seams.ts";
import type { Performer } from "./performer.ts";

/** Performs one timer. Fires at or after its due time, at once if that has passed; the jitter is drawn here (K7). */
export function createTimerSet(seams: Seams): Performer<"timer.set"> {
  return async ({ request, signal }) => {
    const { dueAtMs, jitterMs, label } = request.args;
    await seams.clock.sleepUntil(dueAtMs + seams.random() * jitterMs, signal);
    if (signal.aborted) {
      return { status: "canceled", failure: failure("tool_canceled", `The timer "${label}" was canceled`) };
    }
    return { status: "ok", value: { firedAtMs: seams.clock.now() } };
  };
}
