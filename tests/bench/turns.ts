/** Turns of ours and of the peers in one interleaved run: every round runs every case once, in shuffled order. */
import type { Child } from "./child.ts";
import { progress } from "./progress.ts";
import type { Counts, TurnsAnswer } from "./protocol.ts";
import { median, quantile, shuffle } from "./statistics.ts";
import { nameOf, stepsMax, type TurnCase } from "./turn_case.ts";

/** Who runs turns. `ours` and `memory` are one runtime on two stores; the others are peers. */
export interface Runners {
  readonly ours: Child;
  readonly memory: Child;
  readonly peers: readonly Child[];
}

/** Figures of one runner in one case. Times in milliseconds. */
export interface RunnerFigures {
  readonly name: string;
  readonly turns: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly cpuMsPerTurn: number;
}

/** How many times as long as a peer: the median over rounds of both medians' ratio in the same round. */
export interface Ratio {
  readonly of: string;
  readonly to: string;
  readonly ratio: number;
}

/** Figures of one case. */
export interface CaseFigures {
  readonly asked: TurnCase;
  readonly counts: Counts;
  readonly runners: readonly RunnerFigures[];
  readonly ratios: readonly Ratio[];
}

/** Figures of the disk over the same rounds, in milliseconds. */
export interface FloorFigures {
  readonly flush: { readonly medianMs: number; readonly p99Ms: number };
  readonly commit: { readonly medianMs: number; readonly p99Ms: number };
}

/** The cases of a full and of a quick run. */
export function casesOf(isQuick: boolean): readonly TurnCase[] {
  const cases: TurnCase[] = [
    { calls: 1, shape: "together", effect: "idempotent" },
    { calls: 10, shape: "together", effect: "idempotent" },
    { calls: 100, shape: "together", effect: "idempotent" },
    { calls: 10, shape: "apart", effect: "idempotent" },
    { calls: 10, shape: "together", effect: "non_idempotent" },
  ];
  if (isQuick) return cases;
  return [
    ...cases,
    { calls: stepsMax, shape: "apart", effect: "idempotent" },
    { calls: 1, shape: "together", effect: "non_idempotent" },
    { calls: 100, shape: "together", effect: "non_idempotent" },
    { calls: 10, shape: "apart", effect: "non_idempotent" },
    { calls: stepsMax, shape: "apart", effect: "non_idempotent" },
  ];
}

/** Turns of one batch: enough for a median, few enough that both sides see the same noise. */
function batchOf({ calls, shape }: TurnCase): number {
  if (calls >= 50) return shape === "apart" ? 1 : 3;
  return calls >= 10 ? 6 : 12;
}

/** Options of {@linkcode runRounds}. */
export interface RoundsOptions {
  readonly runners: Runners;
  readonly cases: readonly TurnCase[];
  readonly rounds: number;
  /** Batches of every case before the first round, so that the code is compiled. */
  readonly warmUps: number;
  readonly random: () => number;
}

/** What was gathered. */
export interface RoundsFigures {
  readonly cases: readonly CaseFigures[];
  readonly floor: FloorFigures;
}

/** Runs all rounds. One child works at a time. */
export async function runRounds(options: RoundsOptions): Promise<RoundsFigures> {
  const { runners, cases, rounds, warmUps, random } = options;
  const children = [runners.ours, runners.memory, ...runners.peers];
  const records = cases.map((asked) => ({ asked, answers: new Map<string, TurnsAnswer[]>() }));
  const floor = { flushes: [] as number[], commits: [] as number[] };
  for (let round = -warmUps; round < rounds; round++) {
    for (const { asked, answers } of shuffle(records, random)) {
      progress(
        round < 0 ? `warming up: ${nameOf(asked)}` : `round ${round + 1} of ${rounds}: ${nameOf(asked)}`,
      );
      for (const child of shuffle(children, random)) {
        const answer = await child.ask({ do: "turns", asked, turns: batchOf(asked) });
        if (round < 0) continue;
        const known = answers.get(child.name);
        if (known === undefined) answers.set(child.name, [answer]);
        else known.push(answer);
      }
    }
    const found = await runners.ours.ask({ do: "floor", times: 10 });
    if (round < 0) continue;
    floor.flushes.push(...found.flushes);
    floor.commits.push(...found.commits);
  }
  progress("");
  return {
    cases: records.map(({ asked, answers }) => figuresOf(asked, answers, runners)),
    floor: { flush: spread(floor.flushes), commit: spread(floor.commits) },
  };
}

function spread(times: readonly number[]): { readonly medianMs: number; readonly p99Ms: number } {
  return { medianMs: median(times), p99Ms: quantile(times, 0.99) };
}

function figuresOf(
  asked: TurnCase,
  answers: ReadonlyMap<string, readonly TurnsAnswer[]>,
  { ours, memory, peers }: Runners,
): CaseFigures {
  const figures = [...answers].map(([name, batches]): RunnerFigures => {
    const all = batches.flatMap(({ times }) => times);
    const cpuMs = batches.reduce((sum, batch) => sum + batch.cpuMs, 0);
    return { name, turns: all.length, ...spread(all), cpuMsPerTurn: cpuMs / all.length };
  });
  const order = [ours.name, memory.name, ...peers.map(({ name }) => name)];
  figures.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const sides = [ours.name, memory.name].flatMap((of) => peers.map((peer) => ({ of, to: peer.name })));
  return {
    asked,
    counts: sumCounts(answers.get(ours.name) ?? []),
    runners: figures,
    ratios: [...sides, { of: ours.name, to: memory.name }].map(({ of, to }) => ({
      of,
      to,
      ratio: ratioOf(answers.get(of) ?? [], answers.get(to) ?? []),
    })),
  };
}

function ratioOf(left: readonly TurnsAnswer[], right: readonly TurnsAnswer[]): number {
  return median(left.map(({ times }, round) => median(times) / median(right[round]?.times ?? [])));
}

function sumCounts(answers: readonly TurnsAnswer[]): Counts {
  const sum = { turns: 0, flushes: 0, entries: 0, cranks: 0, bytes: 0 };
  for (const { counts } of answers) {
    if (counts === undefined) continue;
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  }
  return sum;
}
