/** Whether a catalog holds what its sources offer, under rules that only tighten. */
import assert from "node:assert/strict";
import { resolveCatalog, type ResolveRequest } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type CatalogEntry, CatalogSource, ResolvedCatalog } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

/** What `agent.yaml` says in a test. */
interface AgentSketch {
  readonly tools?: readonly string[];
  readonly capabilities?: readonly string[];
  readonly overrides?: { readonly [tool: string]: Json };
  readonly limits?: { readonly tool_timeout_ms: number };
}

function requestFor(
  sources: readonly CatalogSource[],
  agent: AgentSketch = {},
  policy: Json = {},
): ResolveRequest {
  for (const source of sources) CatalogSource.parse(source);
  return {
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", ...agent }),
    policy: HostPolicy.parse(policy),
    sources,
    epoch: 1,
  };
}

function resolve(sources: readonly CatalogSource[], agent: AgentSketch = {}, policy: Json = {}) {
  const resolution = resolveCatalog(requestFor(sources, agent, policy));
  assert.ok("catalog" in resolution, "failure" in resolution ? resolution.failure.message : "");
  return { ...resolution, catalog: ResolvedCatalog.parse(resolution.catalog) };
}

function names(sources: readonly CatalogSource[], agent: AgentSketch = {}): string[] {
  return resolve(sources, agent).catalog.entries.map((entry) => entry.canonicalName);
}

function refusal(sources: readonly CatalogSource[], agent: AgentSketch = {}) {
  const resolution = resolveCatalog(requestFor(sources, agent));
  assert.ok("failure" in resolution);
  return resolution.failure;
}

/** The entry of one tool of one source, which the agent uses. */
function entryFrom(source: CatalogSource, agent: AgentSketch = {}, policy: Json = {}): CatalogEntry {
  const tools = source.kind === "runtime" || source.kind === "troupe"
    ? source.tools.map((tool) => tool.name)
    : [];
  const entry = resolve([source], { tools, ...agent }, policy).catalog.entries[0];
  assert.ok(entry);
  return entry;
}

function builtIn(changes: Partial<ToolDefinition> = {}): CatalogSource {
  return sourceOf("runtime", [toolOf("read_file", changes)]);
}

function remote(changes: Partial<ToolDefinition> = {}): CatalogSource {
  return sourceOf("mcp", [toolOf("search", changes)]);
}

// Proves DM-5, DM-7, AR-5: one entry serves the model, policy and dispatch.
Deno.test("catalog entry carries all that a dispatch needs", () => {
  const { definition, ...rest } = entryFrom(remote());
  assert.deepEqual(rest, {
    sourceKind: "mcp",
    canonicalName: "mcp.docs.search",
    providerName: "docs__search",
    provenance: { source: "mcp", origin: "server docs", trust: "third_party" },
    coreRevision: "core-1",
    adapter: "mcp",
    binding: "docs",
    governance: "replaceable",
    implementation: "mcp/docs/search@1",
    toolKind: "effect_intent",
    enabled: true,
  });
  const { inputSchema, capability, approvalPolicy, riskLevel } = definition;
  assert.deepEqual([inputSchema, capability, approvalPolicy, riskLevel], [
    { type: "object" },
    "mcp.call:docs",
    "auto",
    "medium",
  ]);
});

// Proves AR-6, AR-7: every field is there, and an empty title falls back to the name.
Deno.test("catalog wraps a tool into a whole definition", () => {
  const { definition } = entryFrom(remote({ title: "", description: "" }));
  assert.equal(definition.title, "search");
  for (
    const field of ["name", "description", "version", "inputSchema", "riskLevel", "sideEffects", "resources"]
  ) {
    assert.ok(field in definition, field);
  }
  assert.deepEqual([definition.timeoutMs, definition.outputPolicy], [30_000, { modelCharactersMax: 12_000 }]);
});

// Proves LC-4, DM-1, DM-2: an agent picks built-in tools; all others are in.
Deno.test("catalog takes the built-in tools that the agent lists, and every tool of other sources", () => {
  const sources = [
    sourceOf("runtime", [toolOf("read_file"), toolOf("write_file")]),
    sourceOf("troupe", [toolOf("subagent_list"), toolOf("todo")]),
    sourceOf("agent", [toolOf("greet")]),
    remote(),
  ];
  assert.deepEqual(names(sources), ["greet", "mcp.docs.search"]);
  assert.deepEqual(names(sources, { tools: ["todo", "read_file", "read_file"] }), [
    "greet",
    "mcp.docs.search",
    "read_file",
    "todo",
  ]);
});

Deno.test("catalog of nothing is an empty catalog", () => {
  assert.deepEqual(names([]), []);
  assert.deepEqual(names([sourceOf("mcp", [])]), []);
});

// Proves DM-4: a tool that does not exist, selected or overridden.
Deno.test("catalog refuses a tool of agent.yaml that does not exist, and says which do", () => {
  const failed = refusal([sourceOf("runtime", [toolOf("read_file"), toolOf("list_files")])], {
    tools: ["reed_file"],
  });
  assert.equal(failed.code, "tool_unknown");
  assert.match(failed.message, /"reed_file".*list_files, read_file$/);
  assert.equal(refusal([builtIn()], { overrides: { reed_file: { enabled: false } } }).code, "tool_unknown");
  // A server's tools may come later (AR-2).
  assert.deepEqual(names([], { overrides: { "mcp.docs.search": { enabled: false } } }), []);
});

// Proves DM-10, LC-27: refused, with both provenances, whoever came first.
Deno.test("catalog refuses two tools of one name and names both sources", () => {
  const pairs: readonly (readonly [CatalogSource, CatalogSource])[] = [
    [builtIn(), sourceOf("agent", [toolOf("read_file")])],
    [sourceOf("agent", [toolOf("docs__search")]), remote()],
    [remote(), sourceOf("mcp", [toolOf("search")])],
  ];
  for (const pair of pairs.flatMap(([one, other]) => [[one, other], [other, one]])) {
    const failed = refusal(pair);
    assert.equal(failed.code, "tool_name_collision");
    for (const source of pair) assert.ok(failed.message.includes(source.provenance.origin), failed.message);
    assert.match(failed.message, /rename/);
  }
});

// Proves AR-9, B82.
Deno.test("catalog keeps the search tools of two servers apart", () => {
  const wiki = sourceOf("mcp", [toolOf("search")], { server: "wiki" });
  assert.deepEqual(names([remote(), wiki]), ["mcp.docs.search", "mcp.wiki.search"]);
});

// B83, B85, CM-26: the server's other tools are kept.
Deno.test("catalog drops a server's unusable tools and keeps its others", () => {
  const source = sourceOf("mcp", [
    toolOf("search"),
    toolOf("subagent_spawn"),
    toolOf("fetch", { inputSchema: { properties: { a: { $ref: "https://example.com/s.json" } } } }),
  ]);
  const { catalog, dropped } = resolve([source]);
  assert.deepEqual(catalog.entries.map((entry) => entry.canonicalName), ["mcp.docs.search"]);
  assert.deepEqual(dropped.map((one) => [one.server, one.tool]), [["docs", "subagent_spawn"], [
    "docs",
    "fetch",
  ]]);
  assert.equal(refusal([sourceOf("agent", [toolOf("subagent_spawn")])]).code, "tool_name_invalid");
});

// Proves DM-3: built-in metadata only gets stricter.
Deno.test("catalog lets an agent only tighten a built-in tool", () => {
  const strict = builtIn({ riskLevel: "medium", approvalPolicy: "prompt", parallelSafe: false });
  const loose: Json = {
    risk: "low",
    approval_policy: "auto",
    model_output_characters: 900_000,
    execution_policy: { parallel_safe: true },
  };
  const { definition } = entryFrom(strict, { overrides: { read_file: loose } });
  assert.deepEqual(
    [definition.riskLevel, definition.approvalPolicy, definition.parallelSafe, definition.outputPolicy],
    ["medium", "prompt", false, { modelCharactersMax: 12_000 }],
  );
  const tight: Json = {
    risk: "high",
    approval_policy: "deny",
    model_output_characters: 10,
    execution_policy: { parallel_safe: false },
    enabled: false,
  };
  const tightened = entryFrom(builtIn({ parallelSafe: true }), { overrides: { read_file: tight } });
  assert.equal(tightened.enabled, false);
  assert.deepEqual(
    [tightened.definition.riskLevel, tightened.definition.approvalPolicy, tightened.definition.parallelSafe],
    ["high", "deny", false],
  );
  assert.deepEqual(tightened.definition.outputPolicy, { modelCharactersMax: 10 });
});

Deno.test("catalog lets an agent rate a server's tool anew, but not around the host's rules", () => {
  const policy: Json = { risks: { high: "prompt" } };
  const source = sourceOf("mcp", [toolOf("delete_page")]);
  const { definition } = entryFrom(
    source,
    { overrides: { "mcp.docs.delete_page": { risk: "low" } } },
    policy,
  );
  assert.deepEqual([definition.riskLevel, definition.approvalPolicy], ["low", "prompt"]);
});

// Proves DM-22: the host's policy merges when the catalog is made.
Deno.test("catalog entry carries the strictest approval of tool, agent and host", () => {
  assert.equal(entryFrom(builtIn()).definition.approvalPolicy, "auto");
  assert.equal(entryFrom(builtIn(), {}, { default: "prompt" }).definition.approvalPolicy, "prompt");
  assert.equal(
    entryFrom(remote(), {}, { tools: { "mcp.docs.search": "deny" } }).definition.approvalPolicy,
    "deny",
  );
});

// Proves CM-83, CM-84: false by default, forced false for MCP, then the agent's word.
Deno.test("catalog holds a server's tool for unsafe in parallel unless the agent says otherwise", () => {
  assert.equal(entryFrom(remote({ parallelSafe: true })).definition.parallelSafe, false);
  const overrides = { "mcp.docs.search": { execution_policy: { parallel_safe: true } } };
  assert.equal(entryFrom(remote(), { overrides }).definition.parallelSafe, true);
  assert.equal(entryFrom(builtIn({ parallelSafe: true })).definition.parallelSafe, true);
});

// Proves AR-10, B89: what only the source says makes nothing harmless.
Deno.test("catalog believes no untrusted source that its tools are harmless", () => {
  const claims: Partial<ToolDefinition> = {
    sideEffects: false,
    effectClass: "conditional",
    mechanism: "key",
  };
  const { definition } = entryFrom(remote(claims));
  assert.deepEqual([definition.sideEffects, definition.effectClass], [true, "non_idempotent"]);
  assert.ok(!("mechanism" in definition));
  assert.equal(definition.riskLevel, "medium");
  assert.equal(entryFrom(builtIn(claims)).definition.effectClass, "conditional");
});

// Proves DM-29: a source cannot say that its tool needs no capability, or another one.
Deno.test("catalog decides which capability a tool needs", () => {
  assert.equal(entryFrom(remote({ capability: "fs.read" })).definition.capability, "mcp.call:docs");
  assert.equal(entryFrom(sourceOf("agent", [toolOf("greet")])).definition.capability, "tool.call:greet");
  assert.ok(!("capability" in entryFrom(builtIn()).definition));
});

Deno.test("catalog keeps an agent's own limit on the time of a call", () => {
  assert.equal(entryFrom(builtIn(), { limits: { tool_timeout_ms: 500 } }).definition.timeoutMs, 500);
});

Deno.test("catalog is the same text whatever the order of its sources", () => {
  const sources = [remote(), sourceOf("agent", [toolOf("b"), toolOf("a")]), builtIn()];
  const agent = { tools: ["read_file"] };
  const forward = JSON.stringify(resolve(sources, agent).catalog);
  assert.equal(JSON.stringify(resolve([...sources].reverse(), agent).catalog), forward);
  assert.ok(resolve(sources, agent).catalog.entries.every((entry) => entry.coreRevision === "core-1"));
});
