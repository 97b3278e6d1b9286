/** `timer.set`: waits until an absolute time, and a drawn bit longer. The row that outlives a crash is the kernel's. */
import { failure } from "../../schemas/failure.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Seams } from "../seams.ts";
import type { Performer } from "./performer.ts";

/**
 * Performs one timer. Fires at or after its due time, at once if that has passed; the jitter is drawn here (K7). One that
 * is held does not fire in this runtime.
 */
export function createTimerSet(
  seams: Seams,
  isHeld: (root: RootAddress) => boolean = () => false,
): Performer<"timer.set"> {
  return async ({ request, root, signal }) => {
    const { dueAtMs, jitterMs, label } = request.args;
    const firesAtMs = isHeld(root) ? Infinity : dueAtMs + seams.random() * jitterMs;
    await seams.clock.sleepUntil(firesAtMs, signal);
    if (signal.aborted) {
      return { status: "canceled", failure: failure("tool_canceled", `The timer "${label}" was canceled`) };
    }
    return { status: "ok", value: { firedAtMs: seams.clock.now() } };
  };
}
