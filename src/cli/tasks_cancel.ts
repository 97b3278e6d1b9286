/** `troupe tasks cancel`. */
import { readHostSettings, storeLocation } from "../host/home.ts";
import { refuseMissing } from "../host/reader_host.ts";
import { isEnd } from "../../schemas/task.ts";
import { endText } from "./await_tasks.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { openActing } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { findTask } from "./task_name.ts";
import { safeText } from "./terminal.ts";

/** Ends a task. */
export const command = defineCommand({
  args: ["TASK"],
  about: [
    "Ends a task, and answers when nothing of it is left: every process that it started is gone. One that has ended",
    "stays as it is. TASK is an id, or an unambiguous part of one. If no process runs the store, it is opened here.",
  ],
  options: {
    store: storeOption,
    reason: { kind: "text", value: "TEXT", help: "why, for the journal" },
    json: jsonOption,
  },
  examples: [
    "troupe tasks cancel tsk_01JZ0000000000000000000000",
    'troupe tasks cancel tsk_01JZ0000000000000000000000 --reason "wrong branch" --json',
  ],
  run: async ({ cli, options, args: [name = ""] }) => {
    const settings = await readHostSettings(cli.env);
    const location = storeLocation(options.store, cli.env, settings);
    await refuseMissing(location);
    const acting = { location, config: settings.config, strict: false, isAttended: false };
    const host = await openActing(cli, acting);
    try {
      const { id, owner, status: before } = await findTask(host, name);
      const reason = (options.reason ?? "troupe tasks cancel").slice(0, 500);
      const record = await withProgress(cli, "ending the task", () => host.cancelTask(owner, id, reason));
      if (record === undefined) throw new UsageError("task_not_found", `Cannot find the task ${id}`);
      const { out } = cli.terminal;
      const hadEnded = isEnd(before);
      if (options.json) out.line(jsonLine({ ...record, had_ended: hadEnded }));
      else out.line(safeText(hadEnded ? `It had ended: ${endText(record)}` : endText(record)));
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});
