/** `troupe mcp trust`. */
import type { Json } from "../../../schemas/json.ts";
import type { Pins, ToolPin } from "../../mcp/pinned_tools.ts";
import { oneLine } from "../../mcp/plain_text.ts";
import { type FieldDrift, fieldsBetween } from "../../field_drift.ts";
import { type Cli, defineCommand, jsonOption } from "../cli.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { jsonLine } from "../json_line.ts";
import { safeText } from "../terminal.ts";
import { askPerson, openStore, trustAgent } from "../trust.ts";
import { agentOf, agentOption, readGrounds, serverOf, workspaceOption } from "./ground.ts";

const valueCharactersMax = 400;

const levelOption = {
  kind: "choice",
  choices: ["team_audited", "third_party"],
  help: "how far it is trusted; default: as before, or third_party",
} as const;

/** Trusts one server, and what changed of its tools. */
export const command = defineCommand({
  args: ["NAME"],
  about: [
    "Shows one MCP server and lets it start unasked from now on, once you say so: troupe trust for one server. Then",
    "shows, field by field, the tools that are not any more what was approved, and approves them as they are shown.",
    "A tool that changed, or that came when an approved one was gone, is off until then; the others go on. What nobody",
    "can see in a text is shown as \\u{…}. Open sessions take it up at troupe catalog SESSION --refresh, or their next start.",
    "--level says how far it is trusted: the tools of a server that your team audited are not taken for medium risk just",
    "because others wrote them. What a server says of itself changes nothing, and what changed is asked about anew.",
  ],
  options: {
    agent: agentOption,
    workspace: workspaceOption,
    level: levelOption,
    yes: { kind: "flag", short: "y", help: "trust and approve what is shown without asking" },
    json: jsonOption,
  },
  examples: [
    "troupe mcp trust docs",
    "troupe mcp trust docs --agent ./my-agent --yes --json",
    "troupe mcp trust docs --level team_audited",
  ],
  run: async ({ cli, options, args: [name = ""] }) => {
    const grounds = await readGrounds(cli, options);
    const { declaration: { fingerprint, server } } = serverOf(grounds, name);
    const { yes, json, level } = options;
    await trustAgent(cli, {
      store: openStore(cli),
      name: agentOf(options),
      workspace: grounds.workspace,
      only: server,
      level,
      yes,
      json,
    });
    const pins = await grounds.pins.read(fingerprint);
    const waiting = Object.entries(pins?.waiting ?? {});
    if (pins === undefined || waiting.length === 0) return exitCodes.ok;
    const drifts = waiting.map(([tool, pin]) => driftOf(tool, pin, pins));
    if (json) { for (const drift of drifts) cli.terminal.out.line(jsonLine({ server, ...drift })); }
    else for (const drift of drifts) print(cli, drift);
    if (!yes && !(await ask(cli, waiting.length))) cli.terminal.err.line("Nothing was approved");
    else {
      const approved = await grounds.pins.approve(fingerprint, pins.waiting);
      const words = approved === 1 ? "1 tool" : `${approved} tools`;
      cli.terminal.err.line(`Approved: ${words}; open sessions take it up at their next list`);
    }
    return exitCodes.ok;
  },
});

/** One tool that waits, and in what it differs from what was approved. */
interface ToolDrift {
  readonly tool: string;
  /** False if nothing of that name was approved. */
  readonly isKnown: boolean;
  readonly fields: readonly FieldDrift[];
}

function driftOf(tool: string, { told }: ToolPin, { approved }: Pins): ToolDrift {
  const known = Object.hasOwn(approved, tool) ? approved[tool] : undefined;
  return {
    tool,
    isKnown: known !== undefined,
    fields: fieldsBetween((known?.told ?? {}) as Json, told as Json),
  };
}

function print({ terminal: { out } }: Cli, { tool, isKnown, fields }: ToolDrift): void {
  out.line(
    `${out.style.bold(safeText(tool))} ${isKnown ? "is not what was approved" : "was never approved"}`,
  );
  for (const { path, before, after } of fields) {
    out.line(`  ${oneLine(path, valueCharactersMax)}`);
    if (before !== undefined) out.line(`    - ${shown(before)}`);
    if (after !== undefined) out.line(`    + ${shown(after)}`);
  }
}

/** A value on one line, with what nobody would see written out. */
function shown(value: Json): string {
  return oneLine(JSON.stringify(value), valueCharactersMax);
}

async function ask(cli: Cli, count: number): Promise<boolean> {
  if (cli.terminal.canAsk) {
    return await askPerson(cli, `Approve ${count === 1 ? "this tool" : `these ${count} tools`} as shown?`);
  }
  const message = "Nobody can be asked here whether these tools are approved: look at them, then give --yes";
  throw new UsageError("trust_needs_answer", message);
}
