/** Schedules of a store, as commands find them; and what a person is told of those that a run leaves behind. */
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import type { ScheduleView } from "../../schemas/schedule.ts";
import type { Host } from "../host/host.ts";
import { readSchedule } from "../schedules.ts";
import type { Cli } from "./cli.ts";
import { timeText } from "./table.ts";

/** The schedules of a session, or all, oldest first. */
export async function scheduleAddresses(
  host: Pick<Host, "listRoots">,
  session: RootAddress | undefined,
): Promise<readonly RootAddress[]> {
  const schedules = (await host.listRoots()).filter(({ kind }) => kind === "schedule");
  return schedules.map(({ address }) => address)
    .filter((address) => session === undefined || sessionOf(address) === session);
}

/** The same, with how far each has come. */
export async function readSchedules(
  host: Pick<Host, "listRoots" | "readHead" | "readPages">,
  session: RootAddress | undefined,
): Promise<readonly ScheduleView[]> {
  const views: ScheduleView[] = [];
  for (const address of await scheduleAddresses(host, session)) {
    const view = await readSchedule(host, address);
    if (view !== undefined) views.push(view);
  }
  return views;
}

/**
 * Says on the second output that schedules of a session wait, and that nobody looks after them once this process ends. If
 * another one runs the store, it goes on.
 */
export async function sayWaiting(
  { terminal: { err } }: Cli,
  host: Pick<Host, "listRoots" | "readHead" | "readPages" | "owner">,
  session: RootAddress,
): Promise<void> {
  if (host.owner !== undefined) return;
  const waiting = (await readSchedules(host, session)).filter(({ status }) => status === "waiting");
  const next = Math.min(...waiting.map(({ dueAtMs }) => dueAtMs ?? Infinity));
  if (waiting.length === 0) return;
  const many = waiting.length === 1 ? "1 schedule waits" : `${waiting.length} schedules wait`;
  const due = Number.isFinite(next) ? `, next due ${timeText(next)}` : "";
  err.line(`${many}${due}: nothing of it happens while no process runs the store (troupe schedules)`);
}
