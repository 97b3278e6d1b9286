/** Whether an entry's blobs are found: what a replay looks up, and what is kept for people. */
import assert from "node:assert/strict";
import { type Entry, EntryKind } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import { attachmentIn, isCall, mayNameBlobs, shelvedHashIn } from "../../src/journal/named_blobs.ts";
import { entryAt } from "../support/units.ts";

const hash = `sha256:${"a".repeat(64)}`;
const attachment = { full: { name: "result", mediaType: "text/plain", bytes: 3, digest: hash } };

function entry(kind: Entry["kind"], type: string, body: Json): Entry {
  return entryAt(2, { kind, type, body });
}

/** Every entry that names something that a machine looks up. */
const shelving: readonly Entry[] = [
  entry("input", "catalog.issued", { message: { type: "catalog.issued", catalog: { hash, epoch: 1 } } }),
  entry("input", "connection.offered", { message: { type: "connection.offered", offer: hash } }),
  entry("outcome", "catalog.seal", { id: "1.0", status: "ok", value: { hash, epoch: 1 } }),
  entry("outcome", "mcp.list", { id: "1.0", status: "ok", value: { offer: hash, tools: 1 } }),
];

Deno.test("named blobs are the catalog or the offer that an entry brings into its stream", () => {
  for (const one of shelving) assert.equal(shelvedHashIn(one), hash, `${one.kind} ${one.type}`);
});

Deno.test("named blobs are none where an offer, a value or a body is missing", () => {
  const nothing: readonly Entry[] = [
    entry("input", "connection.offered", { message: { type: "connection.offered", offer: null } }),
    entry("outcome", "mcp.list", { id: "1.0", status: "failed", failure: {} }),
    entry("outcome", "catalog.seal", { id: "1.0", status: "ok", value: null }),
    entry("outcome", "tool.call", { id: "1.0", status: "unknown" }),
    entry("outcome", "mcp.call", { id: "1.0", status: "ok", value: { isError: false } }),
    entryAt(2, { kind: "input", type: "catalog.issued", body: undefined as never }),
  ];
  for (const one of nothing) {
    assert.deepEqual([shelvedHashIn(one), attachmentIn(one)], [undefined, undefined], one.type);
  }
});

// Other entries may hold a field of the same name: what a client or a tool wrote there names nothing.
Deno.test("named blobs are read from entries of those kinds only", () => {
  const value = { hash, offer: hash, ...attachment };
  const body = { message: { catalog: { hash }, offer: hash }, value };
  const strangers: readonly (readonly [Entry["kind"], string])[] = [
    ["input", "session.call"],
    ["input", "catalog.seal"],
    ["input", "mcp.list"],
    ["input", "mcp.call"],
    ["outcome", "catalog.issued"],
    ["outcome", "connection.offered"],
    ["outcome", "mcp.connect"],
    ["outcome", "model.generate"],
    ["intent", "mcp.list"],
    ["intent", "tool.call"],
    ["note", "catalog.issued"],
    ["note", "mcp.call"],
  ];
  for (const [kind, type] of strangers) {
    const one = entry(kind, type, body);
    assert.deepEqual([shelvedHashIn(one), attachmentIn(one), mayNameBlobs(one)], [
      undefined,
      undefined,
      false,
    ], `${kind} ${type}`);
  }
});

Deno.test("named blobs hold the whole result of a call, whatever the source of its tool", () => {
  for (const type of ["tool.call", "mcp.call"]) {
    const one = entry("outcome", type, { id: "1.0", status: "ok", value: { isError: false, ...attachment } });
    assert.deepEqual([attachmentIn(one), shelvedHashIn(one), isCall(type)], [hash, undefined, true]);
  }
  for (const type of ["tool.verify", "mcp.list", "mcp.watch"]) assert.equal(isCall(type), false);
});

// A body that is not looked at would lose its blobs at the next export or collection.
Deno.test("named blobs are looked for in every entry that may name one", () => {
  for (const one of shelving) assert.ok(mayNameBlobs(one), `${one.kind} ${one.type}`);
  for (const type of ["tool.call", "mcp.call"]) assert.ok(mayNameBlobs({ kind: "outcome", type }));
  for (const kind of EntryKind.options) {
    assert.equal(mayNameBlobs({ kind, type: "session.call" }), false, kind);
  }
});
