/** `schedule.next`: when a cron expression is due next, in its time zone. The one importer of `croner`. */
import type { Cron } from "croner";
import { failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { NextDue, ScheduleTimes } from "../../schemas/schedule.ts";
import type { Performance, PerformerResult } from "./performer.ts";

type CronTimes = Pick<Extract<ScheduleTimes, { readonly type: "cron" }>, "expression" | "zone">;

/** Performs one look ahead. A repeat finds the same. */
export async function scheduleNext(
  { request }: Performance<"schedule.next">,
): Promise<PerformerResult> {
  const { afterMs, actedOnMs, ...times } = request.args;
  const cron = await readCron(times);
  if (typeof cron === "string") return { status: "failed", failure: failure("arguments_invalid", cron) };
  const value: NextDue = {
    dueAtMs: nextAfter(cron, afterMs),
    missed: actedOnMs === null ? 0 : countBetween(cron, actedOnMs, afterMs),
  };
  return { status: "ok", value: { ...value } };
}

/** When these times come first after `afterMs`; or why they never do, one clause. */
export async function firstDue(times: CronTimes, afterMs: number): Promise<number | string> {
  const cron = await readCron(times);
  if (typeof cron === "string") return cron;
  return nextAfter(cron, afterMs) ?? `"${times.expression}" never comes: look at day and month`;
}

/** The expression, ready to be asked; or why it cannot be used. Loaded when it is needed: few starts need it. */
async function readCron({ expression, zone }: CronTimes): Promise<Cron | string> {
  const { Cron } = await import("croner");
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    return `There is no time zone "${zone}": give a name such as Europe/Berlin`;
  }
  try {
    return new Cron(expression, { timezone: zone, mode: "5-part", paused: true });
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : String(error);
    return `Cannot read the times "${expression}": ${why}`;
  }
}

function nextAfter(cron: Cron, ms: number): number | null {
  return cron.nextRun(new Date(ms))?.getTime() ?? null;
}

/** How many due times lie behind `fromMs` and not behind `toMs`; so many are counted at most. */
function countBetween(cron: Cron, fromMs: number, toMs: number): number {
  let count = 0;
  for (let at = nextAfter(cron, fromMs); at !== null && at <= toMs; at = nextAfter(cron, at)) {
    count += 1;
    if (count === limits.scheduleMissedCountedMax) break;
  }
  return count;
}
