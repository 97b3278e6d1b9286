/** `troupe serve --stdio`: the actor API for the program that started this one, on standard input and output. */
import { apiLimits } from "../../schemas/api_limits.ts";
import { ApiScope, personScopes } from "../../schemas/api_scope.ts";
import type { PermissionMode } from "../../schemas/mode.ts";
import { localOperator, Principal } from "../../schemas/principal.ts";
import type { ActorApi } from "../api/actor_api.ts";
import type { Caller } from "../api/caller.ts";
import type { Cli } from "./cli.ts";
import { readHostSettings, storeLocation } from "../host/home.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit.ts";
import { openServing } from "./host.ts";
import type { OptionValues } from "./options.ts";
import { realPath, workspaceOf } from "./place.ts";
import { type mcpOptions, openMcpPipe } from "./serve_mcp.ts";

/** Who the program at the other end is. Whoever starts this process says it: a pipe needs no token. */
export const stdioOptions = {
  stdio: { kind: "flag", help: "speak JSON-RPC 2.0 on standard input and output, one message a line" },
  principal: {
    kind: "text",
    value: "KIND:ID",
    help: "with a pipe: who the program is, program:ID or agent:ID; default: program:stdio",
  },
  scopes: {
    kind: "text",
    value: "SCOPES",
    help: "with a pipe: its rights, with commas; default: all but approvals:decide and admin",
  },
  operator: {
    kind: "flag",
    help: "with a pipe: the program speaks for you, sees every agent, and may decide approvals",
  },
} as const;

type Given = OptionValues<typeof stdioOptions>;

/** Who speaks on the pipe. A program never has what only persons may have, unless it speaks for the operator. */
function stdioCaller({ principal, scopes, operator }: Given): Caller {
  if (operator && principal !== undefined) {
    throw new UsageError("option_invalid", "--operator says who the program is: leave --principal out");
  }
  const most = ApiScope.options.filter((scope) => operator || !personScopes.includes(scope));
  return {
    principal: operator ? localOperator : readPrincipal(principal ?? "program:stdio"),
    scopes: new Set(scopes === undefined ? most : scopes.split(",").map((name) => readScope(name, most))),
  };
}

function readPrincipal(text: string): Principal {
  const [kind, ...id] = text.split(":");
  const parsed = Principal.safeParse({ kind, id: id.join(":") });
  if (parsed.success && (parsed.data.kind === "program" || parsed.data.kind === "agent")) return parsed.data;
  throw new UsageError(
    "option_invalid",
    `--principal takes program:ID or agent:ID, with 1 to 64 letters, digits or _.@-: not ${
      JSON.stringify(text.slice(0, 100))
    }`,
  );
}

function readScope(name: string, most: readonly ApiScope[]): ApiScope {
  const scope = most.find((one) => one === name);
  if (scope !== undefined) return scope;
  const isPersons = personScopes.some((one) => one === name);
  throw new UsageError(
    "option_invalid",
    isPersons
      ? `--scopes: ${name} is for persons only: it needs --operator`
      : `--scopes: there is no ${JSON.stringify(name.slice(0, 40))}: there are ${most.join(", ")}`,
  );
}

/** What `troupe serve` is given, whatever it speaks. */
export interface ServeGiven extends Given, OptionValues<typeof mcpOptions> {
  readonly store: string | undefined;
  readonly workspace: string | undefined;
  readonly script: string | undefined;
  readonly mode: PermissionMode | undefined;
}

/** Holds the store and offers its agents to the program at the other end of standard input and output. */
export async function serveStdio(cli: Cli, given: ServeGiven, agents: readonly string[]): Promise<ExitCode> {
  const caller = stdioCaller(given);
  const settings = await readHostSettings(cli.env);
  const workspace = await workspaceOf(cli, given.workspace, settings);
  const { openFolderShelf } = await import("../api/folder_shelf.ts");
  const shelf = await openFolderShelf({
    agents,
    cwd: cli.cwd,
    workspace,
    ...(given.script === undefined ? {} : { script: await realPath(cli, given.script, "script") }),
    digest: cli.seams.digest,
    host: { config: settings.config, env: cli.env },
  });
  const host = await openServing(cli, storeLocation(given.store, cli.env, settings), settings.config);
  try {
    await speak(cli, { given, api: await host.openApi({ shelf, mode: given.mode ?? "default" }), caller });
  } finally {
    await host.close();
  }
  return exitCodes.ok;
}

interface Speech {
  readonly given: ServeGiven;
  readonly api: ActorApi;
  readonly caller: Caller;
}

/** Speaks with the program until its input ends, nobody reads any more, or the process is asked to end. */
async function speak(cli: Cli, { given, api, caller }: Speech): Promise<void> {
  const connection = api.connect();
  const parts = {
    api,
    caller: { ...caller, connection: connection.id },
    input: Deno.stdin,
    output: Deno.stdout,
    seams: cli.seams,
  };
  const server = given.mcp
    ? await openMcpPipe(given, parts)
    : new (await import("../api/rpc_server.ts")).RpcServer(parts);
  const stop = cli.onInterrupt(() => server.drain());
  if (Deno.stdin.isTerminal()) {
    cli.terminal.err.line(
      `This speaks ${
        given.mcp ? "MCP" : "JSON-RPC"
      }: let a program start it (see troupe serve --help); Ctrl-D ends it`,
    );
  }
  try {
    await server.run();
  } finally {
    stop();
    // What does not end in time is stopped by the next runtime of the store.
    const { clock } = cli.seams;
    const enough = new AbortController();
    const late = clock.sleepUntil(clock.now() + apiLimits.drainMs, enough.signal);
    await Promise.race([connection.end(), late]);
    enough.abort();
  }
}
