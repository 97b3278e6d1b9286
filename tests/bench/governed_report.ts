/** Figures of governance as text. */
import type { GovernedAnswer } from "./protocol.ts";
import { median, quantile } from "./statistics.ts";
import { digits, duration, grouped, tableOf, times } from "./table.ts";
import { nameOf, type TurnCase } from "./turn_case.ts";

/** Figures of one case. */
export interface GovernedFigures extends GovernedAnswer {
  readonly asked: TurnCase;
}

/** The most that a call may cost more than its handler alone, in milliseconds. */
const surchargeMsMax = 0.06;

/** Times of a call, governed and alone: difference and ratio are those of the same round. */
export function governedTable(cases: readonly GovernedFigures[]): string {
  const rows = cases.map(({ asked, pairs }) => {
    const more = pairs.map(({ governedMs, directMs }) => governedMs - directMs);
    return [
      nameOf(asked),
      duration(median(pairs.map(({ governedMs }) => governedMs))),
      duration(median(pairs.map(({ governedCpuMs }) => governedCpuMs))),
      duration(median(pairs.map(({ directMs }) => directMs))),
      duration(median(more)),
      `${duration(quantile(more, 0.25))} to ${duration(quantile(more, 0.75))}`,
      times(median(pairs.map(({ governedMs, directMs }) => governedMs / directMs))),
    ];
  });
  const heading = [
    "one call, in memory",
    "governed",
    "its processor time",
    "handler alone",
    "more",
    "middle half",
    "ratio",
  ];
  return `${tableOf(heading, rows)}\nWanted: at most ${duration(surchargeMsMax)} more a call`;
}

/** Bytes of the journal by part. */
export function partsTable({ asked, parts }: GovernedFigures): string {
  const all = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const row = (part: string, entries: number, bytes: number) => [
    part,
    digits(entries),
    grouped(bytes),
    grouped(Math.round(bytes / asked.calls)),
    `${digits(bytes / all * 100)} %`,
  ];
  const sum = parts.reduce((entries, part) => entries + part.entries, 0);
  return tableOf([`journal of a turn: ${nameOf(asked)}`, "entries", "bytes", "bytes a call", "share"], [
    ...parts.map(({ part, entries, bytes }) => row(part, entries, bytes)),
    row("all lines", sum, all),
  ]);
}
