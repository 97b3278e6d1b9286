/** The end of a command that began background tasks: those that are not detached are waited for. */
import type { RootAddress } from "../../schemas/ids.ts";
import type { TaskEnd, TaskRecord } from "../../schemas/task.ts";
import { openTasks, untilTasksEnd } from "../host/host_tasks.ts";
import type { Cli } from "./cli.ts";
import { CheckFailedError, InterruptedError, reportError } from "./exit.ts";
import type { Seat } from "./seat.ts";
import { cutTo } from "./table.ts";

const statusEveryMs = 250;
/** Times that the wait is taken up: owners may end under it. */
const triesMax = 5;
const titleCharactersMax = 60;

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
  { session, view }: { readonly session: RootAddress; readonly view: TasksView },
): Promise<void> {
  const waiting = new Set((await openTasks(seat.host, session)).map(({ id }) => id));
  if (waiting.size === 0) return;
  view.note(`Waiting for ${waiting.size === 1 ? "a task" : `${waiting.size} tasks`} (Ctrl-C cancels)`);
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
    waiting.delete(record.id);
    cli.terminal.status(undefined);
    view.ended(record);
  };
  showStatus(cli, { seat, session }, gone.signal);
  try {
    await Promise.race([untilEnd({ seat, session, view, onEnd }, gone.signal), left.promise]);
  } finally {
    gone.abort();
    cli.terminal.status(undefined);
    stopListening();
  }
  if (isCanceling) throw new CheckFailedError("tasks_canceled", "The tasks were canceled at the terminal");
}

interface Waiting {
  readonly seat: Seat;
  readonly session: RootAddress;
  readonly view: TasksView;
  readonly onEnd: (record: TaskRecord) => void;
}

/** If another process holds the store and ends first, the tasks end with it: what became of them is told from here. */
async function untilEnd({ seat, session, view, onEnd }: Waiting, signal: AbortSignal): Promise<void> {
  const before = new Map((await openTasks(seat.host, session)).map((task) => [task.id, task]));
  for (let tries = 1;; tries++) {
    try {
      await untilTasksEnd(seat.host, session, signal, (record) => {
        before.delete(record.id);
        onEnd(record);
      });
      break;
    } catch (error) {
      if (tries === triesMax || reportError(error).code !== "door_closed") throw error;
      view.note("The process that held the store has ended: opening it here");
      await seat.reopen();
    }
  }
  if (before.size === 0) return;
  for (const record of await seat.host.listTasks(session)) if (before.has(record.id)) onEnd(record);
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
