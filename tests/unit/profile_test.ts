/** Whether a session sees the tools of its profile and its depth, and no others. */
import assert from "node:assert/strict";
import { entryOf, internCatalog } from "../../actors/library.ts";
import { authorize } from "../../actors/policy/authorize.ts";
import { childDepth, childProfile, subagentsOf } from "../../actors/profile.ts";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogEntry, CatalogSource } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import type { SessionScope } from "../../schemas/profile.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

const subagents = ["subagent_close", "subagent_list", "subagent_send", "subagent_spawn", "subagent_wait"];
const spawnSchema = {
  type: "object",
  properties: { content: { type: "string" }, profile_key: { type: "string" } },
  required: ["content"],
};
const sources: readonly CatalogSource[] = [
  sourceOf("runtime", [toolOf("read_file"), toolOf("list_files")]),
  sourceOf("troupe", subagents.map((name) => toolOf(name, { inputSchema: spawnSchema }))),
  sourceOf("mcp", [toolOf("search"), toolOf("write")]),
];

interface Sketch {
  readonly profiles?: { readonly [key: string]: Json };
  readonly interactive?: Json;
  readonly subagents?: Json;
  readonly tools?: readonly string[];
}

function agentOf(sketch: Sketch): AgentDefinition {
  const tools = ["read_file", "list_files", ...subagents];
  return AgentDefinition.parse({ name: "clerk", model: "scripted/s.yaml", tools, ...sketch });
}

function resolutionOf(sketch: Sketch, scope?: SessionScope) {
  return resolveCatalog({
    coreRevision: "core-1",
    agent: agentOf(sketch),
    policy: HostPolicy.parse({}),
    sources,
    epoch: 1,
    scope,
  });
}

function entriesOf(sketch: Sketch, scope?: SessionScope): readonly CatalogEntry[] {
  const resolution = resolutionOf(sketch, scope);
  assert.ok("catalog" in resolution, JSON.stringify(resolution));
  return resolution.catalog.entries;
}

/** Names of the tools that a session may call, without those about children unless asked for. */
function visible(sketch: Sketch, scope?: SessionScope, withChildren = false): string[] {
  return entriesOf(sketch, scope).filter(({ enabled }) => enabled).map(({ canonicalName }) => canonicalName)
    .filter((name) => withChildren || !name.startsWith("subagent_"));
}

const profiles = {
  main: { allowed_tool_names: ["read_file", "mcp.docs.*"] },
  reader: { allowed_tool_names: ["read_file"] },
  blind: { allowed_tool_names: [] },
};

Deno.test("profile leaves visible what it names, by name or pattern, and an empty one nothing (CM-95, CM-96)", () => {
  assert.deepEqual(visible({}), ["list_files", "mcp.docs.search", "mcp.docs.write", "read_file"]);
  assert.deepEqual(visible({ profiles }), ["mcp.docs.search", "mcp.docs.write", "read_file"]);
  assert.deepEqual(visible({ profiles }, { profile: "reader" }), ["read_file"]);
  assert.deepEqual(visible({ profiles }, { profile: "blind" }, true), []);
  const open = { main: {}, reader: profiles.reader };
  // A list anywhere limits what is governed at all, also where no list is.
  assert.deepEqual(visible({ profiles: open }), ["read_file"]);
});

Deno.test("child sees of its profile's tools those that its parent left to it, also of servers (DM-127)", () => {
  const left = ["mcp.docs.search", "read_file", "terminal"];
  assert.deepEqual(visible({}, { tools: left }), ["mcp.docs.search", "read_file"]);
  assert.deepEqual(visible({ profiles }, { profile: "reader", tools: left }), ["read_file"]);
  assert.deepEqual(visible({}, { tools: [] }, true), []);
});

Deno.test("profile of a session is its own, else that for people, else main (CM-97)", () => {
  const interactive = { profile: "reader" };
  assert.deepEqual(visible({ profiles, interactive }, { profile: "main" }).length, 3);
  assert.deepEqual(visible({ profiles, interactive }), ["read_file"]);
  assert.deepEqual(visible({ profiles }).length, 3);
  const unknown = resolutionOf({ profiles }, { profile: "nobody" });
  assert.ok("failure" in unknown);
  assert.equal(unknown.failure.code, "profile_unknown");
  assert.match(unknown.failure.message, /there are main, reader, blind/);
  assert.throws(() => agentOf({ profiles: { reader: {} } }), /main/);
  assert.throws(() => agentOf({ profiles, interactive: { profile: "x" } }), /main, reader, blind/);
});

Deno.test("profile limits what is governed to what any profile allows (CM-43)", () => {
  const governed = entriesOf({ profiles }).map(({ canonicalName }) => canonicalName);
  assert.deepEqual(governed, ["mcp.docs.search", "mcp.docs.write", "read_file"]);
  // In the reader's session the others are governed still, only not visible.
  const reader = entriesOf({ profiles }, { profile: "reader" });
  assert.deepEqual(reader.filter(({ hidden }) => hidden).map(({ canonicalName }) => canonicalName), [
    "mcp.docs.search",
    "mcp.docs.write",
  ]);
});

Deno.test("profile that allows a tool which does not exist stops the catalog (CM-51)", () => {
  const resolution = resolutionOf({ profiles: { main: { allowed_tool_names: ["read_file", "reed_file"] } } });
  assert.ok("failure" in resolution);
  assert.equal(resolution.failure.code, "tool_unknown");
  assert.match(resolution.failure.message, /"reed_file" in the profile "main"/);
  // Tools of a server may come later.
  assert.ok(visible({ profiles: { main: { allowed_tool_names: ["mcp.other.tool"] } } }));
});

Deno.test("profile refuses a call of what it hides, and says so (CM-101)", () => {
  const entries = entriesOf({ profiles }, { profile: "reader" });
  const hash = `sha256:${"a".repeat(64)}`;
  internCatalog(hash, { epoch: 1, coreRevision: "core-1", entries: [...entries] });
  const entry = entryOf({ catalog: hash, name: "mcp.docs.write" });
  assert.ok(entry);
  const { verdict, failure } = authorize({
    entry,
    capabilities: ["mcp.call:*"],
    mode: "auto",
    grants: [],
    rule: "",
    at: 0,
    epoch: 1,
  });
  assert.deepEqual([verdict, failure?.code], ["deny", "tool_not_visible"]);
  assert.match(failure?.message ?? "", /not visible in this session: the profile "reader" does not name it/);
});

/** Which of the five tools about children are visible. */
function childTools(sketch: Sketch, scope?: SessionScope): string[] {
  return visible(sketch, scope, true).filter((name) => name.startsWith("subagent_"));
}

Deno.test("profile of a child has no tools about children where its agent forbids them (CM-98, CM-99)", () => {
  assert.deepEqual(childTools({}), subagents);
  assert.deepEqual(childTools({ subagents: { enabled: false } }), []);
  const withoutSpawn = subagents.filter((name) => name !== "subagent_spawn");
  assert.deepEqual(childTools({ subagents: { allow_nested: false } }), subagents);
  assert.deepEqual(childTools({ subagents: { allow_nested: false } }, { depth: 1 }), withoutSpawn);
  const deep = { subagents: { max_depth: 2 } };
  assert.deepEqual(childTools(deep, { depth: 1 }), subagents);
  assert.deepEqual(childTools(deep, { depth: 2 }), withoutSpawn);
  // What holds for one conversation can only take away.
  assert.deepEqual(childTools({}, { subagents: { enabled: false } }), []);
  const over = { enabled: true, allow_nested: true, max_depth: 9 };
  assert.deepEqual(
    subagentsOf(agentOf({ subagents: { enabled: false, max_depth: 2 } }), { subagents: over }),
    {
      enabled: false,
      allow_nested: true,
      max_depth: 2,
    },
  );
});

Deno.test("profile keys that there are stand in the schema of subagent_spawn, the usual one first (CM-100)", () => {
  const spawnOf = (sketch: Sketch) => {
    const entry = entriesOf(sketch).find(({ canonicalName }) => canonicalName === "subagent_spawn");
    return (entry?.definition.inputSchema as typeof spawnSchema | undefined)?.properties;
  };
  const named = spawnOf({ profiles: { main: {}, scout: {} } });
  assert.deepEqual(named, {
    content: { type: "string" },
    profile_key: { type: "string", enum: ["default", "main", "scout"] },
  });
  assert.deepEqual(spawnOf({}), spawnSchema.properties);
});

Deno.test("profile of a child is the marked one, else one that is not for people; its depth is one more (CM-105, CM-106)", () => {
  const marked = agentOf({ profiles: { main: {}, scout: {}, usual: { default_subagent: true } } });
  const unmarked = agentOf({ profiles: { main: {}, scout: {} } });
  const lonely = agentOf({ profiles: { main: {} } });
  for (const wanted of [undefined, "", "default"]) {
    assert.deepEqual(childProfile(marked, wanted), { profile: "usual" });
    assert.deepEqual(childProfile(unmarked, wanted), { profile: "scout" });
    assert.deepEqual(childProfile(lonely, wanted), { profile: "main" });
    assert.deepEqual(childProfile(agentOf({}), wanted), { profile: undefined });
  }
  assert.deepEqual(childProfile(marked, "main"), { profile: "main" });
  const refused = childProfile(marked, "nobody");
  assert.ok("failure" in refused && refused.failure.code === "profile_unknown");
  assert.throws(() =>
    agentOf({ profiles: { main: { default_subagent: true }, b: { default_subagent: true } } })
  );
  assert.deepEqual([childDepth({}), childDepth({ depth: 1 })], [1, 2]);
});
