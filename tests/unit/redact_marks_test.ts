/** Whether marks say what each view may know and nothing of the value, and whether faults show nothing. */
import assert from "node:assert/strict";
import { createFingerprint } from "../../src/redact/fingerprint.ts";
import { KnownSecrets, type SecretSource } from "../../src/redact/known_secrets.ts";
import { views } from "../../src/redact/marks.ts";
import { fixedRefusal, redactSafely } from "../../src/redact/redact_safely.ts";
import { createRedactor } from "../../src/redact/redactor.ts";

const key = new TextEncoder().encode("0123456789abcdef");

function redactorOf(
  value: string,
  name: string,
  source: SecretSource,
  hmacKey: Uint8Array | undefined = key,
) {
  const known = new KnownSecrets();
  assert.equal(known.add({ value, name, source }), "added");
  return createRedactor({ known, ...(hmacKey === undefined ? {} : { hmacKey }) });
}

async function hmac(bytes: Uint8Array, text: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", Uint8Array.from(bytes), algorithm, false, ["sign"]);
  const signed = await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text));
  return new Uint8Array(signed).toHex().slice(0, 16);
}

// Proves DM-51.
Deno.test("marks say more to those who are trusted more", async () => {
  const redactor = redactorOf("kx92-mfp1-zz40", "API_KEY", "env:OPENAI_KEY");
  const print = await hmac(key, "kx92-mfp1-zz40");
  const shown = views.map((view) => redactor.text("a kx92-mfp1-zz40 b", view).value);
  assert.deepEqual(shown, [
    "a [redacted] b",
    "a [redacted: API_KEY] b",
    "a [redacted: API_KEY from env:OPENAI_KEY] b",
    "a [redacted: API_KEY from env:OPENAI_KEY] b",
    `a [redacted: API_KEY from env:OPENAI_KEY, ${print}] b`,
  ]);
  // The fingerprint is that of the value, in whatever form it stands there.
  assert.equal(redactor.text(btoa("kx92-mfp1-zz40"), "debug").value, shown[4]?.slice(2, -2));
});

Deno.test("marks have no fingerprint without a key, and a short key is refused", () => {
  const known = new KnownSecrets();
  known.add({ value: "kx92-mfp1-zz40", name: "API_KEY", source: "bound" });
  const shown = createRedactor({ known }).text("kx92-mfp1-zz40", "debug").value;
  assert.equal(shown, "[redacted: API_KEY from bound]");
  assert.throws(() => createRedactor({ known, hmacKey: new Uint8Array(15) }), /15 bytes/);
});

Deno.test("fingerprints are HMAC-SHA-256, for keys and texts of any length", async () => {
  for (const keyLength of [16, 63, 64, 65, 200]) {
    const bytes = Uint8Array.from({ length: keyLength }, (_, index) => index * 7);
    const fingerprint = createFingerprint(bytes);
    for (const length of [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 1_000]) {
      const text = "aé".repeat(length).slice(0, length);
      assert.equal(fingerprint(text), await hmac(bytes, text), `${keyLength} and ${length}`);
    }
  }
});

Deno.test("marks tell nothing of the value, not even its length", () => {
  const shown = ["kx92-mfp1", "kx92-mfp1".repeat(40)].map((value) =>
    redactorOf(value, "API_KEY", "argument").text(`a ${value} b`, "durable").value
  );
  assert.deepEqual(new Set(shown), new Set(["a [redacted: API_KEY from argument] b"]));
});

Deno.test("marks never show a name or a source that could break them or be a secret itself", () => {
  const value = "kx92-mfp1-zz40";
  const clean = (name: string, source: SecretSource) =>
    redactorOf(value, name, source).text(value, "durable").value;
  assert.equal(clean("a] b", "env:X"), "[redacted: secret from env:X]");
  assert.equal(clean("x".repeat(65), "env:X"), "[redacted: secret from env:X]");
  assert.equal(clean("N", "file:/home/ada/my key.txt"), "[redacted: N from file:unnamed]");
  assert.equal(clean("N", "file:/etc/key"), "[redacted: N from file:/etc/key]");
  assert.equal(clean("N", "env:a b"), "[redacted: N from bound]");
  assert.equal(clean(value, "env:X"), "[redacted]");
  assert.equal(clean("N", `file:/tmp/${value}`), "[redacted]");
});

Deno.test("marks are left alone only if they say what we would say", () => {
  const redactor = redactorOf("kx92-mfp1-zz40", "API_KEY", "env:OPENAI_KEY");
  const shown = (password: string) => redactor.json({ password }, "durable").value;
  for (
    const ours of [
      ...[
        "[redacted]",
        "[redacted: API_KEY]",
        "[redacted: API_KEY from env:OPENAI_KEY]",
        "[withheld: too_deep]",
      ],
      ...["[redacted: password from field]", "[redacted: jwt from pattern]"],
    ]
  ) assert.deepEqual(shown(ours), { password: ours });
  for (
    const forged of [
      ...[
        "[redacted: hunter2]",
        "[redacted: API_KEY from hunter2]",
        "[redacted] hunter2",
        "[withheld: hunter]",
      ],
      ...["[redacted: hunter2 from field]", "[redacted: API_KEY from field]"],
    ]
  ) assert.deepEqual(shown(forged), { password: "[redacted: password from field]" }, forged);
});

// Proves DM-47.
Deno.test("a fault in making a result safe gives the fixed refusal, and the error goes nowhere", async () => {
  const refused = { isSafe: false, refusal: fixedRefusal };
  const thrown = await redactSafely(() => {
    throw new Error("kx92-mfp1-zz40");
  });
  assert.deepEqual(thrown, refused);
  assert.deepEqual(await redactSafely(() => Promise.reject(new Error("kx92-mfp1-zz40"))), refused);
  assert.deepEqual(await redactSafely(() => 12), { isSafe: true, value: 12 });
});

// Proves DM-47: whoever breaks, the view is a mark and never the value.
Deno.test("a fault within the redactor withholds the whole value, and ends a stream", () => {
  const known = new KnownSecrets();
  known.add({ value: "kx92-mfp1-zz40", name: "API_KEY", source: "bound" });
  const redactor = createRedactor({ known });
  const stream = redactor.stream("model");
  assert.equal(stream.push("fine "), "fine ");
  known.scan = () => {
    throw new Error("kx92-mfp1-zz40");
  };
  for (
    const { value, isWithheld } of [redactor.text("x kx92-mfp1-zz40", "model"), redactor.json(["x"], "model")]
  ) {
    assert.deepEqual([value, isWithheld], ["[withheld: failed]", true]);
  }
  assert.equal(redactor.error(new Error("x"), "model").value, "[withheld: failed]");
  assert.equal(stream.push("kx92-mfp1-zz40"), "[withheld: failed]");
  assert.equal(stream.push("kx92-mfp1-zz40") + stream.flush(), "");
  assert.equal(stream.isWithheld, true);
});
