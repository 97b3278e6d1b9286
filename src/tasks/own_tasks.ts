/** The tasks of one session, as a call of its tools sees them. */
import type { Failure } from "../../schemas/failure.ts";
import { type RootAddress, TaskId, type TaskNews } from "../../schemas/ids.ts";
import type { Principal } from "../../schemas/principal.ts";
import type { TaskRecord } from "../../schemas/task.ts";
import type { Awaited, TaskDesk, TaskOrder } from "./task_desk.ts";

/** What a tool may do with tasks of its own session; of others it cannot even ask. */
export interface OwnTasks {
  /** For whom the session acts, and so its tasks. */
  readonly principal: Principal;
  /** Opens a task that follows from this call: tried again, it is the same one. */
  open(order: Omit<TaskOrder, "owner" | "key" | "origin">): Promise<TaskRecord | Failure>;
  list(): Promise<readonly TaskRecord[]>;
  /** Undefined for an id that is none of this session's, whatever it looks like (DM-117). */
  find(id: string): Promise<TaskRecord | undefined>;
  cancel(id: string, reason: string): Promise<TaskRecord | undefined>;
  untilEnded(id: string, untilMs: number): Promise<Awaited | undefined>;
  /** The result of this call tells the model how the task ended: no notice of it follows (DM-121). */
  told(news: TaskNews): void;
}

/** Whose tasks, and for which call. */
export interface TaskCall {
  readonly owner: RootAddress;
  readonly principal: Principal;
  /** Key of the call: what it opens follows from it. */
  readonly key: string;
  readonly origin: TaskOrder["origin"];
  readonly signal: AbortSignal;
  readonly tell: (news: TaskNews) => void;
}

/** The tasks of the session that calls. */
export function ownTasks(
  desk: TaskDesk,
  { owner, principal, key, origin, signal, tell }: TaskCall,
): OwnTasks {
  const named = <T>(id: string, look: (task: TaskId) => Promise<T | undefined>): Promise<T | undefined> => {
    const task = TaskId.safeParse(id);
    return task.success ? look(task.data) : Promise.resolve(undefined);
  };
  return Object.freeze({
    principal,
    open: (order: Omit<TaskOrder, "owner" | "key" | "origin">) => desk.open({ ...order, owner, key, origin }),
    list: () => desk.list(owner),
    find: (id: string) => named(id, (task) => desk.find(owner, task)),
    cancel: (id: string, reason: string) => named(id, (task) => desk.cancel(owner, task, reason)),
    untilEnded: (id: string, untilMs: number) =>
      named(id, (task) => desk.untilEnded(owner, task, { untilMs, signal })),
    told: tell,
  });
}
