/** Background tasks: what goes on beside a session's turns, for its agent and under its rights (DM-107..124). */
import { z } from "zod";
import { Spent } from "./budget.ts";
import { AgentWork, childMessages, ChildStanding } from "./child_agent.ts";
import { childQuestionMessages, taskQuestionLetters } from "./child_question.ts";
import { Failure } from "./failure.ts";
import { Digest, RootAddress, TaskId } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { Principal } from "./principal.ts";
import { TurnOutcome } from "./turn_outcome.ts";

/** What a task does. `evolver.run` is known, and refused until its worker exists (DM-108). */
export const TaskKind = z.enum(["terminal.exec", "agent.spawn", "evolver.run"]);
/** What a task does. */
export type TaskKind = z.infer<typeof TaskKind>;

/** Where a task is (DM-109). The last four are endings. `lost`: the runtime ended under it, and nobody knows more. */
export const TaskStatus = z.enum([
  "queued",
  "running",
  "blocked_needs_user",
  "succeeded",
  "failed",
  "canceled",
  "lost",
]);
/** Where a task is. */
export type TaskStatus = z.infer<typeof TaskStatus>;

/** How a task can end. */
export const TaskEnd = TaskStatus.extract(["succeeded", "failed", "canceled", "lost"]);
/** How a task can end. */
export type TaskEnd = z.infer<typeof TaskEnd>;

/** True if nothing more comes of a task in this status. */
export function isEnd(status: TaskStatus): status is TaskEnd {
  return TaskEnd.safeParse(status).success;
}

/** The call that a task came from. */
export const TaskOrigin = z.strictObject({
  /** How its session's machine names it: `call/<step>.<index>`. */
  call: z.string().max(128),
  tool: z.string().max(limits.toolNameCharactersMax),
});
/** The call that a task came from. */
export type TaskOrigin = z.infer<typeof TaskOrigin>;

/** What a task alone may change while it has not ended; the digest names it in the store (DM-119). */
export const TaskScope = z.strictObject({
  name: z.string().min(1).max(limits.taskScopeCharactersMax),
  digest: Digest,
});
/** What a task alone may change while it has not ended. */
export type TaskScope = z.infer<typeof TaskScope>;

/** What is to be done, by kind. */
export const TaskWork = z.discriminatedUnion("kind", [
  /** The arguments of the call of `terminal` that was allowed, and the folder that they meant then. */
  z.strictObject({
    kind: z.literal("terminal.exec"),
    arguments: JsonObject,
    cwd: z.string().max(limits.pathCharactersMax),
  }),
  /** Refused by every release so far (DM-108). */
  z.strictObject({ kind: z.literal("evolver.run"), arguments: JsonObject }),
  AgentWork,
]);
/** What is to be done. */
export type TaskWork = z.infer<typeof TaskWork>;

const summary = z.string().max(limits.taskSummaryCharactersMax);

/** How the work of a task ended: what the port `task.run` yields. */
export const TaskOutcome = z.strictObject({
  status: TaskEnd,
  summary,
  /** Bounded facts for whoever asks: an exit code, where the whole output is. */
  result: JsonObject.exactOptional(),
});
/** How the work of a task ended. */
export type TaskOutcome = z.infer<typeof TaskOutcome>;

/** What a task is created with. */
export const TaskInput = z.strictObject({
  address: RootAddress,
  id: TaskId,
  /** The session that it belongs to, and that is told of its end. */
  owner: RootAddress,
  principal: Principal,
  origin: TaskOrigin,
  title: z.string().max(limits.taskTitleCharactersMax),
  scope: TaskScope.exactOptional(),
  /** In milliseconds since the epoch. */
  createdAt: z.number(),
  /** True if nobody waits for it: `troupe run` ends without it only where a runtime goes on. */
  detached: z.boolean(),
  /** True if its end is told to nobody unasked. */
  silent: z.boolean(),
  work: TaskWork,
});
/** What a task is created with. */
export type TaskInput = z.infer<typeof TaskInput>;

/** A task as the store tells of it: a row that is written with every change (DM-115, DM-118). */
export const TaskRecord = z.strictObject({
  v: z.literal(1),
  id: TaskId,
  address: RootAddress,
  kind: TaskKind,
  status: TaskStatus,
  owner: RootAddress,
  principal: Principal,
  origin: TaskOrigin,
  /** The owner's turn that it came from; null until the owner has heard of it. */
  turn: z.int().min(0).nullable(),
  title: z.string().max(limits.taskTitleCharactersMax),
  scope: TaskScope.nullable(),
  detached: z.boolean(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
  summary,
  result: JsonObject.nullable(),
  failure: Failure.nullable(),
  /** How the child stands that the task runs; absent for other work. */
  agent: ChildStanding.exactOptional(),
});
/** A task as the store tells of it. */
export type TaskRecord = z.infer<typeof TaskRecord>;

/** True for a child agent that has answered and waits for its next prompt: nothing goes on, so nobody waits for it. */
export function isAtRest({ agent }: Pick<TaskRecord, "agent">): boolean {
  if (agent === undefined || agent.scope === "task" || agent.close !== "open") return false;
  return agent.observed === "completed" || agent.observed === "failed" || agent.observed === "interrupted";
}

/** Messages that a task takes. */
export const TaskMessage = z.discriminatedUnion("type", [
  /** Its session lets it begin. */
  z.strictObject({ type: z.literal("task.admitted"), turn: z.int().min(0) }),
  /** Answered once nothing of the task is left; asked again, it is answered then too. */
  z.strictObject({ type: z.literal("task.cancel"), reason: z.string().max(500) }),
  /** Its session does not let it begin, ever. */
  z.strictObject({ type: z.literal("task.refused"), failure: Failure }),
  ...childMessages,
  ...childQuestionMessages,
]);
/** A message that a task takes. */
export type TaskMessage = z.infer<typeof TaskMessage>;

/** What a task tells its session. */
export const taskLetters = [
  z.strictObject({
    type: z.literal("task.opened"),
    task: TaskId,
    kind: TaskKind,
    /** Set if it shall end with the turn that it came from. */
    until: z.literal("turn").exactOptional(),
    child: RootAddress.exactOptional(),
  }),
  z.strictObject({
    type: z.literal("task.ended"),
    task: TaskId,
    kind: TaskKind,
    title: z.string().max(limits.taskTitleCharactersMax),
    status: TaskEnd,
    summary,
    silent: z.boolean(),
    child: RootAddress.exactOptional(),
    /** What the child spent in all. */
    spent: Spent.exactOptional(),
  }),
  /** A child agent answered, the nth time, and waits for its next prompt: it takes no place among those that run. */
  z.strictObject({
    type: z.literal("task.rested"),
    task: TaskId,
    child: RootAddress,
    title: z.string().max(limits.taskTitleCharactersMax),
    answers: z.int().min(1),
    outcome: TurnOutcome,
    summary,
    silent: z.boolean(),
  }),
  /** It has a prompt again, and wants to go on. */
  z.strictObject({ type: z.literal("task.resumed"), task: TaskId }),
  ...taskQuestionLetters,
] as const;
