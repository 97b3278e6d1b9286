/** Whether a person sees the arguments of a call: bounded, without secrets, with everything visible. */
import assert from "node:assert/strict";
import { isSecretName, previewArguments } from "../../actors/preview.ts";
import type { Json } from "../../schemas/json.ts";

Deno.test("preview shows small arguments whole", () => {
  const shown = previewArguments({ path: "a.txt", lines: [1, 2], deep: { on: true, none: null } });
  assert.equal(shown, '{"path": "a.txt", "lines": [1, 2], "deep": {"on": true, "none": null}}');
});

Deno.test("preview masks values under secret names, whatever they look like (DM-32)", () => {
  const shown = previewArguments({
    headers: { Authorization: "Bearer hunter2", "X-Api-Key": "hunter2", accept: "text" },
    db_password: { nested: "hunter2" },
    pairs: [{ name: "Cookie", value: "hunter2" }],
    token: ["hunter2"],
  });
  assert.ok(!shown.includes("hunter2"), shown);
  assert.ok(shown.includes('"Authorization": [redacted]') && shown.includes('"accept": "text"'));
  for (
    const name of ["PASSWORD", "client-secret", "refresh_token", "userToken", "connection.string", "otp"]
  ) {
    assert.ok(isSecretName(name), name);
  }
  for (const name of ["path", "max_tokens", "author", "pattern"]) assert.ok(!isSecretName(name), name);
});

Deno.test("preview stops at 6 levels, 50 items, 500 characters of a string, and 2,048 in all (DM-33)", () => {
  let deep: Json = "bottom";
  for (let level = 0; level < 10; level++) deep = { deep };
  const shownDeep = previewArguments({ deep });
  assert.equal(shownDeep.split("deep").length - 1, 6);
  assert.ok(shownDeep.includes("{…}") && !shownDeep.includes("bottom"));

  const items = previewArguments({ items: Array.from({ length: 60 }, () => 1) });
  assert.equal(items, `{"items": [${Array(50).fill(1).join(", ")}, … 10 more]}`);
  const fields = previewArguments(Object.fromEntries(Array.from({ length: 51 }, (_, key) => [`k${key}`, 1])));
  assert.ok(fields.includes('"k49": 1, … 1 more}') && !fields.includes("k50"));
  assert.ok(!previewArguments({ items: Array(50).fill(1) }).includes("more"));

  const long = previewArguments({ text: "x".repeat(700) });
  const [head, tail] = ["x".repeat(380), "x".repeat(120)];
  assert.equal(long, `{"text": "${head}"… 200 more characters …"${tail}"}`);
  assert.equal(previewArguments({ text: "x".repeat(500) }), `{"text": "${"x".repeat(500)}"}`);

  const wide = previewArguments(
    Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`k${key}`, "y".repeat(400)])),
  );
  assert.equal(wide.length, 2_048);
  assert.ok(wide.endsWith("… (cut)"));
});

// B83, B84, B121: nothing invisible reaches the eye unseen.
Deno.test("preview makes control, bidi, zero-width and tag characters visible", () => {
  const shown = previewArguments({
    "ke\u200by": "a\u0000b\u001b[31mc\u202ed\u200be\ufefff\u{e0041}g\r\nh\u2028i\u00ad",
  });
  assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Zl}]/u);
  for (const mark of ["\\u{0}", "\\u{1b}", "\\u{202e}", "\\u{200b}", "\\u{feff}", "\\u{e0041}", "\\u{a}"]) {
    assert.ok(shown.includes(mark), mark);
  }
  assert.ok(shown.includes('"ke\\u{200b}y"'));
});

Deno.test("preview does not let text pose as an escape or as the end of a string", () => {
  assert.equal(previewArguments({ a: "\\u{200b}" }), '{"a": "\\\\u{200b}"}');
  assert.equal(previewArguments({ a: '", "approved": "yes' }), '{"a": "\\", \\"approved\\": \\"yes"}');
});

Deno.test("preview never shows half a character", () => {
  const shown = previewArguments({ text: `${"x".repeat(379)}😀${"x".repeat(199)}😀${"x".repeat(119)}` });
  assert.doesNotMatch(shown, /\p{Cs}/u);
  assert.doesNotMatch(shown, /\\u\{d[89a-f]/);
});
