/** A clock of the system that can leap forward: who sleeps until a moment that was leapt over wakes at once. */
import type { Clock } from "../../src/seams.ts";

/** The clock, and its lever. */
export interface LeapingClock {
  readonly clock: Clock;
  leap(ms: number): void;
}

/** Makes one out of another clock. */
export function leapingClock(own: Clock): LeapingClock {
  let shiftMs = 0;
  let leapt = new AbortController();
  const now = () => own.now() + shiftMs;
  return {
    clock: {
      now,
      defer: (task) => own.defer(task),
      sleepUntil: async (atMs, signal) => {
        while (now() < atMs && signal?.aborted !== true) {
          const either = signal === undefined ? leapt.signal : AbortSignal.any([signal, leapt.signal]);
          await own.sleepUntil(atMs - shiftMs, either);
        }
      },
    },
    leap: (ms) => {
      shiftMs += ms;
      leapt.abort();
      leapt = new AbortController();
    },
  };
}
