/** Whether a turn runs model and tools by turns: in stages, in order, within bounds, and stops when it is told to. */
import assert from "node:assert/strict";
import { turnMachine } from "../../actors/turn.ts";
import type { TurnContext, TurnInput, TurnResult } from "../../actors/turn_context.ts";
import { history } from "../../actors/turn_rules.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { InvocationResult } from "../../schemas/invocation.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelCall } from "../../schemas/model.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";

const catalog = sealCatalog([
  toolOf("look", { parallelSafe: true }),
  toolOf("act", { effectClass: "non_idempotent", sideEffects: true }),
  toolOf("refused", { approvalPolicy: "deny", parallelSafe: true }),
]);

function startTurn(changes: Partial<TurnInput> = {}): Run {
  return startRun(turnMachine, {
    turn: 3,
    at: 1_000,
    append: [{ type: "prompt", seq: 7 }],
    catalog,
    model: "scripted/test",
    maxOutputTokens: 100,
    roundsMax: limits.roundsPerTurnDefault,
    capabilities: [],
    mode: "default",
    grants: [],
    ...changes,
  });
}

/** A turn whose model called these tools: `S` is parallel-safe, `u` is not. */
function turnOf(pattern: string): Run {
  const run = startTurn();
  const calls = [...pattern].map((one) => ({ name: one === "S" ? "look" : "act" }));
  run.settle("model.generate", modelAnswer("", calls));
  return run;
}

/** Ordinals of the calls whose effects are pending. */
function running(run: Run): string[] {
  return run.desk.asks.filter((ask) => ask.state === "pending" && ask.request.port === "tool.call")
    .map((ask) => (ask.request.args as PortArgs<"tool.call">).invocation);
}

function asked(run: Run): PortArgs<"model.generate"> {
  return run.argsOf("model.generate") as PortArgs<"model.generate">;
}

function ended(run: Run) {
  return run.output() as { outcome: string; steps: number; failure: { code: string } | null; at: number };
}

Deno.test("turn asks its model first, for the prompt and nothing else", () => {
  const run = startTurn();
  assert.deepEqual([run.state(), run.kinds()], ["generating", ["model.generate"]]);
  assert.deepEqual(asked(run), {
    model: "scripted/test",
    turn: 3,
    step: 0,
    catalog,
    append: [{ type: "prompt", seq: 7 }],
    toolChoice: "auto",
    maxOutputTokens: 100,
  });
  const request = run.desk.asks[0]?.request;
  assert.deepEqual([request?.effect, request?.deadlineAtMs], ["idempotent", 121_000]);
});

Deno.test("turn completes with an answer that calls nothing", () => {
  const run = startTurn();
  run.settle("model.generate", modelAnswer("Hello."));
  const expected = { turn: 3, at: 1_001, outcome: "completed", steps: 1, text: "Hello.", answer: "1.0" };
  const { ledger: _, ...output } = run.output() as TurnResult;
  assert.deepEqual(output, { ...expected, failure: null });
  assert.deepEqual([run.status(), run.notes().map(({ type }) => type)], ["done", ["tools.bound"]]);
});

Deno.test("turn in which calls are refused again and again tells its model that it seems stuck (LC-21)", () => {
  const run = startTurn();
  const refuse = (...names: string[]) => {
    run.settle("model.generate", modelAnswer("", names.map((name) => ({ name }))));
    while (run.pending().includes("tool.call")) run.settle("tool.call", toolReturn("ok"));
    return asked(run).append.map((item) => item.type === "refusal" ? item.text : item.type);
  };
  const stuck = () => run.notes().filter(({ type }) => type === "turn.stuck").map(({ body }) => body);
  for (const text of [...refuse("refused"), ...refuse("refused", "look")]) {
    assert.doesNotMatch(text, /stuck/);
  }
  assert.deepEqual(stuck(), []);
  const [denied, looked] = refuse("refused", "look");
  assert.match(
    denied ?? "",
    /\. 3 calls of this turn were refused, so you seem stuck: try no variation of them/,
  );
  assert.equal(looked, "result");
  // The model is told as long as it goes on so; the journal says it once.
  assert.match(refuse("refused")[0] ?? "", /4 calls of this turn were refused/);
  assert.deepEqual(stuck(), [{ turn: 3, refusals: 3 }]);
});

// Proves CM-88, CM-89, DM-18: adjacent parallel-safe calls run together, every other alone, and a stage waits for all.
Deno.test("turn runs its calls in stages and waits for all of one before the next (CM-133)", () => {
  const run = turnOf("SSuuS");
  const stages: string[][] = [];
  while (run.state() === "staging" && stages.length < 9) {
    const stage = running(run);
    stages.push(stage);
    for (let left = stage.length; left > 0; left--) {
      assert.deepEqual(running(run), stage.slice(stage.length - left));
      run.settle("tool.call", toolReturn("done"));
    }
  }
  assert.deepEqual(stages, [["call/0.0", "call/0.1"], ["call/0.2"], ["call/0.3"], ["call/0.4"]]);
  assert.equal(run.state(), "generating");
});

// Proves CM-90, CM-94: the plan, and with it every invocation, is written before one of its effects is asked for.
Deno.test("turn notes its plan before the first call of the plan", () => {
  const run = turnOf("SSu");
  assert.deepEqual(run.desk.order.slice(0, 5), [
    "model.generate",
    "note tools.bound",
    "note turn.planned",
    "tool.call",
    "tool.call",
  ]);
  const note = run.notes().find(({ type }) => type === "turn.planned");
  const plan = note?.body as { batchId: string; stages: { dispatch: string; members: unknown[] }[] };
  assert.equal(plan.batchId, "turn/3/batch/0");
  assert.deepEqual(plan.stages.map((stage) => [stage.dispatch, stage.members.length]), [
    ["parallel", 2],
    ["serial", 1],
  ]);
});

// Proves CM-91.
Deno.test("turn gives results to the model in its own call order, whatever finished first", () => {
  const run = turnOf("SSS");
  run.settle("tool.call", toolReturn("third"), 2);
  run.settle("tool.call", toolReturn("second"), 1);
  run.settle("tool.call", toolReturn("first"));
  assert.deepEqual(asked(run).append, [
    { type: "result", callId: "call_1", name: "look", outcome: "2.0" },
    { type: "result", callId: "call_2", name: "look", outcome: "2.1" },
    { type: "result", callId: "call_3", name: "look", outcome: "2.2" },
  ]);
  assert.equal(asked(run).step, 1);
});

// Proves K6: the provider's ids may repeat; ours are ordinals.
Deno.test("turn tells calls apart by their place, not by the provider's ids", () => {
  const run = startTurn();
  const call = (path: string) => ({ callId: "same", name: "look", arguments: { path } });
  run.settle("model.generate", modelAnswer("", [call("a"), call("b")]));
  assert.deepEqual(running(run), ["call/0.0", "call/0.1"]);
  run.settle("tool.call", toolReturn("a"));
  run.settle("tool.call", toolReturn("b"));
  // Some providers count anew in every answer.
  run.settle("model.generate", modelAnswer("", [call("a")]));
  assert.deepEqual(running(run), ["call/1.0"]);
});

Deno.test("turn makes a call once that one answer makes twice under one id, and answers both (CM-35, CM-57)", () => {
  const run = startTurn();
  const call = { callId: "one", name: "look", arguments: { path: "a" } };
  const other = { ...call, callId: "two" };
  run.settle("model.generate", modelAnswer("", [call, call, other]));
  assert.deepEqual(running(run), ["call/0.0", "call/0.2"]);
  const plan = run.notes().find(({ type }) => type === "turn.planned")?.body as { readonly repeats: unknown };
  assert.deepEqual(plan.repeats, [{ position: 1, of: 0 }]);
  run.settle("tool.call", toolReturn("first"));
  run.settle("tool.call", toolReturn("second"));
  assert.deepEqual(
    asked(run).append.map((item) => "callId" in item && "outcome" in item && [item.callId, item.outcome]),
    [
      ["one", "2.0"],
      ["one", "2.0"],
      ["two", "2.1"],
    ],
  );
});

/** The numbers of the calls that are running, as their records have them. */
function attempts(run: Run): unknown[] {
  return run.notes().filter(({ type }) => type === "invocation.judged")
    .map(({ body }) => (body as { readonly attempt?: number }).attempt ?? 1);
}

Deno.test("turn counts the calls of each tool, also those that failed or were refused (CM-58)", () => {
  const run = startTurn();
  const look = (path: string) => ({ name: "look", arguments: { path } });
  run.settle("model.generate", modelAnswer("", [look("a"), { name: "refused" }, look("b")]));
  run.settle("tool.call", toolReturn("a"));
  run.fail("tool.call", { code: "tool_failed", retryable: false });
  run.settle("model.generate", modelAnswer("", [look("c"), { name: "refused" }, { name: "act" }]));
  assert.deepEqual(attempts(run), [1, 1, 2, 3, 2]);
  // Each turn binds anew.
  const next = startTurn();
  next.settle("model.generate", modelAnswer("", [look("a")]));
  assert.deepEqual(attempts(next), [1]);
});

Deno.test("turn notes what it is bound to before anything else, and once (CM-48, CM-52, CM-53, CM-129)", () => {
  const frozen = sealCatalog([toolOf("look"), toolOf("act")], {
    bindingReason: "explicit_override",
    implementation: "x",
  });
  const run = startTurn({ catalog: frozen, profile: "main" });
  const tool = (name: string) => ({ tool: name, implementation: "x", reason: "explicit_override" });
  const bound = () => run.notes().filter(({ type }) => type === "tools.bound").map(({ body }) => body);
  const expected = {
    execution: "turn/3",
    catalog: frozen.hash,
    tools: 2,
    profile: "main",
    overrides: [tool("look"), tool("act")],
  };
  assert.equal(run.desk.posts.findIndex((one) => one.kind === "note"), 0);
  assert.deepEqual(bound(), [expected]);
  run.settle("model.generate", modelAnswer("", [{ name: "look" }, { name: "look" }]));
  run.settle("tool.call", toolReturn("a"));
  assert.deepEqual(bound(), [expected]);
});

Deno.test("turn of a host's call asks no model, passes every gate, and ends with the call (DM-12)", () => {
  const run = startTurn({ given: { tool: "look", arguments: {} }, principal: "operator:local", append: [] });
  assert.deepEqual(run.kinds(), ["tool.call"]);
  assert.equal((run.argsOf("tool.call") as PortArgs<"tool.call">).origin, "host");
  run.settle("tool.call", toolReturn("done"));
  const output = run.output() as { outcome: string; call: InvocationResult };
  assert.deepEqual([output.outcome, output.call.outcome, output.call.outcomeOf], [
    "completed",
    "succeeded",
    "1.0",
  ]);
  const refused = startTurn({
    given: { tool: "refused", arguments: {} },
    principal: "operator:local",
    append: [],
  })
    .output() as typeof output;
  assert.deepEqual([refused.call.outcome, refused.call.failure?.code], ["denied", "policy_denied"]);
  const unknown = startTurn({ given: { tool: "nope", arguments: {} }, append: [] }).output() as typeof output;
  assert.equal(unknown.call.outcome, "not_found");
});

Deno.test("turn of a host's call knows a tool by its full name too (DM-12)", () => {
  const names = { canonicalName: "mcp.docs.look", providerName: "docs__look" };
  const frozen = sealCatalog([toolOf("look")], names);
  for (const tool of ["mcp.docs.look", "docs__look"]) {
    const run = startTurn({
      catalog: frozen,
      given: { tool, arguments: {} },
      principal: "operator:local",
      append: [],
    });
    assert.equal((run.argsOf("tool.call") as PortArgs<"tool.call">).entry.name, "mcp.docs.look");
  }
});

// Proves DM-13: a name that the catalog does not have gets an answer, no entry and no effect.
Deno.test("turn tells the model of calls that were not made, each in its place", () => {
  const run = startTurn();
  const calls: Partial<ModelCall>[] = [
    { name: "nope" },
    { name: "refused" },
    { name: "look", argumentsText: "{oops" },
    { name: "look" },
  ];
  run.settle("model.generate", modelAnswer("", calls));
  assert.deepEqual(running(run), ["call/0.3"]);
  run.settle("tool.call", toolReturn("done"));
  const told = asked(run).append.map((item) => item.type === "refusal" ? item.text.split(":")[0] : item.type);
  assert.deepEqual(told, ["not_found", "denied", "invalid", "result"]);
  assert.deepEqual(asked(run).append.map((item) => "callId" in item && item.callId), [
    "call_1",
    "call_2",
    "call_3",
    "call_4",
  ]);
});

Deno.test("turn goes on with the model when none of its calls could be made", () => {
  const run = startTurn();
  run.settle("model.generate", modelAnswer("", [{ name: "nope" }, { name: "nope" }]));
  assert.deepEqual([run.state(), asked(run).step, asked(run).append.length], ["generating", 1, 2]);
});

// Proves DM-5, DM-6: one name look-up, in the turn's own catalog, by the name that the model was given.
Deno.test("turn takes the entry of every call from its frozen catalog", () => {
  const names = { canonicalName: "mcp.docs.look", providerName: "docs__look" };
  const frozen = sealCatalog([toolOf("look")], names);
  const run = startTurn({ catalog: frozen });
  sealCatalog([toolOf("look", { timeoutMs: 1 })], names, 2);
  run.settle("model.generate", modelAnswer("", [{ name: "docs__look" }, { name: "mcp.docs.look" }]));
  const { entry } = run.argsOf("tool.call") as PortArgs<"tool.call">;
  assert.deepEqual(entry, { catalog: frozen.hash, name: "mcp.docs.look", hash: entry.hash });
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 31_001);
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(asked(run).append.map((item) => item.type), ["result", "refusal"]);
});

/** What the model is told of one call that ended so. */
function toldOf(result: Omit<InvocationResult, "ordinal" | "callId" | "name" | "attempts">) {
  const context = turnOf("u").context() as unknown as TurnContext;
  const whole = { ordinal: "call/0.0", callId: "call_1", name: "act", attempts: 1, ...result };
  const [item] = history({ ...context, results: [whole] });
  return item?.type === "refusal" ? item.text : item;
}

Deno.test("turn tells the model in words what is known of a call without a result (R9)", () => {
  const why = failure("tool_failed", "It broke");
  for (const outcome of ["failed", "denied", "invalid", "not_found", "timed_out", "canceled"] as const) {
    assert.equal(toldOf({ outcome, failure: why }), `${outcome}: It broke`);
  }
  assert.match(String(toldOf({ outcome: "succeeded", via: "operator" })), /was applied; its result was lost/);
  assert.match(String(toldOf({ outcome: "succeeded", via: "verify" })), /was applied; its result was lost/);
  const unknown = toldOf({ outcome: "unknown", failure: why });
  const words =
    "The outcome of this call is unknown. Do not repeat it (outcome: unknown, call: turn/3/call/0.0)";
  assert.equal(unknown, words);
  const said = { outcome: "completed_with_error", outcomeOf: "2.0" } as const;
  assert.deepEqual(toldOf(said), { type: "result", callId: "call_1", name: "act", outcome: "2.0" });
});

// Proves CM-93, DM-17.
Deno.test("turn has 64 model rounds unless its agent says otherwise, and never more than 90", () => {
  const agent = { name: "a", model: "scripted/a" };
  assert.equal(AgentDefinition.parse(agent).limits.rounds_per_turn, 64);
  assert.equal(
    AgentDefinition.parse({ ...agent, limits: { rounds_per_turn: 90 } }).limits.rounds_per_turn,
    90,
  );
  assert.ok(!AgentDefinition.safeParse({ ...agent, limits: { rounds_per_turn: 91 } }).success);
});

// Proves CM-93: the last answer allowed may still end the turn, but not call anything.
Deno.test("turn fails when its model still calls tools in its last round", () => {
  for (const roundsMax of [64, 1]) {
    const run = startTurn({ roundsMax });
    for (let round = 1; round < roundsMax; round++) {
      run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
      run.settle("tool.call", toolReturn("again"));
    }
    run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
    const { outcome, steps, failure } = ended(run);
    assert.deepEqual([outcome, steps, failure?.code], ["failed", roundsMax, "provider_round_limit_exceeded"]);
    assert.equal(run.kinds().filter((kind) => kind === "tool.call").length, roundsMax - 1);
  }
});

// Proves AR-26: model calls may be repeated.
Deno.test("turn waits and asks again when its model fails and may fare better", () => {
  const run = startTurn();
  const waits: unknown[] = [];
  for (let attempt = 1; attempt < 5; attempt++) {
    run.now = attempt * 100_000;
    run.fail("model.generate", { code: "model_unreachable" });
    assert.deepEqual([run.state(), run.pending()], ["waiting", ["timer.set"]]);
    const { dueAtMs, jitterMs } = run.argsOf("timer.set") as PortArgs<"timer.set">;
    waits.push([dueAtMs, jitterMs]);
    run.settle("timer.set", { firedAtMs: 0 });
    assert.equal(run.state(), "generating");
    assert.deepEqual([asked(run).step, asked(run).append], [0, [{ type: "prompt", seq: 7 }]]);
    assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, attempt * 100_000 + 120_001);
  }
  assert.deepEqual(waits, [[100_000, 500], [200_000, 1_000], [300_000, 2_000], [400_000, 4_000]]);
  run.fail("model.generate", { code: "model_unreachable" });
  assert.deepEqual([ended(run).outcome, ended(run).failure?.code], ["failed", "model_unreachable"]);
});

Deno.test("turn counts a model's failures anew in every step", () => {
  const run = startTurn();
  for (let step = 0; step < 2; step++) {
    for (let failures = 0; failures < 4; failures++) {
      run.fail("model.generate", { code: "model_unreachable" });
      run.settle("timer.set", { firedAtMs: 0 });
    }
    run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
    run.settle("tool.call", toolReturn("done"));
  }
  assert.deepEqual([run.state(), asked(run).step], ["generating", 2]);
  assert.equal(run.context()["failure"], null);
});

Deno.test("turn fails at once when its model fails for good", () => {
  const run = startTurn();
  run.fail("model.generate", { code: "script_exhausted", retryable: false });
  assert.deepEqual([ended(run).outcome, ended(run).failure?.code], ["failed", "script_exhausted"]);
  assert.deepEqual(run.kinds(), ["model.generate"]);
});

Deno.test("turn fails as its model did when its timer fails", () => {
  const run = startTurn();
  run.fail("model.generate", { code: "model_timed_out" });
  run.fail("timer.set");
  assert.deepEqual([ended(run).outcome, ended(run).failure?.code], ["failed", "model_timed_out"]);
});

// Proves K11: a model call and a timer harm nobody, so they may be dropped.
Deno.test("turn canceled while its model answers or it waits ends at once", () => {
  const generating = startTurn();
  const waiting = startTurn();
  waiting.fail("model.generate");
  for (const run of [generating, waiting]) {
    run.now = 5_000;
    run.send({ type: "turn.cancel" });
    const { outcome, failure, at } = ended(run);
    assert.deepEqual([outcome, failure?.code, at], ["canceled", "turn_canceled", 5_000]);
    assert.deepEqual([run.pending(), run.desk.asks.at(-1)?.state], [[], "dropped"]);
  }
});

// A deadline that counted from the model's answer would be over before the second stage began.
Deno.test("turn counts each deadline from when the call or the model is asked", () => {
  const run = turnOf("uu");
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 31_001);
  run.now = 500_000;
  run.settle("tool.call", toolReturn("slow"));
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 530_000);
  run.now = 900_000;
  run.settle("tool.call", toolReturn("slow"));
  assert.deepEqual([run.state(), run.desk.asks.at(-1)?.request.deadlineAtMs], ["generating", 1_020_000]);
});

Deno.test("turn keeps no child that has ended and nothing of the conversation", () => {
  const run = startTurn();
  const secret = "whale song ".repeat(100);
  const size = () => JSON.stringify(run.context()).length;
  const sizes: number[] = [];
  for (let round = 0; round < 20; round++) {
    run.settle("model.generate", modelAnswer(secret, [{ name: "look" }, { name: "look" }]));
    run.settle("tool.call", toolReturn(secret));
    assert.equal(run.child(`call/${round}.0`), undefined);
    run.settle("tool.call", toolReturn(secret));
    assert.equal(run.child(`call/${round}.1`), undefined);
    assert.ok(!JSON.stringify(run.context()).includes("whale"));
    sizes.push(size());
  }
  assert.ok(Math.max(...sizes) - (sizes[0] ?? 0) < 60, sizes.join(" "));
});
