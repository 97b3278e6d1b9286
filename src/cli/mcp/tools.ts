/** `troupe mcp tools`. */
import { oneLine } from "../../mcp/plain_text.ts";
import { type Call, defineCommand, jsonOption, storeOption } from "../cli.ts";
import { CheckFailedError, exitCodes, UsageError } from "../exit.ts";
import { locateStore, openReading } from "../host.ts";
import { jsonLine } from "../json_line.ts";
import { printTable, timeText } from "../table.ts";
import { agentOption, answerOption, readGrounds, serverOf, workspaceOption } from "./ground.ts";
import { probeServer } from "./probe.ts";
import { lastList } from "./records.ts";

const options = {
  live: { kind: "flag", help: "start the server and ask it, as troupe mcp check does" },
  agent: agentOption,
  workspace: workspaceOption,
  answer: answerOption,
  store: storeOption,
  json: jsonOption,
} as const;

/** A tool as a line shows it. */
interface Row {
  readonly tool: string;
  readonly state: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema?: object;
}

/** Shows the tools of a server. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Shows the tools of one MCP server as a session of the agent listed them last, with those that were left out or wait",
    "for an approval, and why. Nothing is started, unless --live asks for it. --json gives the schemas of their arguments.",
  ],
  options,
  examples: ["troupe mcp tools memory", "troupe mcp tools memory --live --json"],
  run,
});

async function run({ cli, options: given, args: [name = ""] }: Call<typeof options>): Promise<0> {
  const grounds = await readGrounds(cli, given);
  const ground = serverOf(grounds, name);
  const { terminal } = cli;
  let rows: readonly Row[];
  if (given.live) {
    const { failure, list, drifted } = await probeServer(cli, grounds, ground, { answer: given.answer });
    if (failure !== undefined) throw new CheckFailedError(failure.code, failure.message);
    const waits = new Map([...drifted].map(([tool]) => [tool, "waits for troupe mcp trust"]));
    rows = rowsOf(list?.source.tools ?? [], list?.rejected ?? [], waits);
  } else {
    const host = await openReading(cli, await locateStore(cli, given.store));
    try {
      const kept = await lastList(host, { server: name, folder: ground.loaded.folder });
      if (kept === undefined) {
        const hint = `troupe mcp tools ${name} --live asks it`;
        throw new UsageError(
          "server_not_listed",
          `No session of the agent has listed "${name}" yet: ${hint}`,
        );
      }
      const { source, listing, at, connection } = kept;
      if (!given.json) terminal.err.line(`As listed at ${timeText(at)} (${connection})`);
      rows = rowsOf(source.tools, listing.rejected, new Map(Object.entries(source.quarantined ?? {})));
    } finally {
      await host.close();
    }
  }
  if (given.json) { for (const row of rows) terminal.out.line(jsonLine(row)); }
  else if (rows.length === 0) terminal.err.line("The server offers no tools");
  else {
    printTable(
      terminal,
      ["TOOL", "STATE", "DESCRIPTION"],
      rows.map(({ tool, state, description }) => [tool, state, oneLine(description, 200)]),
    );
  }
  return exitCodes.ok;
}

interface Offered {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: object;
}

function rowsOf(
  tools: readonly Offered[],
  rejected: readonly { readonly tool: string; readonly reason: string }[],
  waits: ReadonlyMap<string, string>,
): readonly Row[] {
  const offered = tools.map(({ name, title, description, inputSchema }) => ({
    tool: name,
    state: waits.has(name) ? `off: ${waits.get(name)}` : "ok",
    title,
    description,
    inputSchema,
  }));
  const left = rejected.map(({ tool, reason }) => ({
    tool,
    state: "left out",
    title: "",
    description: reason,
  }));
  return [...offered, ...left];
}
