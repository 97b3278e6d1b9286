/** Which MCP servers a tool may know of: those whose tools its turn has. */
import assert from "node:assert/strict";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import type { Routed } from "../../src/effects/adapter.ts";
import { createToolCall } from "../../src/effects/tool_call.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { textEnvelope } from "../../src/tools/tool.ts";
import { catalogWith, createBlobs, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const hash = `sha256:${"a".repeat(64)}`;

function entryOf(server: string, tool: string) {
  const name = `mcp.${server}.${tool}`;
  const provenance = { source: "mcp", origin: server, trust: "unknown" } as const;
  return entryFor({ ...readFile.definition, name: tool }, {
    sourceKind: "mcp",
    canonicalName: name,
    providerName: `${server}__${tool}`,
    adapter: "mcp",
    provenance,
  });
}

// LC-3, LC-8
Deno.test("tool_call tells a tool each server of its catalog once, and nothing can change the list (LC-3, LC-8)", async () => {
  const seen: Routed[] = [];
  const world = createWorld();
  const catalog = catalogWith(
    entryFor(readFile.definition),
    entryOf("docs", "read"),
    entryOf("docs", "search"),
    entryOf("wiki", "read"),
  );
  const perform = createToolCall({
    redactor: createDoorRedactor(),
    rawArguments: new RawArguments(),
    tools: new Map(),
    catalogOf: () => catalog,
    workspaceOf: () => undefined as never,
    permissionsOf: () => ({ mode: "default", capabilities: [] }),
    messages: () => Promise.resolve([]),
    appState: () => ({}),
    blobs: createBlobs(),
    seams: world.seams,
    mcp: (routed) => {
      seen.push(routed);
      return Promise.resolve({ kind: "returned", envelope: textEnvelope("well") });
    },
  });
  const result = await perform({
    root: "session/ses_1",
    id: "1.0",
    key: "session/ses_1#1.0",
    attempt: 1,
    signal: new AbortController().signal,
    report: () => {},
    request: {
      port: "mcp.call",
      effect: "non_idempotent",
      args: {
        invocation: "call/0.0",
        entry: { catalog: hash, name: "mcp.wiki.read" },
        arguments: {},
        origin: "model",
        attempt: 1,
      },
    },
  });
  assert.equal(result.status, "ok");
  const clients = seen[0]?.use.mcp_clients;
  assert.deepEqual(clients, [{ server: "docs" }, { server: "wiki" }]);
  assert.throws(() => (clients as unknown[]).push({ server: "other" }), TypeError);
});
