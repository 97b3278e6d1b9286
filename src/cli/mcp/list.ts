/** `troupe mcp list`. */
import { obstacle } from "../../../actors/connection_rules.ts";
import type { McpManifest } from "../../../schemas/manifest.ts";
import { defineCommand, jsonOption } from "../cli.ts";
import { exitCodes } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { printTable } from "../table.ts";
import { agentOption, type Ground, readGrounds, workspaceOption } from "./ground.ts";

/** Lists the servers of an agent. */
export const command = defineCommand({
  args: [],
  about: [
    "Lists the MCP servers that an agent declares: what each starts, whether it would start unasked, and how many of its",
    "tools are approved or wait for an approval (troupe mcp trust). Nothing is started.",
  ],
  options: { agent: agentOption, workspace: workspaceOption, json: jsonOption },
  examples: ["troupe mcp list", "troupe mcp list --agent ./my-agent --json"],
  run: async ({ cli, options }) => {
    const { servers, pins } = await readGrounds(cli, options);
    const { terminal } = cli;
    const rows = await Promise.all(servers.map(async (ground) => {
      const { declaration: { fingerprint, trust }, loaded: { server, manifest, origin } } = ground;
      const kept = await pins.read(fingerprint);
      return {
        server,
        state: stateOf(ground),
        trust,
        starts: startOf(manifest),
        file: origin,
        approved: kept === undefined ? null : Object.keys(kept.approved).length,
        waiting: Object.keys(kept?.waiting ?? {}),
      };
    }));
    if (options.json) { for (const row of rows) terminal.out.line(jsonLine(row)); }
    else if (rows.length === 0) terminal.err.line("The agent declares no MCP server: troupe mcp add NAME");
    else {
      printTable(
        terminal,
        ["SERVER", "STATE", "TRUST", "TOOLS", "STARTS"],
        rows.map(({ server, state, trust, approved, waiting, starts }) => {
          const wait = waiting.length === 0 ? "" : `, ${waiting.length} to approve`;
          return [
            server,
            state,
            trust,
            approved === null ? "not listed yet" : `${approved} approved${wait}`,
            starts,
          ];
        }),
      );
    }
    return exitCodes.ok;
  },
});

/** What would happen if a session began: it starts, a person is asked, or the code of what stands in its way. */
export function stateOf({ declaration }: Ground): string {
  const why = obstacle({ declaration });
  if (why !== null) return why.code === "mcp_disabled" ? "off" : why.code;
  return declaration.gate === "granted" ? "trusted" : "asks";
}

/** What is started, or where it is, on one line; no values that may be secrets. */
export function startOf(manifest: McpManifest): string {
  if (manifest.transport !== "stdio") return new URL(manifest.url).origin;
  return manifest.run === undefined ? manifest.command ?? "" : `npm:${manifest.run.npm}`;
}
