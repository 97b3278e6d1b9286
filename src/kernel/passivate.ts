/** Lets idle roots sleep: only references are dropped, nothing is stopped (K22). */
import type { RootAddress } from "../../schemas/ids.ts";
import { letGo } from "./hold.ts";
import type { Kernel } from "./kernel.ts";
import type { LiveRoot } from "./live_root.ts";

/** True if a root can sleep: it rests, nothing waits in its mailbox, and all that it wrote is durable. */
export function canSleep(root: LiveRoot): boolean {
  // The mailbox first: a root that waits to be born has no state yet that could rest.
  return root.mailbox.length === 0 && root.unwritten === 0 && !root.held && root.rests;
}

/**
 * Puts a root to sleep. Its pending effects go on: they belong to the runtime, and their outcomes wake it. Never calls
 * the machine's `stop`, which would reach every port. False if it may not sleep now.
 */
export function passivate(kernel: Kernel, address: RootAddress): boolean {
  const root = kernel.roots.get(address);
  if (root === undefined || !canSleep(root)) return false;
  kernel.roots.delete(address);
  letGo(root);
  kernel.observer.forget(address);
  return true;
}

/** Puts the longest idle roots to sleep until at most `awakeMax` are awake. Returns how many fell asleep. */
export function passivateIdle(kernel: Kernel, awakeMax: number): number {
  const excess = kernel.roots.size - awakeMax;
  if (excess <= 0) return 0;
  const idle = [...kernel.roots.values()].filter(canSleep).sort((left, right) =>
    left.lastActiveAt - right.lastActiveAt
  );
  let asleep = 0;
  for (const root of idle.slice(0, excess)) if (passivate(kernel, root.address)) asleep += 1;
  return asleep;
}
