/** Whether tools get names that tell them apart, and whether names that mislead are refused. */
import assert from "node:assert/strict";
import {
  canonicalName,
  isReservedName,
  providerNames,
  refuseName,
  reservedNames,
  reservedPrefix,
} from "../../actors/naming.ts";

const runtime = { kind: "runtime" } as const;
const docs = { kind: "mcp", server: "docs" } as const;
const wiki = { kind: "mcp", server: "wiki" } as const;

function providerName(source: { kind: "mcp" | "agent" | "runtime"; server?: string }, name: string): string {
  return providerNames([{ source, name }]).get(canonicalName(source, name)) ?? "";
}

// Proves AR-9.
Deno.test("naming gives an MCP tool its full name and leaves others their own", () => {
  assert.equal(canonicalName(docs, "search"), "mcp.docs.search");
  assert.equal(canonicalName(runtime, "read_file"), "read_file");
});

// Proves LC-12. That the first __ splits every such name in one way is proven in tests/property/naming_test.ts.
Deno.test("naming calls an MCP tool by server and tool", () => {
  assert.equal(providerName({ kind: "mcp", server: "postgres" }, "query"), "postgres__query");
  assert.equal(providerName({ kind: "mcp", server: "postgres" }, "do__it"), "postgres__do__it");
  assert.equal(providerName(runtime, "read_file"), "read_file");
});

// Proves AR-9, B82.
Deno.test("naming never lets the search tools of two servers meet", () => {
  const names = providerNames([{ source: docs, name: "search" }, { source: wiki, name: "search" }]);
  assert.deepEqual([...names], [["mcp.docs.search", "docs__search"], ["mcp.wiki.search", "wiki__search"]]);
});

Deno.test("naming marks a name that had to be cut or changed", () => {
  const long = providerName(docs, "x".repeat(128));
  assert.equal(long.length, 64);
  assert.match(long, /^docs__x+_[0-9a-f]{8}$/);
  assert.match(providerName(docs, "a.b"), /^docs__a_b_[0-9a-f]{8}$/);
  assert.notEqual(providerName(docs, "a.b"), providerName(docs, "a-b"));
});

Deno.test("naming leaves a fit name alone when an unfit one wants it", () => {
  const marked = providerName(docs, "a.b");
  const taken = marked.slice("docs__".length);
  const names = providerNames([{ source: docs, name: "a.b" }, { source: docs, name: taken }]);
  assert.equal(names.get(`mcp.docs.${taken}`), marked);
  assert.notEqual(names.get("mcp.docs.a.b"), marked);
});

Deno.test("naming gives the same names in any order of the tools", () => {
  const tools = ["a.b", "a_b", "a-b", "x".repeat(100), `${"x".repeat(99)}y`].map((name) => ({
    source: docs,
    name,
  }));
  const forward = [...providerNames(tools)].sort();
  assert.deepEqual([...providerNames([...tools].reverse())].sort(), forward);
});

// B83: the charset is 1 to 128 of letters, digits, _ . -
Deno.test("naming refuses what is no tool name and shows it harmlessly", () => {
  const bad = ["", "seаrch", "e\u0301", "a\u200bb", "a\u202eb", "a\0b", "x".repeat(129), "a b", "a/b"];
  for (const name of bad) {
    assert.equal(refuseName(docs, name)?.code, "tool_name_invalid", JSON.stringify(name));
  }
  const message = refuseName(docs, "a\u202eb")?.message ?? "";
  assert.ok(message.includes("a\\u{202e}b"));
});

// B83: __proto__ is a legal name and must be harmless.
Deno.test("naming treats __proto__ as a name like any other", () => {
  assert.equal(refuseName(docs, "__proto__"), undefined);
  assert.equal(providerName(docs, "__proto__"), "docs____proto__");
});

// Proves CM-25.
Deno.test("naming reserves five names and one prefix, and no others", () => {
  const names = ["subagent_spawn", "subagent_send", "subagent_wait", "subagent_close", "subagent_list"];
  assert.deepEqual([...reservedNames].sort(), [...names].sort());
  assert.equal(reservedPrefix, "troupe__");
  for (const name of [...names, "troupe__", "troupe__anything"]) assert.ok(isReservedName(name), name);
  for (const name of ["subagent", "subagent_", "subagent_list2", "troupe", "troupe_", "x_troupe__y"]) {
    assert.ok(!isReservedName(name), name);
    assert.equal(refuseName(runtime, name), undefined, name);
  }
});

// Proves CM-25, CM-26, B82.
Deno.test("naming keeps reserved names for the runtime's own source", () => {
  for (const name of [...reservedNames, "troupe__anything"]) {
    assert.ok(isReservedName(name));
    assert.equal(refuseName({ kind: "troupe" }, name), undefined);
    for (const source of [runtime, docs, { kind: "agent" }, { kind: "program" }] as const) {
      assert.equal(refuseName(source, name)?.code, "tool_name_invalid", `${source.kind} ${name}`);
    }
  }
  assert.equal(reservedNames.length, 5);
});

Deno.test("naming refuses a server id that would blur the first double underscore", () => {
  for (const server of ["a_b", "A", "", "x".repeat(25), "troupe.x"]) {
    assert.equal(refuseName({ kind: "mcp", server }, "search")?.code, "tool_name_invalid", server);
  }
  assert.equal(refuseName({ kind: "mcp", server: "troupe" }, "search")?.code, "tool_name_invalid");
});
