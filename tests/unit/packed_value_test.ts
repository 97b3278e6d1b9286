/** Packed values: what was written is read back, and any change to it is found and placed. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import {
  decodePackedValue,
  encodePackedValue,
  genesisHash,
  JournalDamage,
  packedHeaderBytesMax,
} from "../../src/journal/packed_value.ts";
import { digest, entriesFrom, entryAt, root } from "../support/units.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Lines behind a header whose hash is right, so that only what the lines say can be wrong. */
async function packLines(lines: readonly string[], first = 1, prev = genesisHash) {
  const place = { root, first, last: first + lines.length - 1, prev };
  return await encodePackedValue(place, [encoder.encode(lines.map((line) => `${line}\n`).join(""))], digest);
}

function pack(entries: readonly Entry[], prev = genesisHash) {
  return packLines(entries.map((entry) => JSON.stringify(entry)), entries[0]?.seq, prev);
}

function unpack(value: unknown, first = 1, prev?: string) {
  return decodePackedValue(value, { root, first, prev }, digest);
}

async function damageOf(reading: Promise<unknown>): Promise<JournalDamage> {
  try {
    await reading;
  } catch (error) {
    assert.ok(error instanceof JournalDamage, String(error));
    assert.equal(error.code, "journal_corrupt");
    assert.equal(error.root, root);
    assert.ok(error.message.includes(root), error.message);
    return error;
  }
  throw new Error("Nothing was found");
}

Deno.test("packed value gives its entries back", async () => {
  const entries = entriesFrom(5, 3, (seq) => ({ text: `é\u{1f600}\n"${seq}"`, list: [null, 0.5, {}] }));
  const { bytes, hash } = await pack(entries, `sha256:${"a".repeat(64)}`);
  const { header, entries: read } = await unpack(bytes, 5, `sha256:${"a".repeat(64)}`);
  assert.deepEqual(read, entries);
  assert.deepEqual([header.first, header.last, header.hash, header.root], [5, 7, hash, root]);
});

Deno.test("packed value is bytes whose first line is the header, then one line an entry (K18)", async () => {
  const { bytes } = await pack(entriesFrom(1, 2));
  assert.ok(bytes instanceof Uint8Array);
  const [header = "", ...lines] = decoder.decode(bytes).split("\n");
  assert.deepEqual(Object.keys(JSON.parse(header)).sort(), ["first", "hash", "last", "prev", "root", "v"]);
  assert.deepEqual(lines.map((line) => line === "" ? "" : JSON.parse(line).seq), [1, 2, ""]);
  assert.ok(header.length < packedHeaderBytesMax(root));
});

Deno.test("packed value refuses any flipped bit", async () => {
  const { bytes } = await pack(entriesFrom(1, 3));
  for (let at = 0; at < bytes.length; at++) {
    const altered = bytes.slice();
    altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8));
    const damage = await damageOf(unpack(altered, 1, genesisHash));
    assert.ok(damage.first >= 1 && damage.last <= 3 && damage.first <= damage.last, damage.message);
  }
});

Deno.test("packed value refuses any cut", async () => {
  const { bytes } = await pack(entriesFrom(1, 3));
  for (let length = 0; length < bytes.length; length += 7) await damageOf(unpack(bytes.subarray(0, length)));
});

Deno.test("packed value names the entry that cannot be read, and says that its bytes were altered", async () => {
  const { bytes } = await pack(entriesFrom(10, 5));
  const text = decoder.decode(bytes);
  const altered = encoder.encode(text.replace('"seq":12', '"seq:"12'));
  const damage = await damageOf(unpack(altered, 10));
  assert.deepEqual([damage.first, damage.last], [10, 14]);
  assert.match(damage.message, /altered/);
  assert.match(damage.message, /entry 12: the entry is no JSON/);
});

Deno.test("packed value refuses to stand elsewhere in the chain or under another key", async () => {
  const { bytes } = await pack(entriesFrom(1, 2));
  const other = await damageOf(unpack(bytes, 1, `sha256:${"b".repeat(64)}`));
  assert.match(other.message, /chain/);
  await damageOf(unpack(bytes, 2));
  const elsewhere = decodePackedValue(bytes, { root: "session/other", first: 1 }, digest);
  await assert.rejects(elsewhere, JournalDamage);
  await damageOf(unpack("text", 1));
  await damageOf(unpack(null, 1));
});

Deno.test("packed value refuses an unknown kind and a missing field, by name (B128)", async () => {
  const broken: readonly [string, Record<string, unknown>][] = [
    ["kind", { kind: "wish" }],
    ["at", { at: undefined }],
    ["type", { type: "" }],
    ["cause", { cause: undefined }],
    ["epoch", { epoch: 0 }],
    ["version", { v: 2 }],
    ["number", { seq: 7 }],
    ["blob", { blob: { digest: 5 } }],
    ["state", { state: 5 }],
  ];
  for (const [name, changes] of broken) {
    const lines = [JSON.stringify(entryAt(1)), JSON.stringify({ ...entryAt(2), ...changes })];
    const damage = await damageOf(unpack((await packLines(lines)).bytes));
    assert.match(damage.message, new RegExp(name));
    assert.deepEqual([damage.first, damage.last], [2, 2], damage.message);
  }
  for (const line of ["null", "[]", "7", "{", ""]) {
    const damage = await damageOf(unpack((await packLines([JSON.stringify(entryAt(1)), line])).bytes));
    assert.deepEqual([damage.first, damage.last], [2, 2]);
  }
});

Deno.test("packed value keeps extra fields of a later release (B128)", async () => {
  const entry = { ...entryAt(1), mood: "new" };
  const { entries } = await unpack((await pack([entry])).bytes);
  assert.deepEqual(entries, [entry]);
});

Deno.test("packed value refuses more or fewer entries than its header says", async () => {
  const lines = entriesFrom(1, 3).map((entry) => JSON.stringify(entry));
  for (const last of [2, 4]) {
    const body = encoder.encode(`${lines.join("\n")}\n`);
    const { bytes } = await encodePackedValue({ root, first: 1, last, prev: genesisHash }, [body], digest);
    await damageOf(unpack(bytes));
  }
});
