/** `troupe mcp-server`. */
import { limits } from "../../schemas/limits.ts";
import { openWorkspace, type Workspace } from "../tools/workspace.ts";
import { type Cli, defineCommand } from "./cli.ts";
import { type ExitCode, exitCodes, UsageError } from "./exit.ts";
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
  },
  examples: ["troupe mcp-server files", "troupe mcp-server files --root ./my-project"],
  run: async ({ cli, options, args }) => {
    checkServer(args[0]);
    const root = await openRoot(options.root ?? cli.cwd);
    return await serveFiles(root, cli);
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
