/** `troupe serve`. */
import { PermissionMode } from "../../schemas/mode.ts";
import { type Call, defineCommand, storeOption } from "./cli.ts";
import { type ExitCode, UsageError } from "./exit.ts";
import { serveStdio, stdioOptions } from "./serve_stdio.ts";

const options = {
  store: storeOption,
  workspace: {
    kind: "text",
    value: "FOLDER",
    help: "the folder that file tools may read; default: the host's troupe.yaml, or the working folder",
  },
  script: { kind: "text", value: "FILE", help: "play this script instead of the ones that the agents name" },
  mode: {
    kind: "choice",
    choices: PermissionMode.options,
    help: "the freest mode that a session may be begun in; default: default",
  },
  ...stdioOptions,
} as const;

/** Offers agents to other programs. */
export const command = defineCommand({
  args: ["[AGENT...]"],
  about: [
    "Holds the store and offers its agents to another program: spawn, send, ask, watch, answer, cancel, stop, get,",
    "list, tree, budget, why, export. Each AGENT is a folder with agent.yaml, such a file, or the name of one that",
    "comes with troupe; the program names them by the name in their agent.yaml.",
    "With --stdio it speaks with the program that started it: requests as JSON-RPC 2.0, one a line; the key of a",
    "command in params._meta.idempotency_key; pieces of watch and export as notifications watch/event and",
    "export/event with the id of their request; request/cancel with an id gives a request up. The end of input, or",
    "SIGTERM, ends it once what was accepted is answered, at the latest after 10 seconds. Agents begun with",
    "on_parent_exit: stop end with the program; all others go on when the store is opened again.",
  ],
  options,
  examples: [
    "troupe serve --stdio ./my-agent",
    "troupe serve --stdio ./my-agent --principal program:ci --scopes sessions:read,sessions:write",
  ],
  run,
});

async function run({ cli, options: given, args }: Call<typeof options>): Promise<ExitCode> {
  if (given.stdio) return await serveStdio(cli, given, args);
  throw new UsageError("argument_missing", "troupe serve needs --stdio: see troupe serve --help");
}
