/** What holds for the names of every catalog. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalName, type NamedTool, providerNames } from "../../actors/naming.ts";

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

Deno.test("naming gives a tool the same name, whatever else is offered, unless names meet", () => {
  fc.assert(fc.property(tool, tools, (one, others) => {
    const canonical = canonicalName(one.source, one.name);
    const alone = providerNames([one]).get(canonical);
    const names = providerNames([one, ...others]);
    const meets = [...names].some(([other, given]) => other !== canonical && given === alone);
    assert.ok(meets || names.get(canonical) === alone);
  }));
});
