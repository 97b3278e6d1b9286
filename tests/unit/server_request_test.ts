/** Whether what a server asks of a person is read within bounds, with nothing invisible in it, and no secret asked for. */
import assert from "node:assert/strict";
import { InputRequired, ServerRequest } from "../../schemas/call_pause.ts";
import { limits } from "../../schemas/limits.ts";
import { inputOf, pagesOf } from "../../src/mcp/input_required.ts";
import { readElicitation } from "../../src/mcp/server_request.ts";

function read(params: unknown): ServerRequest {
  return ServerRequest.parse(readElicitation("k", params, "prompt"));
}

function form(properties: unknown, more: object = {}) {
  return read({ message: "m", requestedSchema: { type: "object", properties, ...more } });
}

function whyNot(request: ServerRequest): string {
  return request.kind === "refused"
    ? `${request.why.code} ${request.why.message}`
    : assert.fail(request.kind);
}

Deno.test("form of a server is read with every kind of field that the protocol has (CM-34)", () => {
  const request = form({
    name: {
      type: "string",
      title: "Name",
      description: "All of it",
      minLength: 1,
      maxLength: 9,
      default: "Ada",
    },
    mail: { type: "string", format: "email" },
    odd: { type: "string", format: "hostname" },
    n: { type: "number", minimum: 0, maximum: 1, default: 0.5 },
    i: { type: "integer" },
    b: { type: "boolean", default: false },
    plain: { type: "string", enum: ["a", "b"], enumNames: ["A"], default: "b" },
    titled: { type: "string", oneOf: [{ const: "a", title: "A" }] },
    many: {
      type: "array",
      items: { type: "string", enum: ["a", "b"] },
      minItems: 1,
      maxItems: 2,
      default: ["a"],
    },
    titles: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
  }, { required: ["name", "nobody"] });
  assert.ok(request.kind === "form");
  const rest = { required: false };
  assert.deepEqual(request.fields, [
    {
      kind: "text",
      name: "name",
      title: "Name",
      description: "All of it",
      required: true,
      lengthMin: 1,
      lengthMax: 9,
      default: "Ada",
    },
    { kind: "text", name: "mail", ...rest, format: "email" },
    { kind: "text", name: "odd", ...rest },
    { kind: "number", name: "n", ...rest, min: 0, max: 1, default: 0.5 },
    { kind: "integer", name: "i", ...rest },
    { kind: "boolean", name: "b", ...rest, default: false },
    {
      kind: "choice",
      name: "plain",
      ...rest,
      options: [{ value: "a", title: "A" }, { value: "b" }],
      default: "b",
    },
    { kind: "choice", name: "titled", ...rest, options: [{ value: "a", title: "A" }] },
    {
      kind: "choices",
      name: "many",
      ...rest,
      options: [{ value: "a" }, { value: "b" }],
      countMin: 1,
      countMax: 2,
      default: ["a"],
    },
    { kind: "choices", name: "titles", ...rest, options: [{ value: "a", title: "A" }] },
  ]);
});

Deno.test("default that does not fit its own field, or cannot be seen, is none (CM-34)", () => {
  const request = form({
    days: { type: "integer", minimum: 1, default: 0 },
    who: { type: "string", default: "Ada\u200b" },
    role: { type: "string", enum: ["a"], default: "b" },
  });
  assert.ok(request.kind === "form");
  assert.deepEqual(request.fields.map((field) => field.default), [undefined, undefined, undefined]);
});

Deno.test("form that asks for a secret is refused whatever a person would say (CM-34, B100)", () => {
  const fields: readonly (readonly [name: string, title?: string])[] = [
    ["password"],
    ["api_key"],
    ["API-Key"],
    ["db.password"],
    ["x", "Your password"],
    ["y", "Access Token"],
  ];
  for (const [name, title] of fields) {
    const request = form({ user: { type: "string" }, [name]: { type: "string", title } });
    assert.match(whyNot(request), /^mcp_input_refused .*asks for a secret \("/);
  }
  assert.equal(form({ token_count: { type: "integer" }, secretary: { type: "string" } }).kind, "form");
});

Deno.test("form that cannot be shown as it is, or at all, is refused and says why (CM-34)", () => {
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`f${n}`, { type: "string" }]));
  const long = Object.fromEntries(
    Array.from(
      { length: 32 },
      (_, n) => [`f${n}`, { type: "string", enum: Array(100).fill("x".repeat(100)) }],
    ),
  );
  const cases: readonly (readonly [request: ServerRequest, why: RegExp])[] = [
    [read({ message: "m" }), /it has no form/],
    [read(7), /it has no form/],
    [form(many), /33 fields, and at most 32/],
    [form(long), /bytes, and at most 32768 can be shown/],
    [form({ a: { type: "object" } }), /"a" is of a kind/],
    [form({ a: { type: "array", items: { type: "string" } } }), /"a" is of a kind/],
    [form({ a: "text" }), /"a" is no schema/],
    [form({ "a\u202e": { type: "string" } }), /"a\\u\{202e\}" has a name/],
    [form({ a: { type: "string", enum: ["x\u200b"] } }), /"a" has a choice/],
    [form({ a: { type: "string", enum: [1] } }), /"a" does not fit/],
    [form({ a: { type: "string", enum: [] } }), /"a" does not fit/],
    [read({ mode: "url", message: "m", url: "javascript:alert(1)" }), /not one of http/],
    [read({ mode: "url", message: "m", url: `https://x.org/${"y".repeat(2_000)}` }), /too long/],
  ];
  for (const [request, why] of cases) assert.match(whyNot(request), why);
});

Deno.test("message and address of a server are shown with everything visible, and no longer than a page (CM-34)", () => {
  const request = read({
    mode: "url",
    message: `a\u202eb\n${"x".repeat(9_000)}`,
    url: "https://p\u0430ypal.com/\u202ex",
  });
  assert.ok(request.kind === "url");
  assert.ok(
    request.message.startsWith("a\\u{202e}b\nx") &&
      request.message.length === limits.formMessageCharactersMax,
  );
  assert.equal(request.url, "https://xn--pypal-4ve.com/%E2%80%AEx");
});

Deno.test("result that wants input is read with its state as it is, and one that cannot be served says why (CM-34, B98)", () => {
  const wanted = {
    method: "elicitation/create",
    params: { message: "", requestedSchema: { properties: {} } },
  };
  const raw = {
    resultType: "input_required",
    inputRequests: { "a b": wanted },
    requestState: " \u{1f511}\u0000",
  };
  const pause = inputOf(raw, "auto");
  assert.ok(pause?.type === "input_required");
  assert.equal(pause.state, raw.requestState);
  InputRequired.parse({
    type: "input_required",
    server: "docs",
    how: "retry",
    requests: [...pause.requests],
  });
  for (const other of [{}, { resultType: "complete" }, null, "x", { resultType: 7 }]) {
    assert.equal(inputOf(other, "prompt"), undefined);
  }
  const five = Object.fromEntries("abcde".split("").map((key) => [key, wanted]));
  const cases: readonly (readonly [more: object, why: RegExp])[] = [
    [{ requestState: { a: 1 } }, /no text/],
    [{ requestState: "\ud800" }, /no text/],
    [{ requestState: "\u00e9".repeat(32_769) }, /65538 bytes, and at most 65536/],
    [{ inputRequests: [] }, /no object/],
    [{ inputRequests: five }, /5 things at once, and at most 4/],
    [{ inputRequests: { "a\u202e": wanted } }, /cannot be kept/],
    [
      { inputRequests: { a: { method: "sampling/createMessage" } } },
      /"sampling\/createMessage", which was not offered/,
    ],
    [{ inputRequests: { a: 7 } }, /not offered/],
  ];
  for (const [more, why] of cases) {
    const read = inputOf({ ...raw, ...more }, "prompt");
    assert.ok(read?.type === "unusable", JSON.stringify(more).slice(0, 100));
    assert.match(read.failure.message, why);
  }
  assert.equal(inputOf(raw, undefined)?.type, "unusable");
});

Deno.test("refusal that wants a page to be opened names it; any other refusal is one (CM-34)", () => {
  const one = { mode: "url", message: "m", url: "https://x.org/", elicitationId: "e" };
  const data = { elicitations: [one] };
  assert.deepEqual(pagesOf({ code: -32042, data }, "prompt"), [{
    kind: "url",
    key: "page-1",
    message: "m",
    url: one.url,
  }]);
  for (
    const [code, other, gate] of [
      [-32041, data, "prompt"],
      [-32042, data, undefined],
      [-32042, { elicitations: [] }, "prompt"],
      [-32042, { elicitations: [one, one, one, one, one] }, "prompt"],
      [-32042, { elicitations: [{ ...one, url: "file:///etc" }] }, "prompt"],
      [-32042, undefined, "prompt"],
    ] as const
  ) assert.equal(pagesOf({ code, data: other }, gate), undefined);
});
