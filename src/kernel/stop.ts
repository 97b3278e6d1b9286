/** The end of a runtime: at once if it can write no more, in order if it is asked to stop. */
import { limits } from "../../schemas/limits.ts";
import type { Journal } from "../journal/journal.ts";
import type { StoreError } from "../journal/store.ts";
import { type Kernel, KernelError } from "./kernel.ts";

/** Ends all work at once, because nothing can be written any more. */
export function halt(kernel: Kernel, reason: StoreError | "stopped"): void {
  kernel.stopped = reason;
  kernel.ending.abort();
  kernel.waking.giveUp();
  for (const running of kernel.running.values()) {
    running.abort.abort();
    running.patience?.abort();
  }
  kernel.running.clear();
  for (const waiters of kernel.replyWaiters.values()) {
    for (const waiter of waiters) waiter.reject(stopError(reason));
  }
  kernel.replyWaiters.clear();
  for (const reject of kernel.births.values()) reject(stopError(reason));
  kernel.births.clear();
  for (const pending of kernel.pendingCommands.values()) pending.refuse(stopError(reason));
  kernel.pendingCommands.clear();
}

function stopError(reason: StoreError | "stopped"): Error {
  return reason === "stopped"
    ? new KernelError("runtime_stopped", "The runtime was stopped before this ended: start it again to go on")
    : reason;
}

/**
 * Stops in order: effects that could hurt may end and be recorded, what was written becomes durable, the store is closed.
 * A disk that does not answer is waited for no longer than the grace; what it did not take was never acknowledged.
 */
export async function stop(kernel: Kernel, journal: Journal): Promise<void> {
  const { clock } = kernel.seams;
  const giveUpAt = clock.now() + limits.stopGraceMs;
  const mayWait = () => kernel.stopped === undefined && clock.now() < giveUpAt;
  while (mayWait() && hasHarmful(kernel)) await clock.sleepUntil(clock.now() + 20);
  const enough = new AbortController();
  const gaveUp = clock.sleepUntil(clock.now() + limits.stopGraceMs, enough.signal);
  const idle = () => Promise.race([journal.writer.idle().catch(() => {}), gaveUp]);
  await idle();
  // The end of one task lets the next one begin: it is told that nothing is begun any more, and that is recorded too.
  while (mayWait() && hasTask(kernel)) {
    await clock.sleepUntil(clock.now() + 20);
    await idle();
  }
  if (kernel.stopped === undefined) halt(kernel, "stopped");
  if (journal.writer.unwritten > 0) journal.writer.abandon();
  await Promise.race([journal.close().catch(() => {}), gaveUp]);
  enough.abort();
}

/** True while the work of a task is under way, or asked for. */
function hasTask(kernel: Kernel): boolean {
  return [...kernel.roots.values()].some(({ kind, ports }) => kind === "task" && ports.size > 0);
}

/** True while an effect runs of which it must be known whether it happened. */
function hasHarmful(kernel: Kernel): boolean {
  return [...kernel.running.values()].some((running) => running.effect !== "idempotent");
}
