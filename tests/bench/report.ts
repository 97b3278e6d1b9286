/** The bench's figures as text. */
import type { AllocationAnswer, ReplayAnswer, SessionAnswer, SplitAnswer } from "./protocol.ts";
import { median, quantile } from "./statistics.ts";
import { digits, duration, grouped, kib, mib, tableOf, times } from "./table.ts";
import { nameOf, type TurnCase } from "./turn_case.ts";
import type { CaseFigures, RoundsFigures } from "./turns.ts";

/** Allocation of one case by runner. */
export interface AllocationFigures {
  readonly asked: TurnCase;
  readonly runners: readonly ({ readonly name: string } & AllocationAnswer)[];
}

/** Counts first: the same on every machine. */
export function countsTable(cases: readonly CaseFigures[]): string {
  const rows = cases.map(({ asked, counts }) => {
    const per = (count: number) => digits(count / counts.turns);
    return [
      nameOf(asked),
      per(counts.flushes),
      per(counts.entries),
      per(counts.cranks),
      grouped(Math.round(counts.bytes / counts.turns / asked.calls)),
    ];
  });
  return tableOf(["per turn", "flushes", "entries", "cranks", "journal bytes a call"], rows);
}

/** What is allocated, ours beside the peers. */
export function allocationTable(figures: readonly AllocationFigures[]): string {
  const names = figures[0]?.runners.map(({ name }) => name) ?? [];
  const rows = figures.map(({ asked, runners }) => [
    nameOf(asked),
    ...runners.map(({ bytes, collected }) =>
      `${kib(bytes / asked.calls)}${collected > 0 ? ` (${collected} collected)` : ""}`
    ),
  ]);
  return tableOf(["allocated a call", ...names], rows);
}

/** Times of turns and ratios to the peers. */
export function turnsTable(cases: readonly CaseFigures[]): string {
  const names = cases[0]?.runners.map(({ name }) => name) ?? [];
  const ratios = cases[0]?.ratios ?? [];
  const heading = ["median · p99 a turn", ...names, ...ratios.map(({ of, to }) => `${of} / ${to}`)];
  const rows = cases.map((one) => [
    nameOf(one.asked),
    ...one.runners.map(({ medianMs, p99Ms }) => `${duration(medianMs)} · ${duration(p99Ms)}`),
    ...one.ratios.map(({ ratio }) => times(ratio)),
  ]);
  return tableOf(heading, rows);
}

/** Processor time, and how near a turn comes to the floor of its flushes. */
export function costTable({ cases, floor }: RoundsFigures): string {
  const rows = cases.map(({ asked, counts, runners }) => {
    const ours = runners[0];
    const flushesMs = counts.flushes / counts.turns * floor.flush.medianMs;
    return [
      nameOf(asked),
      ...runners.map(({ cpuMsPerTurn }) => duration(cpuMsPerTurn)),
      times((ours?.medianMs ?? Number.NaN) / flushesMs),
    ];
  });
  const names = cases[0]?.runners.map(({ name }) => `cpu: ${name}`) ?? [];
  return `${tableOf(["processor time a turn", ...names, "turn / its flushes' floor"], rows)}\n` +
    `The floor: a flushed append of 512 bytes ${duration(floor.flush.medianMs)} · ${
      duration(floor.flush.p99Ms)
    }, ` +
    `a commit of a KV file ${duration(floor.commit.medianMs)} · ${duration(floor.commit.p99Ms)}`;
}

/** What many turns in one session do. */
export function sessionText(asked: TurnCase, answer: SessionAnswer): string {
  const count = Math.min(50, Math.floor(answer.times.length / 2));
  const first = median(answer.times.slice(0, count));
  const last = median(answer.times.slice(-count));
  const total = answer.times.reduce((sum, ms) => sum + ms, 0);
  return tableOf([`${grouped(answer.times.length)} turns in one session`, nameOf(asked)], [
    [`first ${count}, median`, duration(first)],
    [`last ${count}, median`, duration(last)],
    ["growth", times(last / first)],
    ["in all", duration(total)],
    ["store grew by", mib(answer.after.files - answer.before.files)],
    ["heap in use grew by", mib(answer.after.heap - answer.before.heap)],
    ["resident memory grew by", mib(answer.after.rss - answer.before.rss)],
  ]);
}

/** How fast a session is replayed. */
export function replayText(answer: ReplayAnswer): string {
  const { entries, cranks } = answer;
  const row = (name: string, all: readonly number[]) => {
    const ms = median(all);
    return [
      name,
      `${grouped(Math.round(entries / ms * 1_000))}/s`,
      `${grouped(Math.round(entries / quantile(all, 0) * 1_000))}/s`,
      duration(ms / cranks),
    ];
  };
  return tableOf([`replay of ${grouped(entries)} entries`, "median", "best", "a crank"], [
    row("from the store, verified", answer.store),
    row("from memory", answer.memory),
    row("reading and verifying alone", answer.reading),
  ]);
}

/** Where one turn's time goes. */
export function splitText(asked: TurnCase, answer: SplitAnswer): string {
  const row = (place: string, microseconds: number) => [
    place,
    `${digits(microseconds)} us`,
    `${digits(microseconds / answer.wallMicroseconds * 100)} %`,
  ];
  const { commits, digests, wallMicroseconds } = answer;
  const waits =
    `Waits: ${digits(commits.perTurn)} commits a turn of ${digits(commits.medianMicroseconds)} us, ` +
    `${digits(digests.perTurn)} digests of ${digits(digests.medianMicroseconds)} us (medians, from outside)`;
  const places = answer.parts.map(({ place, microseconds }) => row(place, microseconds));
  const functions = answer.functions.map(({ place, microseconds }) => row(place, microseconds));
  return [
    tableOf([`one turn: ${nameOf(asked)}`, "own time", "share"], [
      ["wall, with the profiler on", `${digits(wallMicroseconds)} us`, "100 %"],
      ...places,
    ]),
    waits,
    tableOf(["hottest functions", "own time", "share"], functions),
  ].join("\n\n");
}
