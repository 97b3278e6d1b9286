/** Figures of MCP calls as text. */
import { nameOfCase } from "./mcp_case.ts";
import type { McpCounts, McpFigures, McpRoundsFigures } from "./mcp_rounds.ts";
import { digits, duration, grouped, tableOf, times } from "./table.ts";

/** Counts of governed calls: the same on every machine, whatever the model. */
export function mcpCountsTable(counts: readonly McpCounts[]): string {
  const rows = counts.map(({ asked, name, counts: { turns, flushes, entries, cranks, bytes } }) => {
    const per = (count: number) => digits(count / turns / asked.calls);
    return [
      `${nameOfCase(asked)}, ${name}`,
      per(flushes),
      per(entries),
      per(cranks),
      grouped(Math.round(bytes / turns / asked.calls)),
    ];
  });
  return tableOf(["per governed MCP call", "flushes", "entries", "cranks", "journal bytes"], rows);
}

/** Times of calls and starts, and ratios to the first side. */
export function mcpTable({ cases, connect, emptyTurn, floor }: McpRoundsFigures): string {
  const [first = "", ...others] = (connect[0]?.sides ?? []).map(({ name }) => name);
  const heading = ["MCP, median · p99", first, ...others, ...others.map((name) => `${name} / ${first}`)];
  const both = ({ medianMs, p99Ms }: { readonly medianMs: number; readonly p99Ms: number }) =>
    `${duration(medianMs)} · ${duration(p99Ms)}`;
  return [
    tableOf(heading, [...cases, ...connect].map(rowOf)),
    "A call's time is its group's, by the number of calls; p99 is that of groups. A governed group is a turn with a",
    `model's step for all calls that are in flight, less a turn without calls: ${both(emptyTurn)}`,
    `The disk: a flushed append ${both(floor.flush)}, a commit of a KV file ${both(floor.commit)}`,
  ].join("\n");
}

function rowOf({ name, sides }: McpFigures): readonly string[] {
  return [
    name,
    ...sides.map(({ medianMs, p99Ms }) => `${duration(medianMs)} · ${duration(p99Ms)}`),
    ...sides.slice(1).map(({ ratio }) => times(ratio)),
  ];
}
