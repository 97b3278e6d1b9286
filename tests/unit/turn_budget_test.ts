/** Whether a turn keeps to its budget: what it asks of its model, what it denies, how it ends, and what it leaves. */
import assert from "node:assert/strict";
import { turnMachine } from "../../actors/turn.ts";
import type { TurnInput, TurnResult } from "../../actors/turn_context.ts";
import type { ServerRequest } from "../../schemas/call_pause.ts";
import type { Spent } from "../../schemas/budget.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import type { Json } from "../../schemas/json.ts";
import type { ModelCall, Usage } from "../../schemas/model.ts";
import { modelAnswer, sampling, sealCatalog, toolReturn, wanted } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";

const catalog = sealCatalog([
  toolOf("look", { parallelSafe: true }),
  toolOf("act", { effectClass: "non_idempotent", sideEffects: true }),
  toolOf("terminal", { parallelSafe: true }),
]);

function startTurn(budget: TurnInput["budget"], changes: Partial<TurnInput> = {}): Run {
  return startRun(turnMachine, {
    turn: 1,
    at: 1_000,
    append: [{ type: "prompt", seq: 7 }],
    catalog,
    model: "scripted/test",
    fallbacks: ["scripted/other"],
    maxOutputTokens: 4_000,
    roundsMax: 64,
    capabilities: [],
    mode: "default",
    grants: [],
    budget,
    ...changes,
  });
}

interface Said {
  readonly text?: string;
  readonly calls?: readonly Partial<ModelCall>[];
  readonly usage?: Partial<Usage>;
}

function answer(run: Run, { text = "", calls = [], usage = {} }: Said): void {
  const said = modelAnswer(text, calls) as { readonly usage: Usage };
  run.settle("model.generate", { ...said, usage: { ...said.usage, ...usage } } as unknown as Json);
}

function asked(run: Run): PortArgs<"model.generate"> {
  return run.argsOf("model.generate") as PortArgs<"model.generate">;
}

function result(run: Run): TurnResult {
  return run.output() as TurnResult;
}

function spent(run: Run): Spent {
  const spent = (run.output() as TurnResult | undefined)?.ledger?.spent;
  assert.ok(spent, "the turn has not ended");
  return spent;
}

/** What the model was told of its calls: a code, or that there is a result. */
function told(run: Run): readonly (string | undefined)[] {
  return asked(run).append.map((item) => item.type === "refusal" ? item.code : item.type);
}

Deno.test("turn without a budget counts, asks as it always did, and sets no timer", () => {
  const run = startTurn(undefined);
  assert.deepEqual([asked(run).maxOutputTokens, asked(run).budget, run.pending()], [4_000, undefined, [
    "model.generate",
  ]]);
  answer(run, { text: "Hello", usage: { inputTokens: 10, outputTokens: 5, costUsd: 0.25 } });
  const { tokens, cost_usd, model_calls, counted_calls, priced_calls } = spent(run);
  assert.deepEqual([tokens, cost_usd, model_calls, counted_calls, priced_calls], [15, 0.25, 1, 1, 1]);
});

Deno.test("turn lets its model say no more than its budget leaves, and writes what is left into the intent", () => {
  const run = startTurn({ tokens: 5_000, cost_usd: 1, tool_calls: 9 });
  assert.deepEqual([asked(run).maxOutputTokens, asked(run).budget], [4_000, { tokens: 5_000, cost_usd: 1 }]);
  answer(run, { calls: [{ name: "look" }], usage: { inputTokens: 4_000, outputTokens: 500, costUsd: 0.25 } });
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual([asked(run).maxOutputTokens, asked(run).budget], [500, { tokens: 500, cost_usd: 0.75 }]);
});

Deno.test("turn whose budget bounds no model call reserves nothing for one", () => {
  assert.equal("budget" in asked(startTurn({ tool_calls: 3, wall_ms: 60_000 })), false);
});

for (
  const [field, bound, usage, words] of [
    ["tokens", 1_000, { inputTokens: 900, outputTokens: 200 }, /1100 of 1000 tokens spent/],
    ["cost_usd", 0.5, { costUsd: 0.5 }, /0\.5 of 0\.5 USD spent/],
  ] as const
) {
  Deno.test(`turn ends before another model call once its ${field} are used up, with the words that there are`, () => {
    const run = startTurn({ [field]: bound });
    answer(run, { text: "So far so good", calls: [{ name: "look" }], usage });
    // The calls of the answer are made: only another one is too much.
    run.settle("tool.call", toolReturn("seen"));
    const { outcome, failure, text, answer: where, steps } = result(run);
    assert.deepEqual([outcome, failure?.code, text, steps], [
      "failed",
      "budget_exhausted",
      "So far so good",
      1,
    ]);
    assert.match(failure?.message ?? "", words);
    assert.equal(where, "1.0");
    assert.equal(run.kinds().filter((kind) => kind === "model.generate").length, 1);
  });
}

Deno.test("turn that its budget ends gives its latest words, also if the model's last answer had none", () => {
  const run = startTurn({ tokens: 300 });
  for (const text of ["First words", ""]) {
    answer(run, { text, calls: [{ name: "look" }], usage: { inputTokens: 150 } });
    run.settle("tool.call", toolReturn("seen"));
  }
  assert.deepEqual([result(run).text, result(run).answer, result(run).steps], ["First words", "1.0", 2]);
});

Deno.test("turn completes with an answer that used up its budget", () => {
  const run = startTurn({ tokens: 100 });
  answer(run, { text: "Done", usage: { outputTokens: 140 } });
  assert.deepEqual([result(run).outcome, result(run).text, spent(run).tokens], ["completed", "Done", 140]);
});

Deno.test("turn counts every attempt at its model, and asks none again for which nothing is left", () => {
  const run = startTurn({ tokens: 100 });
  run.fail("model.generate", { code: "model_server_failed" });
  run.settle("timer.set", { firedAtMs: 0 });
  answer(run, { text: "Hm", calls: [{ name: "look" }], usage: { inputTokens: 100 } });
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual([result(run).failure?.code, spent(run).model_calls], ["budget_exhausted", 2]);
});

Deno.test("turn denies the calls that its budget does not allow, each with a result of its own, and goes on", () => {
  const run = startTurn({ tool_calls: 2 });
  answer(run, { calls: [{ name: "look" }, { name: "act" }, { name: "act" }, { name: "look" }] });
  run.settle("tool.call", toolReturn("seen"));
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(told(run), ["result", "result", "budget_exceeded", "budget_exceeded"]);
  const denied = run.notes().filter(({ type, body }) =>
    type === "invocation.judged" && (body as { readonly verdict: string }).verdict === "deny"
  );
  assert.deepEqual(denied.map(({ body }) => (body as { readonly ordinal: string }).ordinal), [
    "call/0.2",
    "call/0.3",
  ]);
  assert.match(JSON.stringify(asked(run).append[2]), /denied: The budget of the session leaves 0 tool calls/);
  answer(run, { text: "Then without" });
  assert.deepEqual([result(run).outcome, spent(run).tool_calls], ["completed", 2]);
});

Deno.test("turn counts a call once however often it is tried, and one that never was a tool not at all", () => {
  const run = startTurn({ tool_calls: 1 });
  answer(run, { calls: [{ name: "nothing" }, { name: "look" }] });
  run.fail("tool.call");
  run.settle("timer.set", { firedAtMs: 0 });
  run.settle("tool.call", toolReturn("seen"));
  assert.equal(told(run).at(-1), "result");
  answer(run, { text: "Done" });
  assert.equal(spent(run).tool_calls, 1);
});

Deno.test("turn counts the processes of its terminal, and denies those that are too many", () => {
  const run = startTurn({ processes: 1 });
  answer(run, { calls: [{ name: "terminal" }, { name: "terminal" }, { name: "look" }] });
  const live = run.context()["live"];
  assert.deepEqual(live, ["call/0.0", "call/0.2"]);
  run.send({ type: "turn.cancel" });
  while (run.status() !== "done") run.settle(run.pending()[0] ?? "tool.call", toolReturn("seen"));
  assert.deepEqual([spent(run).processes, spent(run).tool_calls], [1, 2]);
});

Deno.test("turn gives a process back whose command was refused and never began", () => {
  const run = startTurn({ processes: 1 });
  answer(run, { calls: [{ name: "terminal", argumentsText: "no object" }] });
  answer(run, { calls: [{ name: "terminal" }] });
  run.settle("tool.call", toolReturn("done"));
  answer(run, { text: "Done" });
  assert.deepEqual([spent(run).processes, spent(run).tool_calls], [1, 2]);
});

Deno.test("turn with wall time has a timer for it, which is dropped when the turn ends before", () => {
  const run = startTurn({ wall_ms: 5_000 });
  const { dueAtMs, jitterMs } = run.argsOf("timer.set") as PortArgs<"timer.set">;
  assert.deepEqual([dueAtMs, jitterMs], [6_000, 0]);
  run.now = 3_500;
  answer(run, { text: "In time" });
  assert.deepEqual([result(run).outcome, spent(run).wall_ms, run.pending()], ["completed", 2_500, []]);
});

Deno.test("turn whose wall time is over drops its model call, and ends with the words that there are", () => {
  const run = startTurn({ wall_ms: 5_000 });
  answer(run, { text: "Slowly", calls: [{ name: "look" }] });
  run.settle("tool.call", toolReturn("seen"));
  run.now = 6_001;
  run.settle("timer.set", { firedAtMs: 6_001 });
  const { outcome, failure, text, at } = result(run);
  assert.deepEqual([outcome, failure?.code, text, at], ["failed", "budget_exhausted", "Slowly", 6_001]);
  assert.match(failure?.message ?? "", /5001 of 5000 ms of wall time spent/);
  assert.deepEqual([run.pending(), spent(run).wall_ms, result(run).steps], [[], 5_001, 2]);
});

Deno.test("turn whose wall time is over while its model rests before another attempt asks no more (K11)", () => {
  const run = startTurn({ wall_ms: 5_000 });
  run.fail("model.generate", { code: "model_server_failed" });
  run.now = 6_000;
  run.settle("timer.set", { firedAtMs: 6_000 });
  assert.deepEqual([result(run).failure?.code, run.pending()], ["budget_exhausted", []]);
});

Deno.test("turn whose wall time is over stops its calls, and waits for each that could hurt (K11)", () => {
  const run = startTurn({ wall_ms: 5_000 });
  answer(run, { text: "Acting", calls: [{ name: "act" }, { name: "act" }] });
  run.now = 6_000;
  run.settle("timer.set", { firedAtMs: 6_000 });
  assert.deepEqual([run.state(), run.pending()], ["staging", ["tool.call"]]);
  assert.equal(run.desk.asks.find(({ request }) => request.port === "tool.call")?.cancelAsked, true);
  run.now = 7_500;
  run.settle("tool.call", toolReturn("done all the same"));
  const { outcome, failure, text } = result(run);
  assert.deepEqual([outcome, failure?.code, text], ["failed", "budget_exhausted", "Acting"]);
  // The second stage never began, and the time is told as it was.
  assert.deepEqual([spent(run).tool_calls, spent(run).wall_ms], [1, 6_500]);
});

Deno.test("turn ends if nobody can watch its wall time any more", () => {
  const run = startTurn({ wall_ms: 5_000 });
  run.fail("timer.set");
  assert.deepEqual([result(run).outcome, result(run).failure?.code], ["failed", "budget_exhausted"]);
});

Deno.test("turn counts wall time from its start to its end, and none if the clock was set back", () => {
  const run = startTurn({ wall_ms: 5_000 });
  run.now = 400;
  answer(run, { text: "Earlier" });
  assert.equal(spent(run).wall_ms, 0);
});

Deno.test("call of a host counts as a call, and is denied if none is left", () => {
  const given = { tool: "look", arguments: {} };
  const by = { given, append: [], principal: "operator:local" };
  const allowed = startTurn({ tool_calls: 1, tokens: 0 }, by);
  allowed.settle("tool.call", toolReturn("seen"));
  assert.deepEqual([result(allowed).outcome, spent(allowed).tool_calls], ["completed", 1]);
  const refused = startTurn({ tool_calls: 0 }, by);
  const { outcome, call } = result(refused);
  assert.deepEqual([outcome, call?.outcome, call?.failure?.code], ["completed", "denied", "budget_exceeded"]);
});

Deno.test("turn counts what the model cost that answered a server, bounds it, and does not tell the server", () => {
  const remote = sealCatalog([toolOf("look", { effectClass: "non_idempotent" })], { adapter: "mcp" });
  const run = startTurn({ tokens: 100 }, { catalog: remote });
  answer(run, { text: "Asking", calls: [{ name: "look" }], usage: { inputTokens: 40 } });
  const free = { ...sampling, gate: "auto" } as ServerRequest;
  run.settle("mcp.call", wanted({ how: "held", requests: [free, free] }));
  assert.equal((run.argsOf("model.sample") as PortArgs<"model.sample">).maxOutputTokens, 60);
  const sample = { text: "In short", model: "scripted/test", stopReason: "endTurn" };
  run.settle("model.sample", { ...sample, usage: { inputTokens: 50, outputTokens: 20 } });
  const { round } = run.argsOf("mcp.call") as PortArgs<"mcp.call">;
  assert.deepEqual(round?.answers, [
    { key: "model", action: "accept", sample },
    { key: "model", action: "decline" },
  ]);
  run.settle("mcp.call", toolReturn("seen"));
  assert.deepEqual([result(run).failure?.code, spent(run).tokens, spent(run).model_calls], [
    "budget_exhausted",
    110,
    2,
  ]);
});

Deno.test("turn that an earlier release began goes on, and counts from there", () => {
  const run = startTurn(undefined);
  run.rewrite((state) => {
    delete state.context.ledger;
    delete state.context.startedAt;
  });
  answer(run, { text: "Done", usage: { inputTokens: 7 } });
  assert.deepEqual([result(run).outcome, spent(run).tokens, spent(run).wall_ms], ["completed", 7, 0]);
});
