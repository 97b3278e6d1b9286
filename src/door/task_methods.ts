/** What the owner does about background tasks for who comes by the door. */
import type { methods } from "./methods.ts";

/** Each of a few tens of KiB at most. */
const tasksPerPiece = 50;

/** The methods about tasks. */
export const taskMethods: Pick<typeof methods, "tasks" | "task_cancel" | "task_end" | "task_log"> = {
  tasks: async ({ host, params, send }) => {
    const tasks = await host.listTasks(params.session);
    for (let at = 0; at < tasks.length; at += tasksPerPiece) await send(tasks.slice(at, at + tasksPerPiece));
    return null;
  },
  task_cancel: async ({ host, params: { session, task, reason } }) =>
    await host.cancelTask(session, task, reason) ?? null,
  task_end: async ({ host, params, signal }) =>
    await host.untilTaskEnded(params.session, params.task, signal) ?? null,
  task_log: async ({ host, params, send, signal }) => {
    const { session, task, follow } = params;
    for await (const said of host.followTask(session, task, { follow, signal })) await send(said);
    return null;
  },
};
