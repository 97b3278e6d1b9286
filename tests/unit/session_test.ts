/** Whether a session turns prompts into turns, one at a time, answers everybody who waits, and asks people. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import type { OpenQuestion } from "../../actors/session_context.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogRef } from "../../schemas/catalog.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { Grant } from "../../schemas/grant.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import type { Stamp } from "../../schemas/message.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

const self = rootNamed(1);
const other = rootNamed(2);
const agent = AgentDefinition.parse({ name: "test", model: "scripted/test", limits: { rounds_per_turn: 5 } });
const tools = [
  toolOf("look"),
  toolOf("ask", { approvalPolicy: "prompt" }),
  toolOf("pay", { effectClass: "non_idempotent", sideEffects: true }),
];
const catalog = sealCatalog(tools);

function startSession(): Run {
  const input = {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
  };
  return startRun(sessionMachine, input);
}

function issue(run: Run, issued: CatalogRef = catalog): void {
  run.send({ type: "catalog.issued", catalog: issued, renewal: 0, servers: [] } as never);
}

/** A session whose catalog was issued. */
function openSession(): Run {
  const run = startSession();
  issue(run);
  return run;
}

function prompt(run: Run, key: string | undefined, stamp: Partial<Stamp> = {}): void {
  const command = key === undefined ? {} : { command: { principal: "operator:local", key } };
  run.send({ type: "session.prompt", text: "Hello" } as never, { ...command, ...stamp });
}

function cancel(run: Run, key: string): void {
  const stamp = { command: { principal: "operator:local", key } };
  run.send({ type: "session.cancel", reason: "enough" } as never, stamp);
}

function answer(run: Run, decision: Decision): void {
  const shown = `sha256:${"0".repeat(64)}`;
  run.settle("question.ask", { decision, by: { ...localOperator }, shown });
}

interface Reply {
  readonly key: string;
  readonly status: string;
  readonly value: { readonly outcome?: string; readonly failure?: { readonly code: string } } & Json;
}

function replies(run: Run): Reply[] {
  return run.desk.posts.flatMap((post) =>
    post.kind === "reply" ? [{ key: post.command.key, status: post.status, value: post.value as never }] : []
  );
}

function outcomes(run: Run): string[] {
  return replies(run).map(({ key, value }) => `${key} ${value.failure?.code ?? value.outcome}`);
}

function asked(run: Run): PortArgs<"model.generate"> {
  return run.argsOf("model.generate") as PortArgs<"model.generate">;
}

/** Rules that are allowed for the session. */
function rulesOf(run: Run): readonly string[] {
  return (run.context()["grants"] as readonly Grant[]).map(({ scope }) => scope.rule);
}

/** Starts a turn in which the model calls these tools. */
function callTools(run: Run, ...names: readonly string[]): void {
  prompt(run, `call ${names.join()}`);
  run.settle("model.generate", modelAnswer("", names.map((name) => ({ name }))));
}

Deno.test("session waits for its catalog before the first turn, and keeps prompts meanwhile", () => {
  const run = startSession();
  assert.deepEqual([run.state(), run.hasTag("rest")], ["preparing", true]);
  prompt(run, "a");
  assert.deepEqual([run.state(), run.kinds(), replies(run)], ["preparing", [], []]);
  issue(run);
  assert.deepEqual([run.state(), run.kinds()], ["running", ["model.generate"]]);
  assert.deepEqual(asked(run).append, [{ type: "prompt", seq: 2 }]);
});

Deno.test("session rests until somebody prompts it, then runs a turn and replies where its answer stands", () => {
  const run = openSession();
  assert.deepEqual([run.state(), run.hasTag("rest")], ["idle", true]);
  prompt(run, "a");
  assert.deepEqual([run.state(), run.hasTag("rest"), replies(run)], ["running", false, []]);
  run.settle("model.generate", modelAnswer("Hi."));
  assert.deepEqual([run.state(), replies(run)], ["idle", [{
    key: "a",
    status: "ok",
    value: {
      turn: 1,
      outcome: "completed",
      steps: 1,
      answer: "3.0",
      spent: { model_calls: 1, wall_ms: 1 },
    } as never,
  }]]);
});

// Proves DM-132: turns of one session run one at a time, in the order of their prompts.
Deno.test("session runs one turn after another, however many prompts wait", () => {
  const run = openSession();
  for (const key of ["a", "b", "c"]) prompt(run, key);
  assert.deepEqual([run.kinds().length, asked(run).turn], [1, 1]);
  for (const turn of [1, 2, 3]) {
    assert.equal(asked(run).turn, turn);
    run.settle("model.generate", modelAnswer("Hi."));
  }
  assert.deepEqual(outcomes(run), ["a completed", "b completed", "c completed"]);
  assert.equal(run.state(), "idle");
});

Deno.test("session keeps at most 16 prompts beside the one it works on and refuses the next", () => {
  const run = openSession();
  for (let n = 0; n <= limits.promptsQueuedMax; n++) prompt(run, `p${n}`);
  assert.deepEqual(replies(run), []);
  prompt(run, "one too many");
  prompt(run, undefined, { sender: other });
  assert.deepEqual(outcomes(run), ["one too many prompt_queue_full"]);
  assert.equal(replies(run)[0]?.status, "failed");
  const [message] = run.messages();
  assert.deepEqual([message?.to, message?.type], [other, "session.answered"]);
  run.settle("model.generate", modelAnswer("Hi."));
  prompt(run, "fits again");
  assert.equal((run.context()["queue"] as unknown[]).length, 16);
});

Deno.test("session refuses everybody when its catalog is refused, and works again under a later one", () => {
  const run = startSession();
  prompt(run, "early");
  prompt(run, undefined, { sender: other });
  const why = failure("tool_name_collision", "Two tools are called look");
  run.send({ type: "catalog.refused", failure: why, renewal: 0 } as never);
  assert.deepEqual([run.state(), run.hasTag("rest")], ["refused", true]);
  prompt(run, "late");
  assert.deepEqual(outcomes(run), ["early tool_name_collision", "late tool_name_collision"]);
  assert.deepEqual(run.messages().map(({ to, type }) => [to, type]), [[other, "session.answered"]]);
  issue(run);
  prompt(run, "at last");
  assert.deepEqual([run.state(), run.kinds()], ["running", ["model.generate"]]);
});

Deno.test("session keeps the catalog it has when a later one is refused", () => {
  const run = openSession();
  run.send(
    { type: "catalog.refused", failure: failure("tool_unknown", "No such tool"), renewal: 0 } as never,
  );
  prompt(run, "a");
  assert.deepEqual([run.state(), asked(run).catalog], ["running", catalog]);
});

// Proves AR-2, DM-5: a catalog is a turn's own for as long as the turn lasts.
Deno.test("session uses a new catalog from the next turn on, not in the one that runs", () => {
  const next = sealCatalog([toolOf("look", { timeoutMs: 5 })], {}, 2);
  const run = openSession();
  prompt(run, "a");
  issue(run, next);
  run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
  assert.equal((run.argsOf("tool.call") as PortArgs<"tool.call">).entry.catalog, catalog.hash);
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual(asked(run).catalog, catalog);
  run.settle("model.generate", modelAnswer("Hi."));
  prompt(run, "b");
  assert.deepEqual([asked(run).turn, asked(run).catalog], [2, next]);
});

// A turn that counted from its prompt would be late before it began.
Deno.test("session starts a waiting prompt's turn at the time at which the one before ended", () => {
  const run = openSession();
  prompt(run, "a");
  prompt(run, "b");
  run.now = 700_000;
  run.settle("model.generate", modelAnswer("Slow."));
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 820_000);
});

Deno.test("session passes a text on to another one as a prompt that is answered to itself", () => {
  const run = openSession();
  const stamp = { command: { principal: "operator:local", key: "r" } };
  run.send({ type: "session.relay", to: other, text: "Ask her" } as never, stamp);
  assert.deepEqual(run.messages(), [{
    to: other,
    type: "session.prompt",
    message: { type: "session.prompt", text: "Ask her", replyTo: self },
  }]);
  assert.deepEqual(replies(run), [{ key: "r", status: "ok", value: { result: "relayed" } as never }]);
});

Deno.test("session answers the root that prompted it, or the one that the prompt names", () => {
  const run = openSession();
  prompt(run, undefined, { sender: other });
  run.settle("model.generate", modelAnswer("For you."));
  const third = rootNamed(3);
  run.send({ type: "session.prompt", text: "Hello", replyTo: third } as never, { sender: other });
  run.fail("model.generate", { code: "script_exhausted", retryable: false });
  const [first, second] = run.messages();
  assert.deepEqual(first, {
    to: other,
    type: "session.answered",
    message: {
      type: "session.answered",
      from: self,
      outcome: "completed",
      text: "For you.",
      spent: { model_calls: 1, wall_ms: 1 },
    },
  });
  const { outcome, failure: why } = second?.message as { outcome: string; failure: { code: string } };
  assert.deepEqual([second?.to, outcome, why.code], [third, "failed", "script_exhausted"]);
});

// Only a root can be answered by message: a client's command gets a reply, whatever address it names.
Deno.test("session sends no message to the address that a client's command names", () => {
  const run = openSession();
  const stamp = { command: { principal: "operator:local", key: "a" } };
  run.send({ type: "session.prompt", text: "Hello", replyTo: other } as never, stamp);
  run.settle("model.generate", modelAnswer("Hi."));
  assert.deepEqual([run.messages(), replies(run).length], [[], 1]);
});

Deno.test("session gives another session's answers to its next turn, as positions, the oldest first", () => {
  const run = openSession();
  for (let n = 0; n < limits.noticesMax + 2; n++) {
    const message = { type: "session.answered", from: other, outcome: "completed", text: "It is so." };
    run.send(message as never, { sender: other });
  }
  const seqs = Array.from({ length: limits.noticesMax }, (_, n) => n + 5);
  prompt(run, "a");
  assert.deepEqual(asked(run).append.slice(0, -1), seqs.map((seq) => ({ type: "notice", seq })));
  assert.deepEqual(asked(run).append.at(-1), { type: "prompt", seq: 37 });
  run.settle("model.generate", modelAnswer("Hi."));
  prompt(run, "b");
  assert.deepEqual(asked(run).append.map((item) => item.type), ["prompt"]);
});

Deno.test("session has nothing to cancel while no turn runs, and says so", () => {
  const run = openSession();
  cancel(run, "c");
  const refused = startSession();
  refused.send(
    { type: "catalog.refused", failure: failure("tool_unknown", "No such tool"), renewal: 0 } as never,
  );
  cancel(refused, "c");
  for (const one of [run, refused]) {
    assert.deepEqual(replies(one), [{
      key: "c",
      status: "ok",
      value: {
        result: "nothing_to_cancel",
        scope: "turn",
        stopped: [],
        undecided: [],
        goesOn: [],
        notFound: ["turn"],
      } as never,
    }]);
  }
});

Deno.test("session cancels the turn that runs, then takes the next prompt", () => {
  const run = openSession();
  prompt(run, "a");
  prompt(run, "b");
  cancel(run, "c");
  const keys = replies(run).map(({ key, status }) => `${key} ${status}`);
  assert.deepEqual(keys, ["a failed", "c ok"]);
  assert.deepEqual(outcomes(run).at(0), "a turn_canceled");
  assert.deepEqual([run.state(), asked(run).turn, run.pending()], ["running", 2, ["model.generate"]]);
});

Deno.test("session opens a question for a call that waits, and the answer reaches the call", () => {
  for (const [decision, next] of [["allow", "tool.call"], ["deny", "model.generate"]] as const) {
    const run = openSession();
    callTools(run, "ask");
    assert.deepEqual(run.pending(), ["question.ask"]);
    const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
    assert.deepEqual([subject.kind, subject.tool, subject.invocation], [
      "approval",
      "ask",
      "turn/1/call/0.0",
    ]);
    assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 1_003 + limits.questionOpenMs);
    const [open] = run.context()["questions"] as readonly OpenQuestion[];
    assert.deepEqual([open?.id, open?.waiting, open?.rule], ["question/1", ["call/0.0"], "ask"]);
    answer(run, decision);
    assert.deepEqual([run.pending(), run.context()["questions"]], [[next], []]);
    assert.equal(run.child("question/1"), undefined);
  }
});

// Proves DM-34.
Deno.test("session lets a call be denied when its question expires", () => {
  const run = openSession();
  callTools(run, "ask");
  run.fail("question.ask", { status: "timed_out", code: "approval_expired" });
  const [item] = asked(run).append;
  assert.match(item?.type === "refusal" ? item.text : "", /^denied: Nobody answered in time/);
});

Deno.test("session asks about several calls at once, and each answer goes to its own call", () => {
  const run = openSession();
  const both = sealCatalog([toolOf("ask", { approvalPolicy: "prompt", parallelSafe: true })], {}, 3);
  issue(run, both);
  prompt(run, "two");
  const calls = ["a", "b"].map((path) => ({ name: "ask", arguments: { path } }));
  run.settle("model.generate", modelAnswer("", calls));
  assert.deepEqual(run.pending(), ["question.ask", "question.ask"]);
  const shown = `sha256:${"0".repeat(64)}`;
  run.settle("question.ask", { decision: "allow", by: { ...localOperator }, shown }, 1);
  assert.equal((run.argsOf("tool.call") as PortArgs<"tool.call">).invocation, "call/0.1");
  answer(run, "deny");
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(asked(run).append.map((item) => item.type), ["refusal", "result"]);
});

Deno.test("session withdraws the questions of a turn that is canceled, in the same step", () => {
  const run = openSession();
  callTools(run, "ask");
  cancel(run, "c");
  assert.deepEqual([run.state(), run.pending(), run.context()["questions"]], ["idle", [], []]);
  assert.equal(run.desk.asks.at(-1)?.state, "dropped");
});

Deno.test("session remembers an always for the calls and turns that follow", () => {
  const run = openSession();
  callTools(run, "ask", "ask");
  answer(run, "always_allow_for_session");
  assert.deepEqual(rulesOf(run), ["ask"]);
  run.settle("tool.call", toolReturn("done"));
  // The second call stands alone in the next stage, so it starts after the answer.
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  run.settle("model.generate", modelAnswer("Hi."));
  callTools(run, "ask");
  assert.deepEqual(run.pending(), ["tool.call"]);
  assert.equal(run.kinds().filter((kind) => kind === "question.ask").length, 1);
});

Deno.test("session asks again after a plain allow", () => {
  const run = openSession();
  callTools(run, "ask", "ask");
  answer(run, "allow");
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual([run.pending(), run.context()["grants"]], [["question.ask"], []]);
});

Deno.test("session asks an operator about a call of which nobody knows the outcome", () => {
  const run = openSession();
  callTools(run, "pay");
  run.fail("tool.call", { status: "unknown", code: "tool_outcome_unknown", message: "The line broke" });
  const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
  assert.deepEqual([subject.kind, subject.reason], ["uncertain", "The line broke. It may have happened"]);
  answer(run, "mark_applied");
  const [item] = asked(run).append;
  assert.match(item?.type === "refusal" ? item.text : "", /was applied/);
});

Deno.test("session keeps neither turns nor questions that have ended", () => {
  const run = openSession();
  for (let turn = 1; turn <= 3; turn++) {
    callTools(run, "ask");
    answer(run, "deny");
    run.settle("model.generate", modelAnswer("Hi."));
    assert.deepEqual([run.child(`turn/${turn}`), run.child(`question/${turn}`)], [undefined, undefined]);
  }
  assert.deepEqual([run.context()["turn"], run.context()["asked"], run.context()["current"]], [3, 3, null]);
});
