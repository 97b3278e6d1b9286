/** Servers that are started by a program which may have to fetch them first: one at a time, with more patience. */
import { limits } from "../schemas/limits.ts";
import type { McpManifest } from "../schemas/manifest.ts";

/** Programs that do nothing else. */
const runners: ReadonlySet<string> = new Set(["npx", "pnpx", "bunx", "uvx", "pipx"]);
/** Programs that do so with one of these words first. */
const words: ReadonlyMap<string, readonly string[]> = new Map([
  ["npm", ["exec", "x"]],
  ["pnpm", ["dlx"]],
  ["yarn", ["dlx"]],
  ["bun", ["x"]],
  ["uv", ["tool"]],
]);

/** True if a server is started by a package runner. */
export function isPackageRunner(manifest: McpManifest): boolean {
  if (manifest.transport !== "stdio") return false;
  const { command = "", args } = manifest;
  const [, program = ""] = /([^\\/]*?)(?:\.(?:cmd|exe))?$/i.exec(command) ?? [];
  if (runners.has(program) || words.get(program)?.includes(args[0] ?? "")) return true;
  return program === "deno" && args[0] === "run" && args.some((arg) => /^(?:npm|jsr):/.test(arg));
}

/** How long a start may take: what the manifest says, or more for the first start of a package. In milliseconds. */
export function connectMs(manifest: McpManifest, launch: number): number {
  const { connect_timeout_seconds: seconds } = manifest;
  if (seconds !== undefined) return Math.ceil(seconds * 1_000);
  return launch === 1 && isPackageRunner(manifest) ? limits.mcpFirstPackageConnectMs : limits.mcpConnectMs;
}
