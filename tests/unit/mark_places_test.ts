/** Views as differences: where a model's marks stand, and what other readers are told there. */
import assert from "node:assert/strict";
import { ToolReturn } from "../../schemas/invocation.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { settleEnvelope } from "../../src/effects/settle.ts";
import { markPlaces, viewOf, withBareMarks } from "../../src/redact/mark_places.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { views } from "../../src/redact/marks.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { structuredEnvelope, textEnvelope } from "../../src/tools/tool.ts";
import { createBlobs } from "../support/tools.ts";

const secret = "k3y-Of-The-D0cs-9f8e7d";
const known = new KnownSecrets();
known.add({ name: "DOCS_KEY", source: "env:DOCS_KEY", value: secret });
const redactor = createDoorRedactor(known, { hmacKey: new Uint8Array(32).fill(7) });
const source = { source: "runtime", origin: "built in", trust: "trusted_local" } as const;

async function settle(envelope: Parameters<typeof settleEnvelope>[0], modelCharactersMax = 12_000) {
  const blobs = createBlobs();
  const definition = { ...readFile.definition, name: "sample", outputPolicy: { modelCharactersMax } };
  const settled = ToolReturn.parse(await settleEnvelope(envelope, definition, { blobs, redactor, source }));
  const kept = [...blobs.kept.values()].map((bytes) => new TextDecoder().decode(bytes)).join();
  return {
    settled,
    kept,
    view: (view: typeof views[number]) => viewOf(settled.model, settled.marks ?? [], view),
  };
}

Deno.test("result has five views, each with its own mark, and only one of them is kept as text (DM-46, DM-51)", async () => {
  const { settled, kept, view } = await settle(structuredEnvelope({ a: `say ${secret}`, b: "plain" }));
  assert.equal(settled.model, '{"a":"say [redacted]","b":"plain"}');
  assert.equal(settled.operator, 'sample: {"a":"say [redacted: DOCS_KEY]","b":"plain"}');
  assert.equal(view("model"), settled.model);
  assert.equal(view("event"), '{"a":"say [redacted: DOCS_KEY from env:DOCS_KEY]","b":"plain"}');
  assert.match(
    view("debug"),
    /^\{"a":"say \[redacted: DOCS_KEY from env:DOCS_KEY, [0-9a-f]{16}\]","b":"plain"\}$/,
  );
  assert.match(kept, /say \[redacted: DOCS_KEY from env:DOCS_KEY\]/);
  // A difference is some 80 bytes; the text stands there once.
  assert(JSON.stringify(settled.marks).length < 100);
  // Without secrets all views are one text, and nothing is added.
  const plain = await settle(textEnvelope("nothing to hide"));
  assert.deepEqual(Object.keys(plain.settled).sort(), ["isError", "model", "operator", "truncated"]);
  for (const one of views) assert.equal(plain.view(one), "nothing to hide");
});

Deno.test("result that was cut says of the secrets that are left which they were, and where (DM-46)", async () => {
  const filling = "abc ".repeat(1_000);
  const text = `${secret} first ${filling}${secret}${filling}last ${secret}`;
  const { settled, view } = await settle(textEnvelope(text), 2_000);
  assert(settled.truncated && settled.model.length <= 2_000);
  assert.deepEqual(
    settled.marks?.map(({ at }) => settled.model.slice(at, at + 10)),
    ["[redacted]", "[redacted]"],
  );
  assert.match(view("event"), /^\[redacted: DOCS_KEY from env:DOCS_KEY\] first/);
  assert.match(view("event"), /last \[redacted: DOCS_KEY from env:DOCS_KEY\]$/);
});

Deno.test("marks that a text had of its own are no secrets of ours, in any view", async () => {
  const { settled, view } = await settle(
    textEnvelope(`[redacted] and ${secret} and [redacted: X from env:X]`),
  );
  assert.equal(settled.marks?.length, 1);
  assert.equal(
    view("event"),
    "[redacted] and [redacted: DOCS_KEY from env:DOCS_KEY] and [redacted: X from env:X]",
  );
  assert.equal(withBareMarks("a [redacted: A_1 from env:A_1] b"), "a [redacted] b");
});

Deno.test("texts that differ in more than their marks have no places", () => {
  assert.deepEqual(markPlaces("a [redacted] b", "a [redacted: K from bound] b"), [
    { at: 2, name: "K", source: "bound" },
  ]);
  assert.deepEqual(markPlaces("a [redacted] b", "a [redacted: K from bound] c"), []);
  assert.deepEqual(markPlaces("a [redacted] b", "x [redacted: K from bound] b"), []);
  assert.deepEqual(markPlaces("a [redacted]", "a something"), []);
});
