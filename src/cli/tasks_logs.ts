/** `troupe tasks logs`. */
import { isEnd, type TaskRecord } from "../../schemas/task.ts";
import { peekText } from "../peek.ts";
import type { ActingHost, Host } from "../host/host.ts";
import { endText } from "./await_tasks.ts";
import type { Cli } from "./cli.ts";
import { defineCommand, storeOption } from "./cli.ts";
import { exitCodes, reportError } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { findTask } from "./task_name.ts";
import { safeText } from "./terminal.ts";

/** Shows what a task wrote. */
export const command = defineCommand({
  args: ["TASK"],
  about: [
    "Shows the end of what a task wrote, at most 40 lines or 8,000 characters, without secrets. TASK is an id, or an",
    "unambiguous part of one. With --follow what comes is shown until the task has ended; Ctrl-C leaves, and the task",
    "goes on. Where the whole is, says troupe tasks --json.",
  ],
  options: {
    store: storeOption,
    follow: { kind: "flag", short: "f", help: "go on until the task has ended" },
  },
  examples: [
    "troupe tasks logs tsk_01JZ0000000000000000000000",
    "troupe tasks logs tsk_01JZ0000000000000000000000 --follow",
  ],
  run: async ({ cli, options, args: [name = ""] }) => {
    const location = await locateStore(cli, options.store);
    const host = await openReading(cli, location);
    try {
      const task = await findTask(host, name);
      const { out, err } = cli.terminal;
      if (isEnd(task.status)) {
        out.write(endedWith(safeText(peekText(task.result, "log"))));
        err.line(safeText(endText(task)));
      } else if (!isActing(host)) {
        err.line(
          `The task ${task.id} is ${task.status}, and no runtime runs it: its whole output is beside the store`,
        );
      } else {
        await show(cli, host, { task, follow: options.follow });
        if (options.follow) await tellEnd(cli, location, task);
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function endedWith(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Only who is reached by its door can be followed. */
function isActing(host: Host): host is ActingHost {
  return host.owner !== undefined;
}

async function show(
  { terminal, onInterrupt }: Cli,
  host: ActingHost,
  { task, follow }: { readonly task: TaskRecord; readonly follow: boolean },
): Promise<void> {
  const stop = new AbortController();
  const stopListening = onInterrupt(() => stop.abort());
  const said = host.followTask(task.owner, task.id, { follow, signal: stop.signal });
  try {
    for await (const { text, missed } of said) {
      if (missed > 0) terminal.err.line(`[${missed} characters were not shown]`);
      terminal.out.write(safeText(text));
    }
  } catch (error) {
    // Who held the store may end right after the task: what became of it is in the store.
    if (!follow || reportError(error).code !== "door_closed") throw error;
  } finally {
    stopListening();
    stop.abort();
  }
}

/** How the task ended, from whoever holds the store now. */
async function tellEnd(cli: Cli, location: string, task: TaskRecord): Promise<void> {
  const host = await openReading(cli, location);
  try {
    const record = (await host.listTasks(task.owner)).find(({ id }) => id === task.id);
    if (record === undefined) return;
    const { err } = cli.terminal;
    if (isEnd(record.status)) err.line(safeText(endText(record)));
    else if (!isActing(host)) {
      err.line(`The task ${task.id} is ${record.status}, and the process that ran it has ended`);
    }
  } finally {
    await host.close();
  }
}
