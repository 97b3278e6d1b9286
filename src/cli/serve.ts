/** `troupe serve`. */
import { PermissionMode } from "../../schemas/mode.ts";
import { defineCommand, storeOption } from "./cli.ts";
import { httpOptions, serveHttp } from "./serve_http.ts";
import { isPiped, mcpOptions } from "./serve_mcp.ts";
import { serveStdio, stdioOptions } from "./serve_stdio.ts";

/** Offers agents to other programs. */
export const command = defineCommand({
  args: ["[AGENT...]"],
  about: [
    "Opens the store and offers its agents to other programs: spawn, send, ask, watch, answer, cancel, stop, get,",
    "list, tree, budget, why, export. AGENT is a folder with agent.yaml, such a file, or the name of an agent that",
    "comes with troupe; programs ask for it by the name that it has.",
    "By HTTP, unless --stdio is given: the address is printed on stdout; the token is in <store>.token, for your",
    "eyes alone: send it as Authorization: Bearer TOKEN; troupe token gives each program one of its own.",
    "GET /v1/openapi.json describes every path. Only this machine has access. Ctrl-C or SIGTERM ends it: what was",
    "accepted is answered within 10 s; a second one leaves it 1 s.",
    "With --stdio it speaks with the program that started it: requests as JSON-RPC 2.0, one a line; the key of a",
    "command in params._meta.idempotency_key; pieces of watch and export as notifications watch/event and",
    "export/event with the id of their request; request/cancel with an id gives a request up. The end of input, or",
    "SIGTERM, ends it once what was accepted is answered, at the latest after 10 seconds. Agents begun with",
    "on_parent_exit: stop end with the program; all others go on when the store is opened again.",
    "With --mcp it is an MCP server for the program that started it, of 2026-07-28 and of the revisions before it:",
    "spawn, send, ask, questions, answer, cancel, stop, get and list as tools, sessions as resources",
    "troupe://session/ses_...; it ends as with --stdio. With --mcp --http it is one at /mcp of the printed address,",
    "for whoever shows the token.",
  ],
  options: {
    ...httpOptions,
    store: storeOption,
    workspace: {
      kind: "text",
      value: "FOLDER",
      help: "the folder that file tools may read; default: the host's troupe.yaml, or the working folder",
    },
    script: { kind: "text", value: "FILE", help: "play this script instead of the models of the agents" },
    mode: {
      kind: "choice",
      choices: PermissionMode.options,
      help: "the freest mode that a program may ask for; default: default",
    },
    ...stdioOptions,
    ...mcpOptions,
  },
  examples: [
    "troupe serve demo --port 7411",
    "troupe serve ./reviewer ./writer --workspace ~/project",
    "troupe serve --stdio ./my-agent --principal program:ci --scopes sessions:read,sessions:write",
    "troupe serve --mcp ./my-agent",
  ],
  run: ({ cli, options, args }) =>
    isPiped(options) ? serveStdio(cli, options, args) : serveHttp(cli, options, args),
});
