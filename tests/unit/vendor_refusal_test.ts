/** What vendors refuse, and how: each becomes a code of ours, in one line that never holds the key (AR-25). */
import assert from "node:assert/strict";
import { createAuthority } from "../support/certificates.ts";
import { chatWire, chunk, done } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { data, type Wire } from "../support/vendors/reply.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { modelErrorOf } from "../../src/model/vendor/vendor_error.ts";
import { HttpError } from "../../src/net/http_error.ts";
import { retryHintMs } from "../../src/model/vendor/retry_hint.ts";
import {
  ask,
  events,
  heard,
  modelsOf,
  refusalOf,
  testKey,
  VendorServer,
  withVendor,
} from "../support/vendors/vendor_server.ts";

/** Status, kind of error, message, and the code that it means. */
type Case = readonly [status: number, type: string, message: string, code: string];

const cases: readonly (readonly [Wire, readonly Case[]])[] = [
  [chatWire, [
    [401, "invalid_api_key", `Incorrect API key provided: ${testKey}.`, "model_login_failed"],
    [403, "forbidden", "Your key may not use this model", "model_login_failed"],
    [403, "moderation", "Your input was flagged", "model_refused"],
    [402, "402", "Insufficient credits. Add more", "model_quota_exceeded"],
    [429, "rate_limit_exceeded", "Rate limit reached for requests", "model_rate_limited"],
    [429, "insufficient_quota", "You exceeded your current quota", "model_quota_exceeded"],
    [404, "model_not_found", "The model 'x' does not exist", "model_unknown"],
    [404, "not_found_error", 'model "x" not found, try pulling it first', "model_unknown"],
    [
      400,
      "context_length_exceeded",
      "This model's maximum context length is 8192 tokens",
      "model_context_exceeded",
    ],
    [
      400,
      "exceed_context_size_error",
      "request (9000 tokens) exceeds the available context size",
      "model_context_exceeded",
    ],
    [500, "server_error", "the request exceeds the available context size", "model_context_exceeded"],
    [
      400,
      "BadRequestError",
      "You requested 128000 output tokens; this model's maximum context length is 131072",
      "model_context_exceeded",
    ],
    [400, "invalid_request_error", "Invalid schema for function 'look'", "model_schema_unsupported"],
    [400, "content_policy_violation", "Rejected", "model_refused"],
    [400, "invalid_request_error", "max_tokens must be positive", "model_failed"],
    [408, "timeout", "Request timed out", "model_server_failed"],
    [503, "unavailable", "Loading model", "model_server_failed"],
  ]],
  [responsesWire, [
    [401, "invalid_api_key", "Incorrect API key provided", "model_login_failed"],
    [
      400,
      "context_length_exceeded",
      "Your input exceeds the context window of this model",
      "model_context_exceeded",
    ],
    [429, "rate_limit_exceeded", "Please try again in 1.5s", "model_rate_limited"],
    [
      400,
      "invalid_prompt",
      "Your prompt was flagged as potentially violating our usage policy",
      "model_refused",
    ],
    [500, "server_error", "The server had an error", "model_server_failed"],
  ]],
  [messagesWire, [
    [401, "authentication_error", "invalid x-api-key", "model_login_failed"],
    [403, "permission_error", "Not allowed", "model_login_failed"],
    [
      400,
      "invalid_request_error",
      "Your credit balance is too low to access the API",
      "model_quota_exceeded",
    ],
    [
      400,
      "invalid_request_error",
      "prompt is too long: 210000 tokens > 200000 maximum",
      "model_context_exceeded",
    ],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 9 + 9 > 10",
      "model_context_exceeded",
    ],
    [
      413,
      "request_too_large",
      "Request exceeds the maximum allowed number of bytes",
      "model_context_exceeded",
    ],
    [
      400,
      "invalid_request_error",
      "tools.0.custom.input_schema: JSON schema is invalid",
      "model_schema_unsupported",
    ],
    [404, "not_found_error", "model: claude-x", "model_unknown"],
    [429, "rate_limit_error", "This request would exceed your rate limit", "model_rate_limited"],
    [529, "overloaded_error", "Overloaded", "model_server_failed"],
    [500, "api_error", "Internal server error", "model_server_failed"],
  ]],
  [geminiWire, [
    [400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", "model_login_failed"],
    [403, "PERMISSION_DENIED", "Not allowed", "model_login_failed"],
    [
      400,
      "INVALID_ARGUMENT",
      "The input token count (9) exceeds the maximum number of tokens allowed (8).",
      "model_context_exceeded",
    ],
    [
      400,
      "INVALID_ARGUMENT",
      "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters'",
      "model_schema_unsupported",
    ],
    [404, "NOT_FOUND", "models/x is not found for API version v1beta", "model_unknown"],
    [
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan",
      "model_rate_limited",
    ],
    [503, "UNAVAILABLE", "The model is overloaded", "model_server_failed"],
  ]],
];

Deno.test("vendor refusals become codes by status and words of each vendor, in one line without the key", async () => {
  for (const [wire, list] of cases) {
    await withVendor(wire, () => new Response(), async ({ server, provider }) => {
      for (const [status, type, message, code] of list) {
        server.answer = () => Response.json(wire.refusal(type, message), { status });
        const { failure } = await refusalOf(provider);
        assert.equal(failure.code, code, `${wire.kind} ${status} ${message}: ${failure.message}`);
        assert.match(
          failure.message,
          /^The provider "vendor" did not answer for "test-model": it answers \d{3}: /,
        );
        assert.ok(!failure.message.includes(testKey) && !failure.message.includes("\n"));
      }
      // Each was asked for once: to ask again is the journal's, never the package's.
      assert.equal(server.asked.length, list.length, wire.kind);
    });
  }
});

Deno.test("vendor refusal of a schema says of which tool it is, by the name that we know", async () => {
  const tool = (name: string) => ({ name, description: "", inputSchema: { type: "object" } });
  const tools = [tool("look"), tool("9.pay"), tool("look_again")];
  const said: readonly (readonly [Wire, string, string | undefined])[] = [
    [chatWire, "Invalid schema for function 'look': it is odd", "look"],
    [chatWire, "Invalid schema for function 'nobody'", undefined],
    [messagesWire, "tools.1.custom.input_schema: JSON schema is invalid", "9.pay"],
    [geminiWire, "Unknown name at 'tools[0].function_declarations[2].parameters'", "look_again"],
  ];
  for (const [wire, message, name] of said) {
    const refusal = () => Response.json(wire.refusal("invalid_request_error", message), { status: 400 });
    await withVendor(wire, refusal, async ({ provider }) => {
      const { failure } = await refusalOf(provider, ask({ tools }));
      assert.deepEqual([failure.code, failure.tool], ["model_schema_unsupported", name], message);
    }, { config: { concurrency: 3 } });
  }
});

Deno.test("vendor refusals say how long to wait: in headers, as a date, or in their words", async () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const hint = (headers: HeadersInit, body = "") => retryHintMs(new Headers(headers), body, now);
  assert.equal(hint({ "retry-after": "7" }), 7_000);
  assert.equal(hint({ "retry-after": "0.5" }), 500);
  assert.equal(hint({ "retry-after": "7", "retry-after-ms": "250" }), 250);
  assert.equal(hint({ "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" }), 30_000);
  assert.equal(hint({ "retry-after": "Sun, 01 Mar 2026 11:00:00 GMT" }), 0);
  assert.equal(hint({ "retry-after": "soon" }), undefined);
  assert.equal(hint({}, '{"error":{"details":[{"retryDelay":"34.5s"}]}}'), 34_500);
  assert.equal(hint({}, "Rate limit. Please try again in 1m3s."), 63_000);
  assert.equal(hint({}, "Please try again in 350ms."), 350);
  assert.equal(hint({}, "no hint"), undefined);
  await withVendor(chatWire, () => new Response(), async ({ server, provider }) => {
    server.answer = () => new Response("slow down", { status: 429, headers: { "retry-after": "7" } });
    assert.equal((await refusalOf(provider)).failure.retryAfterMs, 7_000);
    server.answer = () => new Response("slow down", { status: 429 });
    assert.equal((await refusalOf(provider)).failure.retryAfterMs, undefined);
  });
});

Deno.test("vendor refusals that are pages, are no stream, or come as an answer that is well, are told as what they are", async () => {
  await withVendor(chatWire, () => new Response(), async ({ server, provider }) => {
    const page = "<!doctype html><html><body>502 Bad Gateway</body></html>";
    const html = { "content-type": "text/html" };
    server.answer = () => new Response(page, { status: 500, headers: html });
    const broken = (await refusalOf(provider)).failure;
    assert.equal(broken.code, "model_server_failed");
    assert.match(broken.message, /it answers 500: an HTML page$/);
    server.answer = () => new Response(page, { headers: html });
    const wrong = (await refusalOf(provider)).failure;
    assert.deepEqual([wrong.code, wrong.retryable], ["model_failed", false]);
    assert.match(wrong.message, /no stream of a model: correct base_url$/);
    server.answer = () => Response.json({ error: { message: "Provider overloaded", code: 503 } });
    assert.equal((await refusalOf(provider)).failure.code, "model_server_failed");
    server.answer = () => new Response("x".repeat(3_000_000), { status: 500 });
    assert.ok((await refusalOf(provider)).failure.message.length < 500);
  });
});

Deno.test("vendor error in the middle of a stream, or as its first event, has the code that it says", async () => {
  const signs: readonly (readonly [Wire, string, string])[] = [
    [chatWire, "server_error", "model_server_failed"],
    [chatWire, "rate_limit_exceeded", "model_rate_limited"],
    [responsesWire, "server_error", "model_server_failed"],
    [responsesWire, "rate_limit_exceeded", "model_rate_limited"],
    [messagesWire, "overloaded_error", "model_server_failed"],
    [messagesWire, "api_error", "model_server_failed"],
    [geminiWire, "UNAVAILABLE", "model_server_failed"],
    [geminiWire, "RESOURCE_EXHAUSTED", "model_rate_limited"],
  ];
  for (const [wire, type, code] of signs) {
    const begun = wire.stream({ text: "I begin" }).slice(0, 4);
    const failure = wire.failure(type, "It went wrong");
    for (const [place, parts] of [["middle", [...begun, failure]], ["first", [failure]]] as const) {
      await withVendor(wire, () => events(parts), async ({ provider }) => {
        const error = (await refusalOf(provider)).failure;
        assert.equal(error.code, code, `${wire.kind} ${type} ${place}: ${error.message}`);
      });
    }
  }
});

Deno.test("vendor that says nothing because it will not is a refusal; one that ends with an error is asked again", async () => {
  const [start, stop] = messagesWire.stream({}).slice(-2);
  const refused: readonly (readonly [Wire, readonly string[]])[] = [
    [chatWire, [chunk({}, "content_filter"), done]],
    [messagesWire, [
      ...messagesWire.stream({}).slice(0, 2),
      start?.replace("end_turn", "refusal") ?? "",
      stop ?? "",
    ]],
    [geminiWire, [data({ candidates: [{ index: 0, finishReason: "SAFETY" }] })]],
    [geminiWire, [data({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })]],
  ];
  for (const [wire, parts] of refused) {
    await withVendor(wire, () => events(parts), async ({ provider }) => {
      const { failure } = await refusalOf(provider);
      assert.deepEqual([failure.code, failure.retryable], ["model_refused", false], failure.message);
    });
  }
  const malformed = data({ candidates: [{ index: 0, finishReason: "MALFORMED_FUNCTION_CALL" }] });
  await withVendor(geminiWire, () => events([malformed]), async ({ provider }) => {
    const { failure } = await refusalOf(provider);
    assert.deepEqual([failure.code, failure.retryable], ["model_server_failed", true]);
    assert.match(failure.message, /MALFORMED_FUNCTION_CALL$/);
  });
});

Deno.test("vendor connection that fails is tried again if that may help, and else says what to mend", () => {
  const scene = { provider: "vendor", model: "m", secrets: [testKey], nowMs: 0 };
  const cases = [
    ["http_connect_failed", "model_unreachable"],
    ["http_timed_out", "model_unreachable"],
    ["http_connection_lost", "model_unreachable"],
    ["http_busy", "model_unreachable"],
    ["url_unresolved", "model_unreachable"],
    ["url_blocked", "model_failed"],
    ["http_tls_failed", "model_failed"],
    ["response_too_large", "model_failed"],
    ["http_protocol_error", "model_failed"],
  ] as const;
  for (const [from, code] of cases) {
    const cause = new HttpError(from, `It went wrong at ${testKey}`);
    const { failure } = modelErrorOf(new Error("wrapped", { cause }), scene);
    assert.equal(failure.code, code, from);
    assert.ok(!failure.message.includes(testKey));
  }
  const strange = modelErrorOf(new TypeError(`fetch ${testKey}`), scene).failure;
  assert.ok(!strange.message.includes(testKey));
});

Deno.test("vendor stream with an event that is no JSON is broken, and may be asked for again", async () => {
  const parts = [chunk({ content: "x" }), "data: {nothing\n\n"];
  await withVendor(chatWire, () => events(parts), async ({ provider }) => {
    const { failure } = await refusalOf(provider);
    assert.deepEqual([failure.code, failure.retryable], ["model_unreachable", true]);
  });
});

Deno.test("vendor that cannot be reached, redirects, or has a wrong certificate gets no request, and the line says why", async () => {
  const closed = new VendorServer(() => new Response());
  await closed.close();
  const authority = await createAuthority();
  const secure = new VendorServer(
    () => events(chatWire.stream({ text: "x" })),
    await authority.sign(["127.0.0.1"]),
  );
  const away = new VendorServer(() => Response.redirect("http://127.0.0.1:9/"));
  const failureAt = async (base: string, caCerts: readonly string[] = []) => {
    const models = modelsOf(chatWire, base, { caCerts });
    try {
      return (await refusalOf(await models.open("main"))).failure;
    } finally {
      models.close();
    }
  };
  try {
    const nobody = await failureAt(`http://127.0.0.1:${closed.port}/v1`);
    assert.deepEqual([nobody.code, nobody.retryable], ["model_unreachable", true]);
    const unsigned = await failureAt(`https://127.0.0.1:${secure.port}/v1`);
    assert.deepEqual([unsigned.code, unsigned.retryable], ["model_failed", false]);
    assert.match(unsigned.message, /its certificate comes from an authority that is not known/);
    assert.equal(secure.asked.length, 0);
    const models = modelsOf(chatWire, `https://127.0.0.1:${secure.port}/v1`, { caCerts: [authority.cert] });
    assert.ok((await heard(await models.open("main"))).length > 0);
    models.close();
    const led = await failureAt(`${away.origin}/v1`);
    assert.equal(led.code, "model_failed");
    assert.match(led.message, /set base_url to where it leads$/);
  } finally {
    await Promise.all([secure.close(), away.close()]);
  }
});
