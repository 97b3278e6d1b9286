/** What a model is told of a task: bounded, and nothing of what the runtime keeps about it (DM-116). */
import { type Failure, failure } from "../../schemas/failure.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { isEnd, type TaskRecord } from "../../schemas/task.ts";
import type { OwnTasks } from "../tasks/own_tasks.ts";
import { errorEnvelope, type ToolUseContext } from "./tool.ts";

/** Id, kind, status, title, summary, exit code and times of a task. */
export function taskView(record: TaskRecord): JsonObject {
  const { id, kind, status, title, summary, createdAt, startedAt, endedAt, result } = record;
  const exitCode = result?.["exit_code"];
  return {
    id,
    kind,
    status,
    title,
    summary,
    ...(exitCode === undefined ? {} : { exit_code: exitCode as Json }),
    created_at: timeOf(createdAt),
    started_at: timeOf(startedAt),
    ended_at: timeOf(endedAt),
  };
}

/** A task whose end, or need of a person, the result tells: no notice of it follows (DM-121). */
export function toldView(tasks: OwnTasks, record: TaskRecord): JsonObject {
  if (isEnd(record.status) || record.status === "blocked_needs_user") tasks.told(record.id);
  return taskView(record);
}

/** The tasks of the session that calls; a refusal where a runtime has none. */
export function tasksIn({ tasks }: ToolUseContext): OwnTasks | Failure {
  return tasks ?? failure("tool_failed", "This runtime has no background tasks");
}

/** One answer for what is not there and for what is another session's (DM-117). */
export function noSuchTask() {
  return errorEnvelope(
    failure("task_not_found", "This session has no task of this id: task_list shows its tasks"),
  );
}

function timeOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
