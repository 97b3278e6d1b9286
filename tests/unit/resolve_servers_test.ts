/** Whether a catalog takes of a server's tools what the operator says of them, and nothing that the server says. */
import assert from "node:assert/strict";
import { resolveCatalog } from "../../actors/resolve.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { type CatalogEntry, CatalogSource } from "../../schemas/catalog.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Json } from "../../schemas/json.ts";
import type { EffectClass, ToolDefinition } from "../../schemas/tool.ts";
import { sourceOf, toolOf } from "../support/desk.ts";

/** What differs from nothing at all in agent.yaml and troupe.yaml. */
interface Sketch {
  readonly effects?: { readonly [name: string]: EffectClass };
  readonly agent?: { readonly [field: string]: Json };
}

function entriesOf(
  source: CatalogSource,
  { effects = {}, agent = {} }: Sketch = {},
): readonly CatalogEntry[] {
  const tools = source.kind === "mcp" ? [] : source.tools.map(({ name }) => name);
  const resolution = resolveCatalog({
    coreRevision: "core-1",
    agent: AgentDefinition.parse({ name: "clerk", model: "scripted/script.yaml", tools, ...agent }),
    policy: HostPolicy.parse({ effects }),
    sources: [CatalogSource.parse(source)],
    epoch: 1,
  });
  assert.ok("catalog" in resolution);
  return resolution.catalog.entries;
}

/** The entry of the tool `search` of the server `docs`. */
function entryOf(
  sketch: Sketch = {},
  tool: Partial<ToolDefinition> = {},
  source: Partial<CatalogSource> = {},
): CatalogEntry {
  const [entry] = entriesOf(sourceOf("mcp", [toolOf("search", tool)], source), sketch);
  return entry ?? assert.fail("there is no entry");
}

function effectOf({ definition: { effectClass, mechanism } }: CatalogEntry): readonly unknown[] {
  return [effectClass, mechanism];
}

// Proves B89: without the operator's word, a repeat of a server's call may hurt.
Deno.test("catalog takes the effect class of a server's tool from the host's policy, by its exact name", () => {
  assert.deepEqual(effectOf(entryOf()), ["non_idempotent", undefined]);
  for (const effectClass of ["idempotent", "non_idempotent"] as const) {
    const effects = { "mcp.docs.search": effectClass };
    assert.deepEqual(effectOf(entryOf({ effects })), [effectClass, undefined]);
  }
  const others = ["search", "docs__search", "mcp.docs.searc", "mcp.docs.search2", "mcp.doc.*", "mcp.*", "*"];
  for (const name of others) {
    assert.deepEqual(
      effectOf(entryOf({ effects: { [name]: "idempotent" } })),
      ["non_idempotent", undefined],
      name,
    );
  }
});

Deno.test("catalog takes an effect class for a whole server, and the one for the very tool before it", () => {
  const two = sourceOf("mcp", [toolOf("search"), toolOf("write")]);
  const effects = { "mcp.docs.*": "idempotent", "mcp.docs.write": "non_idempotent" } as const;
  assert.deepEqual(entriesOf(two, { effects }).map(effectOf), [["idempotent", undefined], [
    "non_idempotent",
    undefined,
  ]]);
  const wiki = entryOf({ effects }, {}, { server: "wiki" });
  assert.deepEqual(effectOf(wiki), ["non_idempotent", undefined]);
});

Deno.test("catalog takes a conditional call of a server to be made harmless by its key, and by nothing else", () => {
  const effects = { "mcp.docs.*": "conditional" } as const;
  assert.deepEqual(effectOf(entryOf({ effects })), ["conditional", "key"]);
  const told = { effectClass: "conditional", mechanism: "verify" } as const;
  assert.deepEqual(effectOf(entryOf({ effects }, told)), ["conditional", "key"]);
  const trusted = { provenance: { source: "mcp", origin: "server docs", trust: "team_audited" } } as const;
  assert.deepEqual(effectOf(entryOf({ effects }, told, trusted)), ["conditional", "key"]);
  assert.deepEqual(effectOf(entryOf({}, told)), ["non_idempotent", undefined]);
});

// A built-in tool's class is part of its code: nobody's word makes a harmful one harmless.
Deno.test("catalog takes the effect class of a built-in tool from nobody but itself", () => {
  const builtIn = sourceOf("runtime", [toolOf("send", { effectClass: "non_idempotent", sideEffects: true })]);
  const [entry] = entriesOf(builtIn, { effects: { send: "idempotent", "mcp.undefined.*": "idempotent" } });
  assert.equal(entry?.definition.effectClass, "non_idempotent");
});

// Proves DM-29, DM-66: a manifest may name another capability to call, none of another kind.
Deno.test("catalog asks for the capability of the server, or the one to call that its manifest names", () => {
  const needed = (capability: string) => entryOf({}, { capability }).definition.capability;
  assert.equal(entryOf().definition.capability, "mcp.call:docs");
  assert.equal(needed("mcp.call:team"), "mcp.call:team");
  for (const other of ["fs.read", "mcp.connect:docs", "mcp.call", "xmcp.call:docs", ""]) {
    assert.equal(needed(other), "mcp.call:docs", other);
  }
});

// Proves CM-84, DM-66: the manifest says so, not the tool.
Deno.test("catalog lets calls of a server run at once if its source says so, or the agent, never the tool", () => {
  const isSafe = (source: boolean | undefined, agent: boolean | undefined) => {
    const overrides = { "mcp.docs.search": { execution_policy: { parallel_safe: agent ?? false } } };
    const sketch = agent === undefined ? {} : { agent: { overrides } };
    const changes = source === undefined ? {} : { parallelSafe: source };
    return entryOf(sketch, { parallelSafe: true }, changes).definition.parallelSafe;
  };
  assert.deepEqual([isSafe(undefined, undefined), isSafe(false, undefined), isSafe(true, undefined)], [
    false,
    false,
    true,
  ]);
  assert.deepEqual([isSafe(undefined, true), isSafe(true, false)], [true, false]);
  // The field is for servers: a built-in tool is what its code says.
  const builtIn = sourceOf("runtime", [toolOf("send", { parallelSafe: false })], { parallelSafe: true });
  assert.equal(entriesOf(builtIn)[0]?.definition.parallelSafe, false);
});

// Proves DM-65: what a call is bound to stands in the sealed catalog.
Deno.test("catalog binds a server's tools to the connection that offers them, and built-in ones to nothing", () => {
  const binding = "connection/docs@ses_1";
  assert.equal(entryOf({}, {}, { binding }).binding, binding);
  assert.equal(entryOf().binding, "docs");
  assert.equal(
    entriesOf(sourceOf("agent", [toolOf("greet")]), { agent: { tools: [] } })[0]?.binding,
    "tools/",
  );
  assert.equal(entriesOf(sourceOf("runtime", [toolOf("look")], { binding }))[0]?.binding, "");
});
