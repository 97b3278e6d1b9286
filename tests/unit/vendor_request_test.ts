/** What a vendor is told: names that it takes, schemas in its words, conversations that it does not refuse (AR-17, AR-19). */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelMessage } from "../../schemas/model.ts";
import { ProviderConfig } from "../../schemas/provider.ts";
import { promptOf } from "../../src/model/vendor/prompt.ts";
import { ToolNames } from "../../src/model/vendor/tool_names.ts";
import { toldSchema } from "../../src/model/vendor/tool_schema.ts";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { ask, type Asked, heard, inTurn, withVendor } from "../support/vendors/vendor_server.ts";

const identity = { kind: "anthropic", model: "m" } as const;

Deno.test("vendor names of tools are one for each of ours, 64 characters that every vendor takes, and lead back", () => {
  const part = fc.constantFrom("a", "b", ".", "/", "_", "-", "1", "é", "looooooooooooooong");
  fc.assert(fc.property(
    fc.array(fc.array(part, { minLength: 1, maxLength: 12 }).map((all) => all.join("")), { maxLength: 30 }),
    (list) => {
      const names = new ToolNames(list);
      const distinct = [...new Set(list)];
      const told = distinct.map((name) => names.toVendor(name));
      assert.equal(new Set(told).size, distinct.length);
      for (const name of told) assert.match(name, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
      assert.deepEqual(told.map((name) => names.toOurs(name)), distinct);
      // Depends on the set, not on the order.
      const again = new ToolNames([...list].reverse());
      assert.deepEqual(distinct.map((name) => again.toVendor(name)), told);
    },
  ));
  const names = new ToolNames(["files.read", "files/read", "files_read", "1st"]);
  assert.equal(names.toVendor("files_read"), "files_read");
  assert.match(names.toVendor("files.read"), /^files_read_[0-9a-f]{8}$/);
  assert.notEqual(names.toVendor("files.read"), names.toVendor("files/read"));
  assert.match(names.toVendor("1st"), /^_1st_[0-9a-f]{8}$/);
});

Deno.test("vendor calls a tool by its own name for it, and the call comes back under ours", async () => {
  for (const wire of [chatWire, responsesWire, messagesWire, geminiWire]) {
    const told = new ToolNames(["9.look"]).toVendor("9.look");
    const reply = { calls: [{ id: "c", name: told, arguments: {} }] };
    await withVendor(wire, inTurn(wire, [reply]), async ({ server, provider }) => {
      const tool = { name: "9.look", description: "Looks", inputSchema: { type: "object" } };
      const events = await heard(provider, ask({ tools: [tool], toolChoice: { tool: "9.look" } }));
      const names = events.flatMap((event) => event.type === "tool_call_done" ? [event.name] : []);
      assert.deepEqual(names, ["9.look"], wire.kind);
      const body = JSON.stringify(server.asked[0]?.body);
      assert.ok(body.includes(told) && !body.includes("9.look"), wire.kind);
    });
  }
});

Deno.test("vendor may say nothing for as long as its model is set to, else as its provider is", async () => {
  const setups = [
    [{}, undefined],
    [{ config: { timeout_ms: 600_000 } }, 600_000],
    [{ config: { timeout_ms: 600_000 }, settings: { timeout_ms: 900_000 } }, 900_000],
  ] as const;
  for (const [setup, expected] of setups) {
    await withVendor(chatWire, inTurn(chatWire, []), ({ provider }) => {
      assert.equal(provider.timeoutMs, expected);
      return Promise.resolve();
    }, setup);
  }
  const bad = { kind: "openai", api_key: "env:KEY", timeout_ms: 10 };
  assert.equal(ProviderConfig.safeParse(bad).success, false);
});

const choices = [
  [chatWire, { auto: "auto", none: "none", tool: { type: "function", function: { name: "look" } } }],
  [responsesWire, { auto: "auto", none: "none", tool: { type: "function", name: "look" } }],
] as const;

Deno.test("vendor is told of tools, the choice, the limit, and the key where it belongs (AR-17, AR-19)", async () => {
  const tools = [{ name: "look", description: "Looks", inputSchema: { type: "object" } }];
  for (const [wire, wanted] of choices) {
    await withVendor(wire, inTurn(wire, []), async ({ server, provider }) => {
      for (const toolChoice of ["auto", "none", { tool: "look" }] as const) {
        await heard(provider, ask({ tools, toolChoice, maxOutputTokens: 321 }));
      }
      const bodies = server.asked.map(({ body }) => body);
      assert.deepEqual(bodies.map(({ tool_choice }) => tool_choice), [wanted.auto, wanted.none, wanted.tool]);
      assert.ok(bodies.every((body) => (body.max_tokens ?? body.max_output_tokens) === 321));
      assert.ok(
        server.asked.every(({ headers }) => headers.get("authorization")?.startsWith("Bearer sk-test")),
      );
    });
  }
  // A model that calls no tools is told of none; its own limit holds.
  const settings = {
    capabilities: { tool_calling: false },
    limits: { output_tokens: 100, context_tokens: 777 },
  };
  await withVendor(chatWire, inTurn(chatWire, []), async ({ server, provider }) => {
    assert.equal(provider.capabilities.toolCalling, false);
    assert.equal(provider.capabilities.maxContextTokens, 777);
    await heard(provider, ask({ tools }));
    assert.deepEqual([server.asked[0]?.body.tools, server.asked[0]?.body.max_tokens], [undefined, 100]);
  }, { settings });
});

Deno.test("vendor is sent the headers and options of the configuration; nothing is left with OpenAI", async () => {
  const setup = {
    config: { headers: { "x-title": "Troupe", "x-api-token": "env:SECOND" } },
    settings: { options: { reasoningEffort: "low" } },
    secrets: [["env:SECOND", "second-secret-83b1"] as const],
  };
  await withVendor(responsesWire, inTurn(responsesWire, []), async ({ server, provider }) => {
    await heard(provider);
    const [asked] = server.asked;
    assert.equal(asked?.headers.get("x-title"), "Troupe");
    assert.equal(asked?.headers.get("x-api-token"), "second-secret-83b1");
    assert.equal(asked?.body.store, false);
  }, setup);
  await withVendor(chatWire, inTurn(chatWire, []), async ({ server, provider }) => {
    await heard(provider);
    assert.equal(server.asked[0]?.body.reasoning_effort, "low");
  }, setup);
});

Deno.test("vendor is told to call one tool at a time if its model can no more", async () => {
  const settings = { capabilities: { parallel_tool_calls: false } };
  const tools = [{ name: "look", description: "Looks", inputSchema: { type: "object" } }];
  const told = [
    [chatWire, (body: Asked["body"]) => body.parallel_tool_calls],
    [responsesWire, (body: Asked["body"]) => body.parallel_tool_calls],
    [messagesWire, (body: Asked["body"]) => !body.tool_choice.disable_parallel_tool_use],
  ] as const;
  for (const [wire, read] of told) {
    await withVendor(wire, inTurn(wire, []), async ({ server, provider }) => {
      await heard(provider, ask({ tools }));
      assert.equal(read(server.asked[0]?.body), false, wire.kind);
    }, { settings });
  }
});

Deno.test("vendor schemas in plain words have no reference, one type for each value, and every list says of what", () => {
  const schema: JsonObject = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: {
      node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, tags: { type: "array" } } },
      id: { type: "string", pattern: "^a", description: "An id" },
    },
    type: "object",
    properties: {
      id: { $ref: "#/$defs/id", description: "Which one" },
      node: { $ref: "#/$defs/node" },
      maybe: { type: ["string", "null"] },
      mode: { const: "fast" },
      level: { enum: [1, 2] },
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
      both: { allOf: [{ $ref: "#/$defs/id" }, { maxLength: 5 }] },
      either: { oneOf: [{ type: "string" }, { type: "object", additionalProperties: { type: "string" } }] },
      not: { not: { type: "string" }, type: "number", exclusiveMinimum: 1 },
    },
    required: ["id", "gone"],
    additionalProperties: false,
    unevaluatedProperties: false,
  };
  const before = JSON.stringify(schema);
  assert.deepEqual(toldSchema(schema, false), {
    type: "object",
    properties: {
      id: { type: "string", pattern: "^a", description: "Which one" },
      node: { type: "object", properties: { next: {}, tags: { type: "array", items: { type: "string" } } } },
      maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
      mode: { enum: ["fast"], type: "string" },
      level: { description: "One of: 1, 2.", type: "number" },
      pair: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } },
      both: { type: "string", pattern: "^a", description: "An id", maxLength: 5 },
      either: { anyOf: [{ type: "string" }, { type: "object" }] },
      not: { type: "number" },
    },
    required: ["id"],
  });
  assert.equal(JSON.stringify(schema), before, "the catalog's own schema was changed");
});

Deno.test("vendor schemas that are taken as they are lose only the dialect, old words, and choices at the root", () => {
  const schema: JsonObject = {
    $schema: "http://json-schema.org/draft-07/schema#",
    oneOf: [
      { properties: { a: { type: "string" } }, required: ["a"] },
      { properties: { b: { type: "number", minimum: 1, exclusiveMinimum: true } } },
    ],
    properties: {
      pair: { type: "array", items: [{ type: "string" }], additionalItems: false },
      items: { $ref: "#/definitions/x" },
    },
    additionalProperties: false,
    definitions: { x: { type: "string", default: { items: [1] } } },
  };
  assert.deepEqual(toldSchema(schema, true), {
    type: "object",
    properties: {
      a: { type: "string" },
      b: { type: "number", exclusiveMinimum: 1 },
      pair: { type: "array", prefixItems: [{ type: "string" }], items: false },
      items: { $ref: "#/definitions/x" },
    },
    additionalProperties: true,
    definitions: { x: { type: "string", default: { items: [1] } } },
  });
});

Deno.test("vendor schemas are bounded: words go first, then all but the names; a circle ends", () => {
  const properties = (description: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string", description }]),
    );
  const wordy = toldSchema({ type: "object", properties: properties("x".repeat(1_000), 50) }, true);
  assert.deepEqual((wordy["properties"] as JsonObject)["p0"], { type: "string" });
  const wide = toldSchema({ type: "object", properties: properties("", 1_500) }, true);
  assert.deepEqual((wide["properties"] as JsonObject)["p0"], {});
  const huge = toldSchema({ type: "object", properties: properties("", 9_000) }, false);
  assert.deepEqual(huge, { type: "object", properties: {} });
  for (const schema of [{ $ref: "#" }, { allOf: [{ $ref: "#" }] }, { properties: { a: { $ref: "#" } } }]) {
    assert.equal(toldSchema(schema, false)["type"], "object");
  }
  // Each level writes the one below it out twice.
  const levels = Array.from({ length: 40 }, (_, index): [string, Json] => [
    `l${index}`,
    { properties: { a: { $ref: `#/$defs/l${index + 1}` }, b: { $ref: `#/$defs/l${index + 1}` } } },
  ]);
  const doubling = toldSchema({ $ref: "#/$defs/l0", $defs: Object.fromEntries(levels) }, false);
  assert.ok(JSON.stringify(doubling).length <= limits.vendorSchemaCharactersMax);
});

/** A random conversation: calls without results, results without calls, ids that come twice. */
function messages(): fc.Arbitrary<ModelMessage> {
  const callId = fc.constantFrom("a", "b", "", "x.y", "long".repeat(40));
  const call = fc.record({ callId, name: fc.constantFrom("look", "pay") }).map((one) => ({
    ...one,
    arguments: {},
  }));
  const text = fc.constantFrom("", "words");
  return fc.oneof(
    text.map((text): ModelMessage => ({ role: "user", text })),
    fc.record({ text, calls: fc.array(call, { maxLength: 4 }) })
      .map((said): ModelMessage => ({ role: "assistant", ...said })),
    fc.record({ callId, text, isError: fc.boolean() })
      .map((result): ModelMessage => ({ role: "tool", name: "look", ...result })),
  );
}

Deno.test("vendor is never told of a call without its one result behind it, nor of a result without its call", () => {
  fc.assert(fc.property(fc.array(messages(), { maxLength: 25 }), (transcript) => {
    const prompt = promptOf(transcript, { names: new ToolNames([]), identity });
    const ids = new Set<string>();
    for (const [index, message] of prompt.entries()) {
      assert.ok(message.content.length > 0, "a message is empty");
      const calls = message.role === "assistant"
        ? message.content.flatMap((part) => part.type === "tool-call" ? [part.toolCallId] : [])
        : [];
      for (const id of calls) {
        assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
        assert.ok(!ids.has(id), "an id comes twice");
        ids.add(id);
      }
      const next = prompt[index + 1];
      const results = next?.role === "tool"
        ? next.content.flatMap((part) => part.type === "tool-result" ? [part.toolCallId] : [])
        : [];
      if (message.role !== "tool") assert.deepEqual(results.sort(), calls.sort());
      else assert.notEqual(next?.role, "tool");
    }
    assert.notEqual(prompt[0]?.role, "tool");
  }));
});

Deno.test("vendor is given back its own thoughts only: not another's, nor those that a secret was taken out of", () => {
  const told = (metadata: JsonObject, text = "Hello there") => {
    const message: ModelMessage = { role: "assistant", text, calls: [], metadata };
    const [first] = promptOf([message], { names: new ToolNames([]), identity });
    return first?.role === "assistant"
      ? first.content.map((part) => [part.type, "text" in part ? part.text : ""])
      : [];
  };
  const options = { anthropic: { signature: "c2ln" } };
  const parts = [
    { type: "text", characters: 6 },
    { type: "reasoning", text: "Hmm", options },
    { type: "text", characters: 5 },
  ];
  const own = { kind: "anthropic", model: "m", parts };
  assert.deepEqual(told(own), [["text", "Hello "], ["reasoning", "Hmm"], ["text", "there"]]);
  assert.deepEqual(told({ ...own, model: "other" }), [["text", "Hello there"]]);
  assert.deepEqual(told({ ...own, kind: "google" }), [["text", "Hello there"]]);
  assert.deepEqual(told({ ...own, parts: "nonsense" }), [["text", "Hello there"]]);
  // Its text was changed: it is told in one piece.
  assert.deepEqual(told(own, "Hello [redacted]"), [["text", "Hello [redacted]"], ["reasoning", "Hmm"]]);
  const altered = parts.map((part) => part.type === "reasoning" ? { ...part, text: "key [redacted]" } : part);
  assert.deepEqual(told({ ...own, parts: altered }), [["text", "Hello "], ["text", "there"]]);
});
