/** `task.run`: does the work of a task, by whoever does work of its kind. */
import { failure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import type { TaskKind, TaskOutcome, TaskWork } from "../../schemas/task.ts";
import type { Performance, Performer, PerformerResult } from "./performer.ts";

/** The work of a task of one kind. */
export type WorkOf<K extends TaskKind> = Extract<TaskWork, { readonly kind: K }>;

/** Does work of one kind to its end. What ends before anything was begun comes back as a result that is not `ok`. */
export type TaskWorker<K extends TaskKind = TaskKind> = (
  work: WorkOf<K>,
  performance: Performance<"task.run">,
) => Promise<TaskOutcome | Exclude<PerformerResult, { readonly status: "ok" }>>;

/** Workers by the kind of their work. */
export type TaskWorkers = { readonly [K in TaskWork["kind"]]?: TaskWorker<K> };

/** Makes the performer. */
export function createTaskRun(workers: TaskWorkers): Performer<"task.run"> {
  return async (performance) => {
    const { work } = performance.request.args;
    const worker = (workers as { readonly [kind: string]: TaskWorker })[work.kind];
    if (worker === undefined) {
      const message = `This release does no work of the kind "${work.kind}"`;
      return { status: "failed", failure: failure("task_kind_unsupported", message) };
    }
    const ended = await worker(work, performance);
    if ("failure" in ended) return ended;
    return { status: "ok", value: ended as unknown as Json };
  };
}
