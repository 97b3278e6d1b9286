/** MCP servers as `troupe trust` shows them. */
import { authText } from "../../schemas/mcp_auth.ts";
import type { LoadedServer } from "../host/declare.ts";
import { permissionRows } from "../host/npm_paths.ts";
import { visible } from "../tools/visible.ts";
import type { Cli } from "./cli.ts";
import type { Candidate } from "./trust.ts";

/** Shows servers: what their start depends on. */
export function show(cli: Cli, candidates: readonly Candidate[], workspace: string): void {
  const { out } = cli.terminal;
  for (const { server, loaded: { manifest, origin, folder }, isTrusted, before } of candidates) {
    const trust = isTrusted ? `trusted as ${before}` : "not trusted";
    const state = [trust, ...(manifest.enabled ? [] : ["off"])].join(", ");
    out.line(`${out.style.bold(server)} (${state})`);
    for (const [label, text] of linesOf(manifest, workspace)) {
      out.line(`  ${label.padEnd(8)} ${visible(text)}`);
    }
    out.line(`  file     ${visible(`${folder}/${origin}`)}`);
  }
}

/** What a server's start depends on, for people. Values of variables and headers may be secrets: only names are shown. */
function linesOf(
  manifest: LoadedServer["manifest"],
  workspace: string,
): readonly (readonly [label: string, text: string])[] {
  const calls = ["calls", `risk ${manifest.risk}, approval ${manifest.approval_policy}`] as const;
  const names = (label: string, values: object) => {
    const keys = Object.keys(values);
    return keys.length === 0 ? [] : [[label, keys.join(", ")] as const];
  };
  if (manifest.transport === "stdio") {
    const { command = "", args, cwd, env, run } = manifest;
    return [
      ...(run === undefined ? [["command", [command, ...args].map(quoted).join(" ")] as const] : [
        ["npm", [run.npm, ...run.args].map(quoted).join(" ")] as const,
        ...permissionRows(run).filter(([, text]) => text !== ""),
      ]),
      ["cwd", command === "troupe" ? "the workspace" : cwd === undefined ? workspace : `${workspace}/${cwd}`],
      ...names("env", env),
      calls,
    ];
  }
  const auth = manifest.auth === undefined ? [] : [["auth", authText(manifest.auth)] as const];
  return [["url", withoutLogin(manifest.url)], ...names("headers", manifest.headers), ...auth, calls];
}

/** One argument, so that its beginning and its end can be seen. */
function quoted(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : JSON.stringify(text);
}

function withoutLogin(url: string): string {
  const parsed = new URL(url);
  [parsed.username, parsed.password] = ["", ""];
  return parsed.href;
}
