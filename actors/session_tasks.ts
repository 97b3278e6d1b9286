/** The pure rules by which a session lets its tasks begin, and learns how they ended. */
import { sessionOf, type TaskId } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { HistoryItem } from "../schemas/model.ts";
import type { TaskKind } from "../schemas/task.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { expect } from "./session_rules.ts";
import type { TurnEvent } from "./turn_context.ts";

/** How many tasks of a kind run at once in one session. */
const runningMax: { readonly [K in TaskKind]: number } = {
  "terminal.exec": limits.commandsRunningMax,
  "agent.spawn": limits.agentsRunningMax,
  "evolver.run": limits.evolversRunningMax,
};

/** A task of the session that has not ended. */
export interface OwnTask {
  readonly task: TaskId;
  readonly address: string;
  readonly kind: TaskKind;
  readonly isRunning: boolean;
  /** True once it was asked to end. */
  readonly isStopping?: boolean;
}

/** What a session does about its tasks in one step. */
export interface TaskStep {
  readonly changes: Partial<Pick<SessionContext, "tasks" | "told" | "notices">>;
  readonly posts: readonly Outgoing[];
  /** What the turn that runs learns. */
  readonly told?: TurnEvent;
}

/** What a step about tasks needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: TaskStep["changes"]): void;
  sendTo(id: string, event: TurnEvent): void;
}

/** Does what a step about tasks says, all in one commit. */
export function act(enqueue: Queue, { turn }: SessionContext, { changes, posts, told }: TaskStep): void {
  for (const params of posts) enqueue({ type: "post", params });
  enqueue.assign(changes);
  if (told !== undefined) enqueue.sendTo(`turn/${turn}`, told);
}

/** A task wants to begin: it waits while as many of its kind run as may. */
export function opened(context: SessionContext, event: SessionEvent): TaskStep {
  const { task, kind, sender } = expect(event, "task.opened");
  if (!isOwn(context, sender)) return refused(event);
  const tasks = [...context.tasks ?? [], { task, address: sender, kind, isRunning: false }];
  return admit(context, tasks);
}

/** A task ended: the next one may begin, and the model is told, unless a result told it already. */
export function ended(
  context: SessionContext,
  event: SessionEvent,
  { isInTurn }: { readonly isInTurn: boolean },
): TaskStep {
  const { task, sender, silent, seq } = expect(event, "task.ended");
  // A letter without a sender that is a task of this very session is nobody's business (DM-122).
  if (!isOwn(context, sender)) return refused(event);
  const step = admit(context, (context.tasks ?? []).filter((one) => one.task !== task));
  const wasTold = (context.told ?? []).includes(task);
  const told = (context.told ?? []).filter((one) => one !== task);
  if (silent || wasTold) return { ...step, changes: { ...step.changes, told } };
  const item: HistoryItem = { type: "notice", seq, about: aboutTask(task) };
  if (isInTurn) {
    return { ...step, changes: { ...step.changes, told }, told: { type: "turn.notice", item } };
  }
  const kept = keep([...context.notices, item]);
  return {
    ...step,
    changes: { ...step.changes, told, notices: kept.notices },
    posts: [...step.posts, ...kept.posts],
  };
}

/** What a turn leaves behind: endings that its model was not told of, and those that it was told of before the letter. */
export function afterTurn(
  context: SessionContext,
  { notices = [], told = [] }: {
    readonly notices?: readonly HistoryItem[];
    readonly told?: readonly TaskId[];
  },
): TaskStep {
  const open = new Set((context.tasks ?? []).map(({ task }) => task));
  const kept = keep([...context.notices, ...notices].filter((item) => !isAbout(item, told)));
  return {
    changes: {
      notices: kept.notices,
      told: [...new Set([...context.told ?? [], ...told])].filter((task) => open.has(task)),
    },
    posts: kept.posts,
  };
}

/** How a notice says that it is about a task. */
export function aboutTask(task: TaskId): string {
  return `task ${task}`;
}

/** True if a notice is about the end of one of these tasks. */
export function isAbout(item: HistoryItem, tasks: readonly TaskId[]): boolean {
  return item.type === "notice" && tasks.some((task) => item.about === aboutTask(task));
}

/** True if a letter came from a task of this very session. */
export function isOwn({ address }: SessionContext, sender: string | undefined): sender is string {
  return sender !== undefined && sender.startsWith("task/") && sessionOf(sender) === address;
}

function refused(event: SessionEvent): TaskStep {
  const body = { message: event.type, sender: "sender" in event ? event.sender ?? null : null };
  return { changes: {}, posts: [{ kind: "note", type: "task.letter_refused", body }] };
}

function admit({ turn }: SessionContext, tasks: readonly OwnTask[]): TaskStep {
  const running = new Map<TaskKind, number>();
  for (const { kind, isRunning } of tasks) if (isRunning) running.set(kind, (running.get(kind) ?? 0) + 1);
  const posts: Outgoing[] = [];
  const after = tasks.map((one) => {
    const count = running.get(one.kind) ?? 0;
    if (one.isRunning || one.isStopping === true || count >= runningMax[one.kind]) return one;
    running.set(one.kind, count + 1);
    posts.push({ kind: "message", to: one.address, message: { type: "task.admitted", turn } });
    return { ...one, isRunning: true };
  });
  return { changes: { tasks: after }, posts };
}

/** Endings of tasks are kept up to a bound; the oldest beyond it are told no more, and said so. */
function keep(
  notices: readonly HistoryItem[],
): { readonly notices: readonly HistoryItem[]; readonly posts: readonly Outgoing[] } {
  const ofTasks = notices.filter((item) =>
    item.type === "notice" && item.about?.startsWith("task ") === true
  );
  const dropped = new Set(ofTasks.slice(0, Math.max(0, ofTasks.length - limits.taskNoticesMax)));
  if (dropped.size === 0) return { notices, posts: [] };
  const seqs = [...dropped].flatMap((item) => item.type === "notice" ? [item.seq] : []);
  const note: Outgoing = { kind: "note", type: "task.notices_dropped", body: { inputs: seqs } };
  return { notices: notices.filter((item) => !dropped.has(item)), posts: [note] };
}
