/** The work of tasks, as a process would do it: it exits, fails, breaks off, runs on until it is ended, or does not heed that. */
import { failure } from "../../schemas/failure.ts";
import type { Performance, PerformerResult } from "../../src/effects/performer.ts";
import type { Life } from "./life.ts";
import type { Send } from "./attempt.ts";
import type { WorkFate } from "./scenario.ts";

/** How long a process runs that nobody ends, and how long one goes on that does not heed it. Milliseconds. */
const runMs = 60_000;
const deafMs = 20_000;

/** A process that was started for a task. */
export interface Work {
  readonly life: Life;
  readonly fate: WorkFate;
  readonly performance: Performance<"task.run">;
  readonly send: Send;
  /** Notes that it was started. */
  readonly apply: () => void;
}

/** Does the work of a task. */
export function workAs({ life, fate, performance, send, apply }: Work): Promise<PerformerResult> {
  const { root, key, signal } = performance;
  const { promise, resolve, reject } = Promise.withResolvers<PerformerResult>();
  if (fate === "refused") {
    return Promise.resolve({ status: "failed", failure: failure("tool_failed", "The command is not there") });
  }
  const end = (status: string, summary: string) => resolve({ status: "ok", value: { status, summary } });
  const isLong = fate === "runs_on" || fate === "deaf";
  const wire = {
    life,
    name: "work",
    root,
    key,
    fate: fate === "breaks" ? "break_after" as const : "ok" as const,
  };
  send(wire, {
    apply,
    answer: () => {
      if (fate === "breaks") reject(new Error("The work broke off"));
      else if (fate === "fails") end("failed", "It exited with code 1");
      else if (!isLong) end("succeeded", "well");
    },
  });
  if (isLong) {
    void runOn(life, fate, signal).then((isEnded) => end(isEnded ? "canceled" : "succeeded", "gone"));
  }
  return promise;
}

/** True if it was ended, false if it ended by itself. */
async function runOn({ seams: { clock } }: Life, fate: WorkFate, signal: AbortSignal): Promise<boolean> {
  const told = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const enough = new AbortController();
  await Promise.race([told, clock.sleepUntil(clock.now() + runMs, enough.signal)]);
  enough.abort();
  if (signal.aborted && fate === "deaf") await clock.sleepUntil(clock.now() + deafMs);
  return signal.aborted;
}
