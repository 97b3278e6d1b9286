/** What holds for the names of every catalog. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalName, type NamedTool, providerNames } from "../../actors/naming.ts";
import { ServerId } from "../../schemas/ids.ts";
import { ToolName } from "../../schemas/tool.ts";

/** Few letters, so that cuts and replacements often meet. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", ".", "_", "-"), minLength: 1, maxLength: 6 }),
  fc.string({ unit: fc.constantFrom("a", "b", "."), minLength: 55, maxLength: 128 }),
);
const tool: fc.Arbitrary<NamedTool> = fc.record({
  source: fc.constantFrom<NamedTool["source"]>(
    { kind: "mcp", server: "a" },
    { kind: "mcp", server: "a-b" },
    { kind: "agent" },
    { kind: "runtime" },
  ),
  name,
});
const tools = fc.array(tool, { maxLength: 40 });

Deno.test("naming is injective, fit for every provider, and blind to order", () => {
  fc.assert(fc.property(tools, (offered) => {
    const names = providerNames(offered);
    const canonical = new Set(offered.map((one) => canonicalName(one.source, one.name)));
    assert.deepEqual(new Set(names.keys()), canonical);
    assert.equal(new Set(names.values()).size, canonical.size);
    for (const given of names.values()) assert.match(given, /^[A-Za-z0-9_-]{1,64}$/);
    assert.deepEqual(new Map([...providerNames([...offered].reverse())]), new Map([...names]));
  }));
});

/** Every id that a server may have, and every name that its tool may have; many of few letters, so that `_` abounds. */
const server = fc.oneof(
  fc.stringMatching(/^[a-z][a-z0-9-]{0,23}$/),
  fc.stringMatching(/^[ab][ab-]{0,5}$/),
);
const toolName = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
  fc.stringMatching(/^[_.a-]{1,6}$/),
  fc.string({ unit: fc.constantFrom("a", "_"), minLength: 30, maxLength: 128 }),
);

// Proves LC-12: what stands before the first __ is the server, what stands behind it is the tool.
Deno.test("naming gives every tool of a server a name whose first __ parts server and tool", () => {
  const tools = fc.array(fc.record({ server, name: toolName }), { minLength: 1, maxLength: 10 });
  fc.assert(fc.property(tools, (offered) => {
    const named = offered.map(({ server, name }) => ({ source: { kind: "mcp", server } as const, name }));
    const names = providerNames(named);
    for (const { source, name } of named) {
      assert.ok(ServerId.safeParse(source.server).success && ToolName.safeParse(name).success);
      const given = names.get(canonicalName(source, name)) ?? assert.fail("there is no name");
      const at = given.indexOf("__");
      const rest = given.slice(at + 2);
      assert.equal(given.slice(0, at), source.server);
      if (rest === name) continue;
      // Changed or cut: the tool's name as far as it fits, and the mark of its full name.
      assert.match(rest, /_[0-9a-f]{8}$/);
      assert.ok(name.includes(".") || source.server.length + 2 + name.length > 64, given);
      assert.ok(name.replaceAll(".", "_").startsWith(rest.slice(0, -9)), given);
    }
  }));
});

Deno.test("naming gives a tool the same name, whatever else is offered, unless names meet", () => {
  fc.assert(fc.property(tool, tools, (one, others) => {
    const canonical = canonicalName(one.source, one.name);
    const alone = providerNames([one]).get(canonical);
    const names = providerNames([one, ...others]);
    const meets = [...names].some(([other, given]) => other !== canonical && given === alone);
    assert.ok(meets || names.get(canonical) === alone);
  }));
});
