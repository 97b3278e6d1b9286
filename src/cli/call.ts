/** `troupe call`. */
import { limits } from "../../schemas/limits.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import type { CallReport, TurnReport } from "../turn_report.ts";
import { awaitTasks, endText } from "./await_tasks.ts";
import { readCallArguments } from "./call_arguments.ts";
import { type Call, type Cli, defineCommand, jsonOption, storeOption } from "./cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { placeOptions, preparePlace, sayWhere } from "./place.ts";
import { playTurn } from "./play_turn.ts";
import { notCompleted } from "./run.ts";
import { withSeat } from "./seat.ts";
import { safeText } from "./terminal.ts";
import { createTranscript } from "./transcript.ts";

const { workspace, session, mode, profile } = placeOptions;

const options = {
  store: storeOption,
  workspace,
  session,
  answer: {
    kind: "choice",
    choices: ["allow", "deny", "wait"],
    help: "answer approvals without asking, and servers by their defaults; wait leaves them to troupe answer",
  },
  mode,
  profile,
  key: {
    kind: "text",
    value: "KEY",
    help: "with --session: the same key and call again is the same call, and yields what it yielded",
  },
  json: jsonOption,
} as const;

/** Calls one tool, without a model. */
export const command = defineCommand({
  args: ["AGENT", "TOOL", "[ARGS]"],
  about: [
    "Calls one tool of an agent, as its model could: through the same gates, with the same questions, and with the same",
    "records in the journal, in a session of its own or, with --session, in one that is there. No model is asked.",
    "TOOL is a full name (read_file, mcp.docs.search) or the name that a model calls; ARGS is a JSON object.",
    "The result goes to standard output, everything else to standard error. Exit code 1 if it was not applied, or the",
    "tool said no.",
  ],
  options,
  examples: [
    "troupe call demo list_files",
    `troupe call ./my-agent read_file '{"path": "README.md"}' --workspace .`,
    `troupe call ./my-agent terminal '{"argv": ["git", "log", "-3"]}' --workspace . --answer allow`,
    `troupe call ./my-agent mcp.docs.search '{"query": "x"}' --session last --key once --json`,
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<0> {
  const [name = "", tool = "", text] = args;
  const callArguments = text === undefined ? {} : readCallArguments(text);
  checkKey(given);
  const settings = await readHostSettings(cli.env);
  const { loadAgent } = await import("../host/agent_folder.ts");
  const agent = await loadAgent(name, { cwd: cli.cwd, digest: cli.seams.digest });
  const place = await preparePlace(cli, agent, {
    given: { ...given, script: undefined, budget: undefined },
    settings,
  });
  const acting = {
    location: storeLocation(given.store, cli.env, settings),
    config: settings.config,
    strict: false,
    isAttended: cli.terminal.canAsk || given.answer !== undefined,
  };
  return await withSeat(cli, acting, async (seat) => {
    const { session, fromSeq } = await place(seat.host);
    if (!given.json) sayWhere(cli, seat.host, { session, strict: false });
    // What happens on the way is for people: the result alone is what the next program reads.
    const view = createTranscript({ ...cli.terminal, out: cli.terminal.err });
    const report = await playTurn(cli, seat, {
      session,
      fromSeq,
      request: { call: { tool, arguments: callArguments } },
      key: given.key,
      standing: given.answer,
      view: given.json ? { ...quiet, note: (line) => cli.terminal.err.line(line) } : view,
    });
    const told = tell(cli, { session, report, json: given.json });
    const note = (line: string) => given.json ? cli.terminal.err.line(line) : view.note(line);
    await awaitTasks(cli, seat, {
      session,
      standing: given.answer,
      view: { note, ended: (record) => note(endText(record)) },
    });
    return told;
  });
}

const quiet = { hear: () => {}, note: () => {}, status: () => undefined, end: () => {} };

function checkKey({ key, session: name }: Call<typeof options>["options"]): void {
  if (key === undefined) return;
  if (name === undefined) {
    throw new UsageError("option_invalid", "--key names a call of a session: give --session too");
  }
  const bytes = new TextEncoder().encode(key).length;
  if (bytes > 0 && bytes <= limits.commandKeyBytesMax) return;
  throw new UsageError("option_invalid", `--key takes 1 to ${limits.commandKeyBytesMax} bytes`);
}

interface Told {
  readonly session: string;
  readonly report: TurnReport;
  readonly json: boolean;
}

function tell({ terminal }: Cli, { session, report, json }: Told): 0 {
  const { call } = report;
  if (json) {
    terminal.out.line(jsonLine({ session, turn: report.turn, ...call ?? { failure: report.failure } }));
  } else if (call !== undefined && hasResult(call)) terminal.out.line(safeText(call.text));
  if (call === undefined) throw notCompleted(report);
  if (call.outcome === "succeeded") return exitCodes.ok;
  const { code, message: why } = call.failure ?? wordsOf(call);
  throw new CheckFailedError(
    code,
    `The call ended as ${call.outcome}: ${why}`,
  );
}

/** What a tool that ran says no with: a code of its own with its first line, or that it said no at all. */
function wordsOf({ error }: CallReport): { readonly code: string; readonly message: string } {
  const unsaid = { code: "tool_failed", message: "the tool said no" };
  if (error === undefined || error.code === unsaid.code) return unsaid;
  return { code: error.code, message: safeText(error.message.split("\n")[0] ?? "") };
}

/** True if the tool said something, also if it was no. */
function hasResult({ outcome }: CallReport): boolean {
  return outcome === "succeeded" || outcome === "completed_with_error";
}
