/** The parts of the bench about durability: group commit, recovery, and sessions that grow long. */
import type { Child } from "./child.ts";
import { commitsText, runCommitRounds } from "./commit_rounds.ts";
import type { Options } from "./options.ts";
import { progress } from "./progress.ts";
import type { SessionAnswer } from "./protocol.ts";
import {
  type RecoveryCase,
  type RecoveryFigures,
  recoveryText,
  runRecoveryRounds,
} from "./recovery_rounds.ts";
import { median } from "./statistics.ts";
import { duration, grouped, tableOf, times } from "./table.ts";

/** A part of the bench: what it found, for the file, and as text. */
export interface Part {
  readonly figures: unknown;
  readonly text: string;
}

/** Group commit beside one commit for every entry. */
export async function measureCommits({ isQuick, rounds }: Options): Promise<Part> {
  const figures = await runCommitRounds({
    rounds: rounds ?? (isQuick ? 3 : 9),
    entries: isQuick ? 300 : 1_000,
  });
  return { figures, text: commitsText(figures) };
}

/** Many sessions after a kill: at rest, and each in the middle of a turn. */
export async function measureRecovery({ isQuick, rounds }: Options): Promise<Part> {
  const size = { sessions: isQuick ? 100 : 1_000, entries: 100 };
  const cases: readonly RecoveryCase[] = [{ ...size, isOpen: false }, { ...size, isOpen: true }];
  const figures = await runRecoveryRounds(cases, rounds ?? (isQuick ? 2 : 5));
  return { figures, text: recoveryText(figures) };
}

/** One session that grows long: what its turns cost, and what it takes to start on it again. */
export async function measureLong({ isQuick, rounds }: Options, child: Child): Promise<Part> {
  const turns = 1_000;
  progress(`running ${turns} turns in one session`);
  const asked = { calls: 1, shape: "together", effect: "idempotent" } as const;
  const session = await child.ask({ do: "session", asked, turns, warmUps: isQuick ? 150 : 500 });
  const size = { sessions: 1, entries: 10_000 };
  const cases: readonly RecoveryCase[] = [
    { ...size, isOpen: false },
    { ...size, isOpen: true },
    { ...size, isOpen: true, isBare: true },
  ];
  const recovered = await runRecoveryRounds(cases, rounds ?? (isQuick ? 1 : 5));
  return { figures: { session, recovered }, text: longText(session, recovered) };
}

const edge = 100;

function longText({ times: wall, cpu }: SessionAnswer, recovered: readonly RecoveryFigures[]): string {
  const row = (name: string, all: readonly number[]) => {
    const [first, last] = [median(all.slice(0, edge)), median(all.slice(-edge))];
    return [name, duration(first), duration(last), times(last / first)];
  };
  const heading = [
    `${grouped(wall.length)} turns in one session, medians`,
    `first ${edge}`,
    `last ${edge}`,
    "growth",
  ];
  const turns = tableOf(heading, [row("by the clock", wall), row("processor", cpu)]);
  return `${turns}\n\n${recoveryText(recovered)}`;
}
