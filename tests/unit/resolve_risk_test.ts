/** Whether each signal alone raises the risk of a tool in the catalog, where policy, people and calls meet it. */
import assert from "node:assert/strict";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { CatalogSource } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { TrustLevel } from "../../schemas/provenance.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

/** The signals of one tool. By default there is none that would raise its risk. */
interface Signals {
  readonly name?: string;
  readonly tool?: Partial<ToolDefinition>;
  readonly trust?: TrustLevel;
  readonly remote?: boolean;
  readonly capabilities?: readonly string[];
}

/** The risk under which a tool of the server `docs` stands in the catalog. */
function riskOf({ name = "list_pages", tool = {}, trust, remote = false, capabilities }: Signals): string {
  const provenance = { source: "mcp", origin: "server docs", trust: trust ?? "team_audited" } as const;
  const source = sourceOf("mcp", [toolOf(name, tool)], { provenance, remote });
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({
      name: "clerk",
      model: "scripted/script.yaml",
      capabilities: capabilities ?? ["mcp.call:docs"],
    }),
    policy: HostPolicy.parse({}),
    sources: [CatalogSource.parse(source)],
    epoch: 1,
  });
  assert.ok("catalog" in resolution);
  return resolution.catalog.entries[0]?.definition.riskLevel ?? assert.fail("there is no entry");
}

function withField(field: string): Partial<ToolDefinition> {
  return { inputSchema: { type: "object", properties: { [field]: { type: "string" } } } };
}

Deno.test("catalog takes a reading tool of an audited local server, granted by name, for harmless", () => {
  assert.equal(riskOf({}), "low");
});

// Proves AR-8, AR-11 (server trust).
Deno.test("catalog rates a tool by how far its server is trusted", () => {
  const levels: readonly (readonly [TrustLevel, string, string])[] = [
    ["trusted_local", "low", "low"],
    ["team_audited", "low", "medium"],
    ["third_party", "medium", "medium"],
    ["unknown", "medium", "high"],
  ];
  for (const [trust, reading, other] of levels) {
    assert.equal(riskOf({ trust }), reading, trust);
    assert.equal(riskOf({ trust, name: "make_page" }), other, trust);
  }
});

// Proves AR-11 (tool name and description).
Deno.test("catalog rates a tool by the words of its name and of its description, each alone", () => {
  assert.equal(riskOf({ name: "delete_pages" }), "high");
  assert.equal(riskOf({ name: "pages" }), "medium");
  assert.equal(riskOf({ tool: { description: "Deletes what is old" } }), "medium");
  assert.equal(riskOf({ tool: { description: "Tells what is old" } }), "low");
  assert.equal(riskOf({ tool: { description: "Deletes what is old" }, trust: "trusted_local" }), "low");
});

// Proves AR-11 (schema fields).
Deno.test("catalog rates a tool by the fields of its schema", () => {
  for (const field of ["path", "url", "query"]) {
    assert.equal(riskOf({ tool: withField(field) }), "medium", field);
  }
  for (const field of ["command", "mutation"]) {
    assert.equal(riskOf({ tool: withField(field) }), "high", field);
  }
  assert.equal(riskOf({ tool: withField("page") }), "low");
});

// Proves AR-11 (local or remote connection).
Deno.test("catalog rates a tool by whether its server is reached over a network", () => {
  assert.equal(riskOf({ remote: true }), "medium");
  assert.equal(riskOf({ name: "delete_pages", remote: true }), "critical");
});

// Proves AR-11 (scope granted): only a grant of this very server tells that somebody thought of it.
Deno.test("catalog rates a tool higher that only a wildcard grants", () => {
  assert.equal(riskOf({ capabilities: ["mcp.call:*"] }), "medium");
  assert.equal(riskOf({ capabilities: ["mcp.call:*", "mcp.call:docs"] }), "low");
  assert.equal(riskOf({ capabilities: ["mcp.connect:*", "fs.read"] }), "low");
});
