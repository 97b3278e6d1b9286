/** Builders for tests of background tasks. */
import { taskAddress, TaskId } from "../../schemas/ids.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { TaskInput } from "../../schemas/task.ts";

/** The id of a task of a test. */
export function taskNamed(n: number): TaskId {
  return TaskId.parse(`tsk_${String(n).padStart(26, "0")}`);
}

/** What a task is created with; `changes` shows the one fact that matters. */
export function taskInput(n: number, owner: RootAddress, changes: Partial<TaskInput> = {}): TaskInput {
  const id = taskNamed(n);
  return {
    address: taskAddress(id, owner),
    id,
    owner,
    principal: localOperator,
    origin: { call: "call/0.0", tool: "terminal" },
    title: `task ${n}`,
    createdAt: 500,
    detached: false,
    silent: false,
    work: { kind: "terminal.exec", arguments: { argv: ["true"] }, cwd: "/" },
    ...changes,
  };
}
