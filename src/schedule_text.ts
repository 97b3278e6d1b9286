/** Schedules in words, for people and models. */
import type { ScheduleState, ScheduleTimes } from "../schemas/schedule.ts";

/** A time in UTC, to the second: `2026-11-30 09:00:00 UTC`. */
export function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** When a schedule is due, as it was asked for. */
export function timesText(times: ScheduleTimes): string {
  return times.type === "cron"
    ? `at ${times.expression} in ${times.zone}`
    : `once at ${utcText(times.dueAtMs)}`;
}

/** How far a schedule has come: next due, last fired, how often. One line. */
export function scheduleText(
  { status, dueAtMs, lastFiredAtMs, fired, missed, lastOutcome, reason }: ScheduleState,
): string {
  const next = dueAtMs === null ? [] : [`next due ${utcText(dueAtMs)}`];
  const last = lastFiredAtMs === null ? [] : [`last fired ${utcText(lastFiredAtMs)}`];
  const end = lastOutcome === null ? [] : [`that turn ended as ${lastOutcome}`];
  const count = [`fired ${fired} times`, ...(missed === 0 ? [] : [`missed ${missed}`])];
  const state = status === "waiting" ? [] : [status + (reason === undefined ? "" : `: ${reason}`)];
  return [...state, ...next, ...last, ...end, ...count].join(", ");
}
