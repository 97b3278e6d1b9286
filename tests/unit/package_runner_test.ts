/** Whether servers that may have to be fetched first are known, and given the time for it once. */
import assert from "node:assert/strict";
import { connectMs, isPackageRunner } from "../../actors/package_runner.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { declarationOf, startConnection } from "../support/connection.ts";

function manifestOf(command: string, args: readonly string[] = [], more = {}): McpManifest {
  return McpManifest.parse({ command, args, ...more });
}

Deno.test("package runners are known by their program and its first word", () => {
  const runners: readonly (readonly [string, readonly string[]])[] = [
    ["npx", ["-y", "server"]],
    ["/usr/bin/npx", []],
    ["C:\\node\\npx.cmd", []],
    ["uvx", ["server"]],
    ["npm", ["exec", "server"]],
    ["uv", ["tool", "run", "server"]],
    ["deno", ["run", "-A", "npm:@scope/server@1.2.3"]],
  ];
  for (const [command, args] of runners) assert.ok(isPackageRunner(manifestOf(command, args)), command);
  const others: readonly (readonly [string, readonly string[]])[] = [
    ["node", ["server.js"]],
    ["npm", ["start"]],
    ["deno", ["run", "-A", "server.ts"]],
    ["my-npx-server", []],
    ["troupe", ["mcp-server", "files"]],
  ];
  for (const [command, args] of others) assert.ok(!isPackageRunner(manifestOf(command, args)), command);
});

Deno.test("server has 30 s to start, 120 s for its first by a package runner, or what its manifest says (DM-56, DM-66)", () => {
  const docs = manifestOf("docs-server");
  const npx = manifestOf("npx", ["server"]);
  const told = manifestOf("npx", ["server"], { connect_timeout_seconds: 5 });
  assert.deepEqual([connectMs(docs, 1), connectMs(npx, 1), connectMs(npx, 2), connectMs(told, 1)], [
    30_000,
    120_000,
    30_000,
    5_000,
  ]);
  const run = startConnection(declarationOf({ manifest: { command: "npx", args: ["server"] } }));
  run.open();
  assert.equal(run.desk.asks[0]?.request.deadlineAtMs, 1_001 + 120_000);
});
