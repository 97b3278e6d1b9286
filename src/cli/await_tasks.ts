/** The end of a command that began background tasks: those that are not detached are waited for. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { TaskEnd, TaskRecord } from "../../schemas/task.ts";
import { openTasks, untilTasksEnd } from "../host/host_tasks.ts";
import type { StandingAnswer } from "./ask.ts";
import type { Cli } from "./cli.ts";
import { CheckFailedError, InterruptedError, reportError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import type { Seat } from "./seat.ts";
import { cutTo } from "./table.ts";
import { answerChildren } from "./task_questions.ts";

const statusEveryMs = 250;
/** Times that the wait is taken up: owners may end under it. */
const triesMax = 5;
const titleCharactersMax = 60;

/** How a command that shows a turn shows the tasks that outlived it: as JSON, one line for each, or in words. */
export function tasksView(
  { terminal }: Pick<Cli, "terminal">,
  { json, view }: { readonly json: boolean; readonly view: Pick<TasksView, "note"> },
): TasksView {
  return {
    note: (text) => view.note(text),
    ended: (record) => json ? terminal.out.line(jsonLine({ task: record })) : view.note(endText(record)),
  };
}

/** How the wait shows. */
export interface TasksView {
  note(text: string): void;
  /** Told of each task that ended. */
  ended(record: TaskRecord): void;
}

/**
 * Waits for the tasks of a session. The first Ctrl-C cancels them and goes on until nothing of them is left; the second,
 * or a termination by the system, leaves: throws {@linkcode InterruptedError}. Throws {@linkcode CheckFailedError} if
 * they were canceled here.
 */
export async function awaitTasks(
  cli: Cli,
  seat: Seat,
  { session, view, standing }: {
    readonly session: RootAddress;
    readonly view: TasksView;
    readonly standing: StandingAnswer | undefined;
  },
): Promise<void> {
  const begun = await whoeverOwns(seat, view, () => openTasks(seat.host, session));
  if (begun.length === 0) return;
  view.note(`Waiting for ${begun.length === 1 ? "a task" : `${begun.length} tasks`} (Ctrl-C cancels)`);
  const gone = new AbortController();
  const left = Promise.withResolvers<never>();
  left.promise.catch(() => {});
  let isCanceling = false;
  const stopListening = cli.onInterrupt((kind) => {
    if (kind === "terminate" || isCanceling) return left.reject(leaving(session));
    isCanceling = true;
    view.note("Canceling the tasks (Ctrl-C again leaves at once)");
    cancelAll(seat, session).catch((error) => view.note(reportError(error).message));
  });
  const onEnd = (record: TaskRecord) => {
    cli.terminal.status(undefined);
    view.ended(record);
  };
  showStatus(cli, { seat, session }, gone.signal);
  const note = (text: string) => view.note(text);
  const heard = answerChildren(cli, { seat, session, standing, note }, gone.signal);
  try {
    await Promise.race([untilEnd({ seat, session, view, onEnd, begun }, gone.signal), left.promise]);
  } finally {
    gone.abort();
    cli.terminal.status(undefined);
    stopListening();
    await heard;
  }
  if (isCanceling) throw new CheckFailedError("tasks_canceled", "The tasks were canceled at the terminal");
}

interface Waiting {
  readonly seat: Seat;
  readonly session: RootAddress;
  readonly view: TasksView;
  readonly onEnd: (record: TaskRecord) => void;
  readonly begun: readonly TaskRecord[];
}

/** If another process holds the store and ends first, the tasks end with it: what became of them is told from here. */
async function untilEnd(
  { seat, session, view, onEnd, begun }: Waiting,
  signal: AbortSignal,
): Promise<void> {
  const untold = new Set(begun.map(({ id }) => id));
  await whoeverOwns(seat, view, () =>
    untilTasksEnd(seat.host, session, signal, (record) => {
      untold.delete(record.id);
      onEnd(record);
    }));
  if (untold.size === 0) return;
  for (const record of await seat.host.listTasks(session)) if (untold.has(record.id)) onEnd(record);
}

/** Does `work`, again from here if another process held the store and ended. */
async function whoeverOwns<T>(seat: Seat, view: TasksView, work: () => Promise<T>): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === triesMax || reportError(error).code !== "door_closed") throw error;
      view.note("The process that held the store has ended: opening it here");
      await seat.reopen();
    }
  }
}

async function cancelAll({ host }: Seat, session: RootAddress): Promise<void> {
  const open = await openTasks(host, session);
  await Promise.all(open.map(({ id }) => host.cancelTask(session, id, "Ctrl-C at the terminal")));
}

async function showStatus(
  { terminal, seams: { clock } }: Cli,
  { seat, session }: Pick<Waiting, "seat" | "session">,
  signal: AbortSignal,
): Promise<void> {
  while (terminal.err.isTerminal && !signal.aborted) {
    const open = await openTasks(seat.host, session).catch(() => []);
    const [first] = open.toReversed();
    if (first !== undefined && !signal.aborted) {
      const more = open.length === 1 ? "" : ` and ${open.length - 1} more`;
      const seconds = Math.floor((clock.now() - (first.startedAt ?? first.createdAt)) / 1_000);
      terminal.status(`${first.status} ${cutTo(first.title, titleCharactersMax)} (${seconds} s)${more}`);
    }
    await clock.sleepUntil(clock.now() + statusEveryMs, signal);
  }
}

/** How an end reads: in one line. */
export function endText({ id, status, title, summary, failure }: TaskRecord): string {
  const [first = ""] = (failure?.message ?? summary).split("\n");
  return `task ${id} ${endWords[status as TaskEnd] ?? status}: ${cutTo(title, titleCharactersMax)}: ${first}`;
}

const endWords: { readonly [E in TaskEnd]: string } = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "was canceled",
  lost: "is lost",
};

function leaving(session: RootAddress): InterruptedError {
  const id = session.slice("session/".length);
  return new InterruptedError(`Left before the tasks had ended: see troupe tasks ${id}`);
}
