/** Whether JSON values and errors lose their secrets, in keys and values, and nothing else. */
import assert from "node:assert/strict";
import { deepFreeze } from "../../src/canonical.ts";
import { redactBounds } from "../../src/redact/bounds.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createRedactor } from "../../src/redact/redactor.ts";

const secret = "kx92-mfp1-zz40";
const known = new KnownSecrets();
known.add({ value: secret, name: "API_KEY", source: "env:API_KEY" });
known.add({ value: "8675309867530", name: "PIN", source: "file:/etc/pin" });
const redactor = createRedactor({ known });

function shown(value: unknown): unknown {
  return redactor.json(value, "model").value;
}

// Proves B115.
Deno.test("JSON loses known secrets in keys, values, numbers and names of files", () => {
  const value = deepFreeze({
    [`a ${secret}`]: [`x ${secret}`, { deep: btoa(secret) }],
    file: `/tmp/${secret}.txt`,
    number: 8675309867530,
    other: 12,
  });
  assert.deepEqual(shown(value), {
    "a [redacted]": ["x [redacted]", { deep: "[redacted]" }],
    file: "/tmp/[redacted].txt",
    number: "[redacted]",
    other: 12,
  });
  assert.deepEqual(redactor.json(value, "event").findings, [
    { kind: "known", name: "API_KEY", source: "env:API_KEY", count: 4 },
    { kind: "known", name: "PIN", source: "file:/etc/pin", count: 1 },
  ]);
});

// Proves DM-50.
Deno.test("JSON loses what stands under sensitive names, whatever it is", () => {
  assert.deepEqual(
    shown({
      password: "x",
      api_key: 12,
      token: ["a", { b: "c" }],
      credentials: { user: "ada" },
      headers: { Authorization: "Bearer abc", "Set-Cookie": ["a=b"], accept: "text" },
      pairs: [{ name: "Cookie", value: "a=b" }, { key: "colour", value: "red" }],
      list: ["authorization", "Bearer abc"],
      args: ["run", "--token", "abc", "--password", "--verbose", "--api-key=abc", "-v", "x"],
      isOn: { secret: true, password: null, otp: "" },
      PWD: "/home/ada",
      nextPageToken: "abc",
      dependencies: { cookie: "^0.7.1" },
    }),
    {
      password: "[redacted]",
      api_key: "[redacted]",
      token: "[redacted]",
      credentials: "[redacted]",
      headers: { Authorization: "[redacted]", "Set-Cookie": "[redacted]", accept: "text" },
      pairs: [{ name: "Cookie", value: "[redacted]" }, { key: "colour", value: "red" }],
      list: ["authorization", "[redacted]"],
      args: ["run", "--token", "[redacted]", "--password", "--verbose", "--api-key=[redacted]", "-v", "x"],
      isOn: { secret: true, password: null, otp: "" },
      PWD: "/home/ada",
      nextPageToken: "abc",
      dependencies: { cookie: "^0.7.1" },
    },
  );
});

// Proves DM-49, DM-50: found first, then removed everywhere, also from what stands before it.
Deno.test("JSON loses everywhere what is found in one place", () => {
  const value = shown({
    before: "connected with correcthorsebattery",
    login: { password: "correcthorsebattery" },
    link: "https://h/correcthorsebattery/x",
    encoded: btoa("ada:correcthorsebattery"),
    correcthorsebattery: 1,
    header: { authorization: "Bearer qwertz-12345" },
    log: "sent qwertz-12345",
    text: "PASSWORD='pa ss-99 word'",
    again: "got pa%20ss-99%20word",
  });
  const text = JSON.stringify(value);
  for (const left of ["correcthorse", "qwertz", "ss-99"]) assert.ok(!text.includes(left), text);
  assert.equal((value as { before: string }).before, "connected with [redacted]");
});

Deno.test("JSON keeps words that stand under sensitive names and say nothing", () => {
  const value = shown({
    errors: { password: "required", token: "${TOKEN_OF_CI}" },
    schema: { token: { type: "string", description: "required for access" }, required: ["token"] },
    nested: { credentials: { user: "administrator", key: "qwertz-12345" } },
    text: "required by the administrator, in ${TOKEN_OF_CI}; qwertz-12345",
  });
  assert.deepEqual(value, {
    errors: { password: "[redacted]", token: "[redacted]" },
    schema: { token: "[redacted]", required: ["token"] },
    nested: { credentials: "[redacted]" },
    text: "required by the administrator, in ${TOKEN_OF_CI}; [redacted]",
  });
});

Deno.test("JSON loses in a result what was found in the arguments, if the redactor remembers", () => {
  const call = createRedactor({ known }).remembering();
  call.json({ password: "correcthorsebattery" }, "durable");
  assert.equal(call.text("so correcthorsebattery", "model").value, "so [redacted]");
  assert.equal(redactor.text("so correcthorsebattery", "model").value, "so correcthorsebattery");
});

Deno.test("JSON without secrets is given back itself, down to its parts", () => {
  const clean = { a: [1, "x", null, { b: undefined }], c: "" };
  assert.equal(shown(clean), clean);
  const mixed = { clean, dirty: secret };
  const result = shown(mixed) as typeof mixed;
  assert.equal(result.clean, clean);
  assert.equal(mixed.dirty, secret);
});

Deno.test("JSON keeps all fields if two keys become one mark, and no key becomes a prototype", () => {
  const two = shown({ [secret]: 1, [btoa(secret)]: 2 });
  assert.deepEqual(two, { "[redacted]": 1, "[redacted] (2)": 2 });
  const odd = shown(JSON.parse(`{"__proto__":{"x":"${secret}"}}`)) as object;
  assert.equal(JSON.stringify(odd), '{"__proto__":{"x":"[redacted]"}}');
});

// Proves DM-52.
Deno.test("JSON that cannot be looked through is withheld where that begins", () => {
  const { depthMax, itemsMax, stringCharactersMax } = redactBounds;
  assert.deepEqual([depthMax, itemsMax, stringCharactersMax], [8, 100, 1_000_000]);
  let deep: unknown = "bottom";
  for (let level = 0; level < depthMax + 1; level++) deep = [deep];
  const nested = redactor.json(deep, "model");
  assert.equal(JSON.stringify(nested.value), `${"[".repeat(8)}"[withheld: too_deep]"${"]".repeat(8)}`);
  assert.equal(nested.isWithheld, true);

  const many = redactor.json(Array.from({ length: itemsMax + 1 }, (_, index) => index), "model");
  const items = many.value as unknown[];
  assert.deepEqual([items.length, items[98], items[99]], [100, 98, "[withheld: too_many]"]);
  assert.equal(redactor.json(items, "model").value, items);
  const wide = shown(Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, index])));
  assert.equal(Object.keys(wide as object).length, 100);
  assert.equal((wide as { [key: string]: unknown })["[withheld: too_many]"], "[withheld: too_many]");

  assert.deepEqual(shown({ a: "x".repeat(stringCharactersMax + 1) }), { a: "[withheld: too_long]" });
  assert.equal(redactor.text("x".repeat(stringCharactersMax + 1), "model").value, "[withheld: too_long]");
  const wider = createRedactor({ known, bounds: { itemsMax: 200 } });
  assert.equal(
    (wider.json(Array.from({ length: 150 }, () => secret), "model").value as unknown[]).length,
    150,
  );
});

// Proves DM-47.
Deno.test("JSON that is none is withheld, and nothing that breaks lets anything through", () => {
  assert.deepEqual(
    shown({
      date: new Date(0),
      map: new Map([[secret, 1]]),
      big: 10n,
      call: () => secret,
      error: new Error(secret),
    }),
    {
      date: "[withheld: not_json]",
      map: "[withheld: not_json]",
      big: "[withheld: not_json]",
      call: "[withheld: not_json]",
      error: "[withheld: not_json]",
    },
  );
  const trap = Object.defineProperty({}, "x", {
    enumerable: true,
    get: () => {
      throw new Error(secret);
    },
  });
  const broken = redactor.json({ trap }, "model");
  assert.deepEqual([broken.value, broken.isWithheld], ["[withheld: failed]", true]);
  const endless: unknown[] = [];
  endless.push(endless, endless);
  const huge: unknown[] = Array.from({ length: 100 }, () => endless);
  endless.push(...huge);
  assert.equal(redactor.json(endless, "model").value, "[withheld: too_large]");
  const tokens = Array.from(
    { length: 11 },
    (_, row) =>
      Array.from({ length: 100 }, (_, column) => `npm_${`${row}x${column}y`.padEnd(36, "abcDEFghiJKLmno")}`),
  );
  assert.equal(
    redactor.json(tokens, "model").value,
    "[withheld: too_large]",
    "more is found than can be remembered",
  );
  const circle: { self?: unknown } = {};
  circle.self = circle;
  assert.equal(redactor.json(circle, "model").isWithheld, true);
});

// Proves DM-52, B114.
Deno.test("errors are told with their causes, clean, in 500 characters, and no mark is cut", () => {
  const error = new TypeError(`no access with ${secret}`, {
    cause: new Error(`refused: token=${btoa(secret)}`),
  });
  const told = redactor.error(error, "model").value;
  assert.equal(told, "TypeError: no access with [redacted]; caused by Error: refused: token=[redacted]");
  assert.equal(redactor.error("plain text", "model").value, "plain text");
  const { exceptionCharactersMax: max } = redactBounds;
  for (let before = 470; before < 520; before++) {
    const long = redactor.error(`${"x".repeat(before)}${secret}${"y".repeat(600)}`, "durable");
    assert.ok(long.value.length <= max && long.isWithheld, String(before));
    assert.ok(!/kx92/.test(long.value) && !/\[[^\]]*…$/.test(long.value), long.value.slice(-60));
  }
});
