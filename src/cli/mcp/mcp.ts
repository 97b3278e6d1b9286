/** `troupe mcp`: the commands about the MCP servers of one agent. */
import { type CommandRow, defineCommand } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { helpOf } from "../help.ts";

const commands: { readonly [name: string]: CommandRow } = {
  list: { summary: "list the agent's servers and what stands in their way", load: () => import("./list.ts") },
  add: { summary: "declare a server: a command, a package of npm, or a URL", load: () => import("./add.ts") },
  remove: { summary: "take a server's declaration away", load: () => import("./remove.ts") },
  import: {
    summary: "take servers over from another host's mcpServers file",
    load: () => import("./import.ts"),
  },
  check: { summary: "start a server, and say what it is and offers", load: () => import("./check.ts") },
  tools: { summary: "show a server's tools as they were listed last", load: () => import("./tools.ts") },
  call: { summary: "call one tool of a server, in a session of its own", load: () => import("./call.ts") },
  trust: {
    summary: "trust a server, and approve what changed of its tools",
    load: () => import("./trust.ts"),
  },
  auth: { summary: "log in to a server that is reached by HTTP", load: () => import("./auth.ts") },
  logs: { summary: "show starts, ends and last words of a server", load: () => import("./logs.ts") },
};

/** Shows what can be done with MCP servers. */
export const command = defineCommand({
  commands,
  args: ["[COMMAND]"],
  about: [
    "Works on the MCP servers that an agent declares in its folder, mcp/<server>.yaml: --agent FOLDER, or the working",
    "folder. Declaring a server grants nothing and starts nothing.",
  ],
  options: {},
  examples: [
    "troupe mcp add memory --npm @modelcontextprotocol/server-memory@2026.8.31",
    "troupe mcp check memory",
    "troupe mcp trust memory --agent ./my-agent",
  ],
  run: ({ cli: { terminal: { err } } }) => {
    err.write(
      helpOf(
        "mcp",
        { summary: "MCP servers of an agent", load: () => import("./mcp.ts") },
        command,
        err.style,
      ),
    );
    return Promise.resolve(exitCodes.usage);
  },
});
