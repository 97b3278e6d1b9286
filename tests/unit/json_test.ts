/** What counts as JSON where values enter. */
import assert from "node:assert/strict";
import { canonicalJson, isJson, Json, JsonObject } from "../../schemas/json.ts";
import { readJson } from "../../src/border.ts";

Deno.test("json takes values that journal and parser agree on", () => {
  for (const value of [null, true, 0, -1.5, 'text \\ " \u0000', [], {}, { a: [{ "b c": "ü" }] }]) {
    assert.ok(isJson(value), JSON.stringify(value));
    assert.deepEqual(JSON.parse(JSON.stringify(value)), value);
  }
});

Deno.test("json refuses what its text does not keep", () => {
  for (
    const value of [undefined, NaN, Infinity, new Date(0), new Map(), () => 1, [undefined], { a: undefined }]
  ) {
    assert.equal(isJson(value), false);
  }
});

// B102: keys with escapes come back as other keys in V8 15.0, whatever the parser was fed before.
Deno.test("json refuses keys that are written with an escape", () => {
  for (const key of ["\\", '"', "\t", "\u0000", "a\\b", "\u007f"]) {
    assert.equal(isJson({ p: 0, [key]: 1 }), false, JSON.stringify(key));
    assert.equal(Json.safeParse([{ [key]: 1 }]).success, false);
    assert.equal(JsonObject.safeParse({ deep: { [key]: 1 } }).success, false);
  }
});

Deno.test("json border refuses a text whose key would come back as another one", () => {
  JSON.parse('{"p":0,"\\\\":1}');
  assert.throws(() => readJson('{"p":0,"\\t":1}'), { code: "json_invalid" });
  assert.deepEqual(readJson('{"p":"\\t"}'), { p: "\t" });
});

/** The rule in its plainest form: keys in order, everything else as JSON writes it. */
function plainly(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(plainly).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    .sort(([left], [right]) => left < right ? -1 : 1);
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${plainly(field)}`).join(",")}}`;
}

Deno.test("canonical JSON writes every character and every order of keys as JSON does (K5, K25)", () => {
  const characters = Array.from({ length: 0x180 }, (_, code) => String.fromCharCode(code));
  const odd = ["", '"', "\\", "\u2028", "\ud800", "\udc00", "😀", "a\u0000b", "~\u007f"];
  const values: unknown[] = [
    ...[...characters, ...odd].flatMap((text) => [text, `x${text}y`, { [text]: text, b: 1, a: 2 }]),
    { b: { z: 1, y: [3, { d: 1, c: 2 }] }, a: undefined, 10: 1, 9: 2, B: null, "": true },
    { a: 1, b: 2, aa: 3 },
    [undefined, -0, NaN, 1e21, 1.5, true, null, [], {}],
  ];
  for (const value of values) assert.equal(canonicalJson(value), plainly(value));
});
