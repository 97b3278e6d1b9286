/** The same loop by another provider: one that answers over HTTP, in pieces, to what it is told and nothing else (AR-21). */
import assert from "node:assert/strict";
import type { ModelEvent } from "../../schemas/model.ts";
import { localOperator } from "../../schemas/principal.ts";
import { Script } from "../../schemas/script.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider, scriptedCapabilities } from "../../src/model/scripted.ts";
import { performersWith } from "../support/model_performers.ts";
import { type LedgerLine, openStage, settled, type ToolSketch } from "../support/stage.ts";

const tools: readonly ToolSketch[] = [
  { name: "look" },
  { name: "pay", effect: "non_idempotent", approval: "prompt" },
];

const answers = [
  {
    text: "I look first, and then I pay.",
    calls: [{ tool: "look" }, { tool: "pay" }],
  },
  { text: "Paid, as you wanted." },
];

/** Answers as a server of models would: by the conversation that it is sent, in lines, a few characters at a time. */
function answerTo(
  request: { readonly messages: readonly { readonly role: string }[] },
): readonly ModelEvent[] {
  const number = request.messages.filter(({ role }) => role === "assistant").length;
  const { text = "", calls = [] } = answers[number] ?? {};
  const pieces = [...text.matchAll(/.{1,3}/gs)].map(([piece]): ModelEvent => ({
    type: "text_delta",
    text: piece,
  }));
  const asked = calls.map((call, index): ModelEvent => ({
    type: "tool_call_done",
    callId: `call_${number + 1}_${index + 1}`,
    name: call.tool,
    arguments: {},
  }));
  return [...pieces, ...asked, { type: "done", finishReason: "stop" }];
}

function overHttp(url: string): ModelProvider {
  return {
    name: "remote",
    capabilities: { ...scriptedCapabilities, streaming: true },
    async *generate(request, signal) {
      const response = await fetch(url, { method: "POST", body: JSON.stringify(request), signal });
      let rest = "";
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as ModelEvent;
      }
    },
  };
}

/** Plays one turn, whose question is answered yes. Gives all that the journal says of it but who the model was. */
async function play(provider: ModelProvider) {
  const ledger: LedgerLine[] = [];
  const performers = performersWith({ tools, ledger, providerOf: () => provider });
  const stage = await openStage({
    tools,
    ledger,
    hasAnswerer: () => true,
    agent: { model: "scripted/a" },
    runtime: { performers },
  });
  const session = await stage.session();
  const { report } = await settled(stage.world, stage.runtime.prompt(session, "Go"));
  let told: string | undefined;
  report.then(({ outcome }) => told = outcome);
  // An answer by HTTP comes when it comes: each look at the disk is a turn of the real world.
  for (let turns = 0; told === undefined; turns++) {
    assert.ok(turns < 20_000, "the turn did not end");
    for (const { id, shown } of stage.runtime.questions.list()) {
      stage.runtime.questions.answer(id, { decision: "allow", by: localOperator, shown });
    }
    await Deno.lstat(".");
    await stage.world.advance(20);
  }
  const entries = await stage.entries(session);
  const outcomes = entries.filter(({ kind, type }) => kind === "outcome" && type !== "timer.set");
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  return {
    told,
    ledger: ledger.map(({ tool }) => tool),
    plan: entries.filter(({ kind }) => kind === "note").map(({ type }) => type),
    outcomes: outcomes.map(({ type, body }) => {
      const { status, value } = body as {
        readonly status: string;
        readonly value?: { text?: string; calls?: unknown };
      };
      return [type, status, type === "model.generate" ? [value?.text, value?.calls] : undefined];
    }),
  };
}

Deno.test("loop is the same whether a script answers or a server over HTTP, in pieces (AR-47)", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const lines = answerTo(await request.json()).map((event) => `${JSON.stringify(event)}\n`);
    return new Response(ReadableStream.from(lines).pipeThrough(new TextEncoderStream()));
  });
  try {
    const scripted = await play(createScriptedProvider(Script.parse({ answers })));
    const remote = await play(overHttp(`http://127.0.0.1:${server.addr.port}/`));
    assert.equal(scripted.told, "completed");
    assert.deepEqual(scripted.ledger, ["look", "pay"]);
    assert.deepEqual(remote, scripted);
  } finally {
    await server.shutdown();
  }
});
