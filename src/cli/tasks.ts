/** `troupe tasks`. */
import type { RootAddress } from "../../schemas/ids.ts";
import { isEnd, type TaskRecord } from "../../schemas/task.ts";
import type { Host } from "../host/host.ts";
import { ToldTasks } from "../records/told_tasks.ts";
import { type CommandRow, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { durationText, printTable, timeText } from "./table.ts";

const below: { readonly [name: string]: CommandRow } = {
  logs: { summary: "show what a task wrote", load: () => import("./tasks_logs.ts") },
  cancel: { summary: "end a task", load: () => import("./tasks_cancel.ts") },
};

/** Lists background tasks. */
export const command = defineCommand({
  commands: below,
  args: ["[SESSION]"],
  about: [
    "Lists background tasks, the newest first: of one session, or of all. SESSION is an id, an unambiguous part of one,",
    "or last. A task whose runtime was killed is shown as it was then; the next start ends what is left of it, and says",
    "that it is lost.",
    "With --json each is its whole record: also who it is for, the call that it came from, how it ended, where its whole",
    "output is, and whether its model was told of its end.",
  ],
  options: { store: storeOption, json: jsonOption },
  examples: [
    "troupe tasks",
    "troupe tasks last --json",
    "troupe tasks logs tsk_01JZ0000000000000000000000 --follow",
    "troupe tasks cancel tsk_01JZ0000000000000000000000",
  ],
  run: async ({ cli, options, args: [name] }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const session = name === undefined ? undefined : (await findSession(host, name)).address;
      const tasks = await host.listTasks(session);
      const { out, err } = cli.terminal;
      if (options.json) {
        const told = await toldIn(host, new Set(tasks.map(({ owner }) => owner)));
        for (const task of tasks) out.line(jsonLine({ ...task, notified: told(task) }));
      } else if (tasks.length === 0) err.line("No task yet");
      else {
        const now = cli.seams.clock.now();
        const rows = tasks.map((task) => cellsOf(task, { now, isAlive: host.owner !== undefined }));
        printTable(cli.terminal, ["TASK", "SESSION", "KIND", "STATUS", "BEGAN", "TOOK", "TITLE"], rows);
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** Whether the model was told of a task's end. */
async function toldIn(
  host: Host,
  sessions: ReadonlySet<RootAddress>,
): Promise<(task: TaskRecord) => boolean> {
  const told = new Map<RootAddress, ToldTasks>();
  for (const session of sessions) {
    const one = new ToldTasks();
    for await (const page of host.readPages(session)) for (const entry of page) one.take(entry);
    told.set(session, one);
  }
  return ({ owner, id }) => told.get(owner)?.has(id) ?? false;
}

function cellsOf(
  { id, owner, kind, status, createdAt, startedAt, endedAt, title }: TaskRecord,
  { now, isAlive }: { readonly now: number; readonly isAlive: boolean },
): string[] {
  const isOpen = !isEnd(status);
  // Nobody runs it: how long it went on is not known.
  const until = isOpen && !isAlive ? undefined : endedAt ?? now;
  const took = startedAt === null || until === undefined ? "-" : durationText(until - startedAt);
  const told = isOpen && !isAlive ? `${status} (no runtime)` : status;
  return [id, owner.slice("session/".length), kind, told, timeText(startedAt ?? createdAt), took, title];
}
