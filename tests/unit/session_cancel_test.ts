/** Whether a cancel stops what its scope says, in whatever the session does, and answers once that has ended. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { CancelReport, type CancelScope, hasStoppedAll } from "../../schemas/cancel.ts";
import type { TaskKind } from "../../schemas/task.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

const self = rootNamed(1);
const agent = AgentDefinition.parse({ name: "test", model: "scripted/test", limits: { rounds_per_turn: 5 } });
const catalog = sealCatalog([
  toolOf("look", { parallelSafe: true }),
  toolOf("ask", { approvalPolicy: "prompt", parallelSafe: true }),
  toolOf("pay", { effectClass: "non_idempotent", sideEffects: true, parallelSafe: true }),
]);

function openSession(): Run {
  const run = startRun(sessionMachine, {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
  });
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  return run;
}

function command(key: string) {
  return { command: { principal: "operator:local", key } };
}

function prompt(run: Run, key: string): void {
  run.send({ type: "session.prompt", text: "Hello" } as never, command(key));
}

function cancel(run: Run, key: string, scope?: CancelScope, call?: string): void {
  const more = { ...(scope === undefined ? {} : { scope }), ...(call === undefined ? {} : { call }) };
  run.send({ type: "session.cancel", reason: "enough", ...more } as never, command(key));
}

/** A session in a turn whose model has called these tools. */
function calling(...names: readonly string[]): Run {
  const run = openSession();
  prompt(run, "p");
  run.settle("model.generate", modelAnswer("", names.map((name) => ({ name }))));
  return run;
}

function taskNamed(n: number) {
  return `tsk_${String(n).padStart(26, "0")}`;
}

function addressOf(n: number): string {
  return `task/${taskNamed(n)}@${self.slice("session/".length)}`;
}

function opened(run: Run, n: number, kind: TaskKind = "terminal.exec"): void {
  run.send({ type: "task.opened", task: taskNamed(n), kind } as never, { sender: addressOf(n) });
}

function endTask(run: Run, n: number, status = "canceled", sender = addressOf(n)): void {
  const letter = { task: taskNamed(n), kind: "terminal.exec", title: `job ${n}`, summary: "", silent: false };
  run.send({ type: "task.ended", ...letter, status } as never, { sender });
}

/** The answer to a cancel, if there is one. */
function reportOf(run: Run, key: string): CancelReport | undefined {
  const replies = run.desk.posts.flatMap((post) =>
    post.kind === "reply" && post.command.key === key ? [post.value] : []
  );
  assert.ok(replies.length < 2, `the cancel ${key} was answered ${replies.length} times`);
  return replies[0] === undefined ? undefined : CancelReport.parse(replies[0]);
}

/** What was stopped, in short: `turn/1 canceled`. */
function stopped(run: Run, key: string): readonly string[] | undefined {
  return reportOf(run, key)?.stopped.map(({ address, ended }) => `${address} ${ended}`);
}

/** Who was told to end, in order: numbers of tasks. */
function told(run: Run): readonly number[] {
  return run.messages().filter(({ type }) => type === "task.cancel").map(({ to }) =>
    Number(to.replace(/^task\/tsk_0*|@.*$/g, ""))
  );
}

Deno.test("session answers a cancel once its turn has ended, with what became of its calls (ask 4, ask 5)", () => {
  const run = calling("look", "pay");
  cancel(run, "c");
  assert.equal(reportOf(run, "c"), undefined);
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.equal(reportOf(run, "c"), undefined);
  run.settle("tool.call", toolReturn("paid all the same"));
  assert.deepEqual(reportOf(run, "c"), {
    result: "stopped",
    scope: "turn",
    stopped: [
      { kind: "call", address: "turn/1/call/0.0", label: "look", ended: "canceled" },
      { kind: "call", address: "turn/1/call/0.1", label: "pay", ended: "succeeded" },
      { kind: "turn", address: "turn/1", ended: "canceled" },
    ],
    undecided: [],
    goesOn: [],
    notFound: [],
  });
});

Deno.test("session settles a pending question, its call, its turn and the cancel in one commit (ask 17)", () => {
  const run = calling("ask", "ask");
  assert.deepEqual(run.pending(), ["question.ask"]);
  cancel(run, "c", "turn");
  assert.deepEqual([run.state(), run.pending()], ["idle", []]);
  assert.equal(run.desk.asks.at(-1)?.state, "dropped");
  assert.deepEqual(stopped(run, "c"), [
    "turn/1/call/0.0 canceled",
    "turn/1/call/0.1 canceled",
    "turn/1 canceled",
  ]);
});

Deno.test("session that stops its turn lets its tasks go on, and says which (ask 4, DM-124)", () => {
  const run = openSession();
  opened(run, 1);
  opened(run, 2);
  prompt(run, "p");
  prompt(run, "waits");
  cancel(run, "c");
  assert.deepEqual(told(run), []);
  assert.deepEqual(stopped(run, "c"), ["turn/1 canceled"]);
  assert.deepEqual(reportOf(run, "c")?.goesOn, [
    { kind: "task", address: addressOf(1), label: "terminal.exec" },
    { kind: "task", address: addressOf(2), label: "terminal.exec" },
    { kind: "prompt", address: "prompt/6" },
  ]);
  assert.equal(run.state(), "running");
});

Deno.test("session stops 3 tasks in the reverse order of their births, and 2 calls, then answers (F32, ask 4)", () => {
  const run = calling("look", "pay");
  for (const n of [1, 2, 3]) opened(run, n);
  cancel(run, "c", "subtree");
  assert.deepEqual(told(run), [3, 2, 1]);
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.equal(run.state(), "idle");
  for (const n of [3, 2]) endTask(run, n);
  assert.equal(reportOf(run, "c"), undefined);
  endTask(run, 1, "lost");
  assert.deepEqual(stopped(run, "c"), [
    "turn/1/call/0.0 canceled",
    "turn/1/call/0.1 canceled",
    "turn/1 canceled",
    `${addressOf(3)} canceled`,
    `${addressOf(2)} canceled`,
    `${addressOf(1)} lost`,
  ]);
  const report = reportOf(run, "c");
  assert.ok(report !== undefined && !hasStoppedAll(report), "nobody knows what became of the last one");
});

Deno.test("session takes no letter of another's task for the end of its own (ask 4)", () => {
  const run = openSession();
  opened(run, 1);
  cancel(run, "c", "subtree");
  endTask(run, 1, "canceled", `task/${taskNamed(1)}@ses_other`);
  assert.equal(reportOf(run, "c"), undefined);
  endTask(run, 1);
  assert.deepEqual(stopped(run, "c"), [`${addressOf(1)} canceled`]);
});

Deno.test("session lets no task begin that waits when its subtree is stopped (ask 4)", () => {
  const run = openSession();
  for (const n of [1, 2, 3]) opened(run, n, "agent.spawn");
  const admitted = () => run.messages().filter(({ type }) => type === "task.admitted").length;
  assert.equal(admitted(), limits.agentsRunningMax);
  cancel(run, "c", "subtree");
  for (const n of [3, 2, 1]) endTask(run, n);
  assert.equal(admitted(), limits.agentsRunningMax);
  assert.equal(stopped(run, "c")?.length, 3);
});

Deno.test("session ends a task that is born while its subtree is stopped, or of a turn that was (ask 4)", () => {
  const run = calling("pay");
  cancel(run, "c", "subtree");
  opened(run, 1);
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual([told(run), reportOf(run, "c")], [[1], undefined]);
  endTask(run, 1);
  assert.deepEqual(stopped(run, "c")?.at(-1), `${addressOf(1)} canceled`);
  opened(run, 2);
  assert.deepEqual(told(run), [1, 2]);
  prompt(run, "next");
  opened(run, 3);
  assert.deepEqual(told(run), [1, 2], "the next turn's tasks are its own");
});

Deno.test("session shares one stop among cancels that come together, and answers each (ask 5)", () => {
  const run = calling("pay");
  opened(run, 1);
  for (const key of ["a", "b"]) cancel(run, key, "subtree");
  cancel(run, "t");
  assert.deepEqual(told(run), [1]);
  run.settle("tool.call", toolReturn("done"));
  assert.deepEqual(stopped(run, "t"), ["turn/1/call/0.0 succeeded", "turn/1 canceled"]);
  assert.deepEqual(reportOf(run, "t")?.goesOn, []);
  endTask(run, 1);
  for (const key of ["a", "b"]) assert.equal(stopped(run, key)?.length, 3);
});

Deno.test("session stops one call and leaves the turn and its other calls alone (ask 4)", () => {
  const run = calling("look", "ask", "pay");
  cancel(run, "c", "call", "call/0.1");
  assert.deepEqual(stopped(run, "c"), ["turn/1/call/0.1 canceled"]);
  cancel(run, "d", "call", "call/0.0");
  assert.deepEqual(run.desk.asks.map(({ cancelAsked }) => cancelAsked), [false, true, false, false]);
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.deepEqual(stopped(run, "d"), ["turn/1/call/0.0 canceled"]);
  run.settle("tool.call", toolReturn("paid"));
  assert.deepEqual(run.pending(), ["model.generate"]);
});

Deno.test("session says of a call that does not run that it is not there, in every state (ask 4)", () => {
  const states = [openSession(), calling("pay"), openSession()];
  prompt(states[2] as Run, "p");
  for (const run of states) {
    const before = run.state();
    cancel(run, "c", "call", "call/7.7");
    const report = reportOf(run, "c");
    assert.deepEqual([report?.result, report?.notFound], ["nothing_to_cancel", ["call/7.7"]]);
    assert.equal(run.state(), before);
  }
});

Deno.test("session says that a person must decide, rather than wait with its answer, and ends it if asked again (ask 5)", () => {
  const run = calling("pay", "look");
  cancel(run, "c");
  run.fail("tool.call", { status: "unknown", code: "tool_outcome_unknown", retryable: false });
  assert.equal(reportOf(run, "c"), undefined, "another call runs");
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  const report = reportOf(run, "c");
  assert.deepEqual(report?.undecided, [
    { kind: "call", address: "turn/1/call/0.0", label: "pay" },
    { kind: "turn", address: "turn/1" },
  ]);
  assert.ok(report !== undefined && !hasStoppedAll(report));
  assert.deepEqual([run.state(), run.pending()], ["running", ["question.ask"]]);
  cancel(run, "again");
  assert.deepEqual(stopped(run, "again"), ["turn/1/call/0.0 unknown", "turn/1 unknown"]);
  assert.deepEqual([run.state(), run.pending()], ["idle", []]);
});

Deno.test("session whose one call is undecided after its cancel goes on with the others (ask 5)", () => {
  const run = calling("pay", "look");
  cancel(run, "c", "call", "call/0.0");
  run.fail("tool.call", { status: "unknown", code: "tool_outcome_unknown", retryable: false });
  assert.deepEqual(reportOf(run, "c")?.undecided, [
    { kind: "call", address: "turn/1/call/0.0", label: "pay" },
  ]);
});

Deno.test("session that is canceled as a whole drops every prompt and takes none any more (ask 4)", () => {
  const run = calling("look");
  prompt(run, "waits");
  opened(run, 1);
  cancel(run, "c", "session");
  run.fail("tool.call", { status: "canceled", code: "tool_canceled" });
  assert.equal(run.state(), "idle");
  endTask(run, 1);
  assert.deepEqual(stopped(run, "c"), [
    "prompt/5 canceled",
    "turn/1/call/0.0 canceled",
    "turn/1 canceled",
    `${addressOf(1)} canceled`,
  ]);
  prompt(run, "late");
  opened(run, 2);
  assert.deepEqual(told(run), [1, 2]);
  const codes = run.desk.posts.flatMap((post) => {
    if (post.kind !== "reply" || post.command.key === "c") return [];
    return [`${post.command.key} ${(post.value as { failure: { code: string } }).failure.code}`];
  });
  assert.deepEqual(codes, ["waits session_closed", "p turn_canceled", "late session_closed"]);
});

Deno.test("session drops the prompt that waits for its catalog when it is canceled (ask 5)", () => {
  const run = startRun(sessionMachine, {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
  });
  prompt(run, "a");
  prompt(run, "b");
  cancel(run, "c");
  assert.deepEqual(stopped(run, "c"), ["prompt/2 canceled"]);
  assert.deepEqual(reportOf(run, "c")?.goesOn, [{ kind: "prompt", address: "prompt/3" }]);
});

Deno.test("session lets 64 cancels wait, and refuses the next one (ask 5)", () => {
  const run = calling("pay");
  for (let n = 0; n < limits.cancelsWaitingMax; n++) cancel(run, `c${n}`);
  cancel(run, "more");
  const post = run.desk.posts.at(-1);
  assert.ok(post?.kind === "reply" && post.command.key === "more");
  assert.deepEqual((post.value as { failure: { code: string } }).failure.code, "cancels_waiting");
});
