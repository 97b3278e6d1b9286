// Proves DM-69 and DM-70: one envelope, whatever a server answers.
import assert from "node:assert/strict";
import fc from "fast-check";
import { limits } from "../../schemas/limits.ts";
import { ToolResultEnvelope } from "../../schemas/tool.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { Binaries } from "../../src/mcp/binaries.ts";
import { readResult } from "../../src/mcp/result.ts";

function read(raw: unknown, schema?: JsonObject): ToolResultEnvelope {
  const envelope = readResult(raw, { schema, binaries: new Binaries(isSecret) });
  assert.deepEqual(ToolResultEnvelope.parse(envelope), envelope);
  assert.equal(envelope.ok, !envelope.isError);
  return envelope;
}

function isSecret(words: string): boolean {
  return words.includes("hunter2");
}

function text(words: string) {
  return { type: "text", text: words };
}

/** The one piece of a result that is no error. */
function pieceOf(raw: unknown): unknown {
  const { content, isError } = read(raw);
  assert.equal(isError, false);
  assert.equal(content.length, 1);
  return content[0];
}

/** The message by which a result is refused. */
function refusalOf(raw: unknown): string {
  const { content: [piece], isError } = read(raw);
  assert(isError && piece?.type === "error", JSON.stringify(raw));
  assert.equal(piece.failure.code, "mcp_protocol_error");
  return piece.failure.message;
}

Deno.test("mcp result joins text blocks to one text (DM-69)", () => {
  assert.deepEqual(pieceOf({ content: [text("a"), text(""), text("b\nc")] }), text("a\n\nb\nc"));
  assert.deepEqual(pieceOf({ content: [text("a")], isError: "yes", _meta: null }), text("a"));
});

Deno.test("mcp result prefers structured content to text (DM-69)", () => {
  const structuredContent = { pages: [1, { title: null }] };
  const piece = { type: "structured", value: structuredContent };
  assert.deepEqual(pieceOf({ content: [text("{}")], structuredContent }), piece);
  assert.deepEqual(pieceOf({ structuredContent }), piece);
  assert.deepEqual(pieceOf({ content: [text("a")], structuredContent: null }), text("a"));
});

Deno.test("mcp result falls back to text for structured content that cannot be kept, or is refused", () => {
  const deep = JSON.parse(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
  const cases: readonly (readonly [structured: unknown, problem: RegExp])[] = [
    [deep, /nests more than 56 deep/],
    [{ list: Array(limits.jsonNodesMax + 1).fill(0) }, /holds more than 100000 values/],
    [{ "a\nb": 1 }, /a key with a quote, backslash or control character/],
    [{ a: Infinity }, /a number out of range/],
    [[1], /it is no object/],
    ["text", /it is no object/],
  ];
  for (const [structuredContent, problem] of cases) {
    assert.deepEqual(pieceOf({ content: [text("words")], structuredContent }), text("words"));
    assert.match(refusalOf({ content: [], structuredContent }), problem);
  }
});

Deno.test("mcp result turns what is no text into short text, and keeps the order (DM-69)", () => {
  const data = btoa("x".repeat(1_234));
  const blocks: readonly (readonly [block: unknown, words: string])[] = [
    [{ type: "image", mimeType: "image/png", data }, "[image image/png, 1,234 bytes, kept as image-1]"],
    [
      { type: "audio", mimeType: "audio/wav", data: btoa("xy") },
      "[audio audio/wav, 2 bytes, kept as audio-1]",
    ],
    [{ type: "image", data: btoa("x".repeat(1_234_567)) }, "[image, 1,234,567 bytes, kept as image-1]"],
    [{ type: "audio" }, "[audio]"],
    [
      { type: "resource_link", uri: "file:///x", title: "title", name: "n" },
      "[resource link file:///x: title]",
    ],
    [{ type: "resource_link", uri: "file:///x", name: "n" }, "[resource link file:///x: n]"],
    [{ type: "resource_link", uri: "file:///x" }, "[resource link file:///x]"],
    [{ type: "resource", resource: { uri: "file:///x", text: "its text" } }, "its text"],
    [
      { type: "resource", resource: { uri: "file:///x", mimeType: "image/gif", blob: btoa("abc") } },
      "[resource file:///x: image/gif, 3 bytes, kept as resource-1]",
    ],
    [{ type: "resource", resource: 7 }, "[resource that cannot be read]"],
    [{ type: "text", text: 7 }, "[text that cannot be read]"],
    [{ type: "hologram" }, "[content of an unknown type hologram]"],
    [{}, "[content of an unknown type]"],
    [null, "[content that cannot be read]"],
  ];
  for (const [block, words] of blocks) assert.deepEqual(pieceOf({ content: [block] }), text(words));
  const all = { content: blocks.map(([block]) => block) };
  // Each has its own number in one result.
  const number = { "audio-1": "audio-2", "resource-1": "resource-4" };
  let images = 0;
  const words = blocks.map(([, told]) =>
    told.replace(
      /(image|audio|resource)-1(?=\])/,
      (one) =>
        one === "image-1" ? ["image-1", "image-3"][images++] ?? "" : number[one as keyof typeof number],
    )
  );
  assert.deepEqual(pieceOf(all), text(words.join("\n")));
});

Deno.test("mcp result keeps what is no text as it came, in its order, but no more of it than allowed", async () => {
  const binaries = new Binaries(isSecret);
  const image = (bytes: string) => ({ type: "image", mimeType: "image/png", data: btoa(bytes) });
  const blocks = [image("\xff\x00"), { type: "image", data: "%" }, image("a hunter2 b"), image("")];
  const all = [...blocks, ...Array(limits.mcpAttachmentsMax).fill(image("z"))];
  const { content: [piece] } = readResult({ content: all, structuredContent: { x: 1 } }, { binaries });
  assert.deepEqual(piece, { type: "structured", value: { x: 1 } });
  const puts: (readonly [bytes: Uint8Array, mediaType: string, name: string])[] = [];
  const kept = await binaries.keep({
    put: (bytes, mediaType, name) => {
      puts.push([bytes, mediaType, name]);
      return Promise.resolve({ name, mediaType, bytes: bytes.length, digest: `sha256:${"0".repeat(64)}` });
    },
    get: () => Promise.resolve(undefined),
  });
  assert.equal(kept.length, limits.mcpAttachmentsMax);
  assert.deepEqual(puts.slice(0, 3), [
    [new Uint8Array([255, 0]), "image/png", "image-1"],
    [new Uint8Array(), "image/png", "image-2"],
    [new Uint8Array([122]), "image/png", "image-3"],
  ]);
  const { text: words } = pieceOf({ content: all }) as { readonly text: string };
  const lines = words.split("\n");
  assert.equal(lines[1], "[image, not kept: it is no Base64]");
  assert.equal(lines[2], "[image image/png, 11 bytes, withheld: it holds what may be a secret]");
  assert.equal(lines.at(-1), "[image image/png, 1 bytes, not kept: a result keeps 50 such pieces]");
});

Deno.test("mcp result that is not what the tool's schema says keeps all it has, and is told so", () => {
  const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const misfit = (why: string) =>
    text(`[The structured content is not what the server says that the tool gives: ${why}]`);
  const structuredContent = { n: "seven" };
  const structured = { type: "structured", value: structuredContent };
  const fit = { content: [text("7")], structuredContent: { n: 7 } };
  assert.deepEqual(read(fit, schema).content, [{ type: "structured", value: { n: 7 } }]);
  const both = read({ content: [text("words")], structuredContent }, schema);
  assert.equal(both.isError, false);
  assert.deepEqual(both.content, [structured, text("words"), misfit("result.n: must be number")]);
  const same = { content: [text(JSON.stringify(structuredContent))], structuredContent };
  assert.deepEqual(read(same, schema).content, [structured, misfit("result.n: must be number")]);
  assert.deepEqual(read({ content: [text("words")] }, schema).content, [
    text("words"),
    misfit("there is none"),
  ]);
  assert.deepEqual(
    read({ content: [text("words")], structuredContent: 7 }, schema).content,
    [text("words"), misfit("it cannot be kept: it is no object")],
  );
});

Deno.test("mcp result that is an error is never held against the tool's schema", () => {
  const schema = { type: "object", required: ["n"] };
  const said = [text("no such page")];
  assert.deepEqual(read({ content: said, isError: true }, schema).content, said);
  assert.deepEqual(read({ content: said, isError: true, structuredContent: {} }, schema).content, said);
  assert.deepEqual(read({ isError: true, structuredContent: { x: 1 } }, schema).content, [
    { type: "structured", value: { x: 1 } },
  ]);
});

Deno.test("mcp result shows names and addresses on one line, cut and visible", () => {
  const block = { type: "resource_link", uri: `x:\u202e\n${"u".repeat(600)}`, title: "t".repeat(200) };
  const expected = `[resource link x:\\u{202e} ${"u".repeat(488)}…: ${"t".repeat(99)}…]`;
  assert.deepEqual(pieceOf({ content: [block] }), text(expected));
});

Deno.test("mcp result says so if there is nothing (DM-69)", () => {
  const empty = { type: "structured", value: { status: "empty" } };
  assert.deepEqual(pieceOf({ content: [] }), empty);
  assert.deepEqual(pieceOf({ content: [text("")] }), empty);
});

Deno.test("mcp result that is an error keeps its text, whatever stands beside it (DM-70)", () => {
  const said = { ok: false, content: [text("no such page")], isError: true, attachments: [] };
  assert.deepEqual(read({ content: [text("no such page")], isError: true }), said);
  assert.deepEqual(
    read({ content: [text("no such page")], isError: true, structuredContent: { x: 1 } }),
    said,
  );
  const structured = { type: "structured", value: { code: 7 } };
  assert.deepEqual(read({ isError: true, structuredContent: { code: 7 } }).content, [structured]);
  assert.deepEqual(read({ content: [], isError: true }), {
    ok: false,
    content: [{ type: "structured", value: { status: "empty" } }],
    isError: true,
    attachments: [],
  });
});

Deno.test("mcp result that is none is a protocol error", () => {
  for (const raw of [undefined, null, 7, "text", [], [text("a")]]) {
    assert.match(refusalOf(raw), /it is no object/);
  }
  for (const content of ["text", 7, {}]) assert.match(refusalOf({ content }), /its content is no list/);
  for (const raw of [{}, { content: null }, { toolResult: 1 }]) {
    assert.match(refusalOf(raw), /it has no content/);
  }
});

Deno.test("mcp result of 9 MB, in one block or in very many, stays whole or says what is missing", () => {
  const long = "x".repeat(9_000_000);
  assert.deepEqual(pieceOf({ content: [text(long)] }), text(long));
  const many = pieceOf({ content: Array(1_000_000).fill(text("x")) }) as { readonly text: string };
  assert.equal(many.text, `${"x\n".repeat(10_000)}[990,000 more blocks]`);
});

const block = fc.oneof(
  fc.jsonValue(),
  fc.record({
    type: fc.constantFrom("text", "image", "audio", "resource", "resource_link"),
    text: fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue()),
    data: fc.oneof(fc.base64String(), fc.jsonValue()),
    mimeType: fc.jsonValue(),
    uri: fc.jsonValue(),
    title: fc.jsonValue(),
    resource: fc.jsonValue(),
  }, { requiredKeys: [] }),
);

const anyResult = fc.oneof(
  fc.jsonValue(),
  fc.record({
    content: fc.oneof(fc.array(block), fc.jsonValue()),
    structuredContent: fc.jsonValue(),
    isError: fc.oneof(fc.boolean(), fc.jsonValue()),
  }, { requiredKeys: [] }),
);

Deno.test("mcp result is read into a valid envelope, whatever JSON a server sends", () => {
  fc.assert(
    fc.property(anyResult, (raw) => {
      const { content } = read(raw);
      assert.equal(content.length, 1);
    }),
    { numRuns: 500 },
  );
});
