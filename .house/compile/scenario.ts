/** What a new user does first, with a program that has nothing around it: an empty folder, an empty environment. */
import { version } from "../../src/version.ts";
import { type Ended, runProcess } from "./process.ts";

/** How the program is started. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** Tells of one thing that was tried; `why` if it did not go well. */
export type Tell = (what: string, why?: string) => void;

/** One start of the program, and what must be seen of it. */
interface Step {
  readonly what: string;
  readonly args: readonly string[];
  readonly input?: string;
  readonly sees: readonly RegExp[];
  /** Tried with a real program only: its files alone behave no other way. */
  readonly isOfProgram?: true;
}

const background = {
  "task/agent.yaml": [
    "name: worker",
    "model: scripted/script.yaml",
    "tools: [terminal, task_status]",
    "capabilities: [terminal.exec, shell, task.control]",
    "",
  ].join("\n"),
  "task/script.yaml": [
    "answers:",
    "  - calls:",
    "      - tool: terminal",
    "        arguments: { argv: [/bin/sh, -c, echo from behind], background: true }",
    "  - text: begun",
    "",
  ].join("\n"),
};

const request = { jsonrpc: "2.0", id: 1, method: "list", params: {} };

const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "smoke", version: "1" } },
};

const steps: readonly Step[] = [
  { what: "its version", args: ["--version"], sees: [new RegExp(`^troupe ${RegExp.escape(version)} `)] },
  { what: "init", args: ["init", "./my-agent"], sees: [/my-agent\/mcp\/files\.yaml/] },
  {
    what: "run, with an MCP server that is the program itself",
    args: ["run", "./my-agent", "What is in here?", "--workspace", "./my-agent"],
    sees: [
      /✓ list_files/,
      /✓ mcp\.files\.search_project_text/,
      /✓ mcp\.files\.read_project_file/,
      /turn 1 completed/,
    ],
  },
  { what: "replay", args: ["replay", "last", "--strict"], sees: [/no divergence/] },
  { what: "log", isOfProgram: true, args: ["log", "last"], sees: [/model\.generate/] },
  {
    what: "mcp check",
    isOfProgram: true,
    args: ["mcp", "check", "files", "--agent", "./my-agent"],
    sees: [/troupe-files/, /read_project_file +ok/],
  },
  {
    what: "a background task",
    isOfProgram: true,
    args: ["run", "./task", "go", "--workspace", "./task", "--answer", "allow"],
    sees: [/task tsk_\w+ succeeded/],
  },
  { what: "tasks", isOfProgram: true, args: ["tasks", "last"], sees: [/terminal\.exec +succeeded/] },
  {
    what: "serve --stdio",
    args: ["serve", "--stdio", "./my-agent"],
    input: `${JSON.stringify(request)}\n`,
    sees: [/"jsonrpc":"2\.0","id":1,"result":\{"agents":\[/],
  },
  {
    what: "serve --mcp",
    isOfProgram: true,
    args: ["serve", "--mcp", "./my-agent"],
    input: `${JSON.stringify(hello)}\n`,
    sees: [/"result":\{"protocolVersion":"2025-06-18"/],
  },
  { what: "schemas", args: ["schema", "agent"], sees: [/"\$schema"/] },
  { what: "doctor", isOfProgram: true, args: ["doctor"], sees: [/nothing is wrong/] },
  {
    what: "demo",
    isOfProgram: true,
    args: ["demo"],
    sees: [/✓ mcp\.files\.read_project_file/, /no divergence/],
  },
];

/** Plays the steps in an empty folder: all, or those of files without a program. True if all went well. */
export async function playScenario(program: Program, isProgram: boolean, tell: Tell): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "troupe-first-hour-" });
  try {
    for (const [path, text] of Object.entries(background)) {
      await Deno.mkdir(`${folder}/${path.split("/")[0]}`, { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    const [command = "", ...before] = [...await apart(), program.command, ...program.args];
    let isWell = true;
    for (const { what, args, input, sees, isOfProgram } of steps) {
      if (isOfProgram && !isProgram) continue;
      const ended = await runProcess({
        command,
        args: [...before, ...args],
        cwd: folder,
        env: { HOME: folder, NO_COLOR: "1", ...program.env },
        isCleared: true,
        ...(input === undefined ? {} : { input }),
      });
      const why = complaintOf(ended, sees);
      tell(what, why);
      isWell &&= why === undefined;
    }
    return isWell;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A network of its own that leads nowhere, where the system lets us have one. */
async function apart(): Promise<readonly string[]> {
  const unshare = ["/usr/bin/unshare", "--map-root-user", "--net"];
  const [command = "", ...args] = unshare;
  const tried = await runProcess({ command, args: [...args, "/bin/true"], cwd: "/" }).catch(() => undefined);
  return tried?.code === 0 ? unshare : [];
}

function complaintOf({ code, out, err }: Ended, sees: readonly RegExp[]): string | undefined {
  const shown = `${out}\n${err}`.trim();
  if (code !== 0) return `exit code ${code}\n${shown}`;
  const missing = sees.find((one) => !one.test(out) && !one.test(err));
  return missing === undefined ? undefined : `does not show ${missing}\n${shown}`;
}
