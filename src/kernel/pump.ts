/** Runs cranks while there is mail: production's loop around the same step that a simulation takes. */
import { limits } from "../../schemas/limits.ts";
import { crank } from "./crank.ts";
import type { Kernel } from "./kernel.ts";
import { makeReady } from "./route.ts";

/** Cranks between two pauses, so that one busy root does not starve the event loop. */
const cranksAtOnceMax = 512;

/** Starts the pump unless it runs. The work begins in a microtask, never inside the caller. */
export function schedule(kernel: Kernel): void {
  if (kernel.pumping || kernel.paused || kernel.stopped !== undefined || kernel.ready.length === 0) return;
  kernel.pumping = true;
  Promise.resolve().then(() => pump(kernel));
}

function pump(kernel: Kernel): void {
  for (let cranks = 0; cranks < cranksAtOnceMax; cranks++) {
    if (!step(kernel)) {
      kernel.pumping = false;
      return;
    }
  }
  kernel.seams.clock.defer(() => pump(kernel));
}

/** Runs one crank; false if nothing may run now. Cranks stop while 1,000 units wait for the disk (K15). */
export function step(kernel: Kernel): boolean {
  if (kernel.paused || kernel.stopped !== undefined || kernel.ready.length === 0) return false;
  if (kernel.journal.writer.unwritten >= limits.unitsUnwrittenMax) return false;
  const [root] = kernel.ready.splice(kernel.pick(kernel.ready.length), 1);
  if (root === undefined) return false;
  root.isReady = false;
  const mail = root.held ? undefined : root.mailbox.shift();
  if (mail === undefined) return kernel.ready.length > 0;
  crank(kernel, root, mail);
  makeReady(kernel, root);
  return true;
}
