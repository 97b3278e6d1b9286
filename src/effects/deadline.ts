/** Runs a piece of work until it ends, its time is up, or nobody wants it any more. */
import type { Clock } from "../seams.ts";

/** How a piece of work ended. After `late` and `canceled` it may still be running; whatever it yields is dropped. */
export type Ended<T> =
  | { readonly type: "done"; readonly value: T }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "late" }
  | { readonly type: "canceled" };

/** A reason to abort, made once: one made for every abort would be an error with its stack, ten times as dear. */
export const givenUp = new Error("Nobody waits for this any more");

/** Why a machine's own cancel aborts an effect: a runtime that stops gives no reason, and another one may go on. */
export const noLongerWanted = new Error("The effect was canceled");

/** Bounds of {@linkcode runUntil}. */
export interface Bounds {
  readonly clock: Clock;
  /** In milliseconds since the epoch. */
  readonly deadlineAtMs: number;
  /** Asked at the deadline: another one, if the work has shown meanwhile that it goes on. */
  readonly extendedTo?: () => number;
  /** Aborts when nobody wants the work any more. */
  readonly signal: AbortSignal;
  /** How long work that was told to stop is waited for: what it says then still counts. Milliseconds; 0 by default. */
  readonly graceMs?: number;
}

/**
 * Starts `work` and waits for the first of its end, the deadline and the abort of `signal`. Never rejects. The signal
 * given to `work` aborts as soon as its result is not waited for. If nobody wants it already, it is not started.
 */
export async function runUntil<T>(
  bounds: Bounds,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Ended<T>> {
  if (bounds.signal.aborted) return { type: "canceled" };
  const stopWork = new AbortController();
  const stopWaiting = new AbortController();
  const canceled = new Promise<Ended<T>>((resolve) => {
    const cancel = () => resolve({ type: "canceled" });
    bounds.signal.addEventListener("abort", cancel, { once: true, signal: stopWaiting.signal });
  });
  const late = untilLate(bounds, stopWaiting.signal).then((): Ended<T> => ({ type: "late" }));
  const working = settle(() => work(stopWork.signal));
  const ended = await Promise.race([canceled, working, late]);
  stopWaiting.abort(givenUp);
  if (ended.type !== "late" && ended.type !== "canceled") return ended;
  stopWork.abort(givenUp);
  const { graceMs = 0, clock } = bounds;
  if (graceMs === 0) return ended;
  const enough = new AbortController();
  const gone = clock.sleepUntil(clock.now() + graceMs, enough.signal).then(() => ended);
  const last = await Promise.race([working, gone]);
  enough.abort(givenUp);
  return last;
}

async function untilLate({ clock, deadlineAtMs, extendedTo }: Bounds, signal: AbortSignal): Promise<void> {
  await clock.sleepUntil(deadlineAtMs, signal);
  let until = extendedTo?.() ?? deadlineAtMs;
  while (extendedTo !== undefined && until > clock.now() && !signal.aborted) {
    await clock.sleepUntil(until, signal);
    until = extendedTo();
  }
}

async function settle<T>(work: () => Promise<T>): Promise<Ended<T>> {
  try {
    return { type: "done", value: await work() };
  } catch (error) {
    return { type: "threw", error };
  }
}
