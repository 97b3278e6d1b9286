/** `troupe resume`. */
import { readHostSettings, storeLocation } from "../host/home.ts";
import { refuseMissing } from "../host/reader_host.ts";
import { awaitTasks, tasksView } from "./await_tasks.ts";
import { defineCommand, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { createJsonView } from "./json_view.ts";
import { playTurn } from "./play_turn.ts";
import { notCompleted } from "./run.ts";
import { withSeat } from "./seat.ts";
import { findSession } from "./session_name.ts";
import { createTranscript } from "./transcript.ts";

const options = {
  store: storeOption,
  answer: { kind: "choice", choices: ["allow", "deny", "wait"], help: "answer approvals as troupe run does" },
  json: { kind: "flag", help: "print one JSON line for each durable entry from here on" },
} as const;

/** Lets a turn go on that waits. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Lets the turn of a session go on that waits since its model failed, whether for a person or for a time that is not",
    "over, and shows it until it ends, as troupe run does. Nothing that it did is done again. troupe why SESSION says",
    "what it waits for; troupe cancel SESSION ends it instead. SESSION is an id, an unambiguous part of one, or last.",
  ],
  options,
  examples: ["troupe resume last", "troupe resume last --answer deny --json"],
  run: async ({ cli, options: given, args }) => {
    const settings = await readHostSettings(cli.env);
    const location = storeLocation(given.store, cli.env, settings);
    await refuseMissing(location);
    const acting = {
      location,
      config: settings.config,
      strict: false,
      isAttended: cli.terminal.canAsk || given.answer !== undefined,
    };
    return await withSeat(cli, acting, async (seat) => {
      const { address: session, kind } = await findSession(seat.host, args[0] ?? "");
      if (kind !== "session") {
        throw new UsageError("root_not_found", `"${session}" is no session: see troupe sessions`);
      }
      const fromSeq = (await seat.host.readHead(session)).seq + 1;
      const view = given.json ? createJsonView(cli.terminal) : createTranscript(cli.terminal);
      const turn = { session, fromSeq, request: { resume: true }, standing: given.answer, view } as const;
      const report = await playTurn(cli, seat, turn);
      const { answer: standing, json } = given;
      await awaitTasks(cli, seat, { session, standing, view: tasksView(cli, { json, view }) });
      if (report.outcome !== "completed") throw notCompleted(report);
      return exitCodes.ok;
    });
  },
});
