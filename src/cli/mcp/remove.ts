/** `troupe mcp remove`. */
import { defineCommand, jsonOption } from "../cli.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { agentFolder, agentOption } from "./ground.ts";
import { findManifest } from "./manifest_file.ts";

/** Takes a declaration away. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Deletes mcp/NAME.yaml of the agent's folder. Sessions that run close the server before their next turn. What was",
    "trusted stays trusted for the same declaration: troupe trust AGENT --remove takes that away.",
  ],
  options: { agent: agentOption, json: jsonOption },
  examples: ["troupe mcp remove docs", "troupe mcp remove docs --agent ./my-agent"],
  run: async ({ cli, options, args: [name = ""] }) => {
    const folder = await agentFolder(cli, options);
    const found = await findManifest(folder, name);
    if (found === undefined) {
      throw new UsageError(
        "server_unknown",
        `The agent has no server ${JSON.stringify(name)}: see troupe mcp list`,
      );
    }
    await Deno.remove(`${folder}/${found}`);
    const { out } = cli.terminal;
    out.line(options.json ? jsonLine({ server: name, removed: found }) : `Removed ${found}`);
    return exitCodes.ok;
  },
});
