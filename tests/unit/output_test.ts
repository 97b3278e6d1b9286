/** Whether an answer that must have a form has it: checked, mended once, reported as a value, told to vendors in their words. */
import assert from "node:assert/strict";
import { outputIn, outputSchemaOf } from "../../actors/output.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { Entry } from "../../schemas/entry.ts";
import { GenerateArgs } from "../../schemas/generate.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelCapabilities } from "../../schemas/model.ts";
import { Recovery } from "../../schemas/recovery.ts";
import { orderText, repairText, withOutput } from "../../src/effects/output_order.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { children, delegate, openFamily, play as playFamily, results } from "../support/family.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { ask, heard, inTurn, withVendor } from "../support/vendors/vendor_server.ts";

const schema = {
  type: "object",
  properties: { count: { type: "integer", minimum: 0 } },
  required: ["count"],
  additionalProperties: false,
};

interface Played {
  readonly stage: Stage;
  readonly session: RootAddress;
  readonly report: TurnReport;
  readonly entries: readonly Entry[];
  /** Each request: why it was made, and how many messages it added. */
  readonly reasons: readonly string[];
}

async function play(answers: readonly unknown[], options: StageOptions = {}): Promise<Played> {
  const stage = await openStage({
    answers,
    recovery: Recovery.parse({ waits: "never" }),
    ...options,
    agent: { output_schema: schema, ...options.agent },
  });
  const session = await stage.session();
  const { report: coming } = await settled(stage.world, stage.runtime.prompt(session, "Count", "the-prompt"));
  let report: TurnReport | undefined;
  coming.then((one) => report = one);
  for (let steps = 0; report === undefined && steps < 100; steps++) await stage.world.advance(1_000);
  assert.ok(report !== undefined);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  const entries = await stage.entries(session);
  const reasons = entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .map(({ body }) => GenerateArgs.parse((body as { readonly args: unknown }).args))
    .map(({ continuation, step }) => `${continuation?.reason ?? "first"} ${step}`);
  return { stage, session, report, entries, reasons };
}

function told({ outcome, failure, output }: TurnReport): Json {
  return [outcome, failure?.code ?? "", output ?? null];
}

Deno.test("answer that has its form is reported as a value, bare or as a block of code, in replay and after a restart too", async () => {
  const { stage, session, report, reasons } = await play([{ text: '```json\n{"count": 3}\n```\n' }]);
  assert.deepEqual([told(report), reasons], [["completed", "", { count: 3 }], ["first 0"]]);
  await settled(stage.world, stage.runtime.journal.writer.idle());
  stage.crash();
  const again = await openStage({ answers: [], world: stage.world, disk: stage.disk });
  const { report: repeated } = await settled(
    again.world,
    again.runtime.prompt(session, "Count", "the-prompt"),
  );
  assert.deepEqual(told(await settled(again.world, repeated)), ["completed", "", { count: 3 }]);
});

Deno.test("answer without its form is mended in one round whose reason the journal names, and the model hears what is wrong", async () => {
  const wrong = '{"count": "three"}';
  const { report, reasons, entries } = await play([
    { text: wrong },
    { text: '{"count": 3}', expect: "answer.count" },
  ]);
  assert.deepEqual([told(report), reasons], [["completed", "", { count: 3 }], [
    "first 0",
    "output_repair 1",
  ]]);
  assert.equal(report.steps, 2);
  // The journal has what is wrong; the words around it are the same for everybody.
  assert.ok(entries.every(({ body }) => !JSON.stringify(body ?? null).includes("Answer again")));
});

Deno.test("answer that is not mended fails the turn with one code, and its text is not lost", async () => {
  const { report, reasons } = await play([{ text: "Three." }, { text: "It is three." }, { text: "never" }]);
  assert.deepEqual([told(report), reasons], [["failed", "output_invalid", null], [
    "first 0",
    "output_repair 1",
  ]]);
  assert.equal(report.text, "It is three.");
  assert.match(report.failure?.message ?? "", /not one JSON value.*correct the schema or the instructions/);
  const short = await play([{ text: "Three." }], { agent: { limits: { rounds_per_turn: 1 } } });
  assert.deepEqual([told(short.report), short.reasons], [["failed", "output_invalid", null], ["first 0"]]);
});

Deno.test("round of mending may call tools, goes on after failures under its own reason, and comes once in a turn", async () => {
  const tools = [{ name: "look" }];
  const mended = await play([
    { text: "I looked", calls: [{ tool: "look" }] },
    { text: "three" },
    { calls: [{ tool: "look" }], fail: { code: "model_unreachable", times: 1 } },
    { text: "still three" },
  ], { tools });
  assert.deepEqual(mended.reasons, [
    "first 0",
    "tool_result_continuation 1",
    "output_repair 2",
    "output_repair 2",
    "tool_result_continuation 3",
  ]);
  assert.deepEqual(told(mended.report), ["failed", "output_invalid", null]);
  // A session that knows of no recovery is mended too, and goes on without a reason.
  const plain = await play([{ text: "three" }, { calls: [{ tool: "look" }] }, { text: '{"count":3}' }], {
    tools,
    recovery: undefined as never,
  });
  assert.deepEqual(plain.reasons, ["first 0", "output_repair 1", "first 2"]);
  assert.deepEqual(told(plain.report), ["completed", "", { count: 3 }]);
});

Deno.test("answer that was cut off is checked as a whole, and what is mended is not joined to it", async () => {
  const length = { finish_reason: "length" };
  const whole = await play([{ text: '{"cou', ...length }, { text: 'nt": 4}' }]);
  assert.deepEqual(told(whole.report), ["completed", "", { count: 4 }]);
  const mended = await play([{ text: '{"cou', ...length }, { text: "no" }, { text: '{"count": 5}' }]);
  assert.deepEqual(mended.reasons, ["first 0", "max_tokens_recovery 1", "output_repair 2"]);
  assert.deepEqual([told(mended.report), mended.report.text], [
    ["completed", "", { count: 5 }],
    '{"count": 5}',
  ]);
});

Deno.test("one JSON value is found in a text, and nothing is found where there is more or less", () => {
  const found: readonly [string, Json][] = [
    [" [1, 2] ", [1, 2]],
    ["null", null],
    ["```\n{}\n```", {}],
    ['```json\r\n{"a":"```"}\r\n```', { a: "```" }],
    ['"text"', "text"],
  ];
  for (const [text, value] of found) assert.deepEqual(outputIn(text), { value }, text);
  const deep = limits.jsonDepthMax + 1;
  const none = [
    "",
    "Here: {}",
    "{} {}",
    "```json\n{}\n``` done",
    "{",
    "1e999",
    `${"[".repeat(deep)}1${"]".repeat(deep)}`,
    '{"a\\tb": 1}',
  ];
  for (const text of none) assert.equal(outputIn(text), undefined, text.slice(0, 40));
});

Deno.test("form of answers is refused in agent.yaml if it is not understood or too long; a profile has its own, a child only that", () => {
  const agent = (more: object) => AgentDefinition.safeParse({ name: "a", model: "scripted/s.yaml", ...more });
  const problems = (more: object) => agent(more).error?.issues.map(({ message }) => message).join();
  assert.match(problems({ output_schema: { $ref: "https://x/y" } }) ?? "", /\$ref does not lead/);
  assert.match(problems({ output_schema: { dependencies: {} } }) ?? "", /"dependencies" is not understood/);
  const long = { description: "x".repeat(limits.outputSchemaCharactersMax) };
  assert.match(problems({ output_schema: long }) ?? "", /at most 16384 characters/);
  const own = { type: "array" };
  const profiles = { main: {}, worker: { output_schema: own } };
  const plain = agent({ output_schema: schema, profiles }).data as AgentDefinition;
  assert.deepEqual(outputSchemaOf(plain, {}), schema);
  assert.deepEqual(outputSchemaOf(plain, { profile: "worker" }), own);
  assert.equal(outputSchemaOf(plain, { depth: 1 }), undefined);
  assert.deepEqual(outputSchemaOf(plain, { depth: 1, profile: "worker" }), own);
});

Deno.test("child agent answers in the form of its profile, and its parent gets the value", async () => {
  const profiles = {
    main: { allowed_tool_names: ["delegate_task"] },
    worker: { allowed_tool_names: [], default_subagent: true, output_schema: schema },
  };
  const stage = await openFamily({
    answers: [{ calls: [delegate("Count")] }, { text: "done" }],
    child: [{ text: "seven" }, { text: '{"count": 7}' }],
    agent: { profiles },
  });
  const session = await stage.session();
  await playFamily(stage, session);
  const answers = await results(stage, session);
  const waited = answers.at(-1) as { readonly output?: Json } | undefined;
  assert.deepEqual(waited?.output, { count: 7 }, JSON.stringify(answers));
  assert.equal((await children(stage, session))[0]?.agent.structured, true);
});

const bare = { messages: [{ role: "user", text: "Count" }], tools: [] } as const;

function capable(structuredOutput: NonNullable<ModelCapabilities["structuredOutput"]>): ModelCapabilities {
  return { ...scriptedCapabilities, structuredOutput };
}

Deno.test("form is told by the provider's means where it has them, else by the instructions, always the same (AR-19)", () => {
  const tools = [{ name: "look", description: "Looks", inputSchema: { type: "object" } }];
  const native = { ...bare, outputSchema: schema };
  assert.deepEqual(withOutput(bare, schema, capable("always")), native);
  assert.deepEqual(withOutput(bare, schema, capable("without_tools")), native);
  const order = { role: "system", text: orderText(schema) };
  const instructed = { ...bare, messages: [order, ...bare.messages] };
  assert.deepEqual(withOutput(bare, schema, scriptedCapabilities), instructed);
  assert.deepEqual(withOutput({ ...bare, tools }, schema, capable("without_tools")), {
    ...instructed,
    tools,
  });
  // Vendors take objects only.
  assert.equal("outputSchema" in withOutput(bare, { type: "array" }, capable("always")), false);
  const system = { role: "system", text: "Be brief" } as const;
  const [first] = withOutput({ ...bare, messages: [system] }, schema, scriptedCapabilities).messages;
  assert.equal(first?.text, `Be brief\n\n${orderText(schema)}`);
  assert.deepEqual(withOutput(bare, undefined, capable("always")), bare);
  assert.match(repairText(["a", "b"]), /- a\n- b\n/);
});

Deno.test("each vendor is told of the form in its own words, over HTTP (AR-19)", async () => {
  const places = [
    [chatWire, ["response_format", "json_schema", "schema"]],
    [responsesWire, ["text", "format", "schema"]],
    [messagesWire, []],
    [geminiWire, ["generationConfig", "responseJsonSchema"]],
  ] as const;
  for (const [wire, place] of places) {
    await withVendor(wire, inTurn(wire, [{ text: '{"count":1}' }]), async ({ server, provider }) => {
      await heard(provider, ask({ outputSchema: schema }));
      const body: unknown = server.asked[0]?.body;
      const found = place.reduce((part: unknown, key) => Object(part)[key], body) as { properties?: unknown };
      const text = JSON.stringify(found);
      assert.ok(text?.includes('"count"'), `${wire.kind}: ${JSON.stringify(body)}`);
      assert.ok(!JSON.stringify(body).includes('"strict":true'), wire.kind);
    });
  }
});
