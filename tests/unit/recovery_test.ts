/** Whether a turn gets over what goes wrong with its model, or stops and says why. */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { GenerateArgs } from "../../schemas/generate.ts";
import { Recovery } from "../../schemas/recovery.ts";
import { ModelToolHidden } from "../../schemas/retry.ts";
import { entryText } from "../../src/cli/entry_text.ts";
import { basicSchema } from "../../src/model/basic_schema.ts";
import { openStage, settled, type ToolSketch } from "../support/stage.ts";

const long = "y".repeat(3_000);
const tools: readonly ToolSketch[] = [
  { name: "look", parallelSafe: true, work: () => Promise.resolve(long) },
  { name: "read", parallelSafe: true },
];

async function play(answers: readonly unknown[], capabilities = {}) {
  const script = { capabilities, answers };
  const stage = await openStage({ script, tools, recovery: Recovery.parse({}) });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told = "";
  report.then(({ outcome, failure, text }) => told = `${outcome}: ${failure?.code ?? text}`);
  for (let steps = 0; told === "" && steps < 120; steps++) await stage.world.advance(1_000);
  await settled(stage.world, stage.runtime.journal.writer.idle());
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  return { stage, session, told, entries: await stage.entries(session) };
}

function requestsIn(entries: readonly Entry[]): readonly GenerateArgs[] {
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .map(({ body }) => GenerateArgs.parse((body as { readonly args: unknown }).args));
}

/** What the model was told by the runtime of its calls of each step: codes, or that there was a result. */
function toldIn(entries: readonly Entry[]): readonly (readonly string[])[] {
  const steps = new Map<number, readonly string[]>();
  for (const { step, append } of requestsIn(entries)) {
    steps.set(step, append.map((item) => item.type === "refusal" ? item.code ?? "no code" : item.type));
  }
  return [...steps.values()];
}

Deno.test("scripted provider plays what goes wrong with models, and a turn gets over all six of it (AR-34, AR-35)", async () => {
  const { told, entries, stage } = await play([
    { calls: [{ tool: "nothing" }] }, // An illegal tool name.
    { calls: [{ tool: "read", arguments: { text: 7 } }, { tool: "read", arguments_text: "{no" }] }, // Illegal arguments.
    { fail: { code: "model_server_failed", times: 3 }, calls: [{ tool: "look" }] }, // Errors, again and again.
    { calls: [{ tool: "look" }, { tool: "read" }, { tool: "look", arguments: { text: "b" } }] }, // Calls in parallel.
    // Too long a context: it is built anew, and asked for once more.
    { fail: { code: "model_context_exceeded", times: 1 }, calls: [{ tool: "read" }] },
    { text: "All seen" }, // The end, without tools.
  ], { parallelToolCalls: true });
  assert.equal(told, "completed: All seen");
  assert.deepEqual(toldIn(entries), [
    ["prompt"],
    ["tool_unknown"],
    ["arguments_invalid", "arguments_invalid"],
    ["result"],
    ["result", "result", "result"],
    ["result"],
  ]);
  const reasons = requestsIn(entries).map(({ step, continuation }) =>
    `${step} ${continuation?.reason ?? "first"}`
  );
  assert.deepEqual(reasons, [
    "0 first",
    "1 tool_result_continuation",
    "2 tool_result_continuation",
    "2 transport_retry",
    "2 transport_retry",
    "2 transport_retry",
    "3 tool_result_continuation",
    "4 tool_result_continuation",
    "4 compact_retry",
    "5 tool_result_continuation",
  ]);
  const [plan] = entries.filter(({ type, body }) =>
    type === "turn.planned" && JSON.stringify(body).includes("call/3.2")
  );
  const { stages } = plan?.body as unknown as {
    readonly stages: readonly { readonly members: readonly unknown[] }[];
  };
  assert.deepEqual(stages.map(({ members }) => members.length), [3], "one stage, all at once");
  assert.equal(entries.filter(({ type }) => type === "context.compacted").length, 1);
  assert.equal(stage.ledger.length, 5);
});

Deno.test("tool whose schema its model does not take is told in basic words, then hidden for the turn, and said so; unnamed ones end it (AR-25, AR-41)", async () => {
  const fail = { code: "model_schema_unsupported", message: "No $ref", tool: "look" };
  const { told, entries } = await play([{ fail, calls: [{ tool: "read" }] }, { fail, text: "Done" }]);
  assert.equal(told, "completed: Done");
  const asked = requestsIn(entries).map(({ step, attempt = 1, simplified = [], hidden = [] }) =>
    `${step}.${attempt} ${simplified}-${hidden}`
  );
  assert.deepEqual(asked, ["0.1 -", "0.2 look-", "0.3 look-look", "1.1 look-look"]);
  assert.equal(entries.filter(({ type }) => type === "model.tool_simplified").length, 1);
  const notes = entries.filter(({ type }) => type === "model.tool_hidden");
  const expected = { turn: 1, step: 0, model: "scripted/test", tool: "look", lastErrorCode: fail.code };
  assert.deepEqual(notes.map(({ body }) => ModelToolHidden.parse(body)), [expected]);
  // Of what it is not told, or says again, nothing can be hidden.
  for (const tool of ["nothing", undefined]) {
    const unnamed = await play([{ fail: { code: fail.code, ...(tool === undefined ? {} : { tool }) } }, {}]);
    if (tool === undefined) assert.equal(unnamed.told, "failed: model_schema_unsupported");
    assert.equal(requestsIn(unnamed.entries).length, 1);
  }
});

Deno.test("tool whose basic words its model takes is told in them for the turn, and can be called (AR-41)", async () => {
  const fail = { code: "model_schema_unsupported", message: "No pattern", tool: "look", times: 1 };
  const { told, entries } = await play([{ fail, calls: [{ tool: "look" }] }, { text: "Done" }]);
  assert.equal(told, "completed: Done");
  const asked = requestsIn(entries).map(({ simplified = [], hidden = [] }) => `${simplified}-${hidden}`);
  assert.deepEqual(asked, ["-", "look-", "look-"]);
  const [note] = entries.filter(({ type }) => type === "model.tool_simplified");
  assert.equal(ModelToolHidden.parse(note?.body).lastErrorCode, fail.code);
  assert.match(entryText(note as Entry), /does not take the schema of look: told in basic words/);
  assert.equal(entries.some(({ type }) => type === "model.tool_hidden"), false);
});

Deno.test("schema in basic words has nothing but those, and is the same at each depth", () => {
  const name = { type: "string", pattern: "^a", minLength: 2, description: "A name", format: "date-time" };
  const schema = {
    $defs: { name },
    type: "object",
    additionalProperties: false,
    properties: {
      one: { $ref: "#/$defs/name" },
      many: { type: "array", minItems: 1, items: { $ref: "#/$defs/name" } },
      either: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
      kind: { enum: ["a", "b"] },
    },
    required: ["one"],
  };
  const plain = { type: "string", description: "A name" };
  assert.deepEqual(basicSchema(schema), {
    type: "object",
    properties: {
      one: plain,
      many: { type: "array", items: plain },
      either: { type: "integer" },
      kind: { type: "string", enum: ["a", "b"] },
    },
    required: ["one"],
  });
  assert.deepEqual(basicSchema({}), { type: "object", properties: {} });
});

Deno.test("failure of each kind is got over, waited for, or ends the turn, as its row says (AR-25, AR-41)", async () => {
  const rows: readonly (readonly [code: string, told: string, requests: number, notes: readonly string[]])[] =
    [
      ["model_rate_limited", "completed: Done", 2, ["model.retried"]],
      ["model_unreachable", "completed: Done", 2, ["model.retried"]],
      ["model_server_failed", "completed: Done", 2, ["model.retried"]],
      ["model_context_exceeded", "completed: Done", 2, []],
      ["model_login_failed", "", 1, ["turn.waiting"]],
      ["model_quota_exceeded", "", 1, ["turn.waiting"]],
      ["model_schema_unsupported", "failed: model_schema_unsupported", 1, []],
      ["model_refused", "failed: model_refused", 1, []],
      ["model_failed", "failed: model_failed", 1, []],
    ];
  const noted = ["model.retried", "model.tool_simplified", "model.tool_hidden", "turn.waiting"];
  for (const [code, expected, requests, notes] of rows) {
    const { told, entries } = await play([{ fail: { code, times: 1 }, text: "Done" }]);
    const found = entries.filter(({ type }) => noted.includes(type)).map(({ type }) => type);
    assert.deepEqual([told, requestsIn(entries).length, found], [expected, requests, notes], code);
  }
});
