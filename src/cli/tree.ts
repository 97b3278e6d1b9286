/** `troupe tree`. */
import { RootViews } from "../why/root_view.ts";
import { readTree, type Tree, type TreeLine } from "../why/tree.ts";
import { type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes } from "./exit.ts";
import { locateStore, openReading } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { forkText } from "./sessions.ts";
import { findSession } from "./session_name.ts";
import { durationText, printTable } from "./table.ts";

/** Sessions that are shown unless more are asked for: each is read from its journal. */
const sessionsShownMax = 50;

/** Shows the tree of actors. */
export const command = defineCommand({
  args: ["[SESSION]"],
  about: [
    "Shows every actor as a tree: supervisors, sessions with their turns, calls and questions, and the",
    "catalogs and connections that serve them: state, for how long, restarts that count still, what",
    "was spent of its budget, what each waits for. Child agents stand below the tasks that run them. Asks",
    "the process that runs the store, if one does; what sleeps, or has no owner, is read from its journal,",
    "and nothing is performed. SESSION (an id, an unambiguous part of one, or last) shows one session only.",
    "troupe why explains one actor.",
  ],
  options: {
    all: { kind: "flag", help: `every session; default: the ${sessionsShownMax} newest` },
    store: storeOption,
    json: jsonOption,
  },
  examples: ["troupe tree", "troupe tree last --json"],
  run: async ({ cli, options, args: [name] }) => {
    const host = await openReading(cli, await locateStore(cli, options.store));
    try {
      const session = name === undefined ? undefined : (await findSession(host, name)).address;
      const sessionsMax = options.all ? Infinity : sessionsShownMax;
      const nowMs = cli.seams.clock.now();
      const tree = await withProgress(
        cli,
        "reading journals",
        async () => await readTree(await RootViews.open(host), { session, sessionsMax, nowMs }),
      );
      if (options.json) { for (const line of tree.lines) cli.terminal.out.line(jsonLine(line)); }
      else print(cli, tree, nowMs);
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function print({ terminal }: Cli, { lines, leftOut }: Tree, nowMs: number): void {
  const { err } = terminal;
  if (lines.length === 0) return err.line("No sessions yet: start one with troupe run");
  printTable(
    terminal,
    ["ACTOR", "STATE", "FOR", "RESTARTS", "BUDGET", "WAITS FOR"],
    lines.map((line) => [
      `${"  ".repeat(line.depth)}${line.name}${forkText(line)}`,
      line.isLive || line.state === "quarantined" || line.state === "lost"
        ? line.state
        : `${line.state}, resting`,
      line.sinceMs === undefined ? "-" : durationText(Math.max(nowMs - line.sinceMs, 0)),
      line.restarts === 0 ? "-" : String(line.restarts),
      budgetText(line),
      reasonText(line),
    ]),
  );
  if (leftOut > 0) err.line(`${leftOut} older sessions are left out: --all shows them`);
}

function budgetText({ budget }: TreeLine): string {
  return Object.entries(budget).map(([field, { spent, limit }]) => `${field} ${spent}/${limit}`).join(", ") ||
    "-";
}

function reasonText({ trouble, waits }: TreeLine): string {
  return trouble ?? (waits.join("; ") || "-");
}
