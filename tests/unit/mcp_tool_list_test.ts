// What a server says of its tools is judged tool by tool, and decides nothing that matters to safety.
import assert from "node:assert/strict";
import fc from "fast-check";
import { CatalogSource } from "../../schemas/catalog.ts";
import { type McpCapability, McpListing } from "../../schemas/effect.ts";
import { schemaProblem } from "../../schemas/json_schema.ts";
import { limits } from "../../schemas/limits.ts";
import { McpDeclaration, McpManifest } from "../../schemas/manifest.ts";
import { ToolDefinition } from "../../schemas/tool.ts";
import { matchesGlob } from "../../src/mcp/glob.ts";
import { readTools } from "../../src/mcp/tool_list.ts";

const connection = "connection/docs@ses_01ARZ3NDEKTSV4RRFFQ69G5FAV";

function declare(manifest: object = {}, changes: object = {}): McpDeclaration {
  return McpDeclaration.parse({
    server: "docs",
    manifest: McpManifest.parse({ transport: "stdio", command: "docs", ...manifest }),
    fingerprint: `sha256:${"0".repeat(64)}`,
    cwd: "/somewhere",
    origin: "mcp/docs.yaml",
    trust: "third_party",
    gate: "prompt",
    preview: "docs",
    ...changes,
  });
}

/** Reads a list, and checks that what comes out fits its schemas. */
function read(raw: readonly unknown[], declaration = declare()) {
  const list = readTools(raw, { declaration, connection });
  assert.deepEqual(CatalogSource.parse(list.source), list.source);
  const { rejectedCount, rejected, unchecked } = list;
  const offer = `sha256:${"1".repeat(64)}`;
  McpListing.parse({ offer, tools: list.source.tools.length, rejectedCount, rejected, unchecked });
  return list;
}

function namesIn(list: ReturnType<typeof read>): string[] {
  return list.source.tools.map((tool) => tool.name);
}

const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

function tool(name: unknown, changes: object = {}): object {
  return { name, inputSchema, ...changes };
}

/** Why one tool alone is left out. */
function reasonOf(one: unknown): string {
  const list = read([one]);
  assert.deepEqual([list.source.tools.length, list.rejectedCount], [0, 1], JSON.stringify(one));
  return list.rejected[0]?.reason ?? "";
}

function only(one: unknown, declaration = declare()): ToolDefinition {
  const list = read([one], declaration);
  assert.deepEqual(list.rejected, []);
  assert.equal(list.source.tools.length, 1);
  return ToolDefinition.parse(list.source.tools[0]);
}

Deno.test("mcp tool list becomes a catalog source that is bound to its connection", () => {
  const annotations = { title: "Safe!", readOnlyHint: true, idempotentHint: true, destructiveHint: false };
  const list = read([
    tool("search", { title: "Search", description: "Finds pages", annotations, outputSchema: 7 }),
  ]);
  assert.deepEqual(list, {
    source: {
      kind: "mcp",
      provenance: {
        source: "mcp",
        origin: "docs: mcp/docs.yaml",
        trust: "third_party",
        fingerprint: declare().fingerprint,
      },
      adapter: "mcp",
      server: "docs",
      binding: connection,
      remote: false,
      transport: { kind: "stdio" },
      tools: [{
        name: "search",
        title: "Search",
        description: "Finds pages",
        version: "mcp:dynamic",
        inputSchema,
        riskLevel: "medium",
        sideEffects: true,
        resources: [{ kind: "mcp", scope: "docs" }],
        timeoutMs: 60_000,
        outputPolicy: { modelCharactersMax: limits.toolOutputCharactersMax },
        effectClass: "non_idempotent",
        approvalPolicy: "prompt",
        parallelSafe: false,
      }],
    },
    rejectedCount: 0,
    rejected: [],
    unchecked: [{ tool: "search", reason: "its outputSchema is no object" }],
  });
});

Deno.test("mcp tool list wraps each tool with risk, time, approval and capability of the manifest (AR-39)", () => {
  const manifest = {
    risk: "critical",
    approval_policy: "auto",
    timeout_seconds: 1.5,
    capability: "mcp.call:library",
    supports_parallel_tool_calls: true,
  };
  const { riskLevel, approvalPolicy, timeoutMs, capability, parallelSafe, outputPolicy } = only(
    tool("a"),
    declare(manifest),
  );
  assert.deepEqual(
    { riskLevel, approvalPolicy, timeoutMs, capability, parallelSafe, outputPolicy },
    {
      outputPolicy: { modelCharactersMax: limits.toolOutputCharactersMax },
      riskLevel: "critical",
      approvalPolicy: "auto",
      timeoutMs: 1_500,
      capability: "mcp.call:library",
      parallelSafe: true,
    },
  );
  assert.equal(only(tool("a"), declare({ timeout_seconds: 0.0001 })).timeoutMs, 1);
  const http = McpManifest.parse({ transport: "streamable_http", url: "https://example.org/mcp" });
  assert(read([tool("a")], declare({}, { manifest: http })).source.remote);
  const origin = "o".repeat(200);
  assert.equal(read([], declare({}, { origin })).source.provenance.origin, `docs: ${"o".repeat(194)}`);
});

Deno.test("mcp tool list takes effect classes from the declaration, never from annotations (AR-10)", () => {
  const effects = { get: "idempotent", put: "conditional", "*": "conditional" };
  const annotations = { readOnlyHint: true, idempotentHint: true };
  const classOf = (name: string, effects: object) => {
    const { effectClass, mechanism, sideEffects } = only(
      tool(name, { annotations }),
      declare({}, { effects }),
    );
    return [effectClass, mechanism, sideEffects];
  };
  assert.deepEqual(classOf("get", effects), ["idempotent", undefined, false]);
  assert.deepEqual(classOf("put", effects), ["conditional", "key", true]);
  assert.deepEqual(classOf("other", effects), ["conditional", "key", true]);
  assert.deepEqual(classOf("other", { get: "idempotent" }), ["non_idempotent", undefined, true]);
  // Names that every object has.
  for (const name of ["constructor", "__proto__", "toString"]) {
    assert.deepEqual(classOf(name, {}), ["non_idempotent", undefined, true]);
  }
});

Deno.test("mcp tool list keeps the good tools of a list with bad ones, and says what is wrong with those (B83)", () => {
  const list = read([tool("a"), null, "b", [], tool(7), tool("has space"), { name: "c" }, tool("d")]);
  assert.deepEqual(namesIn(list), ["a", "d"]);
  assert.equal(list.rejectedCount, 6);
  const name = "its name is not made of 1 to 128 of letters, digits, _ . -";
  assert.deepEqual(list.rejected, [
    { tool: "(tool 2)", reason: "it is no object" },
    { tool: "(tool 3)", reason: "it is no object" },
    { tool: "(tool 4)", reason: "it is no object" },
    { tool: "(tool 5)", reason: "it has no name" },
    { tool: "has space", reason: name },
    { tool: "c", reason: "it has no inputSchema" },
  ]);
  assert.equal(reasonOf(tool("")), name);
  assert.equal(reasonOf(tool("x".repeat(129))), name);
  assert.equal(reasonOf(tool("a", { description: 7 })), "its description is no text");
  const { rejected } = read([tool(`\u202e${"x".repeat(500)}`)]);
  assert.match(rejected[0]?.tool ?? "", /^\\u\{202e\}x+…$/);
});

Deno.test("mcp tool list takes only schemas that arguments can be checked against (B85)", () => {
  const reasons: readonly (readonly [schema: unknown, reason: RegExp])[] = [
    [undefined, /no inputSchema/],
    [null, /no inputSchema/],
    [true, /no object/],
    [[], /no object/],
    [{}, /lacks "type": "object"/],
    [{ type: ["object"] }, /lacks "type": "object"/],
    [{ anyOf: [{ type: "object" }] }, /lacks "type": "object"/],
    [{ type: "object", minContains: 1 }, /"minContains" is not understood/],
    [{ type: "object", properties: { a: { $ref: "#/$defs/gone" } } }, /\$ref does not lead/],
    [{ type: "object", properties: { a: { $ref: "https://example.org/schema" } } }, /\$ref does not lead/],
    [{ type: "object", properties: 7 }, /"properties" is malformed/],
    [{ type: "object", properties: { 'a"b': {} } }, /a key with a quote/],
    [{ type: "object", description: "x".repeat(limits.mcpSchemaBytesMax) }, /bytes, at most 65536 fit/],
    [{ type: "object", description: "é".repeat(limits.mcpSchemaBytesMax / 2) }, /bytes, at most 65536 fit/],
    [JSON.parse(`{"type":"object","a":${"[".repeat(100)}${"]".repeat(100)}}`), /nests more than 56 deep/],
    [JSON.parse(`{"type":"object","a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`), /nests more than/],
    [{ type: "object", enum: Array(limits.jsonNodesMax).fill(0) }, /holds more than 100000 values/],
  ];
  for (const [schema, reason] of reasons) assert.match(reasonOf({ name: "a", inputSchema: schema }), reason);
  assert.deepEqual(only({ name: "a", inputSchema: { type: "object" } }).inputSchema, { type: "object" });
});

Deno.test("mcp tool list keeps the first of two tools with one name, even if that was left out", () => {
  const list = read([tool("a", { description: "first" }), tool("b"), tool("a", { description: "second" })]);
  assert.deepEqual(namesIn(list), ["a", "b"]);
  assert.equal(list.source.tools[0]?.description, "first");
  assert.deepEqual(list.rejected, [{ tool: "a", reason: "another tool of this server has the same name" }]);
  assert.deepEqual(namesIn(read([{ name: "a" }, tool("a")])), []);
});

Deno.test("mcp tool list lets the manifest's globs decide, and counts what they keep out as no rejection (DM-68)", () => {
  const raw = [tool("read_file"), tool("read_dir"), tool("write_file"), { name: "read_bad" }, {
    name: "bad write",
  }];
  const filtered = (tools: object) => read(raw, declare({ tools }));
  assert.deepEqual(namesIn(filtered({ include: ["read_*"] })), ["read_file", "read_dir"]);
  assert.equal(filtered({ include: ["read_*"] }).rejectedCount, 1);
  assert.deepEqual(namesIn(filtered({ include: ["*_file"], exclude: ["write_*"] })), ["read_file"]);
  assert.deepEqual(namesIn(filtered({ include: ["read_???"] })), ["read_dir"]);
  assert.deepEqual(namesIn(filtered({ include: [] })), []);
  assert.equal(filtered({ exclude: ["*"] }).rejectedCount, 0);
});

Deno.test("mcp tool list offers at most as many tools as a catalog may have", () => {
  const extra = limits.mcpRejectedNotedMax + 5;
  const raw = Array.from({ length: limits.toolsPerCatalogMax + extra }, (_, n) => tool(`t${n}`));
  const list = read(raw);
  assert.equal(list.source.tools.length, limits.toolsPerCatalogMax);
  assert.equal(list.rejectedCount, extra);
  assert.equal(list.rejected.length, limits.mcpRejectedNotedMax);
  assert.deepEqual(list.rejected[0], { tool: "t1024", reason: "the server offers more than 1024 tools" });
});

// B84: what a person cannot see, no model is told; what acts on a screen is shown.
Deno.test("mcp tool list takes out what is invisible and shows what acts in titles and descriptions", () => {
  const hidden = "\u{e0049}\u{e0067}\u200b\u202e\u0007\u180e\ufe00\u{e0100}\ud800";
  const { title, description } = only(
    tool("a", { title: `T${hidden}\n\tU`, description: `One\r\ntwo\tthree ✔\ufe0f ${hidden}.` }),
  );
  const shown = "\\u{7}\\u{d800}";
  assert.equal(title, `T${shown} U`);
  assert.equal(description, `One\ntwo\tthree ✔\ufe0f ${shown}.`);
});

Deno.test("mcp tool list cuts long descriptions and titles, and takes null and nonsense for none", () => {
  const max = limits.mcpDescriptionCharactersMax;
  assert.equal(only(tool("a", { description: "x".repeat(max) })).description, "x".repeat(max));
  assert.equal(only(tool("a", { description: "x".repeat(max + 1) })).description, `${"x".repeat(max - 1)}…`);
  const { description } = only(tool("a", { description: "\u0007".repeat(5_000_000) }));
  assert(description.length === max && description.endsWith("…"));
  assert.equal(only(tool("a", { title: "\u{1f600}".repeat(200) })).title.length, 199);
  assert.equal(only(tool("a", { description: null, title: null })).description, "");
  assert.deepEqual(only(tool("a", { title: { not: "text" } })).title, "");
});

/** Anything that a server could send where a tool stands: JSON, and things that look like tools for the most part. */
const anyTool = fc.oneof(
  fc.jsonValue(),
  fc.record({
    name: fc.oneof(fc.constantFrom("a", "b", "__proto__", "constructor", "a b"), fc.string(), fc.jsonValue()),
    title: fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.jsonValue()),
    description: fc.oneof(
      { arbitrary: fc.string({ unit: "binary", maxLength: 5_000 }), weight: 4 },
      fc.jsonValue(),
    ),
    inputSchema: fc.oneof(
      fc.constant(inputSchema),
      fc.jsonValue(),
      fc.record({ type: fc.constant("object"), properties: fc.jsonValue(), required: fc.jsonValue() }, {
        requiredKeys: ["type"],
      }),
    ),
    annotations: fc.jsonValue(),
  }, { requiredKeys: [] }),
);

Deno.test("mcp tool list makes a valid source of whatever JSON a server sends", () => {
  let kept = 0;
  fc.assert(fc.property(fc.array(anyTool, { maxLength: 20 }), (raw) => {
    const list = read(JSON.parse(JSON.stringify(raw)));
    kept += list.source.tools.length;
    assert(list.source.tools.length + list.rejectedCount === raw.length);
    assert(list.source.tools.every(({ effectClass }) => effectClass === "non_idempotent"));
  }));
  assert(kept > 0);
});

Deno.test("globs match whole names, with * for any characters and ? for one", () => {
  const matching = [["*", ""], ["*", "abc"], ["a*c", "abc"], ["a*c", "ac"], ["a?c", "abc"], ["**", "x"], [
    "*.b",
    "a.b.b",
  ]];
  const other = [["", "a"], ["?", ""], ["a", "ab"], ["ab", "a"], ["a*c", "abcd"], ["a.c", "abc"], [
    "[a]",
    "a",
  ], ["A", "a"]];
  for (const [glob = "", name = ""] of matching) assert(matchesGlob(glob, name), `${glob} ${name}`);
  for (const [glob = "", name = ""] of other) assert(!matchesGlob(glob, name), `${glob} ${name}`);
  // Exponential for a matcher that tries every split.
  assert(!matchesGlob("a*".repeat(60) + "b", "a".repeat(128)));
});

Deno.test("globs match as the regular expression does that says the same", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 });
  const globs = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 8 });
  fc.assert(
    fc.property(globs, letters, (glob, name) => {
      const source = glob.replace(/[.*?]/g, (one) => ({ ".": "\\.", "*": ".*", "?": "." })[one] ?? one);
      assert.equal(matchesGlob(glob, name), new RegExp(`^${source}$`).test(name));
    }),
    { numRuns: 2_000 },
  );
});

// B84: an input schema has words that a model reads, and values that it must be able to send.
Deno.test("mcp tool list takes what nobody sees out of a schema's words, and leaves a tool out whose names or values hold it", () => {
  const hidden = "\u{e0049}\u200b";
  const schema = (changes: object) => ({ inputSchema: { ...inputSchema, ...changes } });
  const { inputSchema: seen } = only(tool(
    "a",
    schema({
      description: `All${hidden}`,
      properties: {
        text: { type: "string", description: `One${hidden}`, title: `T${hidden}` },
        // A property may be called like a keyword.
        description: { type: "string", $comment: `C${hidden}` },
      },
    }),
  ));
  assert.deepEqual(seen, {
    ...inputSchema,
    description: "All",
    properties: {
      text: { type: "string", description: "One", title: "T" },
      description: { type: "string", $comment: "C" },
    },
  });
  const refused: readonly object[] = [
    { properties: { [`text${hidden}`]: { type: "string" } } },
    { properties: { text: { enum: [`a${hidden}`] } } },
    { properties: { text: { const: `a${hidden}` } } },
    { properties: { text: { default: { description: `a${hidden}` } } } },
    { required: [`text${hidden}`] },
  ];
  for (const change of refused) {
    assert.match(reasonOf(tool("a", schema(change))), /characters that nobody sees in a name or a value/);
  }
});

Deno.test("mcp tool list offers what a server declares besides tools as tools, under the same manifest (AR-39)", () => {
  const declaration = declare({
    risk: "high",
    approval_policy: "deny",
    capability: "mcp.call:library",
    tools: { exclude: ["get_*"] },
  }, { effects: { read_resource: "idempotent" } });
  const capabilities = ["tools", "resources", "prompts", "completions", "logging"] as const;
  const list = readTools([tool("search")], { declaration, connection, capabilities });
  assert.deepEqual(CatalogSource.parse(list.source), list.source);
  assert.deepEqual(
    list.source.tools.map(({ name, mcpMethod }) => [name, mcpMethod]),
    [
      ["search", undefined],
      ["list_resources", "resources/list"],
      ["read_resource", "resources/read"],
      ["list_prompts", "prompts/list"],
      ["complete_argument", "completion/complete"],
    ],
  );
  for (const { name, riskLevel, approvalPolicy, capability, effectClass, sideEffects } of list.source.tools) {
    assert.deepEqual([riskLevel, approvalPolicy, capability], ["high", "deny", "mcp.call:library"]);
    const isHarmless = name === "read_resource";
    assert.deepEqual([effectClass, sideEffects], [isHarmless ? "idempotent" : "non_idempotent", !isHarmless]);
  }
  for (const { inputSchema } of list.source.tools) assert.equal(schemaProblem(inputSchema), undefined);
  const names = (declared: readonly McpCapability[]) =>
    readTools([], { declaration: declare(), connection, capabilities: declared }).source.tools
      .map(({ name }) => name);
  assert.deepEqual(names(["tools", "logging", "completions"]), []);
  assert.deepEqual(names(["prompts"]), ["list_prompts", "get_prompt"]);
  assert.deepEqual(names(["subscriptions"]), ["subscribe_resource", "unsubscribe_resource"]);
});

Deno.test("mcp tool list knows which tools are called as tasks: those that must be, and those that the manifest names (CM-34)", () => {
  const supports = ["required", "optional", "forbidden", "maybe", 7, undefined];
  const raw = supports.map((taskSupport, index) => tool(`t${index}`, { execution: { taskSupport } }));
  raw.push(tool("t6", { execution: "required" }));
  const tasksIn = (manifest: object, capabilities: readonly McpCapability[]) => {
    const { source } = readTools(raw, { declaration: declare(manifest), connection, capabilities });
    assert.deepEqual(CatalogSource.parse(source), source);
    return source.tools.filter(({ asTask }) => asTask === true).map(({ name }) => name);
  };
  assert.deepEqual(tasksIn({}, ["tools", "tasks"]), ["t0"]);
  assert.deepEqual(tasksIn({ run_as_task: ["t?"] }, ["tools", "tasks"]), ["t0", "t1"]);
  assert.deepEqual(tasksIn({ run_as_task: ["x*"] }, ["tools", "tasks"]), ["t0"]);
  // A server that does not say that it has tasks is asked for none.
  assert.deepEqual(tasksIn({ run_as_task: ["t?"] }, ["tools"]), []);
});

Deno.test("mcp tool list lets a server's own tool keep its name, and says so of what would have had it", () => {
  const capabilities = ["resources"] as const;
  const raw = [tool("list_resources"), tool("read_resource", { inputSchema: 7 })];
  const list = readTools(raw, { declaration: declare(), connection, capabilities });
  assert.deepEqual(list.source.tools.map(({ name, mcpMethod }) => [name, mcpMethod]), [
    ["list_resources", undefined],
  ]);
  const [bad, ...ours] = list.rejected;
  assert.match(bad?.reason ?? "", /inputSchema is no object/);
  // Also the bad one has the name: a call of it would reach nobody knows what.
  assert.deepEqual(ours.map(({ tool }) => tool), ["list_resources", "read_resource"]);
  for (const { reason } of ours) {
    assert.match(reason, /^the server has a tool of this name itself, which counts/);
  }
  assert.equal(list.rejectedCount, 3);
});

Deno.test("mcp tool list keeps a tool whose outputSchema cannot be used, and says that its results are not checked", () => {
  const outputSchema = { type: "object", required: ["n"] };
  assert.deepEqual(only(tool("a", { outputSchema })).resultSchema, outputSchema);
  const broken: readonly (readonly [schema: unknown, reason: RegExp])[] = [
    [7, /^its outputSchema is no object$/],
    [{ $ref: "#/$defs/gone" }, /^its outputSchema is not supported: a \$ref does not lead/],
    [{ minContains: 1 }, /^its outputSchema is not supported: the keyword "minContains"/],
    [{ description: "x".repeat(limits.mcpSchemaBytesMax) }, /^its outputSchema has \d+ bytes/],
  ];
  const raw = broken.map(([schema], index) => tool(`t${index}`, { outputSchema: schema }));
  const list = read([...raw, tool("good", { outputSchema })]);
  assert.equal(list.source.tools.length, broken.length + 1);
  assert.deepEqual(list.source.tools.flatMap(({ resultSchema }) => resultSchema ?? []), [outputSchema]);
  assert.deepEqual(list.unchecked.map((one) => one.tool), ["t0", "t1", "t2", "t3"]);
  for (const [index, [, reason]] of broken.entries()) {
    assert.match(list.unchecked[index]?.reason ?? "", reason);
  }
});
