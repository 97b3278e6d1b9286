/** Which arguments a tool may have repeated in headers, and which schemas are refused for what they ask (B87). */
import assert from "node:assert/strict";
import { paramHeadersOf } from "../../src/mcp/param_headers.ts";

function schemaOf(properties: { readonly [name: string]: unknown }): unknown {
  return { type: "object", properties };
}

function problemOf(schema: unknown): string {
  const read = paramHeadersOf(schema);
  return "problem" in read ? read.problem : "";
}

Deno.test("headers for arguments are refused whose names or kinds are none, or that stand twice (B87)", () => {
  const marked = (header: unknown, type: unknown = "string") =>
    schemaOf({ a: { type, "x-mcp-header": header } });
  for (
    const header of [
      "A\r\nAuthorization: x",
      "A\nB",
      "A\r",
      "A:B",
      "A B",
      "",
      "é",
      "A".repeat(201),
      7,
      null,
      ["A"],
    ]
  ) {
    assert.notEqual(problemOf(marked(header)), "", JSON.stringify(header));
  }
  for (const type of ["object", "array", "number", "null", ["string", "null"]]) {
    assert.notEqual(problemOf(marked("A", type)), "", JSON.stringify(type));
  }
  const twice = {
    a: { type: "string", "x-mcp-header": "Region" },
    b: { type: "string", "x-mcp-header": "REGION" },
  };
  assert.match(problemOf(schemaOf(twice)), /twice/);
  // Nobody can say which of several arguments is meant.
  const inList = { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } };
  assert.notEqual(problemOf(schemaOf(inList)), "");
  assert.notEqual(problemOf({ anyOf: [schemaOf({ a: { type: "string", "x-mcp-header": "A" } })] }), "");
});

Deno.test("headers for arguments are read from the properties that have them, at any depth", () => {
  const schema = schemaOf({
    a: { type: "string", "x-mcp-header": "A" },
    deep: schemaOf({ b: { type: "integer", "x-mcp-header": "B-2" } }),
    plain: { type: "string", default: { "x-mcp-header": "no keyword here" } },
  });
  const read = paramHeadersOf(schema);
  assert.deepEqual(
    "headers" in read ? [...read.headers].sort((left, right) => left.header < right.header ? -1 : 1) : read,
    [
      { header: "A", path: ["a"] },
      { header: "B-2", path: ["deep", "b"] },
    ],
  );
});
