/** `troupe fork`. */
import type { ForkReport } from "../../schemas/fork.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import { refuseMissing } from "../host/reader_host.ts";
import { defineCommand, jsonOption, storeOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { openActing } from "./host.ts";
import { jsonLine } from "./json_line.ts";
import { withProgress } from "./progress.ts";
import { findSession } from "./session_name.ts";
import { safeText } from "./terminal.ts";

const options = {
  at: {
    kind: "number",
    value: "SEQ",
    min: 1,
    help: "the last entry that the fork has too; troupe log shows them",
  },
  title: { kind: "text", value: "TITLE", help: "how lists call the fork; default: as the session" },
  model: {
    kind: "text",
    value: "MODEL",
    help: "ask this model instead: a provider and a name, as in agent.yaml",
  },
  settle: { kind: "flag", help: "where a call is under way that could hurt: cancel it in the fork" },
  store: storeOption,
  json: jsonOption,
} as const;

/** Forks a session. */
export const command = defineCommand({
  args: ["SESSION"],
  about: [
    "Makes a new session with the entries of another one up to SEQ, and goes on from there: the same conversation, the",
    "same agent with no more rights, what was spent until then. SEQ must be the last entry that one message caused;",
    "otherwise the nearest are named. The fork has nothing under way, and does nothing until it is prompted: a turn",
    "that runs at SEQ is canceled in it, questions, tasks, child agents, schedules, waiting prompts and answers for the",
    "whole session stay with the original, and are listed. Where a call is under way that could hurt, a fork is refused",
    "without --settle. troupe run AGENT PROMPT --session FORK goes on with it.",
    "SESSION is an id, an unambiguous part of one, or last.",
  ],
  options,
  examples: [
    "troupe fork last --at 12",
    'troupe fork last --at 12 --title "Another wording" --json',
    "troupe fork last --at 12 --model scripted/other.yaml",
  ],
  run: async ({ cli, options: given, args }) => {
    const { at, title, settle } = given;
    if (at === undefined) {
      throw new UsageError(
        "option_missing",
        "troupe fork needs --at SEQ: troupe log SESSION shows the entries",
      );
    }
    const model = given.model === undefined ? undefined : parseModel(given.model);
    const settings = await readHostSettings(cli.env);
    const location = storeLocation(given.store, cli.env, settings);
    await refuseMissing(location);
    const { config } = settings;
    const host = await openActing(cli, {
      location,
      config,
      strict: false,
      isAttended: true,
      holdsSchedules: true,
    });
    try {
      const { address, kind } = await findSession(host, args[0] ?? "");
      if (kind !== "session") {
        throw new UsageError("root_not_found", `"${address}" is no session: see troupe sessions`);
      }
      const order = { session: address, at, settle, ...(title === undefined ? {} : { title }) };
      const report = await withProgress(
        cli,
        `forking ${address}`,
        () => host.forkSession(model === undefined ? order : { ...order, model }),
      );
      if (given.json) cli.terminal.out.line(jsonLine(report));
      else for (const line of describe(report)) cli.terminal.out.line(safeText(line));
      return exitCodes.ok;
    } finally {
      await host.close();
    }
  },
});

function parseModel(model: string): string {
  const parsed = AgentDefinition.shape.model.safeParse(model);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    "option_invalid",
    `--model ${JSON.stringify(model)} ${parsed.error.issues[0]?.message}`,
  );
}

function describe({ session, origin, settled, closed }: ForkReport): readonly string[] {
  return [
    `Forked   ${origin.address} at entry ${origin.seq}: ${session}`,
    ...settled.map(({ what }) => `Settled  ${what}: canceled, forked`),
    ...closed.map(({ kind, name }) => `Closed   ${kind} ${name}: it stays with the original`),
    `Go on    troupe run AGENT PROMPT --session ${session.slice("session/".length)}`,
  ];
}
