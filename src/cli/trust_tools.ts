/** The authored tools of an agent, as `troupe trust` looks at them: each is asked what it is, in a jail, and shown. */
import { describeTool } from "../authored/described_tool.ts";
import { type BadToolFile, readToolFiles, type ToolFile } from "../authored/tool_file.ts";
import { type TrustedTool, TrustedTools, trustedToolsFolder } from "../authored/trusted_tools.ts";
import { type GivenTrust, trustFile } from "../host/trust.ts";
import { JailPool } from "../jail/jail_pool.ts";
import { jailProgram } from "../jail/jail_program.ts";
import { visible } from "../tools/visible.ts";
import { startChild } from "../processes/child.ts";
import type { Cli } from "./cli.ts";
import { UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { printTable, timeText } from "./table.ts";
import { safeText } from "./terminal.ts";

/** A tool that may be trusted, and whether it is. */
export interface ToolCandidate {
  readonly tool: TrustedTool;
  readonly isTrusted: boolean;
}

/** What the tool files of an agent are: those that may be trusted, and those that are none, with why. */
export interface LookedAtTools {
  readonly candidates: readonly ToolCandidate[];
  readonly refused: readonly (BadToolFile)[];
}

/** The trusted tools of this operator. */
export function openTools(cli: Cli): TrustedTools {
  return new TrustedTools(trustedToolsFolder(trustFile(cli.env)));
}

/** No tools at all. */
export const noTools: LookedAtTools = { candidates: [], refused: [] };

/** Looks at the tools of a folder. One that breaks, or never says what it is, leaves the others alone. */
export async function lookAtTools(
  cli: Cli,
  folder: string,
  level: GivenTrust | undefined,
): Promise<LookedAtTools> {
  const { clock, digest } = cli.seams;
  const files = await readToolFiles(folder, digest);
  const [trusted, candidates, refused] = [openTools(cli), [] as ToolCandidate[], [] as BadToolFile[]];
  const pool = new JailPool({
    start: (options) => Promise.resolve(startChild({ ...options, clock })),
    program: jailProgram(cli.self),
    keepsOne: false,
    clock,
  });
  try {
    for (const file of files) {
      const one = "problem" in file ? file : await lookAt(file, { cli, pool, trusted, level });
      if ("problem" in one) refused.push(one);
      else candidates.push(one);
    }
  } finally {
    await pool.close();
  }
  return { candidates, refused };
}

interface Looking {
  readonly cli: Cli;
  readonly pool: JailPool;
  readonly trusted: TrustedTools;
  readonly level: GivenTrust | undefined;
}

async function lookAt(
  file: ToolFile,
  { cli: { seams: { clock } }, pool, trusted, level }: Looking,
): Promise<ToolCandidate | BadToolFile> {
  const { name, folder, fingerprint } = file;
  const before = await trusted.find(fingerprint);
  if (before !== undefined && "code" in before) throw new UsageError(before.code, before.message);
  if (before !== undefined) {
    const tool = { ...before, level: level ?? before.level };
    return { tool, isTrusted: tool.level === before.level };
  }
  const definition = await describeTool(file, { pool, clock });
  if ("code" in definition) return { name, file: file.file, problem: definition.message };
  const shared = { v: 1, fingerprint, file: file.file, folder, at: clock.now() } as const;
  return { tool: { ...shared, level: level ?? "third_party", definition }, isTrusted: false };
}

/** Shows what the tools say of themselves, and what they want to use. */
export function showTools(cli: Cli, { candidates, refused }: LookedAtTools): void {
  const { out, err } = cli.terminal;
  for (const { tool: { file, folder, definition, level }, isTrusted } of candidates) {
    const state = isTrusted ? `trusted as ${level}` : "not trusted";
    out.line(`${out.style.bold(definition.name)} (tool, ${state})`);
    const {
      description,
      riskLevel,
      effectClass,
      approvalPolicy,
      capability = "",
      capabilities = [],
      resources,
    } = definition;
    const places = resources.map(({ kind, scope }) => `${kind} ${scope}`);
    const rows = [
      ["tool", description.replace(/\s+/g, " ").slice(0, 200)],
      ["needs", [capability, ...capabilities].join(", ")],
      ["reaches", places.length === 0 ? "nothing" : places.join(", ")],
      ["calls", `risk ${riskLevel}, approval ${approvalPolicy}, ${effectClass}`],
      ["file", `${folder}/${file}`],
    ] as const;
    for (const [label, text] of rows) out.line(`  ${label.padEnd(8)} ${visible(text)}`);
  }
  for (const { problem } of refused) err.line(safeText(problem));
}

/** Lists all trusted tools. Returns how many there are. */
export async function listTools(cli: Cli, json: boolean): Promise<number> {
  const tools = await openTools(cli).list();
  if (json) { for (const tool of tools) cli.terminal.out.line(jsonLine(lineOf(tool))); }
  else if (tools.length > 0) {
    const rows = tools.map(({ definition: { name, version }, at, level, folder }) => [
      name,
      timeText(at),
      level,
      version,
      folder,
    ]);
    printTable(cli.terminal, ["TOOL", "TRUSTED", "AS", "FINGERPRINT", "FOLDER"], rows);
  }
  return tools.length;
}

function lineOf({ v: _, definition, ...tool }: TrustedTool) {
  return { tool: definition.name, ...tool };
}

/** Trusts exactly what was shown. */
export async function trustTools(cli: Cli, { candidates }: LookedAtTools): Promise<void> {
  const trusted = openTools(cli);
  for (const { tool, isTrusted } of candidates) {
    const problem = isTrusted ? undefined : await trusted.add(tool);
    if (problem !== undefined) throw new UsageError(problem.code, problem.message);
  }
}

/** One line of JSON for each tool, and for each file that is none. */
export function printTools(cli: Cli, { candidates, refused }: LookedAtTools): void {
  for (const { tool } of candidates) cli.terminal.out.line(jsonLine(lineOf(tool)));
  for (const { file, problem } of refused) cli.terminal.out.line(jsonLine({ file, problem }));
}
