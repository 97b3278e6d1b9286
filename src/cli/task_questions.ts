/** Questions that are asked while a command waits for tasks: those of the children that its session left working. */
import { type RootAddress, sessionOf } from "../../schemas/ids.ts";
import { sessionsAbove } from "../ancestors.ts";
import type { OpenQuestion } from "../effects/question_ask.ts";
import { createAsker, type StandingAnswer } from "./ask.ts";
import type { Cli } from "./cli.ts";
import { reportError } from "./exit.ts";
import type { Seat } from "./seat.ts";

const lookEveryMs = 250;

/** Whose questions, and how they are answered. */
export interface QuestionWatch {
  readonly seat: Seat;
  readonly session: RootAddress;
  readonly standing: StandingAnswer | undefined;
  readonly note: (text: string) => void;
}

/**
 * Asks the person at the terminal, or answers as ordered, until `signal` aborts. A turn of a child whose uncertain call
 * nobody here can judge is canceled, as the command's own would be.
 */
export async function answerChildren(
  cli: Cli,
  { seat, session, standing, note }: QuestionWatch,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = cli.seams;
  const giveUp = ({ root }: OpenQuestion) => {
    note("Nobody here can say whether that call happened: the turn of the child agent is canceled");
    const reason = "A question about an uncertain call could not be answered";
    seat.host.cancel(sessionOf(root) ?? root, { reason }).catch((error) => note(reportError(error).message));
  };
  // The store may be opened anew meanwhile, by this process.
  const host = {
    answer: (id: string, given: Parameters<Seat["host"]["answer"]>[1]) => seat.host.answer(id, given),
  };
  const asker = createAsker({ cli, host, standing, onUnanswerable: giveUp });
  const canAnswer = standing !== undefined || cli.terminal.canAsk;
  const known = new Set<string>();
  try {
    while (!signal.aborted) {
      // An owner that ends is noticed by who waits for the tasks.
      const open = await seat.host.listQuestions().catch(() => []);
      for (const question of await fresh(seat, { session, known, open })) {
        if (canAnswer) asker.take(question);
        else if (question.subject.kind === "uncertain") giveUp(question);
      }
      for (const id of known) {
        if (open.some((one) => one.id === id)) continue;
        known.delete(id);
        asker.closed(id);
      }
      await clock.sleepUntil(clock.now() + lookEveryMs, signal);
    }
  } finally {
    asker.stop();
  }
}

/** Questions below the session that were not heard of yet. */
async function fresh(
  { host }: Seat,
  { session, known, open }: {
    readonly session: RootAddress;
    readonly known: Set<string>;
    readonly open: readonly OpenQuestion[];
  },
): Promise<readonly OpenQuestion[]> {
  const news = open.filter(({ id }) => !known.has(id));
  if (news.length === 0) return [];
  const roots = await host.listRoots().catch(() => []);
  const records = new Map(roots.map((record) => [record.address, record]));
  const ours = news.filter(({ root }) => sessionsAbove(records, root).includes(session));
  for (const { id } of ours) known.add(id);
  return ours;
}
