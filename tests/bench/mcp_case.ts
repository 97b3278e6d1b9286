/** One shape of calls to an MCP server, the same for every side, and the server that all sides start. */
import type { Shape } from "./turn_case.ts";

/** Some calls of one tool of the server. `apart`: one after another. `together`: all in flight at once. */
export interface McpCase {
  readonly tool: "echo" | "big";
  readonly calls: number;
  readonly shape: Shape;
  readonly transport: "stdio" | "http";
}

/** The id of the server, wherever one is needed. */
export const serverId = "bench";

/** What `big` is asked for. */
const bigBytes = 5_000_000;

/** What `echo` is told. */
const echoed = "hello";

/** All cases. The big one is a call at a time: results of this size are rare, and a round would take minutes. */
export const mcpCases: readonly McpCase[] = [
  { tool: "echo", calls: 32, shape: "apart", transport: "stdio" },
  { tool: "echo", calls: 32, shape: "together", transport: "stdio" },
  { tool: "big", calls: 1, shape: "apart", transport: "stdio" },
  { tool: "echo", calls: 32, shape: "apart", transport: "http" },
  { tool: "echo", calls: 32, shape: "together", transport: "http" },
];

/** Groups of calls over one connection: those that are timed, and those before, for the server's code to be compiled. */
export function groupsOf({ tool, shape }: McpCase): { readonly groups: number; readonly warmUps: number } {
  if (tool === "big") return { groups: 2, warmUps: 0 };
  return { groups: shape === "apart" ? 3 : 6, warmUps: 1 };
}

/** A case in words. */
export function nameOfCase({ tool, calls, shape, transport }: McpCase): string {
  if (tool === "big") return `a result of 5 MB, ${transport}`;
  return `${calls} calls ${shape === "apart" ? "one after another" : "in flight"}, ${transport}`;
}

/** The arguments of every call of a case. */
export function argumentsOf({ tool }: McpCase): { readonly [name: string]: string | number } {
  return tool === "big" ? { bytes: bigBytes } : { text: echoed };
}

/** Throws if a call did not bring what it should. */
export function checkText({ tool }: McpCase, text: unknown): void {
  const isRight = typeof text === "string" && (tool === "big" ? text.length === bigBytes : text === echoed);
  if (!isRight) throw new Error(`A call of "${tool}" brought something else: ${String(text).slice(0, 200)}`);
}

/** What the model of a governed turn must be shown of a result, so that a failed call is not taken for a fast one. */
export function mark({ tool }: McpCase): string {
  return tool === "big" ? "more characters; the whole result is sha256:" : echoed;
}

/** How the server is started, by every side. It needs no permission and no configuration. */
export const program = {
  command: Deno.execPath(),
  args: [
    "run",
    "--quiet",
    "--no-config",
    "--no-lock",
    new URL("./mcp_echo_server.ts", import.meta.url).pathname,
  ],
  env: variables(),
} as const;

/** Beyond what both clients pass on by themselves: nothing that decides what a program does. */
function variables(): { readonly [name: string]: string } {
  return { NO_COLOR: "1" };
}
