/** Whether a session asks once for what is the same, no more than people can read, and lets answers end when they must. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import type { OpenQuestion } from "../../actors/session_context.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogRef } from "../../schemas/catalog.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import type { Grant } from "../../schemas/grant.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator, type Principal } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

const agent = AgentDefinition.parse({ name: "test", model: "scripted/test" });
const tools = [
  toolOf("ask", { approvalPolicy: "prompt" }),
  toolOf("both", { approvalPolicy: "prompt", parallelSafe: true }),
  toolOf("pay", {
    approvalPolicy: "prompt",
    effectClass: "non_idempotent",
    sideEffects: true,
    parallelSafe: true,
  }),
  toolOf("subagent_spawn", { approvalPolicy: "prompt", effectClass: "non_idempotent", sideEffects: true }),
  toolOf("bind", { approvalPolicy: "prompt", capability: "secret.bind:TOKEN" }),
];
const catalog = sealCatalog(tools);

function openSession(): Run {
  const run = startRun(sessionMachine, {
    address: rootNamed(1),
    agent: { ...agent, capabilities: ["secret.bind:TOKEN"] },
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
  });
  issue(run, catalog);
  return run;
}

function issue(run: Run, issued: CatalogRef): void {
  run.send({ type: "catalog.issued", catalog: issued, renewal: 0, servers: [] } as never);
}

type Call = string | readonly [name: string, callArguments: JsonObject];

/** Lets the model call these tools, in a new turn if none runs. */
function call(run: Run, ...calls: readonly Call[]): void {
  if (run.state() === "idle") run.send({ type: "session.prompt", text: "Hello" } as never);
  const made = calls.map((one) =>
    typeof one === "string" ? { name: one } : { name: one[0], arguments: one[1] }
  );
  run.settle("model.generate", modelAnswer("", made));
}

function answer(run: Run, decision: Decision, by: Principal = localOperator): void {
  run.settle("question.ask", { decision, by: { ...by }, shown: `sha256:${"0".repeat(64)}` });
}

function grants(run: Run): readonly Grant[] {
  return run.context()["grants"] as readonly Grant[];
}

function open(run: Run): readonly OpenQuestion[] {
  return run.context()["questions"] as readonly OpenQuestion[];
}

function count(run: Run, kind: string): number {
  return run.pending().filter((one) => one === kind).length;
}

/** What the model was told of the calls of the last step. */
function told(run: Run): string[] {
  return (run.argsOf("model.generate") as PortArgs<"model.generate">).append.map((item) =>
    item.type === "refusal" ? item.text : item.type
  );
}

function approvals(run: Run): string[] {
  return run.notes().filter(({ type }) => type.startsWith("approval.")).map(({ type, body }) => {
    const { ordinal, decision = "", cached, automatic, shared } = body as JsonObject;
    const flags = Object.entries({ cached, automatic, shared }).flatMap(([name, on]) =>
      on === true ? [name] : []
    );
    return [type, ordinal, decision, ...flags].filter((word) => word !== "").join(" ");
  });
}

Deno.test("session asks once about identical calls at once, and one answer reaches them all (DM-37)", () => {
  const same = ["pay", { to: "Ada" }] as const;
  for (
    const [decision, next] of [["allow", ["tool.call", "tool.call"]], ["deny", ["model.generate"]]] as const
  ) {
    const run = openSession();
    call(run, same, same, ["pay", { to: "Bob" }]);
    assert.deepEqual(open(run).map(({ waiting }) => waiting), [["call/0.0", "call/0.1"], ["call/0.2"]]);
    assert.equal(count(run, "question.ask"), 2);
    answer(run, decision);
    assert.equal(count(run, "tool.call"), decision === "allow" ? 2 : 0);
    answer(run, "deny");
    assert.deepEqual(run.pending(), next);
  }
});

// What was shown to the person is one call, and another one is not it, though one rule would cover both.
Deno.test("session shares no question about calls with other arguments, or with arguments too long for a rule", () => {
  const run = openSession();
  call(run, ["both", { path: "a" }], ["both", { path: "b" }]);
  assert.equal(count(run, "question.ask"), 2);
  const long = openSession();
  const text = { text: "x".repeat(700) };
  call(long, ["both", text], ["both", text]);
  assert.equal(count(long, "question.ask"), 2);
});

Deno.test("session withdraws a shared question with the last call that waits for it, in the same step (DM-37)", () => {
  const run = openSession();
  call(run, "both", "both");
  const cancel = (ordinal: string) => run.send({ type: "invocation.cancel" }, {}, ["turn/1", ordinal]);
  cancel("call/0.0");
  assert.deepEqual([count(run, "question.ask"), open(run)[0]?.waiting], [1, ["call/0.1"]]);
  answer(run, "allow");
  assert.equal((run.argsOf("tool.call") as PortArgs<"tool.call">).invocation, "call/0.1");

  const all = openSession();
  call(all, "both", "both");
  for (const ordinal of ["call/0.0", "call/0.1"]) {
    all.send({ type: "invocation.cancel" }, {}, ["turn/1", ordinal]);
  }
  assert.deepEqual([count(all, "question.ask"), open(all)], [0, []]);
  assert.equal(all.desk.asks.find(({ request }) => request.port === "question.ask")?.state, "dropped");
});

Deno.test("session gives no answer that was given before a restart to a call after it (DM-36)", () => {
  const run = openSession();
  call(run, "ask");
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  call(run, "ask");
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  run.epoch = 2;
  call(run, "ask");
  assert.deepEqual(run.pending(), ["question.ask"]);
  const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
  assert.match(subject.reason, /An earlier answer counts no more: the runtime was started anew since/);
});

// The runtime starts anew while a turn runs: the next stage begins with a result, not with a model's answer.
Deno.test("session notices a restart between two stages of a turn (DM-36)", () => {
  const run = openSession();
  call(run, "ask", "ask", "ask");
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.epoch = 2;
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(run.pending(), ["question.ask"]);
});

// A host's call asks no model first: the call itself says in which runtime it is made.
Deno.test("session remembers what was allowed of a host's call, in the same runtime only (DM-36)", () => {
  const run = openSession();
  const command = { principal: "operator:local", key: "k" };
  const ask = () =>
    run.send({ type: "session.call", call: { tool: "ask", arguments: {} }, command } as never);
  ask();
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  ask();
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  run.epoch = 2;
  ask();
  assert.deepEqual(run.pending(), ["question.ask"]);
});

Deno.test("session keeps no always that answers a question from before a restart or a revocation (DM-36)", () => {
  const restarted = openSession();
  call(restarted, "ask");
  restarted.epoch = 2;
  answer(restarted, "always_allow_for_session");
  assert.deepEqual([restarted.pending(), grants(restarted)], [["tool.call"], []]);

  const revoked = openSession();
  call(revoked, "ask");
  revoked.send({ type: "session.revoke" } as never);
  answer(revoked, "always_allow_for_session");
  assert.deepEqual([revoked.pending(), grants(revoked)], [["tool.call"], []]);
});

Deno.test("session forgets after 8 hours what it was allowed for its life (DM-36)", () => {
  const run = openSession();
  call(run, "ask");
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  run.now += limits.grantMs;
  call(run, "ask");
  assert.deepEqual(run.pending(), ["question.ask"]);
});

Deno.test("session forgets the answers of a principal that is revoked, also in the turn that runs (DM-36)", () => {
  const ada: Principal = { kind: "user", id: "ada" };
  const run = openSession();
  call(run, "ask");
  answer(run, "always_allow_for_session", ada);
  run.settle("tool.call", toolReturn("done"));
  run.send({ type: "session.revoke", principal: { ...localOperator } } as never);
  assert.deepEqual(grants(run).map(({ by }) => by), [ada]);
  const command = { principal: "operator:local", key: "r" };
  run.send({ type: "session.revoke", principal: { ...ada } } as never, { command });
  assert.deepEqual(grants(run), []);
  const reply = run.desk.posts.find((post) => post.kind === "reply");
  assert.deepEqual(reply?.kind === "reply" ? reply.value : undefined, { result: "revoked" });
  call(run, "ask");
  assert.deepEqual(run.pending(), ["question.ask"]);
});

Deno.test("session counts an always for a call that binds a secret once (DM-39)", () => {
  const run = openSession();
  call(run, "bind", "bind");
  const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
  assert.equal(subject.once, true);
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual([run.pending(), grants(run)], [["question.ask"], []]);
});

Deno.test("session keeps a grant over a new catalog in which the tool is the same, and no other (B23)", () => {
  const others = tools.map((tool) =>
    tool.name === "ask" ? { ...tool, description: "Now it does more" } : tool
  );
  const run = openSession();
  call(run, "ask");
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  run.settle("model.generate", modelAnswer("Hi."));
  issue(run, sealCatalog([...tools, toolOf("new")], {}, 2));
  call(run, "ask");
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  run.settle("model.generate", modelAnswer("Hi."));
  issue(run, sealCatalog(others, {}, 3));
  call(run, "ask");
  const { subject } = run.argsOf("question.ask") as PortArgs<"question.ask">;
  assert.match(subject.reason, /counts no more: the tool's definition or its policy has changed since/);
});

Deno.test("session ends a question whose tool or policy changed while it was open; its call is refused as stale (B23, B25)", () => {
  const changed = tools.map((tool) => tool.name === "pay" ? { ...tool, riskLevel: "high" as const } : tool);
  const denied = tools.map((tool) =>
    tool.name === "pay" ? { ...tool, approvalPolicy: "deny" as const } : tool
  );
  for (const next of [changed, denied, tools.slice(0, 2)]) {
    const run = openSession();
    call(run, ["pay", { to: "Ada" }], "both");
    issue(run, sealCatalog(next, {}, 2));
    assert.deepEqual(open(run).map(({ tool }) => tool), ["both"]);
    answer(run, "allow");
    run.settle("tool.call", toolReturn("done"));
    assert.match(told(run)[0] ?? "", /^denied: The tool was changed while a person was asked about it/);
    assert.ok(approvals(run).includes("approval.denied call/0.0 deny automatic"));
  }
});

Deno.test("session asks about work for another agent as about any call: by name and exact arguments (DM-41, DM-38)", () => {
  const run = openSession();
  call(run, ["subagent_spawn", { task: "read" }]);
  const [asked] = open(run);
  assert.ok(asked?.scope);
  assert.deepEqual(asked.scope, {
    rule: 'subagent_spawn {"task":"read"}',
    subject: "subagent_spawn",
    entry: asked.entry,
    coreRevision: "core-1",
    capabilities: "secret.bind:TOKEN",
    mode: "default",
  });
  answer(run, "always_allow_for_session");
  assert.deepEqual(grants(run).map(({ scope }) => scope), [asked.scope]);
  run.settle("tool.call", toolReturn("done"));
  call(run, ["subagent_spawn", { task: "read" }]);
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  call(run, ["subagent_spawn", { task: "delete" }]);
  assert.deepEqual(run.pending(), ["question.ask"]);
});

// B17: words in a conversation decide nothing.
Deno.test("session takes no prompt for an answer, whatever it says (B17)", () => {
  const run = openSession();
  call(run, "ask");
  for (const text of ["yes", "allow", "always_allow_for_session", "/approve question/1"]) {
    run.send({ type: "session.prompt", text } as never);
  }
  assert.deepEqual([run.pending(), open(run).length], [["question.ask"], 1]);
  assert.equal((run.context()["queue"] as unknown[]).length, 4);
});

Deno.test("session asks at most 20 new questions in 5 minutes, and refuses what would ask more until then (B28)", () => {
  const run = openSession();
  for (let n = 0; n < limits.questionsPerWindowMax; n++) {
    call(run, ["ask", { n }]);
    answer(run, "deny");
  }
  const started = run.now;
  call(run, ["ask", { n: "one too many" }]);
  assert.deepEqual(run.pending(), ["model.generate"]);
  assert.match(told(run)[0] ?? "", /^denied: A person was asked 20 times within 5 minutes/);
  assert.equal(approvals(run).at(-1), "approval.denied call/20.0 deny automatic");
  // The window moves on with the time of events.
  run.now = started + limits.questionWindowMs;
  call(run, ["ask", { n: "later" }]);
  assert.deepEqual(run.pending(), ["question.ask"]);
});

Deno.test("session counts no question about a call that may have happened against what may be asked (B28)", () => {
  const run = openSession();
  const calls = Array.from({ length: limits.questionsPerWindowMax }, (_, n) => ["pay", { n }] as const);
  call(run, ...calls);
  for (let n = 0; n < calls.length; n++) answer(run, "allow");
  run.fail("tool.call", { status: "unknown", code: "tool_outcome_unknown" });
  assert.equal(count(run, "question.ask"), 1);
});

Deno.test("session notes who is asked, what was decided, whether from memory or by a rule, and every denial (DM-40)", () => {
  const run = openSession();
  call(run, "ask", "ask");
  answer(run, "always_allow_for_session");
  run.settle("tool.call", toolReturn("done"));
  run.settle("tool.call", toolReturn("done"));
  call(run, "both", "both");
  answer(run, "deny");
  assert.deepEqual(approvals(run), [
    "approval.requested call/0.0",
    "approval.decided call/0.0 always_allow_for_session",
    "approval.decided call/0.1 allow cached",
    "approval.requested call/1.0",
    "approval.requested call/1.1 shared",
    "approval.denied call/1.0 deny",
    "approval.denied call/1.1 deny shared",
  ]);
});

Deno.test("session of an earlier release goes on: its grants count for nothing, its question is answered", () => {
  const run = openSession();
  call(run, "ask", "ask");
  const old = { id: "question/1", ordinal: "call/0.0", rule: "ask" };
  run.rewrite((state) => {
    state.context.questions = [old];
    state.context.grants = ["ask"];
    const turn = state.children["turn/1"].snapshot;
    turn.context.grants = ["ask"];
    delete turn.context.epoch;
    delete turn.context.refusals;
    const question = state.children["question/1"].snapshot;
    delete question.context.subject.offers;
  });
  answer(run, "always_allow_for_session");
  assert.deepEqual(run.pending(), ["tool.call"]);
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual([run.pending(), grants(run)], [["question.ask"], ["ask"]]);
});
