/** `troupe mcp-server`. */
import { limits } from "../../schemas/limits.ts";
import { openWorkspace, type Workspace } from "../tools/workspace.ts";
import { type Cli, defineCommand } from "./cli.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit.ts";
import type { HttpFront } from "../mcp/http_front.ts";
import { version } from "../version.ts";

const servers = ["files"];

/** Runs one of our own MCP servers on standard input and output. */
export const command = defineCommand({
  // Said to be optional so that a missing name is answered with those that there are.
  args: ["[SERVER]"],
  about: [
    "Runs an MCP server on standard input and output, until its input ends. There is one:",
    "  files   read_project_file and search_project_text: reads the files below --root, and changes nothing",
    "Nothing outside --root can be read, neither by .. nor by absolute paths nor by links.",
    "",
    "An agent of troupe gets it by mcp/files.yaml in its folder; another MCP host takes it like this:",
    "  {",
    '    "mcpServers": {',
    '      "files": { "command": "troupe", "args": ["mcp-server", "files", "--root", "/path/to/project"] }',
    "    }",
    "  }",
  ],
  options: {
    root: {
      kind: "text",
      value: "DIR",
      help: "the folder whose files can be read; default: the working folder",
    },
    http: {
      kind: "text",
      value: "PORT",
      help:
        "serve by Streamable HTTP on 127.0.0.1 at this port instead, until Ctrl-C; 0 for any that is free",
    },
  },
  examples: [
    "troupe mcp-server files",
    "troupe mcp-server files --root ./my-project",
    "troupe mcp-server files --http 3801",
  ],
  run: async ({ cli, options, args }) => {
    checkServer(args[0]);
    const root = await openRoot(options.root ?? cli.cwd);
    return options.http === undefined
      ? await serveFiles(root, cli)
      : await serveByHttp(root, cli, readPort(options.http));
  },
});

function checkServer(name: string | undefined): void {
  if (name !== undefined && servers.includes(name)) return;
  const known = `known: ${servers.join(", ")}`;
  if (name === undefined) {
    throw new UsageError("argument_missing", `troupe mcp-server needs the name of a server; ${known}`);
  }
  throw new UsageError("server_unknown", `There is no MCP server ${JSON.stringify(name)}; ${known}`);
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port <= 65_535) return port;
  throw new UsageError("option_invalid", `--http takes a port from 0 to 65535, not ${JSON.stringify(text)}`);
}

async function openRoot(root: string): Promise<Workspace> {
  const opened = await openWorkspace(root);
  if (opened.ok) return opened.value;
  const { code } = opened.failure;
  const problem = code === "path_not_found"
    ? "there is no such folder"
    : code === "path_not_folder"
    ? "it is not a folder"
    : "it may not be read";
  throw new UsageError("root_invalid", `Cannot serve ${JSON.stringify(root)}: ${problem}`);
}

async function serveFiles(root: Workspace, { terminal, seams }: Cli): Promise<ExitCode> {
  // Loaded here: help and refusals need none of it.
  const [{ createFilesServer }, { ServerTransport }] = await Promise.all([
    import("../mcp/files_server.ts"),
    import("../mcp/server_transport.ts"),
  ]);
  if (Deno.stdin.isTerminal()) {
    terminal.err.line(
      "This is an MCP server: give it to a client (see troupe mcp-server --help), or end it with Ctrl-D",
    );
  }
  const transport = new ServerTransport({
    input: Deno.stdin,
    output: Deno.stdout,
    messageBytesMax: limits.mcpMessageBytesMax,
  });
  await createFilesServer({ version, cwd: root, clock: seams.clock }).connect(transport);
  await transport.ended;
  return exitCodes.ok;
}

async function serveByHttp(root: Workspace, cli: Cli, port: number): Promise<ExitCode> {
  const { terminal, seams: { clock } } = cli;
  const [{ createFilesGate, createFilesServer }, { openHttpFront }] = await Promise.all([
    import("../mcp/files_server.ts"),
    import("../mcp/http_front.ts"),
  ]);
  const gate = createFilesGate();
  const createServer = () => createFilesServer({ version, cwd: root, clock, gate });
  const front = open(() => openHttpFront({ port, createServer, clock }), port);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const stop = cli.onInterrupt(() => resolve());
  // The line is what programs wait for, so it is the output, and says all that they need.
  terminal.out.line(front.url);
  await asked;
  stop();
  await front.close();
  return exitCodes.ok;
}

function open(listen: () => HttpFront, port: number): HttpFront {
  try {
    return listen();
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
    const why = error instanceof Deno.errors.AddrInUse ? "it is in use" : "it may not be used";
    throw new UsageError("option_invalid", `Cannot serve at port ${port}: ${why}; give another, or 0`);
  }
}
