/** `troupe policy`. */
import { PermissionMode } from "../../schemas/mode.ts";
import { loadAgent } from "../host/agent_folder.ts";
import { Declarer } from "../host/declarer.ts";
import { explainCall, type Explanation } from "../host/explanation.ts";
import { isAbsolute, readHostSettings, workspaceFolder } from "../host/home.ts";
import { trustFile } from "../host/trust.ts";
import { readCallArguments } from "./call_arguments.ts";
import { type Cli, defineCommand, jsonOption } from "./cli.ts";
import { exitCodes, UsageError } from "./exit.ts";
import { jsonLine } from "./json_line.ts";
import { placeOptions } from "./place.ts";
import { printTable } from "./table.ts";
import { safeText } from "./terminal.ts";

/** Explains what policy says of a call. */
export const command = defineCommand({
  args: ["explain", "AGENT", "TOOL", "[ARGS]"],
  about: [
    "Prints what each step says of a call of TOOL by this agent, and which rule decided: by the functions that judge",
    "calls, under this host's policy. TOOL is a full name (read_file, mcp.docs.search) or the name that a model",
    "calls (docs__search); ARGS is the JSON object that it would be called with. Nothing is started: of an MCP server's",
    "tool it tells as much as the manifest does.",
  ],
  options: {
    mode: {
      kind: "choice",
      choices: PermissionMode.options,
      help: "the mode of the session; default: default",
    },
    workspace: {
      kind: "text",
      value: "FOLDER",
      help: "the workspace, for which servers are trusted; default: that of troupe run",
    },
    profile: placeOptions.profile,
    json: jsonOption,
  },
  examples: [
    "troupe policy explain demo list_files",
    'troupe policy explain ./my-agent read_file \'{"path": "a.txt"}\' --mode plan',
    "troupe policy explain ./my-agent mcp.docs.search --json",
  ],
  run: async ({ cli, options, args }) => {
    const [action = "", name = "", tool = "", given] = args;
    if (action !== "explain") {
      const hint = "troupe policy explain AGENT TOOL is what there is";
      throw new UsageError(
        "argument_invalid",
        `There is no troupe policy ${JSON.stringify(action)}: ${hint}`,
      );
    }
    const callArguments = given === undefined ? undefined : readCallArguments(given);
    const settings = await readHostSettings(cli.env);
    const { policy } = settings.config;
    const secrets = new Set(Object.keys(settings.config.secrets));
    const { digest } = cli.seams;
    const agent = await loadAgent(name, { cwd: cli.cwd, digest });
    const folder = workspaceFolder(options.workspace, { env: cli.env, settings, cwd: cli.cwd });
    const home = { agent: agent.home, workspace: await realFolder(cli, folder) };
    const declarer = new Declarer({ policy, digest, secrets, trustFile: trustFile(cli.env) });
    const declarations = await declarer.declare(home, agent.servers, agent.definition.capabilities);
    const mode = options.mode ?? "default";
    const explained = await explainCall({
      agent,
      policy,
      declarations,
      sources: await declarer.sources(home),
      mode,
      profile: options.profile,
      tool,
      digest,
      arguments: callArguments,
    });
    if ("failure" in explained) throw new UsageError(explained.failure.code, explained.failure.message);
    if (options.json) cli.terminal.out.line(jsonLine(explained.explanation));
    else print(cli, explained.explanation);
    return exitCodes.ok;
  },
});

async function realFolder(cli: Cli, folder: string): Promise<string> {
  try {
    return await Deno.realPath(isAbsolute(folder) ? folder : `${cli.cwd}/${folder}`);
  } catch {
    throw new UsageError("workspace_invalid", `Cannot use "${folder}" as workspace: there is no such folder`);
  }
}

function print({ terminal }: Cli, { tool, entry, mode, verdict, checks, notes }: Explanation): void {
  const { out, err } = terminal;
  out.line(out.style.bold(safeText(tool)));
  if (entry !== undefined) {
    const { riskLevel, sideEffects, capability = "none", approvalPolicy } = entry.definition;
    const effects = sideEffects ? "side effects" : "no side effects";
    out.line(safeText(`  called ${entry.providerName} by the model, ${entry.sourceKind}`));
    out.line(
      safeText(`  risk ${riskLevel}, ${effects}, capability ${capability}, approval ${approvalPolicy}`),
    );
  }
  printTable(
    terminal,
    ["CHECK", "VERDICT", "BY", "WHY"],
    checks.map((
      { check, verdict: said, by, why },
    ) => [check, said === "open" ? "-" : said, by === "" ? "-" : by, why]),
  );
  const words = `${verdict} in the mode ${mode}`;
  const { green, yellow, red } = out.style;
  out.line({ allow: green, ask: yellow, deny: red }[verdict](words));
  for (const note of notes) err.line(safeText(note));
}
