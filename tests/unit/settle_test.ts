// Proves LC-10, LC-15, DM-17 and DM-47: one envelope in bounded views, and nothing raw if that fails.
import { createDoorRedactor } from "../../src/effects/clean.ts";
import assert from "node:assert/strict";
import { failure } from "../../schemas/failure.ts";
import { ToolReturn } from "../../schemas/invocation.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { settleEnvelope } from "../../src/effects/settle.ts";
import { errorEnvelope, structuredEnvelope, textEnvelope } from "../../src/tools/tool.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { createBlobs } from "../support/tools.ts";
import { digestNow } from "../support/world.ts";

const redactor = createDoorRedactor();
const source = { source: "runtime", origin: "built in", trust: "trusted_local" } as const;
const definition = { ...readFile.definition, name: "sample", outputPolicy: { modelCharactersMax: 12_000 } };

async function settle(envelope: ToolResultEnvelope, modelCharactersMax = 12_000) {
  const blobs = createBlobs();
  const settled = await settleEnvelope(
    envelope,
    { ...definition, outputPolicy: { modelCharactersMax } },
    { blobs, redactor, source },
  );
  return { settled: ToolReturn.parse(settled), kept: blobs.kept };
}

Deno.test("settle gives short text to the model as it is, and keeps nothing besides", async () => {
  const { settled, kept } = await settle(textEnvelope("hello\nworld"));
  assert.deepEqual(settled, {
    isError: false,
    model: "hello\nworld",
    operator: "sample: hello (and 1 more lines)",
    truncated: false,
  });
  assert.equal(kept.size, 0);
});

Deno.test("settle cuts a long result to 12,000 characters by default, and names the whole (DM-17)", async () => {
  const text = `${"abcdefghij".repeat(2_000)}END`;
  const { settled, kept } = await settle(textEnvelope(text));
  assert.equal(definition.outputPolicy.modelCharactersMax, 12_000);
  assert(settled.model.length <= 12_000 && settled.model.length > 11_990);
  const line = /\n\[cut: (\d+) more characters; the whole result is (sha256:[0-9a-f]{64})\]\n/.exec(
    settled.model,
  );
  assert(line !== null);
  // What a program says last often counts most: the end stands there as well (LC-15).
  const [head, end] = [settled.model.slice(0, line.index), settled.model.slice(line.index + line[0].length)];
  assert.equal(head, text.slice(0, head.length));
  assert.equal(end, text.slice(-end.length));
  assert(end.length > 2_000 && head.length > 2 * end.length);
  assert.equal(Number(line[1]), text.length - head.length - end.length);
  assert(settled.truncated);
  assert.equal(settled.full?.digest, line[2]);
  const whole = kept.get(line[2] ?? "");
  assert(whole !== undefined);
  assert.equal(digestNow(whole), line[2]);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(whole)), textEnvelope(text));
});

Deno.test("settle keeps to any output policy, and never shows half of a character", async () => {
  for (const max of [1, 2, 50, 119, 120, 121, 150, 1_000, 1_001, 1_002, 1_003]) {
    const { settled } = await settle(textEnvelope("\u{1f600}".repeat(2_000)), max);
    assert(settled.model.length <= max, `${settled.model.length} > ${max}`);
    assert(!/\p{Cs}/u.test(settled.model));
    assert(settled.truncated && settled.full !== undefined);
  }
  const { settled } = await settle(textEnvelope("x".repeat(1_000)), 1_000);
  assert(!settled.truncated);
});

Deno.test("settle shows structured, error and attachment results, and keeps the whole of them (LC-10, LC-15)", async () => {
  const structured = await settle(structuredEnvelope({ a: [1, true] }));
  assert.equal(structured.settled.model, '{"a":[1,true]}');
  const refused = await settle(errorEnvelope(failure("path_not_found", "No such file")));
  assert.equal(refused.settled.model, "path_not_found: No such file");
  assert.equal(refused.settled.isError, true);
  const digest = `sha256:${"0".repeat(64)}`;
  const attached = await settle(
    textEnvelope("see", [{ name: "plot", mediaType: "image/png", bytes: 9, digest }]),
  );
  assert.equal(attached.settled.model, `see\n[attachment plot: image/png, 9 bytes, ${digest}]`);
  for (const { settled, kept } of [structured, refused, attached]) {
    assert(settled.full !== undefined && kept.has(settled.full.digest));
    assert(!settled.truncated);
  }
});

Deno.test("settle shows characters that act on a terminal or on reading order as escapes to people (B121)", async () => {
  const hostile = "\u001b]52;c;x\u0007 \u009b2J a\rb \u202eevil \u200bz \u{e0041}";
  const { settled } = await settle(textEnvelope(hostile));
  assert.equal(
    settled.operator,
    "sample: \\u{1b}]52;c;x\\u{7} \\u{9b}2J a\\u{d}b \\u{202e}evil \\u{200b}z \\u{e0041}",
  );
  const long = await settle(textEnvelope("\u0007".repeat(5_000)));
  assert(long.settled.operator.length <= 500);
  assert.equal((await settle(textEnvelope(""))).settled.operator, "sample: [nothing]");
});

Deno.test("settle fails closed: if keeping the result breaks, no view shows any of it (DM-47)", async () => {
  const blobs = { ...createBlobs(), put: () => Promise.reject(new Error("disk full: SECRET")) };
  const settled = await settleEnvelope(structuredEnvelope({ key: "SECRET" }), definition, {
    blobs,
    redactor,
    source,
  });
  assert.equal(settled.isError, true);
  assert.match(settled.model, /^redaction_failed: /);
  assert(!JSON.stringify(settled).includes("SECRET"));
});
