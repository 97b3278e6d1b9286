/** `troupe mcp check`. */
import type { ToolList } from "../../mcp/tool_list.ts";
import { type Cli, defineCommand, jsonOption } from "../cli.ts";
import { CheckFailedError, exitCodes } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { durationText, printTable } from "../table.ts";
import { safeText } from "../terminal.ts";
import { agentOption, answerOption, type Ground, readGrounds, serverOf, workspaceOption } from "./ground.ts";
import { startOf } from "./list.ts";
import { type Probe, probeServer } from "./probe.ts";
import { describeRaw, type Verdict, verdictsOf } from "./verdicts.ts";

/** Starts a server and says what it is. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Starts one MCP server as a session would, by trust or after a question, lists its tools, ends it, and says what was",
    "seen: protocol, capabilities, times, every tool with its verdict, faults, and the server's last words. A package of",
    "npm is fetched first (deno cache). The first list is approved with the start; see troupe mcp trust. What nobody can",
    "see in a description is shown as \\u{…}. Exit code 1 if the server cannot be used.",
  ],
  options: { agent: agentOption, workspace: workspaceOption, answer: answerOption, json: jsonOption },
  examples: [
    "troupe mcp check memory",
    "troupe mcp check memory --agent ./my-agent --answer allow --json",
  ],
  run: async ({ cli, options, args: [name = ""] }) => {
    const grounds = await readGrounds(cli, options);
    const ground = serverOf(grounds, name);
    const probe = await probeServer(cli, grounds, ground, { answer: options.answer });
    const verdicts = probe.list === undefined ? [] : verdictsOf(probe.raw, probe.list, probe.drifted);
    if (options.json) cli.terminal.out.line(jsonLine(reportOf(ground, probe, verdicts)));
    else print(cli, { ground, probe, verdicts });
    const { failure } = probe;
    if (failure !== undefined) throw new CheckFailedError(failure.code, failure.message);
    return exitCodes.ok;
  },
});

function reportOf({ loaded, declaration }: Ground, probe: Probe, tools: readonly Verdict[]) {
  const { greeting, capabilities = [], listMs, notices, stderr, failure } = probe;
  return {
    server: loaded.server,
    trust: declaration.trust,
    usable: failure === undefined,
    ...(greeting === undefined ? {} : {
      protocolVersion: greeting.protocolVersion,
      era: greeting.era,
      callsItself: greeting.server,
      capabilities,
      startMs: greeting.tookMs,
    }),
    ...(listMs === undefined ? {} : { listMs }),
    tools,
    ...(probe.list === undefined ? {} : { droppedCount: probe.list.rejectedCount }),
    notices,
    stderr,
    ...(failure === undefined ? {} : { failure }),
  };
}

interface Shown {
  readonly ground: Ground;
  readonly probe: Probe;
  readonly verdicts: readonly Verdict[];
}

function print({ terminal }: Cli, { ground: { loaded, declaration }, probe, verdicts }: Shown): void {
  const { out } = terminal;
  out.line(`${out.style.bold(loaded.server)} (${startOf(loaded.manifest)})`);
  const { greeting, capabilities = [], listMs, notices, stderr, list } = probe;
  const line = (label: string, text: string) => out.line(`  ${label.padEnd(12)} ${safeText(text)}`);
  line("trust", declaration.trust);
  if (greeting !== undefined) {
    const { protocolVersion, era = "legacy", server, tookMs } = greeting;
    line("protocol", `${protocolVersion} (${era} era)`);
    line("calls itself", `${server.name} ${server.version}`);
    line("capabilities", capabilities.join(", ") || "none");
    line("started", `${durationText(tookMs)} to the end of the handshake`);
  }
  if (listMs !== undefined && list !== undefined) {
    line("tools", `${countsOf(list)}, in ${durationText(listMs)}`);
  }
  for (const notice of notices) line("notice", notice);
  if (stderr !== "") line("last words", stderr);
  if (verdicts.length === 0) return;
  const rows = verdicts.map(({ tool, verdict, reason = "", unseen }) => [
    tool,
    verdict,
    reason || `${unseen === undefined ? "" : `(${unseen} unseen taken out) `}${describeRaw(probe.raw, tool)}`,
  ]);
  printTable(terminal, ["TOOL", "VERDICT", "WHY, OR WHAT IT SAYS OF ITSELF"], rows);
}

function countsOf({ source: { tools }, rejectedCount }: ToolList): string {
  const left = rejectedCount === 0 ? "" : `, ${rejectedCount} left out`;
  return `${tools.length}${left}`;
}
