/** Which task a person means. */
import type { TaskRecord } from "../../schemas/task.ts";
import type { Host } from "../host/host.ts";
import { UsageError } from "./exit.ts";

/** The task that `name` means: an id (`tsk_…`), or an unambiguous beginning or end of one. */
export async function findTask(host: Host, name: string): Promise<TaskRecord> {
  const tasks = await host.listTasks();
  const exact = tasks.find(({ id }) => id === name);
  if (exact !== undefined) return exact;
  const near = name.length < 4
    ? []
    : tasks.filter(({ id }) => id.startsWith(name) || id.endsWith(name.toUpperCase()));
  if (near.length === 1 && near[0] !== undefined) return near[0];
  const why = near.length > 1 ? `${near.length} tasks fit` : "there is no such task";
  throw new UsageError("task_not_found", `Cannot find ${JSON.stringify(name)}: ${why}; see troupe tasks`);
}
