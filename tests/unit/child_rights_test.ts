/** What a child is given of what its parent may do: never more, whatever is asked for. */
import assert from "node:assert/strict";
import {
  excessOf,
  type Holder,
  isSubset,
  narrow,
  resolveRights,
  type WantedRights,
} from "../../actors/child_rights.ts";
import { AgentDefinition } from "../../schemas/agent.ts";

const known = [
  { canonicalName: "read_file", providerName: "read_file" },
  { canonicalName: "write_file", providerName: "write_file" },
  { canonicalName: "mcp.docs.search", providerName: "docs__search" },
];

function parentOf(changes: Partial<Holder> = {}, agent: { readonly [key: string]: unknown } = {}): Holder {
  return {
    agent: AgentDefinition.parse({
      name: "boss",
      model: "scripted/a",
      model_fallbacks: ["scripted/b", "scripted/c"],
      tools: ["read_file", "write_file"],
      capabilities: ["fs.read", "mcp.call:*"],
      profiles: { main: {}, scout: { default_subagent: true } },
      ...agent,
    }),
    mode: "default",
    scope: {},
    workspace: "/work",
    ...changes,
  };
}

function resolved(wanted: WantedRights, parent = parentOf()) {
  const result = resolveRights(parent, wanted, known);
  return "failure" in result ? result.failure.code : result.rights;
}

Deno.test("child is given what its parent has where nothing is said, in the usual profile of children", () => {
  assert.deepEqual(resolved({}), {
    model: "scripted/a",
    mode: "default",
    capabilities: ["fs.read", "mcp.call:*"],
    depth: 1,
    maxDepth: 2,
    profile: "scout",
  });
});

Deno.test("child's tools are all, none or those that are named; a name that nobody knows is an error (DM-127)", () => {
  const tools = (wanted: WantedRights["tools"], parent?: Holder) => {
    const rights = resolved({ tools: wanted }, parent);
    return typeof rights === "string" ? rights : rights.tools;
  };
  assert.equal(tools("all"), undefined);
  assert.deepEqual(tools("none"), []);
  assert.deepEqual(tools(["docs__search", "read_file", "read_file"]), ["mcp.docs.search", "read_file"]);
  assert.equal(tools(["read_file", "raed_file"]), "arguments_invalid");
  // A grandchild is left no more than its parent was.
  const parent = parentOf({ scope: { depth: 1, tools: ["read_file"] } });
  assert.deepEqual(tools("all", parent), ["read_file"]);
  assert.deepEqual(tools(["read_file", "write_file"], parent), ["read_file"]);
  const none = resolved({ tools: "none" });
  assert.deepEqual(typeof none === "string" ? none : none.capabilities, []);
});

Deno.test("child of another agent, with another model, a freer mode, more capabilities, or outside its folder is refused (I10, DM-125)", () => {
  assert.equal(resolved({ core: "stranger" }), "agent_unknown");
  assert.equal((resolved({ core: "main" }) as { profile: string }).profile, "main");
  assert.equal((resolved({ core: "boss" }) as { profile: string }).profile, "scout");
  assert.equal(resolved({ profile: "nobody" }), "profile_unknown");
  assert.equal(resolved({ model: "scripted/other" }), "rights_exceeded");
  assert.equal(resolved({ mode: "auto" }), "rights_exceeded");
  assert.equal(resolved({ capabilities: ["fs.write"] }), "rights_exceeded");
  assert.equal(resolved({ capabilities: ["fs.read", "mcp.call:docs"] }) instanceof Object, true);
  for (const workspace of ["..", "src/../../x"]) assert.equal(resolved({ workspace }), "rights_exceeded");
  assert.equal((resolved({ workspace: "src" }) as { workspace: string }).workspace, "src");
  assert.equal((resolved({ mode: "plan" }) as { mode: string }).mode, "plan");
});

Deno.test("child is begun down to the depth that is allowed, which a call can only make less (DM-126, CM-99, CM-105)", () => {
  const at = (depth: number, subagents: unknown, wanted: WantedRights = {}) => {
    const scope = depth === 0 ? {} : { depth };
    const rights = resolved(wanted, parentOf({ scope }, subagents === undefined ? {} : { subagents }));
    return typeof rights === "string" ? rights : rights.depth;
  };
  assert.deepEqual([at(0, undefined), at(1, undefined), at(2, undefined)], [1, 2, "agent_depth"]);
  assert.equal(at(2, { max_depth: 3 }), 3);
  assert.equal(at(1, undefined, { maxDepth: 1 }), "agent_depth");
  assert.equal(at(2, undefined, { maxDepth: 9 }), "agent_depth");
  assert.equal(at(1, { allow_nested: false }), "agent_depth");
  assert.equal(at(0, { enabled: false }), "agents_off");
  // What a parent was left holds for its children too.
  const parent = parentOf({ scope: { depth: 1, subagents: { max_depth: 1 } } });
  assert.equal(resolved({}, parent), "agent_depth");
});

Deno.test("session that may do anything that another may not is no part of it, and the excess has a name (I10)", () => {
  const parent = parentOf();
  const rights = resolved({});
  assert.ok(typeof rights !== "string");
  const child = narrow(parent, rights);
  assert.equal(isSubset(child, parent), true);
  const { agent } = child;
  const freer: readonly [RegExp, Holder][] = [
    [/tool "terminal"/, { ...child, agent: { ...agent, tools: ["terminal"] } }],
    [/capability "fs.write"/, { ...child, agent: { ...agent, capabilities: ["fs.write"] } }],
    [/mode "auto"/, { ...child, mode: "auto" }],
    [/model "x\/y"/, { ...child, agent: { ...agent, model: "x/y" } }],
    [/workspace/, { ...child, workspace: "/workshop" }],
    [/definition/, { ...child, agent: { ...agent, overrides: { read_file: { enabled: true } } } }],
    [/definition/, { ...child, agent: { ...agent, instructions: "Obey nobody" } }],
    [/depth/, { ...child, scope: { ...child.scope, depth: 0 } }],
    [/begin children/, { ...child, scope: { ...child.scope, subagents: { max_depth: 3 } } }],
  ];
  for (const [told, holder] of freer) {
    // What is more for a child of a child is a matter of its own parent.
    const excess = told.source === "begin children"
      ? excessOf(holder, parentOf({ scope: { subagents: { max_depth: 1 } } }))
      : excessOf(holder, parent);
    assert.match(excess ?? "nothing", told);
  }
  const left = parentOf({ scope: { tools: ["read_file"] } });
  assert.match(excessOf(child, left) ?? "nothing", /not left/);
});
