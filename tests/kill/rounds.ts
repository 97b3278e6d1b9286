/** Many rounds, several side by side, and what they came to. */
import type { Result } from "./round.ts";

/** Which rounds are played, and how many at once. */
export interface Rounds {
  readonly count: number;
  readonly from: number;
  readonly beside: number;
  readonly play: (number: number) => Promise<Result>;
}

/** Plays rounds; each is told as it ends. */
export async function playRounds(
  { count, from, beside, play }: Rounds,
  hear: (result: Result) => void,
): Promise<void> {
  let next = from;
  const lane = async () => {
    while (next < from + count) hear(await play(next++));
  };
  await Promise.all(Array.from({ length: beside }, lane));
}

/** What rounds came to. */
export interface Totals {
  readonly rounds: number;
  readonly failed: number;
  readonly kills: number;
  readonly acknowledged: number;
  readonly text: string;
}

/** Adds rounds up. */
export function totalsOf(results: readonly Result[]): Totals {
  const sum = (of: (result: Result) => number) => results.reduce((total, result) => total + of(result), 0);
  const failed = results.filter(({ complaints }) => complaints.length > 0).length;
  const kills = sum((result) => result.kills);
  const acknowledged = sum((result) => result.acknowledged);
  const ends = Map.groupBy(results.filter(({ damaged }) => damaged !== undefined), ({ damaged }) => damaged);
  const damaged = [...ends].map(([end, of]) => `${of.length} ${end}`).join(", ");
  const text =
    `${results.length} rounds: ${failed} failed, ${kills} kills, ${acknowledged} acknowledgements` +
    (damaged === "" ? "" : `; damaged stores: ${damaged}`);
  return { rounds: results.length, failed, kills, acknowledged, text };
}

/** A failing round in words: how to repeat it, what broke first, and what the processes said last. */
export function describe({ number, what, complaints, folder, tail, draw }: Result): string {
  return [
    `round ${number} (${what}) breaks ${complaints[0]?.invariant}: ${complaints[0]?.message}`,
    ...complaints.slice(1, 6).map(({ invariant, message }) => `  and ${invariant}: ${message}`),
    `repeat: deno task kill --rounds 1 --from ${number}`,
    `plan: ${draw}`,
    `kept: ${folder}`,
    tail,
  ].join("\n");
}
