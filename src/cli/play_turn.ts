/** Plays one turn at the terminal: gives the prompt, shows what happens, asks what must be asked, minds Ctrl-C. */
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import type { ActingHost, HostEvent, Request } from "../host/host.ts";
import type { TurnReport } from "../turn_report.ts";
import { createAsker, type StandingAnswer } from "./ask.ts";
import type { Cli } from "./cli.ts";
import { InterruptedError, reportError } from "./exit.ts";
import { peekText } from "../peek.ts";
import type { Seat } from "./seat.ts";
import type { TurnView } from "./transcript.ts";

const statusEveryMs = 250;
/** Times that one turn is taken up: owners may end under it. */
const triesMax = 5;

/** What is played. */
export interface TurnToPlay {
  readonly session: RootAddress;
  readonly request: Request;
  /** Makes a repeat harmless, whoever gives it; by default a new one. */
  readonly key?: string | undefined;
  /** First entry of the session to be shown. */
  readonly fromSeq: number;
  readonly standing: StandingAnswer | undefined;
  readonly view: TurnView;
}

/**
 * Plays one turn and returns its report. The first Ctrl-C cancels the turn and goes on until it has ended; the second,
 * or a termination by the system, leaves: throws {@linkcode InterruptedError}, and what is open goes on at the next
 * start. If another process holds the store and ends before the turn does, the turn goes on wherever the store can be
 * opened then: the prompt has a key, so giving it again gives nothing twice (K14).
 */
export async function playTurn(cli: Cli, seat: Seat, turn: TurnToPlay): Promise<TurnReport> {
  const { view } = turn;
  const key = turn.key ?? cli.seams.nextId("cmd");
  const heard = { seq: turn.fromSeq - 1 };
  for (let tries = 1;; tries++) {
    try {
      const report = await playHere(cli, seat.host, { ...turn, key, heard });
      view.end(report);
      return report;
    } catch (error) {
      const { code } = reportError(error);
      if (tries === triesMax || (code !== "door_closed" && code !== "events_lost")) throw error;
      if (code === "events_lost") continue; // We were too slow: begin again behind what was shown.
      view.note("The process that held the store has ended: opening it here");
      await seat.reopen();
    }
  }
}

interface Playing extends TurnToPlay {
  readonly key: string;
  /** Last entry that was shown. */
  readonly heard: { seq: number };
}

async function playHere(cli: Cli, host: ActingHost, turn: Playing): Promise<TurnReport> {
  const { session, request, key, heard, standing, view } = turn;
  const cancel = (reason: string, whose = session) =>
    host.cancel(whose, { reason }).catch((error) => {
      if (!gone.signal.aborted) view.note(reportError(error).message);
    });
  const answers = standing !== undefined || cli.terminal.canAsk;
  function giveUp(whose = session): void {
    const what = whose === session ? "the turn" : "the turn of the child agent";
    view.note(`Nobody here can say whether that call happened: ${what} is canceled`);
    cancel("A question about an uncertain call could not be answered", whose);
  }
  const asker = createAsker({
    cli,
    host,
    standing,
    onUnanswerable: ({ root }) => giveUp(sessionOf(root)),
  });
  const left = Promise.withResolvers<never>();
  left.promise.catch(() => {});
  let isCanceling = false;
  const stopListening = cli.onInterrupt((kind) => {
    if (kind === "terminate" || isCanceling) return left.reject(leaving(session));
    isCanceling = true;
    view.note("Canceling the turn (Ctrl-C again leaves at once)");
    cancel("Ctrl-C at the terminal");
  });
  const gone = new AbortController();
  const hear = (event: HostEvent) => {
    cli.terminal.status(undefined); // It may be over: the next look says.
    if (event.type === "question") {
      const { root, subject } = event.question;
      if (answers) asker.take(event.question);
      else if (root !== session && subject.kind === "uncertain") giveUp(sessionOf(root));
    }
    if (event.type === "question_closed") asker.closed(event.id);
    if (event.type === "entries") {
      for (const { seq, kind, type, body } of event.entries) {
        heard.seq = seq;
        if (!answers && kind === "intent" && isUncertain(type, body)) giveUp();
      }
    }
    view.hear(event);
  };
  showStatus(cli, view, gone.signal);
  const order = { session, request, key, fromSeq: heard.seq + 1, answers, gone: gone.signal };
  try {
    return await Promise.race([host.prompt(order, hear), left.promise]);
  } finally {
    gone.abort();
    cli.terminal.status(undefined);
    asker.stop();
    stopListening();
  }
}

/** True for a question about a call that may have happened. */
function isUncertain(type: string, body: unknown): boolean {
  return type === "question.ask" && peekText(body, "args", "subject", "kind") === "uncertain";
}

/** Progress: what takes more than a second is shown in the last line of a terminal. */
async function showStatus(
  { terminal, seams: { clock } }: Cli,
  view: TurnView,
  signal: AbortSignal,
): Promise<void> {
  while (terminal.err.isTerminal && !signal.aborted) {
    terminal.status(view.status(clock.now()));
    await clock.sleepUntil(clock.now() + statusEveryMs, signal);
  }
}

function leaving(session: RootAddress): InterruptedError {
  const id = session.slice("session/".length);
  return new InterruptedError(
    `Left before the turn had ended; the next start goes on with it: troupe log ${id}`,
  );
}
