/** `troupe schedules`. */
import { scheduleIdOf, type ScheduleView } from "../../schemas/schedule.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import { refuseMissing } from "../host/reader_host.ts";
import { timesText } from "../schedule_text.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withSeat } from "./seat.ts";
import { findSession } from "./session_name.ts";
import { printTable, timeText } from "./table.ts";
import { safeText } from "./terminal.ts";
import { readSchedules, scheduleAddresses } from "./waiting_schedules.ts";

/** Lists schedules, and deletes one. */
export const command = defineCommand({
  args: ["[SESSION]", "[ID]"],
  about: [
    "Lists the schedules that wait, oldest first: when each is due next, when it was last, and how often. With",
    "SESSION, those of that session. troupe schedules delete ID ends one. Agents make them with the tool",
    "schedule_manage. They act only while a process runs the store: what falls due meanwhile is done once at the",
    "next start. Deleting one makes none act.",
  ],
  options: {
    store: storeOption,
    all: { kind: "flag", help: "list those too that have ended" },
    json: jsonOption,
  },
  examples: [
    "troupe schedules",
    "troupe schedules last --json",
    "troupe schedules delete sch_01JZ0000000000000000000000",
  ],
  run: async ({ cli, options, args: [name, id] }) => {
    if (name === "delete") {
      await remove(cli, { store: options.store, id, json: options.json });
      return exitCodes.ok;
    }
    if (id !== undefined) {
      throw new UsageError("argument_unexpected", "Cannot take two names: give SESSION, or delete ID");
    }
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const session = name === undefined ? undefined : (await findSession(host, name)).address;
      const all = await readSchedules(host, session);
      show(cli, options.all ? all : all.filter(({ status }) => status === "waiting"), options.json);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function show(cli: Cli, views: readonly ScheduleView[], json: boolean): void {
  const { out, err } = cli.terminal;
  if (json) { for (const view of views) out.line(jsonLine(view)); }
  else if (views.length === 0) err.line("No schedule waits");
  else {
    const timeOf = (ms: number | null) => ms === null ? "-" : timeText(ms);
    printTable(
      cli.terminal,
      ["SCHEDULE", "SESSION", "STATUS", "NEXT DUE", "LAST FIRED", "FIRED", "MISSED", "TIMES", "PROMPT"],
      views.map((view) => [
        view.id,
        view.session.slice("session/".length),
        view.reason === undefined ? view.status : `${view.status}: ${view.reason}`,
        timeOf(view.dueAtMs),
        timeOf(view.lastFiredAtMs),
        String(view.fired),
        String(view.missed),
        timesText(view.times),
        JSON.stringify(view.prompt.slice(0, 200)),
      ]),
    );
  }
}

interface Removal {
  readonly store: string | undefined;
  readonly id: string | undefined;
  readonly json: boolean;
}

/** By the door of the store's owner; without one, in a runtime of its own in which no schedule becomes due. */
async function remove(cli: Cli, { store, id, json }: Removal): Promise<void> {
  if (id === undefined) {
    throw new UsageError("argument_missing", "troupe schedules delete needs ID: see troupe schedules");
  }
  const settings = await readHostSettings(cli.env);
  const location = storeLocation(store, cli.env, settings);
  await refuseMissing(location);
  const acting = {
    location,
    config: settings.config,
    strict: false,
    isAttended: false,
    holdsSchedules: true,
  };
  const { address, status } = await withSeat(cli, acting, async ({ host }) => {
    const found = (await scheduleAddresses(host, undefined)).find((one) => scheduleIdOf(one) === id);
    if (found === undefined) {
      throw new UsageError(
        "schedule_not_found",
        `There is no schedule ${JSON.stringify(id)}: see troupe schedules`,
      );
    }
    return { address: found, status: await host.deleteSchedule(found) };
  });
  const { out } = cli.terminal;
  if (json) out.line(jsonLine({ id, address, status }));
  else out.line(safeText(status === "deleted" ? `${id} is deleted` : `${id} had ended before: ${status}`));
}
