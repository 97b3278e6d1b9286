/** Whether known secrets are found, in every form and wherever a stream is cut, and which values are refused. */
import assert from "node:assert/strict";
import { redactBounds } from "../../src/redact/bounds.ts";
import { formsOf } from "../../src/redact/forms.ts";
import { type Added, KnownSecrets } from "../../src/redact/known_secrets.ts";
import { LiteralMatcher } from "../../src/redact/literal_matcher.ts";
import { createRedactor } from "../../src/redact/redactor.ts";

/** With characters that every encoding changes, and one beyond ASCII. */
const secret = 'p/ss+W0rd &"é<Q7!';
const known = new KnownSecrets();
assert.equal(known.add({ value: secret, name: "DB_PASSWORD", source: "env:DB_PASSWORD" }), "added");
const redactor = createRedactor({ known });

const bytes = new TextEncoder().encode(secret);

/** The secret as others encode it, by the encoders of the platform where it has them. */
const encoded: { readonly [name: string]: string } = {
  plain: secret,
  "base64, at the beginning": new TextEncoder().encode(`${secret}...`).toBase64(),
  "base64, one byte in": new TextEncoder().encode(`a${secret}...`).toBase64(),
  "base64, two bytes in": new TextEncoder().encode(`ab${secret}...`).toBase64(),
  "base64, at the end": bytes.toBase64(),
  "base64url": bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
  "base64url, one byte in": new TextEncoder().encode(`a${secret}`).toBase64({ alphabet: "base64url" }),
  "hexadecimal": bytes.toHex(),
  "hexadecimal in capitals": bytes.toHex().toUpperCase(),
  "URL component": encodeURIComponent(secret),
  "URL component in small letters": encodeURIComponent(secret).replace(/%../g, (one) => one.toLowerCase()),
  "URL component twice": encodeURIComponent(encodeURIComponent(secret)),
  "HTML": "p/ss+W0rd &amp;&quot;é&lt;Q7!",
  "URL": encodeURI(secret),
  "form": new URLSearchParams({ "": secret }).toString().slice(1),
  "all percent": Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  "JSON": JSON.stringify(secret).slice(1, -1),
  "JSON within JSON": JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  "JSON in ASCII": JSON.stringify(secret).slice(1, -1).replace("é", "\\u00e9"),
  "JSON with every unit escaped": Array.from(
    { length: secret.length },
    (_, at) => `\\u${secret.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join(""),
  "a data URL": `data:text/plain;base64,${bytes.toBase64()}`,
};

// Proves DM-49, B114.
Deno.test("known secrets are masked in every encoding", () => {
  for (const [name, form] of Object.entries(encoded)) {
    const { value, findings } = redactor.text(`before ${form} after`, "durable");
    assert.match(value, /^before .*\[redacted: DB_PASSWORD from env:DB_PASSWORD\].{0,7} after$/, name);
    const expected = [{ kind: "known", name: "DB_PASSWORD", source: "env:DB_PASSWORD", count: 1 }];
    assert.deepEqual(findings, expected, name);
    // What of base64 is left are the bytes around it, and at most one character on either side that it shares with them.
    const left = value.replace(/\[.*\]/, "").length - "before  after".length;
    assert.ok(left <= (name.startsWith("base64") ? 9 : name === "a data URL" ? 23 : 0), `${name}: ${value}`);
  }
});

// Proves B111: no output holds more than 4 characters of any form, at any time.
Deno.test("known secrets are masked in a stream, wherever it is cut in two or three or into characters", () => {
  let splits = 0;
  for (const [name, form] of Object.entries(encoded)) {
    const text = `before ${form} after`;
    const whole = redactor.text(text, "model").value;
    for (let first = 0; first <= text.length; first++) {
      for (
        const second of new Set([first, Math.min(first + 1, text.length), Math.min(first + 7, text.length)])
      ) {
        const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
        assert.equal(streamed(pieces, form), whole, `${name} cut at ${first} and ${second}`);
        splits += 1;
      }
    }
    assert.equal(streamed([...text], form), whole, `${name} by characters`);
  }
  assert.ok(splits > 2_000);
});

function streamed(pieces: readonly string[], form: string): string {
  const stream = redactor.stream("model");
  let output = "";
  for (const piece of pieces) {
    output += stream.push(piece);
    assert.ok(!output.includes(form.slice(0, 5)) || form.startsWith("data:"), output);
  }
  return output + stream.flush();
}

Deno.test("known secrets are cut off at the end of a stream, and 5 characters of one are masked there", () => {
  const stream = redactor.stream("model");
  assert.equal(stream.push(`so: ${secret.slice(0, 5)}`) + stream.flush(), "so: [redacted]");
  const short = redactor.stream("model");
  assert.equal(short.push(`so: ${secret.slice(0, 4)}`) + short.flush(), `so: ${secret.slice(0, 4)}`);
});

Deno.test("known secrets hold a stream back only while one may have begun", () => {
  const stream = redactor.stream("model");
  assert.equal(stream.push("hello "), "hello ");
  assert.equal(stream.push("p/ss"), "");
  assert.equal(stream.push("!"), "p/ss!");
  assert.deepEqual(stream.findings, []);
});

// Proves B118.
Deno.test("known secrets are refused if to look for them would ruin every text, or find nothing", () => {
  const set = new KnownSecrets();
  const add = (value: string): Added => set.add({ value, name: "N", source: "bound" });
  assert.equal(add("abc"), "too_short");
  assert.equal(add("   abcdefg \n"), "too_short");
  assert.equal(add("          "), "too_short");
  assert.equal(add("aaaaaaaabbbb"), "too_plain");
  assert.equal(add("password"), "too_common");
  assert.equal(add("Access_Token"), "too_common");
  assert.equal(add("redacted"), "too_common");
  assert.equal(add("a [redacted b"), "resembles_mark");
  assert.equal(add("acted][redac"), "resembles_mark");
  assert.equal(add("x1y2z3".repeat(2_000)), "too_long");
  assert.equal(add("mypassword"), "added");
  assert.equal(add(" mypassword\n"), "known");
  assert.equal(set.size, 1);
});

// Proves I12.
Deno.test("known secrets are bounded in number", () => {
  const set = new KnownSecrets();
  const results = Array.from(
    { length: redactBounds.secretsMax + 1 },
    (_, index) => set.add({ value: `Abcdefg-${index}`, name: "N", source: "bound" }),
  );
  assert.deepEqual([results.at(-2), results.at(-1)], ["added", "full"]);

  const long = new KnownSecrets();
  const value = (seed: number) =>
    Array.from({ length: 2_000 }, (_, at) => `${(at * seed) % 7_919}`).join("-").slice(0, 8_000);
  const added = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31].map((seed) =>
    long.add({ value: value(seed), name: "N", source: "bound" })
  );
  assert.ok(added[0] === "added" && added.at(-1) === "full", added.join());
});

Deno.test("known secrets that are added one by one, with texts between, are all found", () => {
  const set = new KnownSecrets();
  const redactor = createRedactor({ known: set });
  const values = Array.from({ length: 70 }, (_, index) => `Kx-${index}-mfp1-zz40`);
  for (const [index, value] of values.entries()) {
    set.add({ value, name: `S${index}`, source: "bound" });
    const text = values.slice(0, index + 1).reverse().join(" ");
    const marks = values.slice(0, index + 1).map((_, number) => `[redacted: S${number}]`).reverse().join(" ");
    assert.equal(redactor.text(text, "operator").value, marks);
    // All of them hold a stream back, the oldest too.
    const stream = redactor.stream("operator");
    assert.equal(stream.push("a Kx-0-mf"), "a ");
  }
});

// Proves DM-53.
Deno.test("known secrets give way to longer ones, and those that overlap become one mark", () => {
  const set = new KnownSecrets();
  set.add({ value: "kx92mfp1", name: "SHORT", source: "bound" });
  set.add({ value: "kx92mfp1-long", name: "LONG", source: "bound" });
  set.add({ value: "long-tail77", name: "TAIL", source: "bound" });
  const clean = (one: string) => createRedactor({ known: set }).text(one, "operator").value;
  assert.equal(clean("kx92mfp1-long"), "[redacted: LONG]");
  assert.equal(clean("kx92mfp1-lone"), "[redacted: SHORT]-lone");
  assert.equal(clean("kx92mfp1-long-tail77!"), "[redacted: LONG]!");
  assert.equal(clean("kx92mfp1kx92mfp1"), "[redacted: SHORT][redacted: SHORT]");
});

Deno.test("known secrets are not made anew by a mark beside them", () => {
  const set = new KnownSecrets();
  set.add({ value: "kx92mfp1kx92", name: "Q4", source: "bound" });
  set.add({ value: "]tail-7731", name: "BEHIND", source: "bound" });
  set.add({ value: "head-7731[red", name: "BEFORE", source: "bound" });
  set.add({ value: "Q4]part-99", name: "NAMED", source: "bound" });
  const clean = (one: string) => createRedactor({ known: set }).text(one, "operator").value;
  assert.equal(clean("kx92mfp1kx92tail-7731"), "[redacted][redacted: BEHIND]");
  assert.equal(clean("head-7731kx92mfp1kx92"), "[redacted: BEFORE][redacted]");
  assert.equal(clean("kx92mfp1kx92part-99"), "[redacted]part-99");
});

Deno.test("known secrets that are added later count from then on", () => {
  const set = new KnownSecrets();
  const late = createRedactor({ known: set });
  assert.equal(late.text("zq81-zq82-zq83", "model").value, "zq81-zq82-zq83");
  set.add({ value: "zq81-zq82-zq83", name: "LATE", source: "argument" });
  assert.equal(late.text("zq81-zq82-zq83", "model").value, "[redacted]");
});

Deno.test("literal matcher tells the longest literal at each end, and where an unfinished one begins", () => {
  const literals = ["abcd", "bcd", "cdefg", "defgh!"];
  const matcher = new LiteralMatcher(literals, { isFolded: false });
  const hits: string[] = [];
  const open = matcher.scan(
    "xabcdefg abc",
    (number, start, end) => hits.push(`${literals[number]} ${start}-${end}`),
  );
  assert.deepEqual(hits, ["abcd 1-5", "cdefg 3-8"]);
  assert.equal(open, 9);
  assert.equal(matcher.scan("ABCD", () => assert.fail()), 4);
  const folded = new LiteralMatcher(["abcd"], { isFolded: true });
  assert.ok(folded.isIn("xxABcDx") && !folded.isIn("abc"));
  assert.throws(() => new LiteralMatcher(["ab"], { isFolded: false }), /3 characters/);
});

Deno.test("literal matcher finds what a search for each literal finds", () => {
  const literals = ["aaaa", "aab", "abab", "babb", "bbba", "aaabbb"];
  const matcher = new LiteralMatcher(literals, { isFolded: false });
  for (let number = 0; number < 4_096; number++) {
    const text = number.toString(2).padStart(12, "0").replaceAll("0", "a").replaceAll("1", "b");
    const ends = new Set<number>();
    matcher.scan(text, (_, __, end) => ends.add(end));
    const expected = literals.flatMap((one) => placesOf(text, one).map((start) => start + one.length));
    assert.deepEqual([...ends].sort(), [...new Set(expected)].sort(), text);
  }
});

function placesOf(text: string, literal: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(literal); at >= 0; at = text.indexOf(literal, at + 1)) places.push(at);
  return places;
}

Deno.test("forms of a plain token are few, and none is so short that it stands everywhere", () => {
  const forms = formsOf("Abcdef1234567890Abcdef1234567890") ?? [];
  assert.ok(forms.length <= 16, String(forms.length));
  assert.ok((formsOf("Abcdef12") ?? []).every((form) => form.length >= redactBounds.formCharactersMin));
});
