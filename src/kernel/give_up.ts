/** Takes a root out of this runtime's hands: whatever waits for it here waits no more. */
import type { RootAddress } from "../../schemas/ids.ts";
import { letGo } from "./hold.ts";
import type { Kernel } from "./kernel.ts";

/** Forgets a root and its mail. What it had in the store stays there. */
export function giveUp(kernel: Kernel, address: RootAddress): void {
  const root = kernel.roots.get(address);
  kernel.roots.delete(address);
  if (root !== undefined) {
    root.held = true;
    root.mailbox.length = 0;
    letGo(root);
  }
  kernel.parked.delete(address);
}
