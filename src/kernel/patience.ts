/** How long callers wait for a store that takes nothing: then they are told so, and nothing that was taken is lost (F07). */
import { limits } from "../../schemas/limits.ts";
import { StoreError } from "../journal/store.ts";
import type { Kernel } from "./kernel.ts";

/** Refuses what is given while the store takes nothing: it is not entered, so it can be given again. */
export function refuseWhileBlocked(kernel: Kernel): void {
  if (isBlocked(kernel)) throw blocked(kernel, "this was not taken on; give it again later");
}

/**
 * Waits for something to be durable. Rejects once the store has taken nothing for 5 s; what was given may still become
 * durable, so who gives it again gives it under the same key.
 */
export async function patiently<T>(kernel: Kernel, durable: Promise<T>): Promise<T> {
  const over = new AbortController();
  try {
    return await Promise.race([durable, untilBlocked(kernel, over.signal)]);
  } finally {
    over.abort();
  }
}

/** Begins something that is awaited until it is durable; not begun at all while the store takes nothing. */
export async function begin<T>(kernel: Kernel, start: () => Promise<T>): Promise<T> {
  refuseWhileBlocked(kernel);
  return await patiently(kernel, start());
}

async function untilBlocked(kernel: Kernel, signal: AbortSignal): Promise<never> {
  const { clock } = kernel.seams;
  let wakeAtMs = clock.now() + limits.storePatienceMs;
  while (true) {
    await clock.sleepUntil(wakeAtMs, signal);
    if (signal.aborted) return await new Promise(() => {});
    if (isBlocked(kernel)) throw blocked(kernel, "this may still be taken; give it again under the same key");
    const { committingSince = clock.now() } = kernel.journal.writer;
    wakeAtMs = Math.max(committingSince + limits.storePatienceMs, clock.now() + 1);
  }
}

function isBlocked({ seams, journal: { writer } }: Kernel): boolean {
  const { committingSince } = writer;
  return committingSince !== undefined && seams.clock.now() - committingSince >= limits.storePatienceMs;
}

function blocked({ journal: { writer } }: Kernel, what: string): StoreError {
  const seconds = limits.storePatienceMs / 1_000;
  const { trouble } = writer;
  const why = trouble === undefined ? "" : ` (${trouble.message})`;
  const code = trouble?.code === "store_full" ? "store_full" : "store_busy";
  return new StoreError(code, `The store has taken nothing for ${seconds} s${why}: ${what}`);
}
