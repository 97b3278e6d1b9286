/** Whether a server's tool that says next to nothing stands in the catalog with every default, and a built-in obeys its agent. */
import assert from "node:assert/strict";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type CatalogEntry, type CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import { readTools } from "../../src/mcp/tool_list.ts";
import { builtinSources } from "../../src/tools/builtin.ts";
import { declarationOf } from "../support/connection.ts";

const inputSchema = { type: "object" };

function entriesOf(
  sources: readonly CatalogSource[],
  agent: { readonly [field: string]: Json } = {},
): readonly CatalogEntry[] {
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", ...agent }),
    policy: HostPolicy.parse({}),
    sources,
    epoch: 1,
  });
  assert.ok("catalog" in resolution, "failure" in resolution ? resolution.failure.message : "");
  return ResolvedCatalog.parse(resolution.catalog).entries;
}

/** The definition under which the model is told of a tool that the server `docs` lists so. */
function wrapped(
  told: { readonly [field: string]: unknown },
  manifest: { readonly [field: string]: Json } = {},
) {
  const declaration = declarationOf({ manifest });
  const { source, rejected } = readTools([told], { declaration, connection: "connection/docs@ses_1" });
  assert.deepEqual(rejected, []);
  return entriesOf([source])[0]?.definition ?? assert.fail("there is no entry");
}

// Proves AR-7: every field of the definition, from a tool that has a name and a schema.
Deno.test("catalog fills up a server's tool that has only a name and a schema", () => {
  assert.deepEqual(wrapped({ name: "find", inputSchema }), {
    name: "find",
    title: "find",
    description: "",
    version: "mcp:dynamic",
    inputSchema,
    riskLevel: "medium",
    sideEffects: true,
    resources: [{ kind: "mcp", scope: "docs" }],
    timeoutMs: 60_000,
    outputPolicy: { modelCharactersMax: 12_000 },
    effectClass: "non_idempotent",
    capability: "mcp.call:docs",
    approvalPolicy: "prompt",
    parallelSafe: false,
  });
});

// Proves AR-7: what is there is kept, what is empty or no text is as good as absent.
Deno.test("catalog falls back to the name of a server's tool only where it has no title", () => {
  for (const title of ["", null, 7, undefined]) {
    assert.equal(wrapped({ name: "find", title, inputSchema }).title, "find", String(title));
  }
  const { title, description } = wrapped({ name: "find", title: "Find", description: "Finds", inputSchema });
  assert.deepEqual([title, description], ["Find", "Finds"]);
  assert.equal(wrapped({ name: "find", description: null, inputSchema }).description, "");
});

// Proves AR-7: the server's own time.
Deno.test("catalog gives a server's tool the time of its manifest", () => {
  const timeOf = (seconds: number) => wrapped({ name: "find", inputSchema }, { timeout_seconds: seconds });
  assert.deepEqual([1, 2.5, 600].map((seconds) => timeOf(seconds).timeoutMs), [1_000, 2_500, 600_000]);
});

/** The built-in tools of an agent that lists two: the name, and why it is off. */
function builtins(overrides: Json): readonly (readonly [string, boolean, string | undefined])[] {
  return entriesOf(builtinSources, { tools: ["list_files", "read_file"], overrides }).map((
    { canonicalName, enabled, disabledBy },
  ) => [canonicalName, enabled, disabledBy]);
}

// Proves DM-2 (enabled).
Deno.test("catalog switches a built-in tool off that the agent lists and overrides, and no other", () => {
  const on = [["list_files", true, undefined], ["read_file", true, undefined]];
  assert.deepEqual(builtins({}), on);
  assert.deepEqual(builtins({ read_file: { enabled: true } }), on);
  const off = "overrides in agent.yaml switch it off";
  assert.deepEqual(builtins({ read_file: { enabled: false } }), [on[0], ["read_file", false, off]]);
});
