/** `troupe mcp call`: `troupe call` of a server's tool. */
import { command as callCommand } from "../call.ts";
import { defineCommand } from "../cli.ts";
import { UsageError } from "../exit.ts";
import type { OptionSpecs } from "../options.ts";
import { agentOf, agentOption } from "./ground.ts";

/** A session of its own: what goes on with one that is there is left to `troupe call`. */
function withoutSession(specs: OptionSpecs): OptionSpecs {
  return Object.fromEntries(Object.entries(specs).filter(([name]) => name !== "session" && name !== "key"));
}

/** Calls one tool of a server. */
export const command = defineCommand({
  args: ["NAME", "TOOL", "[ARGS]"],
  about: [
    "Calls one tool of one MCP server in a session of its own, without a model: the same as",
    "troupe call AGENT mcp.NAME.TOOL ARGS, through the same gates, and with the same records in the journal.",
    "ARGS is a JSON object. The result goes to standard output, everything else to standard error.",
  ],
  options: { ...withoutSession(callCommand.options), agent: agentOption },
  examples: [
    "troupe mcp call memory read_graph",
    `troupe mcp call docs search '{"query": "x"}' --agent ./my-agent --answer allow`,
  ],
  run: async ({ cli, options: given, args }) => {
    const [name = "", tool = "", ...rest] = args;
    if (!/^[a-z][a-z0-9-]*$/.test(name)) {
      throw new UsageError(
        "server_unknown",
        `${JSON.stringify(name)} is no name of a server: see troupe mcp list`,
      );
    }
    const { agent, ...options } = given;
    return await callCommand.run({
      cli,
      options: { ...options, session: undefined, key: undefined },
      args: [agentOf({ agent }), `mcp.${name}.${tool}`, ...rest],
    });
  },
});
