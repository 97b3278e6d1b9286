import assert from "node:assert/strict";
import fc from "fast-check";
import { BorderError, type BorderErrorCode, LineSplitter, readJson } from "../../src/border.ts";
import { limits } from "../../schemas/limits.ts";

function codeOf(read: () => unknown): BorderErrorCode | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof BorderError, String(error));
    assert.ok(error.message.length <= 200);
    return error.code;
  }
}

function nested(depth: number, inner = "1"): string {
  return "[".repeat(depth) + inner + "]".repeat(depth);
}

Deno.test("border lets in what is JSON, and nothing else", () => {
  assert.deepEqual(readJson('{"a":[1,"x",null,true,-1.5e3]}'), { a: [1, "x", null, true, -1500] });
  for (const text of ["", " ", "{", "[1,]", "{a:1}", "nul", "1 2", '"x', "\ufeff1", "NaN", "undefined"]) {
    assert.equal(codeOf(() => readJson(text)), "json_invalid", JSON.stringify(text));
  }
});

Deno.test("border refuses depth before anything deep is built (B102)", () => {
  assert.deepEqual(readJson(nested(limits.jsonDepthMax)), JSON.parse(nested(64)));
  for (const depth of [65, 5_000, 1_000_000]) {
    assert.equal(codeOf(() => readJson(nested(depth))), "json_too_deep", String(depth));
    assert.equal(codeOf(() => readJson('{"a":'.repeat(depth) + "1" + "}".repeat(depth))), "json_too_deep");
    assert.equal(codeOf(() => readJson("[".repeat(depth))), "json_too_deep");
  }
});

Deno.test("border refuses size before anything large is built (B103)", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["50 MB", `"${"x".repeat(50_000_000)}"`],
    ["array of 5,000,000", `[${"1,".repeat(4_999_999)}1]`],
    ["string of 20 MB", `["${"x".repeat(20_000_000)}"]`],
    ["1,000,000 keys", `{${Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":1`).join()}}`],
    ["100,001 values in few bytes", `[${"1,".repeat(100_000)}1]`],
    ["many small arrays", `[${"[],".repeat(100_000)}[]]`],
  ];
  for (const [name, text] of cases) assert.equal(codeOf(() => readJson(text)), "json_too_large", name);
});

Deno.test("border counts bytes, not characters", () => {
  const text = `"${"ä".repeat(10)}"`;
  assert.equal(readJson(text, { bytesMax: 22 }), "ä".repeat(10));
  assert.equal(codeOf(() => readJson(text, { bytesMax: 21 })), "json_too_large");
});

Deno.test("border is not misled by what stands in strings", () => {
  const inside = '[[[[{{{{,,,,\\"]]]]\\\\';
  assert.deepEqual(readJson(`["${inside}"]`, { depthMax: 1, nodesMax: 3 }), [JSON.parse(`"${inside}"`)]);
  assert.equal(codeOf(() => readJson('"\\"')), "json_invalid");
  assert.equal(codeOf(() => readJson('["\\\\"[[', { depthMax: 2 })), "json_too_deep");
});

Deno.test("border refuses numbers that are no JSON value once they are parsed", () => {
  for (const text of ["1e999", "[-1E+400]", `{"a":${"9".repeat(400)}}`]) {
    assert.equal(codeOf(() => readJson(text)), "json_invalid", text.slice(0, 20));
  }
  assert.equal(readJson("1e3"), 1000);
  assert.equal(readJson(`"1e999"`), "1e999");
});

Deno.test("border shows nothing of a refused text", () => {
  for (const text of ['{"secret": hunter2}', `[${"[".repeat(70)}"hunter2"`, '["hunter2", 1e999]']) {
    assert.throws(() => readJson(text), (error: Error) => !error.message.includes("hunter2"));
  }
});

Deno.test("border refuses keys that JSON writes with an escape", () => {
  for (const text of [String.raw`{"a\tb":1}`, String.raw`[{"\"":1}]`, String.raw`{"x":{"\u0000":1}}`]) {
    assert.equal(codeOf(() => readJson(text)), "json_invalid", text);
  }
  assert.deepEqual(readJson(String.raw`{"a":"b\tc\"d"}`), { a: 'b\tc"d' });
});

// deno-lint-ignore no-control-regex -- what schemas/json.ts refuses as key
const plainKey = fc.string().filter((key) => !/["\\\u0000-\u001f\u007f]/.test(key));

Deno.test("border gives what JSON.parse gives for every text within bounds", () => {
  const { value } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    value: fc.oneof(
      { maxDepth: 6 },
      tie("leaf"),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(plainKey, tie("value"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(value, (one) => {
      const text = JSON.stringify(one);
      assert.deepEqual(readJson(text), JSON.parse(text));
    }),
    { numRuns: 300 },
  );
});

Deno.test("border cuts lines alike, in whatever pieces their bytes come", () => {
  const text = "eins\n\nzwei größe 漢字\r\nrest";
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new LineSplitter(100);
    const buffer = new Uint8Array(size);
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      buffer.set(piece); // One buffer for every read, as a connection has.
      lines.push(...splitter.take(buffer.subarray(0, piece.length)));
    }
    assert.deepEqual([...lines, splitter.end()], ["eins", "", "zwei größe 漢字\r", "rest"]);
    assert.equal(splitter.end(), undefined);
  }
});

Deno.test("border refuses a line that is too long before it is whole, and one that is no text", () => {
  const splitter = new LineSplitter(10);
  const take = (text: string) => [...splitter.take(new TextEncoder().encode(text))];
  assert.deepEqual(take("0123456789\n01234"), ["0123456789"]);
  assert.equal(codeOf(() => take("567890")), "line_too_long");
  assert.equal(codeOf(() => [...new LineSplitter(10).take(new Uint8Array([0xc3, 10]))]), "line_not_text");
});
