/** What holds for every text, every secret and every way to cut a stream. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { formsOf } from "../../src/redact/forms.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { views } from "../../src/redact/marks.ts";
import { createRedactor } from "../../src/redact/redactor.ts";

const key = new TextEncoder().encode("a key of this installation");

/** Values with every kind of character that encodings treat in their own way, brackets of marks among them. */
const secret = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9+/=_-]{12,40}$/),
  fc.string({ minLength: 10, maxLength: 30 }),
  fc.string({ minLength: 10, maxLength: 30, unit: "grapheme" }),
  fc.string({ minLength: 10, maxLength: 20, unit: fc.constantFrom(...'ab]d[e:redacts "\\/%&=é') }),
);

interface Planted {
  readonly known: KnownSecrets;
  /** Those that were taken: a value may be refused. */
  readonly values: readonly string[];
}

function plant(values: readonly string[]): Planted {
  const known = new KnownSecrets();
  const taken = values.filter((value, index) =>
    known.add({ value, name: `SECRET_${index}`, source: `env:SECRET_${index}` }) === "added"
  );
  return { known, values: taken };
}

const planted = fc.array(secret, { minLength: 1, maxLength: 5 }).map(plant);
const around = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."[]redacted: from=\"'\\&?-") }));
const view = fc.constantFrom(...views);

/** A text that holds forms of secrets among other things. */
const filled = planted.chain((planted) => {
  const forms = planted.values.flatMap((value) => formsOf(value) ?? []);
  const piece = forms.length === 0 ? around : fc.oneof(fc.constantFrom(...forms), around);
  return fc.record({
    planted: fc.constant(planted),
    text: fc.array(piece, { maxLength: 8 }).map((all) => all.join("")),
  });
});

function assertNothingLeft(output: string, { values }: Planted): void {
  for (const value of values) {
    for (const form of formsOf(value) ?? []) {
      assert.ok(!output.includes(form), `${JSON.stringify(form)} is left in ${JSON.stringify(output)}`);
    }
  }
}

// Proves DM-49, DM-53, B114.
Deno.test("redaction leaves no known value in a text, in any form, for any view", () => {
  fc.assert(fc.property(filled, view, ({ planted, text }, view) => {
    const { value, isWithheld } = createRedactor({ known: planted.known, hmacKey: key }).text(text, view);
    assertNothingLeft(value, planted);
    assert.equal(isWithheld, false);
  }));
});

// Proves B111.
Deno.test("redaction leaves no known value in a stream, however it is cut", () => {
  const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 12 });
  fc.assert(fc.property(filled, cuts, view, ({ planted, text }, cuts, view) => {
    const stream = createRedactor({ known: planted.known, hmacKey: key }).stream(view);
    let output = "";
    let from = 0;
    for (const cut of [...cuts.sort((a, b) => a - b), text.length]) {
      const to = Math.max(from, Math.min(cut, text.length));
      output += stream.push(text.slice(from, to));
      from = to;
      assertNothingLeft(output, planted);
    }
    assertNothingLeft(output + stream.flush(), planted);
    assert.equal(stream.isWithheld, false);
  }));
});

Deno.test("redaction of a whole text and of its single characters give the same if only known values stand in it", () => {
  const value = fc.stringMatching(/^[A-Z0-9]{12,20}$/);
  const words = fc.array(fc.constantFrom("a ", "bc, ", "d\n", "ef"), { maxLength: 4 }).map((all) =>
    all.join("")
  );
  fc.assert(fc.property(fc.array(value, { minLength: 1, maxLength: 3 }), words, (values, words) => {
    const { known, values: taken } = plant(values);
    const text = taken.map((one) => `${words}${one}`).join("") + words;
    const redactor = createRedactor({ known });
    const stream = redactor.stream("durable");
    let output = "";
    for (const character of text) output += stream.push(character);
    assert.equal(output + stream.flush(), redactor.text(text, "durable").value);
  }));
});

/** JSON with forms of secrets and sensitive names in keys and values. */
const json = planted.chain((planted) => {
  const forms = planted.values.flatMap((value) => formsOf(value) ?? []);
  const name = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "password",
      "apiKey",
      "__proto__",
      "value",
      "name",
      "Authorization",
      ...forms.slice(0, 20),
    ),
  );
  const text = fc.oneof(
    around,
    fc.constantFrom("--token", "x", ...forms),
    fc.string().map((one) => `a${one}${forms[0]}`),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      text,
      fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie("tree"), { maxLength: 5 }),
      fc.dictionary(name, tie("tree"), { maxKeys: 5, noNullPrototype: true }),
    ),
  }));
  return fc.record({ planted: fc.constant(planted), value: tree });
});

/** All texts in a value, keys among them: what a reader could be shown. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)]);
}

// Proves B115.
Deno.test("redaction leaves no known value in JSON, in keys and values, and does not change what it was given", () => {
  fc.assert(fc.property(json, view, ({ planted, value }, view) => {
    const before = JSON.stringify(value);
    const redaction = createRedactor({ known: planted.known, hmacKey: key }).json(value, view);
    for (const text of textsIn(redaction.value)) assertNothingLeft(text, planted);
    assert.equal(JSON.stringify(value), before);
    assert.equal(redaction.isWithheld, false);
  }));
});

Deno.test("redaction twice is redaction once, of texts and of JSON", () => {
  fc.assert(fc.property(json, filled, view, ({ planted, value }, text, view) => {
    const ofJson = createRedactor({ known: planted.known, hmacKey: key });
    const once = ofJson.json(value, view).value;
    assert.equal(ofJson.json(once, view).value, once);
    const ofText = createRedactor({ known: text.planted.known, hmacKey: key });
    const clean = ofText.text(text.text, view).value;
    assert.equal(ofText.text(clean, view).value, clean);
  }));
});

Deno.test("redaction gives a value without secrets back itself", () => {
  const { known } = plant(["QZXJ4817QZXJ4817", "VVKKWW99110022"]);
  const redactor = createRedactor({ known });
  const words = fc.array(
    fc.constantFrom("the", "list", "of", "files", "12", "{a: b}", "x=1", "é", "[redacted]"),
    {
      maxLength: 20,
    },
  ).map((all) => all.join(" "));
  const plain = fc.jsonValue({ maxDepth: 5 });
  fc.assert(fc.property(words, plain, view, (text, value, view) => {
    assert.equal(redactor.text(text, view).value, text);
    assert.deepEqual(redactor.text(text, view).findings, []);
    const { value: same, findings } = redactor.json({ text, value }, view);
    // Random keys may be sensitive by chance; then something is found, and said.
    assert.ok(findings.length > 0 || (same as { value: unknown }).value === value);
  }));
});

// Proves DM-47: nothing that a tool may return breaks it.
Deno.test("redaction never throws, whatever it is given", () => {
  const { known } = plant(["QZXJ4817QZXJ4817"]);
  const redactor = createRedactor({ known });
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSparseArray: true,
    withNullPrototype: true,
  });
  fc.assert(fc.property(anything, fc.string({ unit: "binary" }), view, (value, text, view) => {
    redactor.json(value, view);
    redactor.error(value, view);
    redactor.text(text, view);
    const stream = redactor.stream(view);
    stream.push(text);
    stream.flush();
  }));
});

// Notes on reliability, 5.6: no text may be gone through again and again.
Deno.test("redaction of any text with everything that begins a secret ends", () => {
  const begin = fc.constantFrom(
    ...[
      "token=",
      "password: ",
      "://",
      "a:b@",
      "sk-",
      "eyJ",
      ".",
      "-----BEGIN PRIVATE KEY-----",
      '"',
      "\\",
      "[redacted: ",
    ],
    ...[
      "Bearer ",
      "Basic ",
      "--secret ",
      "?apikey=",
      "AKIA",
      "ghp_",
      "aA1",
      " ",
      "\n",
      "[redacted]",
      "${X}",
      "Cookie: ",
    ],
  );
  const { known } = plant(["QZXJ4817QZXJ4817"]);
  const redactor = createRedactor({ known });
  fc.assert(fc.property(fc.array(begin, { maxLength: 60 }), view, (pieces, view) => {
    const text = pieces.join("");
    const { value, isWithheld } = redactor.text(text, view);
    assert.equal(isWithheld, false, text);
    assert.equal(redactor.text(value, view).value, value);
  }));
});
