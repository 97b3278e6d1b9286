/** What work beside turns costs: tools that take their time, all at once, and commands that are told to stop. */
import type { OutputSink } from "../../src/processes/drain.ts";
import { ProcessRegistry } from "../../src/processes/registry.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { progress } from "./progress.ts";
import { median, quantile } from "./statistics.ts";
import { openSubject } from "./subject.ts";
import { duration } from "./table.ts";

/** How it went. Milliseconds. */
export interface TaskFigures {
  /** Calls of one second each, all begun at once, and what they took together. */
  readonly slow: { readonly calls: number; readonly totalMs: number; readonly perSecond: number };
  /** From the wish that a command stops to the moment when nothing of it is left. */
  readonly stops: { readonly count: number; readonly medianMs: number; readonly p99Ms: number };
}

/** Ten sessions, ten calls each: as many as one second of work at once. */
const [sessionsMany, callsEach, callMs] = [10, 10, 1_000] as const;

async function slowTools(): Promise<TaskFigures["slow"]> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-slow-" });
  const subject = await openSubject({ location: `${folder}/store.db`, echoMs: callMs });
  try {
    const sessions = await Promise.all(Array.from({ length: sessionsMany }, () => subject.session()));
    const asked = { calls: callsEach, shape: "together", effect: "idempotent" } as const;
    const startMs = performance.now();
    await Promise.all(sessions.map((session) => subject.turn(session, asked)));
    const totalMs = performance.now() - startMs;
    const calls = sessionsMany * callsEach;
    return { calls, totalMs, perSecond: calls / totalMs * 1_000 };
  } finally {
    await subject.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

/** A command with a child in its group and one that left it; half of them do not listen to TERM. */
function scriptOf(index: number): string {
  const deaf = index % 2 === 0 ? "" : "trap '' TERM; ";
  return `${deaf}sleep 600 & setsid sleep 600 & echo started; wait; sleep 600`;
}

async function stopCommands(count: number): Promise<TaskFigures["stops"]> {
  const seams = createSystemSeams({ log: () => {} });
  const folder = await Deno.makeTempDir({ prefix: "troupe-bench-stop-" });
  const registry = new ProcessRegistry({ store: `${folder}/store.db`, runId: "stop", ...seams });
  const times: number[] = [];
  try {
    for (let index = 0; index < count; index++) {
      progress(`stopping commands: ${index + 1} of ${count}`);
      const started = Promise.withResolvers<void>();
      const hear: OutputSink = {
        push: () => Promise.resolve(started.resolve()),
        end: () => Promise.resolve(),
      };
      const run = await registry.run({
        command: "sh",
        args: ["-c", scriptOf(index)],
        cwd: folder,
        env: { PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin" },
        deadlineAtMs: seams.clock.now() + 600_000,
        stdout: hear,
        stderr: hear,
      });
      await started.promise;
      const startMs = performance.now();
      const end = await run.stop("canceled");
      times.push(performance.now() - startMs);
      if (!end.isGone) throw new Error("Something of the command is left");
    }
  } finally {
    progress("");
    await registry.closeAll();
    await Deno.remove(folder, { recursive: true });
  }
  return { count, medianMs: median(times), p99Ms: quantile(times, 0.99) };
}

/** Runs it all, once. */
export async function runTaskRounds({ stops }: { readonly stops: number }): Promise<TaskFigures> {
  progress("tools that take a second");
  const slow = await slowTools();
  return { slow, stops: await stopCommands(stops) };
}

/** The figures as text. */
export function tasksText({ slow, stops }: TaskFigures): string {
  return [
    `${slow.calls} calls of one second each at once: ${duration(slow.totalMs)}, ${
      slow.perSecond.toFixed(1)
    } a second`,
    `From the wish to stop to an empty group, ${stops.count} commands with grandchildren, half of them deaf to TERM: ` +
    `${duration(stops.medianMs)} · ${duration(stops.p99Ms)} (median · p99)`,
  ].join("\n");
}
