/** What a runtime does all its life in a store that it shares: heartbeats, looks for abandoned roots, letters of others. */
import { leaseLimits } from "../../schemas/lease_limits.ts";
import type { InputBody } from "../../schemas/entry.ts";
import type { RootOwnership } from "../journal/root_ownership.ts";
import type { Kernel } from "./kernel.ts";
import { loseRoots } from "./lose.ts";
import { bring, lookAtLetters } from "./route.ts";
import { takeAbandoned } from "./reach.ts";
import { sharedOwnership } from "./shared.ts";

/** How a runtime shares its store. */
export interface ShareOptions {
  readonly holdsSchedules: boolean;
}

/** Begins the rounds; they end with the runtime. Does nothing where it has the store alone. */
export function share(kernel: Kernel, { holdsSchedules }: ShareOptions): void {
  const ownership = sharedOwnership(kernel);
  if (ownership === undefined) return;
  const factor = ownership.leaseMs / leaseLimits.leaseMs;
  const every = (ms: number, what: string, work: () => Promise<unknown>) =>
    void rounds(kernel, Math.max(1, Math.floor(ms * factor)), what, work);
  every(leaseLimits.leaseBeatMs, "heartbeat", () => ownership.beat());
  every(leaseLimits.leaseScanMs, "lease_scan", () => takeAbandoned(kernel, holdsSchedules));
  every(leaseLimits.leaseLettersMs, "letters_look", () => bringLetters(kernel));
}

/** Lets the kernel hear what its ownership loses, with all that belongs to it. */
export function hearLosses(kernel: Kernel, ownership: RootOwnership): void {
  ownership.onLost = (roots) => loseRoots(kernel, roots);
}

/** Does something again and again; what fails is said, and done again at the next time. */
async function rounds(kernel: Kernel, pauseMs: number, what: string, work: () => Promise<unknown>) {
  const { clock, log } = kernel.seams;
  const isOver = () => kernel.stopped !== undefined;
  for (;;) {
    await clock.sleepUntil(clock.now() + pauseMs, kernel.ending.signal);
    if (isOver()) return;
    try {
      await work();
    } catch (error) {
      if (isOver()) return;
      const message = error instanceof Error ? error.message : String(error);
      log({ level: "warning", event: `${what}_failed`, detail: { message } });
    }
  }
}

/** Letters that other runtimes wrote to roots of ours: nothing else tells us of them (K13). */
async function bringLetters(kernel: Kernel): Promise<void> {
  const { journal } = kernel;
  for await (const { key, to, from, value } of lookAtLetters(kernel)) {
    if (!journal.ownership.isOurs(to)) continue;
    const { message } = value as { readonly message: InputBody["message"] };
    await bring(kernel, { key, to, from, message });
  }
}
