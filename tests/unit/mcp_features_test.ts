/** What a server offers besides tools: which requests a call becomes, and how whatever comes back reads. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { failure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { McpMethod, ToolResultEnvelope } from "../../schemas/tool.ts";
import { Binaries } from "../../src/mcp/binaries.ts";
import type { McpCallResult, McpRequest } from "../../src/mcp/call.ts";
import { callFeature, type FeatureCall } from "../../src/mcp/feature_call.ts";
import { envelopeText } from "../../src/tools/envelope_text.ts";

type Method = FeatureCall["method"];

function returned(result: unknown): McpCallResult {
  return { status: "returned", result };
}

function refused(code: number): McpCallResult {
  const why = failure("mcp_protocol_error", `refused with error ${code}`);
  return { status: "refused", failure: why, isUnknown: false, code };
}

/** Calls against a server that gives these answers in turn; what it was asked, and what is told. */
async function play(method: Method, given: JsonObject, ...answers: readonly McpCallResult[]) {
  const asked: McpRequest[] = [];
  const result = await callFeature({
    method,
    arguments: given,
    binaries: new Binaries(() => false),
    send: (request) => {
      asked.push(request);
      return Promise.resolve(answers[asked.length - 1] ?? assert.fail("asked too often"));
    },
  });
  assert.equal(asked.length, answers.length);
  if (result.status !== "read") return { asked, result, told: result.status };
  ToolResultEnvelope.parse(result.envelope);
  const [piece] = result.envelope.content;
  const told = piece?.type === "structured" ? piece.value : envelopeText(result.envelope);
  return { asked: asked.map((one) => [one.method, one.params]), result, told };
}

const page = { name: "a", uri: "x:a" };

Deno.test("resources come page by page, then the templates, by one chain of cursors", async () => {
  const first = await play(
    "resources/list",
    {},
    returned({ resources: [page], nextCursor: "2" }),
  );
  assert.deepEqual(first.asked, [["resources/list", {}]]);
  assert.deepEqual(first.told, { resources: [{ uri: "x:a", name: "a" }], next_cursor: "r:2" });
  const second = await play(
    "resources/list",
    { cursor: "r:2" },
    returned({ resources: [] }),
    returned({ resourceTemplates: [{ name: "t", uriTemplate: "x:{y}" }], nextCursor: "t7" }),
  );
  assert.deepEqual(second.asked, [["resources/list", { cursor: "2" }], ["resources/templates/list", {}]]);
  assert.deepEqual(second.told, {
    resources: [],
    templates: [{ uri_template: "x:{y}", name: "t" }],
    next_cursor: "t:t7",
  });
  const third = await play("resources/list", { cursor: "t:t7" }, returned({ resourceTemplates: [] }));
  assert.deepEqual(third.asked, [["resources/templates/list", { cursor: "t7" }]]);
  assert.deepEqual(third.told, { templates: [] });
});

Deno.test("a cursor of somebody else asks nothing", async () => {
  const { told } = await play("resources/list", { cursor: "7" });
  assert.match(String(told), /^arguments_invalid: Cannot use this cursor/);
});

Deno.test("resources are told although their templates cannot be, and a server without templates has none", async () => {
  const list = returned({ resources: [page] });
  const resources = [{ uri: "x:a", name: "a" }];
  const unknown = await play("resources/list", {}, list, refused(-32601));
  assert.deepEqual(unknown.told, { resources });
  const broken = await play("resources/list", {}, list, refused(-32000));
  assert.deepEqual(broken.told, { resources, templates_problem: "refused with error -32000" });
  const none = await play("resources/list", {}, list, returned({}));
  assert.deepEqual(none.told, { resources, templates_problem: "it has no list of resourceTemplates" });
  const lost = await play("resources/list", {}, list, {
    status: "lost",
    failure: failure("mcp_connection_lost", "gone"),
  });
  assert.deepEqual(lost.told, { resources, templates_problem: "gone" });
});

Deno.test("what is not answered is not read: it stays what it was", async () => {
  for (const method of McpMethod.options) {
    if (method === "tools/call") continue;
    const given = { uri: "x:a", name: "a", prompt: "a", argument: "b", value: "" };
    const lost = { status: "lost", failure: failure("mcp_connection_lost", "gone") } as const;
    const { result } = await play(method, given, lost);
    assert.equal(result, lost, method);
  }
});

Deno.test("an item that cannot be asked for by what it says is left out, and counted", async () => {
  const resources = [
    page,
    { uri: 7 },
    { uri: "x:\u202eb" },
    { uri: `x:${"u".repeat(limits.mcpUriCharactersMax)}` },
    "text",
    null,
    {
      uri: "x:c",
      name: "a\u200bb",
      title: "t\nu",
      description: "d\u{e0041}",
      mimeType: "text/plain",
      size: 7,
    },
  ];
  const { told } = await play("resources/list", {}, returned({ resources }), refused(-32601));
  const c = {
    uri: "x:c",
    name: "a\\u{200b}b",
    title: "t u",
    description: "d\\u{e0041}",
    mime_type: "text/plain",
    bytes: 7,
  };
  assert.deepEqual(told, { resources: [{ uri: "x:a", name: "a" }, c], resources_left_out: 5 });
  const many = Array(limits.mcpOfferedItemsMax + 3).fill({ name: "p", arguments: [{ name: "a" }, 7] });
  const { told: prompts } = await play("prompts/list", { cursor: "x" }, returned({ prompts: many }));
  const { prompts: kept, prompts_left_out } = prompts as { prompts: unknown[]; prompts_left_out: number };
  assert.deepEqual([kept.length, prompts_left_out], [limits.mcpOfferedItemsMax, 3]);
  assert.deepEqual(kept[0], { name: "p", arguments: [{ name: "a", required: false }] });
});

Deno.test("a resource of one text is that text; of several, each stands below its address", async () => {
  const one = { uri: "x:a", text: "words\n\u200b" };
  const { told, asked } = await play("resources/read", { uri: "x:a" }, returned({ contents: [one] }));
  assert.deepEqual(asked, [["resources/read", { uri: "x:a" }]]);
  assert.equal(told, "words\n\u200b");
  const contents = [
    { ...one, mimeType: "text/plain" },
    { uri: "x:b", blob: btoa("abc"), mimeType: "a/b" },
    7,
  ];
  const several = await play("resources/read", { uri: "x:a" }, returned({ contents }));
  assert.equal(
    several.told,
    "[resource x:a text/plain]\nwords\n\u200b\n[resource x:b: a/b, 3 bytes, kept as resource-1]\n" +
      "[resource that cannot be read]",
  );
  assert.deepEqual((await play("resources/read", {}, returned({ contents: [] }))).told, { status: "empty" });
});

Deno.test("a prompt reads as what the server said, each message with its role", async () => {
  const messages = [
    { role: "user", content: { type: "text", text: "Do it" } },
    { role: "assistant\n", content: [{ type: "text", text: "a" }, { type: "image", data: btoa("x") }] },
    7,
  ];
  const given = { name: "p", arguments: { city: "Ulm" } };
  const { told, asked } = await play("prompts/get", given, returned({ description: "d", messages }));
  assert.deepEqual(asked, [["prompts/get", given]]);
  assert.equal(
    told,
    "[prompt: d]\n[user]\nDo it\n[assistant]\na\n[image, 1 bytes, kept as image-1]\n[message]\n" +
      "[content that cannot be read]",
  );
});

Deno.test("an argument is completed for a prompt or for a template, not for both or none", async () => {
  const completion = { values: ["Ulm", 7, "Ulan"], total: 9, hasMore: true };
  const wanted = { argument: "city", value: "U" };
  const prompt = await play("completion/complete", { ...wanted, prompt: "p" }, returned({ completion }));
  assert.deepEqual(prompt.asked, [["completion/complete", {
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "city", value: "U" },
  }]]);
  assert.deepEqual(prompt.told, { values: ["Ulm", "Ulan"], total: 9, has_more: true });
  const given = { ...wanted, template: "x:{city}", given: { land: "D" } };
  const template = await play("completion/complete", given, returned({ completion: { values: [] } }));
  assert.deepEqual(template.asked, [["completion/complete", {
    ref: { type: "ref/resource", uri: "x:{city}" },
    argument: { name: "city", value: "U" },
    context: { arguments: { land: "D" } },
  }]]);
  assert.deepEqual(template.told, { values: [] });
  for (const both of [wanted, { ...given, prompt: "p" }]) {
    assert.match(String((await play("completion/complete", both)).told), /^arguments_invalid: /);
  }
});

Deno.test("whatever JSON comes back becomes a valid envelope", async () => {
  const key = fc.constantFrom(
    "resources",
    "resourceTemplates",
    "prompts",
    "contents",
    "messages",
    "completion",
    "values",
    "nextCursor",
    "uri",
    "name",
  );
  const answer = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.array(tie("any")), fc.dictionary(key, tie("any"))),
  })).any;
  const methods = McpMethod.options.filter((one): one is Method => one !== "tools/call");
  await fc.assert(fc.asyncProperty(answer, fc.constantFrom(...methods), async (raw, method) => {
    const binaries = new Binaries(() => false);
    const send = () => Promise.resolve(returned(raw));
    const given = { uri: "x", name: "x", prompt: "x" };
    const result = await callFeature({ method, arguments: given, binaries, send });
    assert(result.status === "read");
    assert.deepEqual(ToolResultEnvelope.parse(result.envelope), result.envelope);
  }));
});
