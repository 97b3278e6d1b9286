/** Ends what earlier runs of a store left behind: asked first, then killed, never by a number alone. */
import { limits } from "../../schemas/limits.ts";
import type { Clock } from "../seams.ts";
import type { ProcessTable } from "./process_table.ts";

/** How often is looked whether a process has gone, and how often is killed before one is given up. */
const patience = { pauseMs: 25, killsMax: 40 } as const;

/** What became of the processes that were left behind. */
export interface LeftBehind {
  readonly endedCount: number;
  /** Those that cannot be ended. */
  readonly restCount: number;
}

/**
 * Ends every process of `table`: TERM, `graceMs` of patience, KILL. What they start in the meantime is found
 * as well. The environment is read again right before each signal.
 */
export async function endLeftBehind(
  table: ProcessTable,
  clock: Clock,
  graceMs: number = limits.processTermGraceMs,
): Promise<LeftBehind> {
  const asked = await table.find();
  if (asked.length === 0) return { endedCount: 0, restCount: 0 };
  const seen = new Set(asked);
  for (const pid of asked) signal(table, pid, "SIGTERM");
  const deadline = clock.now() + graceMs;
  while (clock.now() < deadline && asked.some((pid) => table.isLeft(pid))) {
    await clock.sleepUntil(clock.now() + patience.pauseMs);
  }
  let rest = await table.find();
  for (let kills = 0; rest.length > 0 && kills < patience.killsMax; kills++) {
    for (const pid of rest) {
      seen.add(pid);
      signal(table, pid, "SIGKILL");
    }
    await clock.sleepUntil(clock.now() + patience.pauseMs);
    rest = await table.find();
  }
  return { endedCount: seen.size - rest.length, restCount: rest.length };
}

function signal(table: ProcessTable, pid: number, name: "SIGTERM" | "SIGKILL"): void {
  if (!table.isLeft(pid)) return;
  try {
    Deno.kill(pid, name);
  } catch {
    // Ended in between, or another user's: the next look tells.
  }
}
