/** `troupe invocations`. */
import { debugOption, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { CallSummaries } from "../records/call_summary.ts";
import { InvocationFold } from "../records/invocation_fold.ts";
import type { InvocationRow } from "../records/invocation_row.ts";
import { type TrackedCall, TrackedCalls } from "../records/tracked_calls.ts";
import { jsonLine } from "./json_line.ts";
import { findSession } from "./session_name.ts";
import { durationText, printTable } from "./table.ts";

/** Shows the tool calls of a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Shows every tool call of a session: its turn and place, the tool by its full name, what a repeat would do, how",
    "often it was attempted, how it ended and why, who decided about it, and how long it took.",
    "With --json also how far it is, its status and error as records, what it changes of the session's state, and the",
    "secrets that were taken out of its result, and a summary: source, server, tool, risk, status, and the first 500",
    "characters of what it yielded.",
    "SESSION is an id, an unambiguous part of one, or last.",
  ],
  options: { store: storeOption, json: jsonOption, debug: debugOption },
  examples: ["troupe invocations last", "troupe invocations last --json"],
  run: async ({ cli, options, args }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const { address } = await findSession(host, args[0] ?? "");
      const fold = new InvocationFold();
      const tracked = new TrackedCalls();
      const summaries = new CallSummaries((digest) => host.readBlob(digest));
      for await (const page of host.readPages(address)) {
        for (const entry of page) {
          fold.take(entry);
          tracked.take(entry);
          summaries.take(entry);
        }
      }
      const { rows } = fold;
      const { out, err } = cli.terminal;
      if (options.json) {
        const calls = new Map(tracked.calls.map((call) => [call.id, call]));
        for (const row of rows) {
          const call = calls.get(`turn/${row.turn}/${row.ordinal}`);
          const summary = await summaries.of(row);
          out.line(jsonLine({ ...rowIn(options.debug, row), ...howFar(call), summary }));
        }
      } else if (rows.length === 0) err.line("No tool was called");
      else {
        const head = ["TURN", "CALL", "TOOL", "EFFECT", "ATTEMPTS", "OUTCOME", "TOOK", "DECIDED", "WHY"];
        printTable(cli.terminal, head, rows.map(cellsOf));
      }
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

/** Fingerprints are for the debug view alone. */
function rowIn(debug: boolean, { secrets, ...row }: InvocationRow): object {
  return { ...row, secrets: debug ? secrets : secrets.map(({ name, source }) => ({ name, source })) };
}

function howFar(call: TrackedCall | undefined): object {
  if (call === undefined) return {};
  const { progress, isParallelSafe, changes } = call;
  return { progress, parallelSafe: isParallelSafe, changes };
}

function cellsOf(row: InvocationRow): string[] {
  const took = row.settledAt === undefined ? "-" : durationText(row.settledAt - row.proposedAt);
  return [
    String(row.turn),
    row.ordinal,
    row.tool,
    row.effect || "-",
    String(row.attempts),
    row.outcome,
    took,
    row.decisions.join(", ") || "-",
    row.why || "-",
  ];
}
