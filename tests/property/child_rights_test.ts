/** Whether a child, and a child of it, ever gets more than its parent has, whatever is asked for (I10). */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Holder,
  isSubset,
  narrow,
  resolveRights,
  type WantedRights,
} from "../../actors/child_rights.ts";
import { matchCapability } from "../../actors/policy/capability.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { ChildRights } from "../../schemas/child_agent.ts";

const tools = ["read_file", "write_file", "terminal", "todo"];
const capabilities = [
  "fs.read",
  "fs.write",
  "mcp.call:*",
  "mcp.call:docs",
  "secret.bind:*",
  "secret.bind:KEY",
];
const models = ["scripted/a", "scripted/b", "scripted/c"];
const modes = ["plan", "default", "auto"] as const;
const known = [...tools, "mcp.docs.search"].map((name) => ({ canonicalName: name, providerName: name }));

const holder: fc.Arbitrary<Holder> = fc.record({
  agent: fc.record({
    tools: fc.subarray(tools),
    capabilities: fc.subarray(capabilities),
    model: fc.constantFrom(...models),
    model_fallbacks: fc.subarray(models),
    subagents: fc.record({ max_depth: fc.integer({ min: 1, max: 4 }), allow_nested: fc.boolean() }),
  }).map((agent) => AgentDefinition.parse({ name: "boss", profiles: { main: {}, scout: {} }, ...agent })),
  mode: fc.constantFrom(...modes, "auto" as const),
  scope: fc.record({
    depth: fc.integer({ min: 0, max: 3 }),
    tools: fc.option(fc.subarray(tools), { nil: undefined }),
  }).map(({ depth, tools: left }) => ({ depth, ...(left === undefined ? {} : { tools: left }) })),
  workspace: fc.constantFrom("/room", "/room/src"),
});

const wanted: fc.Arbitrary<WantedRights> = fc.record({
  core: fc.constantFrom("boss", "boss", "scout", "stranger"),
  model: fc.constantFrom(...models),
  mode: fc.constantFrom("plan", "plan", ...modes),
  tools: fc.oneof(
    fc.constantFrom("all" as const, "none" as const),
    fc.subarray([...tools, "mcp.docs.search"]),
    fc.constant(["no_tool"]),
  ),
  capabilities: fc.subarray(capabilities, { maxLength: 1 }),
  workspace: fc.constantFrom("src", "docs", "a/b", "..", "src/../.."),
  maxDepth: fc.integer({ min: 1, max: 5 }),
}, { requiredKeys: [] });

/** The child of a parent, or the code of the refusal. */
function childOf(parent: Holder, asked: WantedRights): Holder | string {
  const result = resolveRights(parent, asked, known);
  if ("failure" in result) return result.failure.code;
  return narrow(parent, ChildRights.parse(result.rights));
}

function assertWithin(child: Holder, parent: Holder): void {
  for (const name of child.agent.tools) assert.ok(parent.agent.tools.includes(name), name);
  for (const one of child.agent.capabilities) {
    const isGranted = parent.agent.capabilities.includes(one) ||
      matchCapability(parent.agent.capabilities, one) !== undefined;
    assert.ok(isGranted, one);
  }
  assert.ok(modes.indexOf(child.mode) <= modes.indexOf(parent.mode));
  assert.ok(`${child.workspace}/`.startsWith(`${parent.workspace}/`) && !child.workspace.includes(".."));
  if (parent.scope.tools !== undefined) {
    for (const name of child.scope.tools ?? ["everything"]) {
      assert.ok(parent.scope.tools.includes(name), name);
    }
  }
  assert.ok((child.scope.depth ?? 0) <= (parent.agent.subagents?.max_depth ?? 2));
}

Deno.test("child and grandchild may do no more than their parents, whatever is asked for (I10, DM-127)", () => {
  let begun = 0;
  fc.assert(
    fc.property(holder, wanted, wanted, (parent, first, second) => {
      const child = childOf(parent, first);
      if (typeof child === "string") return;
      begun += 1;
      assert.ok(isSubset(child, parent));
      assertWithin(child, parent);
      const grandchild = childOf(child, second);
      if (typeof grandchild !== "string") assertWithin(grandchild, parent);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(begun > 100, `only ${begun} children`);
});
