/** The commands: a table of names and loaders. A command's file is imported only when it is called: starts stay fast. */
import type { Cli, Command, CommandRow } from "./cli.ts";
import { type ExitCode, exitCodes, reportError, UsageError } from "./exit.ts";
import { helpOf, helpOfAll } from "./help.ts";
import { nearest } from "../../actors/nearest.ts";
import { parseOptions } from "./options.ts";
import { safeText } from "./terminal.ts";

/** All commands, in the order in which `troupe --help` shows them. */
export const commands: { readonly [name: string]: CommandRow } = {
  init: { summary: "make the folder of a new agent", load: () => import("./init.ts") },
  run: { summary: "run one turn of an agent", load: () => import("./run.ts") },
  call: { summary: "call one tool of an agent, without a model", load: () => import("./call.ts") },
  resume: { summary: "let a turn go on that waits for a person", load: () => import("./resume.ts") },
  serve: { summary: "let other programs begin and steer agents", load: () => import("./serve.ts") },
  token: {
    summary: "give programs access to the API, and take it away",
    load: () => import("./token/token.ts"),
  },
  demo: { summary: "play a scripted agent and replay what it did", load: () => import("./demo.ts") },
  sessions: { summary: "list sessions", load: () => import("./sessions.ts") },
  log: { summary: "show the journal of a session", load: () => import("./log.ts") },
  invocations: {
    summary: "show what became of every tool call of a session",
    load: () => import("./invocations.ts"),
  },
  inspect: {
    summary: "show what governed a session: tools, bindings, calls",
    load: () => import("./inspect.ts"),
  },
  usage: { summary: "show what models were asked, and what it cost", load: () => import("./usage.ts") },
  budget: { summary: "show what a session may spend, and what it spent", load: () => import("./budget.ts") },
  tree: { summary: "show all actors as a tree, with what they wait for", load: () => import("./tree.ts") },
  why: {
    summary: "explain why an actor does not go on, and who may move it",
    load: () => import("./why.ts"),
  },
  fork: { summary: "go on from an entry of a session, in a new one", load: () => import("./fork.ts") },
  replay: { summary: "replay a session or an exported file, and compare", load: () => import("./replay.ts") },
  record: {
    summary: "write what a session's models said as a script, to be played again",
    load: () => import("./record.ts"),
  },
  export: {
    summary: "write a session to a file or a fixture that can be replayed",
    load: () => import("./export.ts"),
  },
  verify: { summary: "replay fixtures, and compare: for tests and CI", load: () => import("./verify.ts") },
  diff: { summary: "compare two runs, field by field", load: () => import("./diff.ts") },
  tasks: {
    summary: "list background tasks, show what they write, and end them",
    load: () => import("./tasks.ts"),
  },
  questions: { summary: "list the questions that wait for a person", load: () => import("./questions.ts") },
  answer: { summary: "answer a question", load: () => import("./answer.ts") },
  schedules: { summary: "list and delete schedules", load: () => import("./schedules.ts") },
  cancel: { summary: "cancel the turn of a session", load: () => import("./cancel.ts") },
  catalog: { summary: "show the tools that an agent gets", load: () => import("./catalog.ts") },
  models: {
    summary: "list the models of this host, and why one cannot be asked",
    load: () => import("./models.ts"),
  },
  policy: { summary: "explain what policy says of a call", load: () => import("./policy.ts") },
  trust: {
    summary: "show and change which MCP servers start without a question, and which own tools run",
    load: () => import("./trust.ts"),
  },
  mcp: { summary: "add, check, trust and call MCP servers of an agent", load: () => import("./mcp/mcp.ts") },
  "mcp-server": { summary: "offer a folder's files to MCP clients", load: () => import("./mcp_server.ts") },
  schema: { summary: "print JSON Schemas of files and messages", load: () => import("./schema.ts") },
  doctor: { summary: "check a store, and salvage what is sound", load: () => import("./doctor.ts") },
  version: { summary: "print the version", load: () => import("./version.ts") },
};

/** Runs the command line. Never throws: an error is one line on stderr, and an exit code. */
export async function runCli(argv: readonly string[], cli: Cli): Promise<ExitCode> {
  try {
    return await dispatch(argv, cli);
  } catch (error) {
    return tellError(error, cli);
  }
}

/** Shows an error as one line on stderr, and gives its exit code. A stack only under `TROUPE_DEBUG=1`. */
export function tellError(error: unknown, { terminal, env }: Pick<Cli, "terminal" | "env">): ExitCode {
  terminal.status(undefined);
  const { message, code, exit } = reportError(error);
  const { err } = terminal;
  err.line(`${err.style.red("troupe:")} ${safeText(message)} [${code}]`);
  if (env("TROUPE_DEBUG") === "1" && error instanceof Error) err.line(safeText(error.stack ?? ""));
  return exit;
}

async function dispatch(argv: readonly string[], cli: Cli): Promise<ExitCode> {
  const [first, ...rest] = argv;
  const { out, err } = cli.terminal;
  if (first === undefined) {
    err.write(helpOfAll(commands, err.style));
    return exitCodes.usage;
  }
  if (first === "--help" || first === "-h" || (first === "help" && rest.length === 0)) {
    out.write(helpOfAll(commands, out.style));
    return exitCodes.ok;
  }
  if (first === "help") return await dispatch([...rest, "--help"], cli);
  if (first === "--version" || first === "-V") return await dispatch(["version", ...rest], cli);
  const row = Object.hasOwn(commands, first) ? commands[first] : undefined;
  if (row === undefined) throw unknownCommand(first);
  return await perform({ name: first, row }, rest, cli);
}

interface Named {
  /** The words by which it was called: `mcp add`. */
  readonly name: string;
  readonly row: CommandRow;
}

async function perform({ name, row }: Named, words: readonly string[], cli: Cli): Promise<ExitCode> {
  const { command } = await row.load();
  const [next = "", ...rest] = words;
  const own = command.commands ?? {};
  const below = Object.hasOwn(own, next) ? own[next] : undefined;
  if (below !== undefined) return await perform({ name: `${name} ${next}`, row: below }, rest, cli);
  const takesArgs = command.args.some((arg) => arg !== "[COMMAND]");
  if (command.commands !== undefined && !takesArgs && next !== "" && !next.startsWith("-")) {
    const near = nearest(next, Object.keys(own));
    const hint = near === undefined ? `see troupe ${name} --help` : `did you mean troupe ${name} ${near}?`;
    throw new UsageError(
      "command_unknown",
      `There is no command ${JSON.stringify(`${name} ${next}`)}: ${hint}`,
    );
  }
  const end = words.indexOf("--");
  const beforeEnd = end < 0 ? words : words.slice(0, end);
  if (beforeEnd.includes("--help") || beforeEnd.includes("-h")) {
    const { out } = cli.terminal;
    out.write(helpOf(name, row, command, out.style));
    return exitCodes.ok;
  }
  const { options, args } = parseOptions(words, command.options);
  checkArgs(name, command, args);
  return await command.run({ cli, options, args });
}

function unknownCommand(name: string): UsageError {
  const near = nearest(name, Object.keys(commands));
  const hint = near === undefined ? "see troupe --help" : `did you mean ${near}?`;
  const what = name.startsWith("-") ? "option" : "command";
  return new UsageError(`${what}_unknown`, `There is no ${what} ${JSON.stringify(name)}: ${hint}`);
}

function checkArgs(name: string, command: Command, args: readonly string[]): void {
  const missing = command.args[args.length];
  if (missing !== undefined && !missing.startsWith("[") && !missing.endsWith("...")) {
    throw new UsageError("argument_missing", `troupe ${name} needs ${missing}: see troupe ${name} --help`);
  }
  const extra = args[command.args.length];
  if (extra === undefined || command.args.at(-1)?.includes("...") === true) return;
  const takesPrompt = command.args.some((arg) => /PROMPT/.test(arg));
  const hint = takesPrompt ? "put the prompt in quotes" : `see troupe ${name} --help`;
  throw new UsageError(
    "argument_unexpected",
    `troupe ${name} has no use for ${JSON.stringify(extra)}: ${hint}`,
  );
}
