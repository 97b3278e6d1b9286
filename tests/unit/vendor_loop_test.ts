/** The same loop whoever answers: a script, or a server that speaks the wire of a vendor (AR-21, AR-44). */
import assert from "node:assert/strict";
import { localOperator } from "../../schemas/principal.ts";
import { Script } from "../../schemas/script.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { performersWith } from "../support/model_performers.ts";
import { type LedgerLine, openStage, settled, type ToolSketch } from "../support/stage.ts";
import { chatWire } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import type { Reply, Wire } from "../support/vendors/reply.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { inTurn, modelsOf, testKey, VendorServer } from "../support/vendors/vendor_server.ts";

const tools: readonly ToolSketch[] = [
  { name: "look" },
  { name: "pay", effect: "non_idempotent", approval: "prompt" },
];

const replies: readonly Reply[] = [
  {
    text: "I look first, and then I pay – ünï 🎭.",
    thought: { text: "It is cheap.", signature: "EqRkU2lnbmF0dXJl" },
    signature: "EqRkU2lnbmF0dXJl",
    calls: [{ id: "call_1_1", name: "look", arguments: {} }, { id: "call_1_2", name: "pay", arguments: {} }],
  },
  { text: "Paid, as you wanted." },
];

const usage = { inputTokens: 12, outputTokens: 7 };

const script = Script.parse({
  answers: replies.map(({ text, calls = [] }) => ({
    text,
    usage,
    calls: calls.map(({ id, name }) => ({ tool: name, id })),
    finish_reason: calls.length > 0 ? "tool_calls" : "stop",
  })),
});

/** Ids of calls are the provider's own: they are told apart by their order. */
function withoutIds(calls: readonly { readonly callId: string }[] | undefined): unknown {
  return calls?.map(({ callId: _, ...call }, index) => ({ ...call, index }));
}

/** Plays one turn, whose question is answered yes, and replays it once `leave` has taken the provider away. */
async function play(provider: ModelProvider, leave: () => Promise<void>) {
  const ledger: LedgerLine[] = [];
  const performers = performersWith({ tools, ledger, providerOf: () => provider });
  const agent = { model: "vendor/test-model" };
  const stage = await openStage({ tools, ledger, hasAnswerer: () => true, agent, runtime: { performers } });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told: string | undefined;
  report.then(({ outcome }) => told = outcome);
  // An answer by HTTP comes when it comes: each look at the disk is a turn of the real world.
  for (let turns = 0; told === undefined; turns++) {
    assert.ok(turns < 50_000, "the turn did not end");
    for (const { id, shown } of stage.runtime.questions.list()) {
      stage.runtime.questions.answer(id, { decision: "allow", by: localOperator, shown });
    }
    await Deno.lstat(".");
  }
  const entries = await stage.entries(session);
  await leave();
  const replayed = await stage.replay(session, { strict: true });
  assert.equal(replayed.divergence, undefined);
  assert.ok(!JSON.stringify(entries).includes(testKey), "the key stands in the journal");
  const shape = entries.filter(({ type }) => type !== "timer.set").map(({ kind, type, body }) => {
    const { status, value } = body as {
      readonly status?: string;
      readonly value?: Record<string, unknown> & { readonly calls?: readonly { readonly callId: string }[] };
    };
    if (type !== "model.generate" || kind !== "outcome") return [kind, type, status];
    const { calls, metadata: _, ...answer } = value ?? {};
    return [kind, type, status, { ...answer, calls: withoutIds(calls) }];
  });
  return { told, ledger: ledger.map(({ tool }) => tool), shape };
}

async function playVendor(wire: Wire) {
  const server = new VendorServer(inTurn(wire, replies));
  const models = modelsOf(wire, `${server.origin}${wire.base}`);
  const leave = async () => {
    models.close();
    await server.close();
  };
  const run = await play(await models.open("main"), leave);
  return { run, asked: server.asked };
}

const claim =
  "loop leaves the same journal whoever answers: a script or each vendor's wire; it replays without a server (AR-21, AR-37, AR-44, AR-46)";

Deno.test(claim, async () => {
  const scripted = await play(createScriptedProvider(script), () => Promise.resolve());
  assert.equal(scripted.told, "completed");
  assert.deepEqual(scripted.ledger, ["look", "pay"]);
  for (const wire of [chatWire, responsesWire, messagesWire, geminiWire]) {
    const { run, asked } = await playVendor(wire);
    assert.deepEqual(run, scripted, wire.kind);
    assert.equal(asked.length, 2, wire.kind);
  }
});

Deno.test("loop gives back to a vendor what it wants of its own answer: signed thoughts, and results in order (AR-20)", async () => {
  const [, , messages, gemini] = await Promise.all(
    [chatWire, responsesWire, messagesWire, geminiWire].map(playVendor),
  );
  const [, again] = messages?.asked ?? [];
  const said = again?.body.messages.find(({ role }: { role: string }) => role === "assistant").content;
  assert.deepEqual(said[0], { type: "thinking", thinking: "It is cheap.", signature: "EqRkU2lnbmF0dXJl" });
  assert.deepEqual(said.map(({ type }: { type: string }) => type), [
    "thinking",
    "text",
    "tool_use",
    "tool_use",
  ]);
  const results = again?.body.messages.at(-1).content;
  assert.deepEqual(results.map(({ tool_use_id }: { tool_use_id: string }) => tool_use_id), [
    "call_1_1",
    "call_1_2",
  ]);
  const contents = gemini?.asked[1]?.body.contents;
  assert.ok(JSON.stringify(contents).includes('"thoughtSignature":"EqRkU2lnbmF0dXJl"'));
});
