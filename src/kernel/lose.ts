/** A root that another runtime has taken over: everything of it ends here, and whoever waits for it is told (K17). */
import type { RootAddress } from "../../schemas/ids.ts";
import { refuseWaiting } from "./command.ts";
import { giveUp } from "./give_up.ts";
import { type Kernel, KernelError, tell } from "./kernel.ts";

/** Lets go of roots that are another runtime's by now. Nothing of them is written, started or answered here any more. */
export function loseRoots(kernel: Kernel, roots: readonly RootAddress[]): void {
  kernel.journal.writer.forsake(roots);
  for (const address of roots) loseRoot(kernel, address);
}

function loseRoot(kernel: Kernel, address: RootAddress): void {
  giveUp(kernel, address);
  kernel.recovered.delete(address);
  kernel.observer.forget(address);
  // Its letters stay in the store, for its new owner.
  for (const claim of kernel.claimed) if (JSON.parse(claim)[1] === address) kernel.claimed.delete(claim);
  for (const [key, running] of kernel.running) {
    if (!key.startsWith(`${address}#`)) continue;
    kernel.running.delete(key);
    running.abort.abort();
    running.patience?.abort();
  }
  const why = lost(address);
  kernel.births.get(address)?.(why);
  kernel.births.delete(address);
  refuseWaiting(kernel, address, why);
  kernel.seams.log({ level: "warning", event: "lease_lost", detail: { root: address } });
  tell(kernel, { type: "quarantined", root: address, reason: why.message, code: why.code });
}

function lost(address: RootAddress): KernelError {
  return new KernelError(
    "lease_lost",
    `"${address}" was taken over by another runtime, because this one let its lease end: ask there`,
  );
}
