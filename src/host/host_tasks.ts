/** What a host does about tasks: follows one, and waits for all that a session's runtime must not leave. */
import type { RootAddress } from "../../schemas/ids.ts";
import { isAtRest, isEnd, type TaskRecord } from "../../schemas/task.ts";
import type { TaskDesk } from "../tasks/task_desk.ts";
import type { LogPiece, TaskLogs } from "../tasks/task_log.ts";
import type { ActingHost, FollowTask, Records } from "./host.ts";

/** What a task says from the end of its log on: until it has ended or nobody listens, or what is there. */
export async function* followLog(
  { desk, logs }: { readonly desk: TaskDesk; readonly logs: TaskLogs },
  { owner, id }: Pick<TaskRecord, "owner" | "id">,
  { follow, signal }: FollowTask,
): AsyncIterable<Omit<LogPiece, "next">> {
  const stop = new AbortController();
  const leave = () => stop.abort();
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  const over = { is: false };
  const ended = desk.untilOver(owner, id, stop.signal).finally(() => over.is = true);
  ended.catch(() => {}); // Whoever listens is told; somebody who does not read on is not.
  const log = logs.expect(id);
  try {
    for (let from = log.tailStart; !stop.signal.aborted;) {
      const { text, next, missed } = log.read(from);
      if (text !== "" || missed > 0) yield { text, missed };
      else if (log.isOver || over.is || !follow) return;
      else await Promise.race([log.moreThan(from), ended]);
      from = next;
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
    await ended;
    logs.forget(id);
  }
}

/** The tasks of a session that somebody waits for, and that have not ended. */
export async function openTasks(
  host: Pick<Records, "listTasks">,
  session: RootAddress,
): Promise<readonly TaskRecord[]> {
  const tasks = await host.listTasks(session);
  return tasks.filter((task) => !task.detached && !isEnd(task.status) && !isAtRest(task));
}

/** Waits until every task of a session has ended that somebody waits for; or until nobody does. */
export async function untilTasksEnd(
  host: Pick<ActingHost, "listTasks" | "untilTaskEnded">,
  session: RootAddress,
  signal: AbortSignal,
  onEnd: (record: TaskRecord) => void = () => {},
): Promise<void> {
  for (;;) {
    const open = await openTasks(host, session);
    if (open.length === 0 || signal.aborted) return;
    await Promise.all(open.map(async ({ id }) => {
      const record = await host.untilTaskEnded(session, id, signal);
      if (record !== undefined && isEnd(record.status)) onEnd(record);
    }));
  }
}
