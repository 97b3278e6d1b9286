/** The pure rules by which a session lets its tasks begin, and learns how they ended. */
import type { Spent } from "../schemas/budget.ts";
import { failure } from "../schemas/failure.ts";
import { type RootAddress, sessionOf, type TaskId, type TaskNews } from "../schemas/ids.ts";
import { limits } from "../schemas/limits.ts";
import type { Outgoing } from "../schemas/message.ts";
import type { HistoryItem } from "../schemas/model.ts";
import type { TaskKind } from "../schemas/task.ts";
import { beginChild, endChild, type NewChild, refusal } from "./child_budget.ts";
import { sessionLedger } from "./session_budget.ts";
import type { SessionContext, SessionEvent } from "./session_context.ts";
import { expect } from "./session_rules.ts";
import type { TurnEvent } from "./turn_context.ts";

/** How many tasks of a kind run at once in one session. */
const runningMax: { readonly [K in TaskKind]: number } = {
  "terminal.exec": limits.commandsRunningMax,
  "agent.spawn": limits.agentsRunningMax,
  "evolver.run": limits.evolversRunningMax,
};

function runningMaxOf({ agent }: SessionContext, kind: TaskKind): number {
  return kind === "agent.spawn" ? agent.subagents?.running_max ?? runningMax[kind] : runningMax[kind];
}

/** A task of the session that has not ended. */
export interface OwnTask {
  readonly task: TaskId;
  readonly address: string;
  readonly kind: TaskKind;
  readonly isRunning: boolean;
  /** True for a child agent that waits for its next prompt. */
  readonly isResting?: boolean;
  /** The turn that it ends with, if it does. */
  readonly until?: number;
  /** True once it was asked to end. */
  readonly isStopping?: boolean;
}

/** What a session does about its tasks in one step. */
export interface TaskStep {
  readonly changes: Partial<Pick<SessionContext, "tasks" | "told" | "notices" | "begun" | "ledger">>;
  readonly posts: readonly Outgoing[];
  /** What the turn that runs learns. */
  readonly told?: readonly TurnEvent[];
}

/** What a step about tasks needs of a machine's queue of actions. */
interface Queue {
  (action: { readonly type: "post"; readonly params: Outgoing }): void;
  assign(changes: TaskStep["changes"]): void;
  sendTo(id: string, event: TurnEvent): void;
}

/** Does what a step about tasks says, all in one commit. */
export function act(enqueue: Queue, { turn }: SessionContext, { changes, posts, told = [] }: TaskStep): void {
  for (const params of posts) enqueue({ type: "post", params });
  enqueue.assign(changes);
  for (const event of told) enqueue.sendTo(`turn/${turn}`, event);
}

/** What a task of the session tells it. */
export function heard(context: SessionContext, event: SessionEvent): TaskStep {
  switch (event.type) {
    case "task.opened":
      return opened(context, event);
    case "task.rested":
      return rested(context, event);
    case "task.resumed":
      return resumed(context, event);
    default:
      return ended(context, event);
  }
}

/** A task wants to begin: it waits while as many of its kind run as may. */
function opened(context: SessionContext, event: SessionEvent): TaskStep {
  const { task, kind, sender, until, child } = expect(event, "task.opened");
  if (!isOwn(context, sender)) return refused(event);
  const ends = until === undefined ? {} : { until: context.turn };
  const tasks = [...context.tasks ?? [], { task, address: sender, kind, isRunning: false, ...ends }];
  if (kind !== "agent.spawn" || child === undefined) return admit(context, tasks);
  return openedChild(context, { child, to: sender }, tasks);
}

/** A turn begins a bounded number of children (DM-126). Whoever began one waits for this word. */
function openedChild(
  context: SessionContext,
  { child, to }: Pick<NewChild, "child" | "to">,
  tasks: readonly OwnTask[],
): TaskStep {
  const { turn, agent, begun } = context;
  const children = begun?.turn === turn ? begun.children : 0;
  const most = agent.subagents?.per_turn_max ?? limits.agentsPerTurnDefault;
  if (children >= most) {
    const why = failure("agent_limit", `This turn has begun ${most} child agents: no more in one turn`);
    return { changes: {}, posts: [refusal(to, why)] };
  }
  const step = admit(context, tasks);
  const changes = { ...step.changes, begun: { turn, children: children + 1 } };
  const wanted: NewChild = { child, to, turn, running: runningMaxOf(context, "agent.spawn") };
  // While a turn runs, what is left of the budget is in its hands.
  if (context.current !== null) return { ...step, changes, told: [{ type: "turn.child_begun", wanted }] };
  const { ledger, posts } = beginChild(sessionLedger(context), wanted);
  return { changes: { ...changes, ledger }, posts: [...posts, ...step.posts] };
}

/** A child answered: it gives its place to the next, and the model is told, unless a result told it already. */
function rested(context: SessionContext, event: SessionEvent): TaskStep {
  const { task, sender, silent, seq, answers } = expect(event, "task.rested");
  if (!isOwn(context, sender)) return refused(event);
  const tasks = (context.tasks ?? []).map((one) =>
    one.task === task ? { ...one, isRunning: false, isResting: true } : one
  );
  return hear(context, {
    task,
    news: `${task}#${answers}`,
    seq,
    silent,
    step: admit(context, tasks),
  });
}

/** A child that rested has a prompt again: it runs once there is a place. */
function resumed(context: SessionContext, event: SessionEvent): TaskStep {
  const { task, sender } = expect(event, "task.resumed");
  if (!isOwn(context, sender)) return refused(event);
  const tasks = (context.tasks ?? []).map((one) => one.task === task ? { ...one, isResting: false } : one);
  return admit(context, tasks);
}

/** A task ended: the next one may begin, and the model is told, unless a result told it already. */
function ended(context: SessionContext, event: SessionEvent): TaskStep {
  const { task, sender, silent, seq, child, spent = {} } = expect(event, "task.ended");
  // A letter without a sender that is a task of this very session is nobody's business (DM-122).
  if (!isOwn(context, sender)) return refused(event);
  const step = admit(context, (context.tasks ?? []).filter((one) => one.task !== task));
  const heard = hear(context, { task, news: task, seq, silent, step });
  return child === undefined ? heard : givenBack(context, heard, { child, spent });
}

/** What a child did not spend is free again: in the session's ledger, or in that of the turn that began it. */
function givenBack(
  context: SessionContext,
  step: TaskStep,
  { child, spent }: { readonly child: RootAddress; readonly spent: Partial<Spent> },
): TaskStep {
  const back = endChild(sessionLedger(context), child, spent);
  if (back !== undefined) {
    return {
      ...step,
      changes: { ...step.changes, ledger: back.ledger },
      posts: [...step.posts, ...back.posts],
    };
  }
  if (context.current === null) return step;
  return { ...step, told: [...step.told ?? [], { type: "turn.child_ended", child, spent }] };
}

interface News {
  readonly task: TaskId;
  readonly news: TaskNews;
  readonly seq: number;
  readonly silent: boolean;
  readonly step: TaskStep;
}

/** The model hears of news once: not of what a result told it already. */
function hear(context: SessionContext, { task, news, seq, silent, step }: News): TaskStep {
  const wasTold = (context.told ?? []).includes(news);
  const told = (context.told ?? []).filter((one) => taskOf(one) !== task);
  if (silent || wasTold) return { ...step, changes: { ...step.changes, told } };
  const item: HistoryItem = { type: "notice", seq, about: aboutTask(news) };
  if (context.current !== null) {
    return { ...step, changes: { ...step.changes, told }, told: [{ type: "turn.notice", item }] };
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
    readonly told?: readonly TaskNews[];
  },
): TaskStep {
  const open = new Set<string>((context.tasks ?? []).map(({ task }) => task));
  const kept = keep([...context.notices, ...notices].filter((item) => !isAbout(item, told)));
  return {
    changes: {
      notices: kept.notices,
      told: [...new Set([...context.told ?? [], ...told])].filter((one) => open.has(taskOf(one))),
    },
    posts: [...kept.posts, ...endWith(context)],
  };
}

/** Children that belong to the turn end with it. */
function endWith({ tasks = [], turn }: SessionContext): readonly Outgoing[] {
  return tasks.filter(({ until }) => until === turn).map(({ address }): Outgoing => {
    const reason = "The turn that it belongs to has ended";
    return { kind: "message", to: address, message: { type: "task.close", strictness: "graceful", reason } };
  });
}

function taskOf(news: TaskNews): string {
  return news.replace(/#.*$/, "");
}

/** How a notice says that it is about a task. */
export function aboutTask(task: TaskNews): string {
  return `task ${task}`;
}

/** True if a notice is about the end of one of these tasks. */
export function isAbout(item: HistoryItem, tasks: readonly TaskNews[]): boolean {
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

function admit(context: SessionContext, tasks: readonly OwnTask[]): TaskStep {
  const { turn } = context;
  const running = new Map<TaskKind, number>();
  for (const { kind, isRunning } of tasks) if (isRunning) running.set(kind, (running.get(kind) ?? 0) + 1);
  const posts: Outgoing[] = [];
  const after = tasks.map((one) => {
    const count = running.get(one.kind) ?? 0;
    const most = runningMaxOf(context, one.kind);
    const isOut = one.isRunning || one.isResting === true || one.isStopping === true;
    if (isOut || count >= most) return one;
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
