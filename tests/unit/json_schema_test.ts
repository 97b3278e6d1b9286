/** Whether arguments are checked against a tool's schema, and whether what is not understood is refused. */
import assert from "node:assert/strict";
import { checkArguments, schemaProblem } from "../../schemas/json_schema.ts";
import type { Json, JsonObject } from "../../schemas/json.ts";

/** Problems of one field `a` under one rule. */
function field(rule: Json, value: Json): string[] {
  return checkArguments({ type: "object", properties: { a: rule } }, { a: value });
}

function fits(rule: Json, value: Json): boolean {
  return field(rule, value).length === 0;
}

Deno.test("json schema tells the types apart and names the path", () => {
  const samples: readonly (readonly [string, Json, Json])[] = [
    ["string", "x", 1],
    ["number", 1.5, "1"],
    ["integer", 3, 3.5],
    ["boolean", false, 0],
    ["null", null, "null"],
    ["array", [1], { length: 1 }],
    ["object", {}, []],
  ];
  for (const [type, good, bad] of samples) {
    assert.deepEqual(field({ type }, good), [], type);
    assert.deepEqual(field({ type }, bad), [`arguments.a: must be ${type}`]);
  }
  assert.ok(fits({ type: ["string", "null"] }, null));
  assert.deepEqual(field({ type: ["string", "null"] }, 1), ["arguments.a: must be string or null"]);
});

Deno.test("json schema requires members, also those that no property describes", () => {
  const schema: JsonObject = {
    type: "object",
    properties: { a: { type: "string", default: "x" } },
    required: ["a", "b"],
  };
  assert.deepEqual(checkArguments(schema, {}), ["arguments.a: is required", "arguments.b: is required"]);
  assert.deepEqual(checkArguments(schema, { a: "x", b: 1 }), []);
  assert.deepEqual(checkArguments({ required: ["a"] }, {}), ["arguments.a: is required"]);
});

Deno.test("json schema refuses members that are not allowed", () => {
  const schema: JsonObject = { properties: { a: true }, patternProperties: { "^x-": { type: "number" } } };
  const closed = { ...schema, additionalProperties: false };
  assert.deepEqual(checkArguments(closed, { a: 1, "x-1": 2 }), []);
  assert.deepEqual(checkArguments(closed, { a: 1, b: 2 }), ["arguments.b: is not allowed"]);
  assert.deepEqual(checkArguments({ ...schema, additionalProperties: { type: "string" } }, { b: 2 }), [
    "arguments.b: must be string",
  ]);
  assert.deepEqual(checkArguments(schema, { "x-1": "2" }), ["arguments.x-1: must be number"]);
  assert.deepEqual(checkArguments({ additionalProperties: false }, JSON.parse('{"__proto__": 1}')), [
    "arguments.__proto__: is not allowed",
  ]);
});

Deno.test("json schema compares enum and const by value", () => {
  assert.ok(fits({ enum: ["x", 1, null, { b: 1, a: 2 }] }, { a: 2, b: 1 }));
  assert.deepEqual(field({ enum: ["x", "y"] }, "z"), ['arguments.a: must be one of "x", "y"']);
  assert.ok(!fits({ enum: ["x", 1], type: "string" }, 1));
  assert.ok(fits({ const: [1] }, [1]) && !fits({ const: [1] }, [2]));
});

Deno.test("json schema goes into lists and objects", () => {
  const rule: JsonObject = {
    type: "array",
    items: { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] },
    minItems: 1,
    maxItems: 3,
  };
  assert.deepEqual(field(rule, [{ n: 1 }]), []);
  assert.deepEqual(field(rule, [{ n: 1 }, { n: 0 }, {}]), [
    "arguments.a[1].n: must be at least 1",
    "arguments.a[2].n: is required",
  ]);
  assert.ok(!fits(rule, []) && !fits({ uniqueItems: true }, [{ b: 1, a: 1 }, { a: 1, b: 1 }]));
  const tuple: JsonObject = { prefixItems: [{ type: "string" }], items: { type: "number" } };
  assert.ok(fits(tuple, ["x", 1]) && !fits(tuple, [1]) && !fits(tuple, ["x", "y"]));
  assert.ok(fits({ contains: { const: 1 } }, [0, 1]) && !fits({ contains: { const: 1 } }, [0]));
});

Deno.test("json schema keeps numbers and texts within bounds", () => {
  assert.ok(fits({ minimum: 1, maximum: 5 }, 5) && !fits({ maximum: 5 }, 6));
  assert.ok(!fits({ exclusiveMinimum: 1 }, 1) && !fits({ exclusiveMaximum: 1 }, 1));
  assert.ok(fits({ multipleOf: 0.1 }, 1.3) && !fits({ multipleOf: 2 }, 3));
  assert.ok(fits({ minLength: 2, maxLength: 2 }, "😀😀") && !fits({ maxLength: 1 }, "ab"));
  assert.ok(fits({ minLength: 5 }, 3), "a keyword says nothing to a value of another type");
});

Deno.test("json schema combines forms", () => {
  const either: JsonObject = { anyOf: [{ required: ["a"] }, { required: ["b"] }] };
  assert.deepEqual(checkArguments(either, {}), ["arguments: fits none of the forms that are allowed"]);
  assert.deepEqual(checkArguments(either, { b: 1 }), []);
  assert.ok(!fits({ oneOf: [{ type: "integer" }, { type: "number" }] }, 1));
  assert.ok(fits({ not: { type: "string" } }, 1) && !fits({ not: { type: "string" } }, "x"));
  assert.ok(!fits({ allOf: [{ type: "string" }], anyOf: [{ maxLength: 1 }] }, "ab"));
  assert.deepEqual(checkArguments({ dependentRequired: { a: ["b"] } }, { a: 1 }), [
    "arguments.b: is required",
  ]);
});

Deno.test("json schema takes the branch that a condition says", () => {
  const schema: JsonObject = {
    if: { properties: { way: { const: "phone" } }, required: ["way"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
  };
  assert.deepEqual(checkArguments(schema, { way: "phone", phone: "1" }), []);
  assert.deepEqual(checkArguments(schema, { way: "phone", email: "a" }), ["arguments.phone: is required"]);
  assert.deepEqual(checkArguments(schema, { phone: "1" }), ["arguments.email: is required"]);
  assert.ok(fits({ if: { type: "string" } }, 1) && fits({ then: false, else: false }, 1));
  assert.ok(fits({ if: false, then: false }, 1) && !fits({ if: true, then: false }, 1));
  const depends: JsonObject = { dependentSchemas: { a: { properties: { b: { type: "number" } } } } };
  assert.deepEqual(checkArguments(depends, { b: "x" }), []);
  assert.deepEqual(checkArguments(depends, { a: 1, b: "x" }), ["arguments.b: must be number"]);
  assert.match(schemaProblem({ properties: { a: { then: { $ref: "x:y" } } } }) ?? "", /\$ref does not lead/);
  assert.match(schemaProblem({ if: 1 }) ?? "", /"if" is malformed/);
});

Deno.test("json schema follows references inside itself, also with neighbours and in a ring", () => {
  const schema: JsonObject = {
    $defs: {
      "a/b": { type: "string" },
      tree: { properties: { left: { $ref: "#/$defs/tree" }, n: { type: "number" } } },
    },
    properties: { name: { $ref: "#/$defs/a~1b", maxLength: 2 }, tree: { $ref: "#/$defs/tree" } },
  };
  assert.deepEqual(checkArguments(schema, { name: "ab", tree: { left: { left: { n: 1 } } } }), []);
  assert.deepEqual(checkArguments(schema, { name: "abc", tree: { left: { n: "1" } } }), [
    "arguments.name: must have at most this many characters: 2",
    "arguments.tree.left.n: must be number",
  ]);
});

Deno.test("json schema matches patterns", () => {
  assert.ok(fits({ pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" }, "a-b-c") && !fits({ pattern: "^[a-z]+$" }, "A"));
  assert.ok(fits({ pattern: "b" }, "abc"), "a pattern matches anywhere");
  assert.deepEqual(field({ pattern: "^a+$" }, "b"), ["arguments.a: must match the pattern ^a+$"]);
});

// Fail closed: what constrains but is not understood must not pass.
Deno.test("json schema refuses every value if it does not understand the schema", () => {
  const unknown: readonly JsonObject[] = [
    { contains: { type: "string" }, minContains: 2 },
    { unevaluatedProperties: false },
    { dependencies: { a: ["b"] } },
    { $dynamicRef: "#x" },
    { items: [{ type: "string" }] },
    { required: "a" },
    { properties: [] },
    { type: "text" },
    { minimum: "1" },
    { $ref: "#/$defs/none" },
    { pattern: "(" },
    { pattern: "(a)\\1" },
    { pattern: "a".repeat(513) },
    { properties: { a: { anyOf: [{ $ref: "#anchor" }] } } },
  ];
  for (const schema of unknown) {
    const [problem = ""] = checkArguments(schema, { a: 1 });
    assert.match(problem, /^the schema of this tool is not supported: /, JSON.stringify(schema));
    assert.notEqual(schemaProblem(schema), undefined);
  }
});

// B85: nothing is fetched, the schema is refused.
Deno.test("json schema refuses a reference to the network", () => {
  assert.match(schemaProblem({ properties: { a: { $ref: "https://example.com/x.json" } } }) ?? "", /\$ref/);
});

Deno.test("json schema takes annotations and unknown words for what they are", () => {
  const schema: JsonObject = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "t",
    description: "d",
    properties: {
      a: { type: "string", format: "email", default: "x", examples: ["y"], "x-mcp-header": "h" },
    },
  };
  assert.deepEqual(checkArguments(schema, { a: "no mail" }), []);
});

Deno.test("json schema names at most five problems and none of the values", () => {
  const schema: JsonObject = { additionalProperties: { type: "string" } };
  const problems = checkArguments(
    schema,
    Object.fromEntries(Array.from({ length: 9 }, (_, key) => [`k${key}`, 4711])),
  );
  assert.equal(problems.length, 5);
  assert.ok(!problems.join().includes("4711"));
});

Deno.test("json schema gives up on what would take too long, and says so", () => {
  const slow = checkArguments({ properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(40_000)}!` });
  assert.equal(slow.length, 1);
  const ring: JsonObject = { $ref: "#" };
  assert.deepEqual(checkArguments(ring, {}), ["arguments: too large or too deeply nested to be checked"]);
  const doubling: Record<string, Json> = {};
  for (let level = 0; level < 60; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    doubling[`d${level}`] = { allOf: [next, next] };
  }
  doubling["d60"] = true;
  assert.deepEqual(checkArguments({ $defs: doubling, $ref: "#/$defs/d0" }, {}), [
    "arguments: too large or too deeply nested to be checked",
  ]);
});
