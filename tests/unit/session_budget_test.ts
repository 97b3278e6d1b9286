/** Whether a session keeps one ledger over all its turns, refuses prompts for which nothing is left, and never forgets. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import { sessionLedger } from "../../actors/session_budget.ts";
import type { SessionContext } from "../../actors/session_context.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { Budget, Spent } from "../../schemas/budget.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import type { Json } from "../../schemas/json.ts";
import { rootInputs } from "../../schemas/message.ts";
import type { ModelCall } from "../../schemas/model.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

const self = rootNamed(1);
const other = rootNamed(2);
const catalog = sealCatalog([toolOf("look"), toolOf("ask", { approvalPolicy: "prompt" })]);

function openSession(ofAgent: Budget | undefined, given?: Budget): Run {
  const agent = AgentDefinition.parse({ name: "test", model: "scripted/test", budget: ofAgent });
  const input = {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
    budget: given,
  };
  rootInputs.session.parse(input);
  const run = startRun(sessionMachine, input);
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  return run;
}

function prompt(run: Run, key: string): void {
  const command = { principal: "operator:local", key };
  run.send({ type: "session.prompt", text: "Hello" } as never, { command });
}

function answer(run: Run, tokens: number, text = "Hi", calls: readonly Partial<ModelCall>[] = []): void {
  const said = modelAnswer(text, calls) as unknown as object;
  run.settle(
    "model.generate",
    { ...said, usage: { inputTokens: tokens, outputTokens: 0 } } as unknown as Json,
  );
}

interface Reply {
  readonly outcome?: string;
  readonly answer?: string;
  readonly failure?: { readonly code: string };
  readonly spent?: Partial<Spent>;
}

function replies(run: Run): readonly (readonly [string, string | undefined, number | undefined])[] {
  return run.desk.posts.flatMap((post) => {
    if (post.kind !== "reply") return [];
    const { outcome, failure, spent } = post.value as unknown as Reply;
    return [[post.command.key, failure?.code ?? outcome, spent?.tokens] as const];
  });
}

function ledger(run: Run) {
  return sessionLedger(run.context() as unknown as SessionContext);
}

function asked(run: Run): PortArgs<"model.generate"> {
  return run.argsOf("model.generate") as PortArgs<"model.generate">;
}

Deno.test("session spends one budget over all its turns, and tells what it has spent so far", () => {
  const run = openSession({ tokens: 1_000 });
  prompt(run, "a");
  assert.deepEqual(asked(run).budget, { tokens: 1_000 });
  answer(run, 400);
  prompt(run, "b");
  assert.deepEqual(asked(run).budget, { tokens: 600 });
  answer(run, 500);
  assert.deepEqual(replies(run), [["a", "completed", 400], ["b", "completed", 900]]);
});

Deno.test("session may spend the stricter of its agent's budget and its own, field by field", () => {
  const run = openSession({ tokens: 1_000, tool_calls: 2 }, {
    tokens: 5_000,
    tool_calls: 1,
    wall_ms: 60_000,
  });
  assert.deepEqual(ledger(run).budget, { tokens: 1_000, wall_ms: 60_000, tool_calls: 1 });
});

Deno.test("session refuses a prompt at once for which nothing is left, and stays as it is", () => {
  const run = openSession({ tokens: 1_000 });
  prompt(run, "a");
  answer(run, 1_000);
  prompt(run, "b");
  prompt(run, "c");
  assert.deepEqual(replies(run).slice(1), [["b", "budget_exhausted", undefined], [
    "c",
    "budget_exhausted",
    undefined,
  ]]);
  assert.deepEqual([run.state(), run.hasTag("rest"), run.pending(), run.context()["turn"]], [
    "idle",
    true,
    [],
    1,
  ]);
});

Deno.test("session refuses the prompts that waited while the budget was used up", () => {
  const run = openSession({ tokens: 1_000 });
  for (const key of ["a", "b", "c"]) prompt(run, key);
  answer(run, 700);
  answer(run, 700);
  assert.deepEqual(replies(run).map(([key, outcome]) => `${key} ${outcome}`), [
    "a completed",
    "b completed",
    "c budget_exhausted",
  ]);
  assert.deepEqual(run.context()["queue"], []);
});

Deno.test("session without tokens left still carries out the call of a host, which asks no model", () => {
  const run = openSession({ tokens: 10 });
  prompt(run, "a");
  answer(run, 10);
  const command = { principal: "operator:local", key: "b" };
  run.send({ type: "session.call", call: { tool: "look", arguments: {} } } as never, { command });
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual(replies(run).at(-1)?.slice(0, 2), ["b", "completed"]);
});

Deno.test("session that its budget stopped answers whoever waits with the words that there are, and why", () => {
  const run = openSession({ tokens: 100 });
  run.send({ type: "session.prompt", text: "Hello" } as never, { sender: other });
  answer(run, 150, "As far as I came", [{ name: "look" }]);
  run.settle("tool.call", toolReturn("seen"));
  const [{ to, message } = { to: "", message: {} }] = run.messages();
  const { outcome, text, failure, spent } = message as Reply & { readonly text: string };
  assert.deepEqual([to, outcome, text, failure?.code], [
    other,
    "failed",
    "As far as I came",
    "budget_exhausted",
  ]);
  assert.deepEqual([spent?.tokens, spent?.tool_calls], [150, 1]);
});

Deno.test("session whose wall time is over takes the open question of its turn back, and counts the time", () => {
  const run = openSession({ wall_ms: 5_000 });
  run.now = 2_000;
  prompt(run, "a");
  answer(run, 1, "", [{ name: "ask" }]);
  assert.deepEqual(run.pending(), ["timer.set", "question.ask"]);
  run.now = 7_000;
  run.settle("timer.set", { firedAtMs: 7_000 });
  assert.deepEqual([run.state(), run.pending(), ledger(run).spent.wall_ms], ["idle", [], 5_000]);
  prompt(run, "b");
  assert.deepEqual(replies(run).map(([, outcome]) => outcome), ["budget_exhausted", "budget_exhausted"]);
});

Deno.test("session that an earlier release began counts from nothing, under the budget that it was given", () => {
  const run = openSession({ tokens: 1_000 });
  prompt(run, "a");
  answer(run, 200);
  run.rewrite((state) => delete state.context.ledger);
  prompt(run, "b");
  assert.deepEqual(asked(run).budget, { tokens: 1_000 });
  answer(run, 300);
  assert.equal(ledger(run).spent.tokens, 300);
});
