/** Whether a question ends only by an answer that it offers, by silence, or because nobody needs it. */
import assert from "node:assert/strict";
import { questionMachine, type QuestionResult } from "../../actors/question.ts";
import { type Decision, offeredDecisions, type QuestionKind } from "../../schemas/question.ts";
import { startRun } from "../support/desk.ts";

const by = { kind: "operator", id: "local" } as const;

function ask(kind: QuestionKind) {
  const subject = {
    kind,
    invocation: "turn/1/call/0.0",
    tool: "write_file",
    title: "Write a file",
    risk: "medium",
    reason: "Policy asks",
    preview: "{}",
    rule: "write_file {}",
  };
  return startRun(questionMachine, { subject, openMs: 3_600_000, at: 500 });
}

function answer(decision: Decision) {
  return { decision, by, shown: `sha256:${"0".repeat(64)}` };
}

Deno.test("question is asked with a deadline and rests until it is answered", () => {
  const run = ask("approval");
  assert.deepEqual([run.state(), run.kinds(), run.hasTag("rest")], ["pending", ["question.ask"], true]);
  assert.equal(run.desk.asks[0]?.request.deadlineAtMs, 3_600_500);
  assert.equal(run.desk.asks[0]?.request.effect, "idempotent");
});

Deno.test("question passes every decision on that it offers", () => {
  for (const kind of ["approval", "uncertain"] as const) {
    for (const decision of offeredDecisions[kind]) {
      const run = ask(kind);
      run.settle("question.ask", answer(decision));
      assert.equal(run.state(), "answered");
      const expected = { invocation: "turn/1/call/0.0", decision, by, via: "answered", at: 1_001, epoch: 1 };
      assert.deepEqual(run.output(), expected);
    }
  }
});

Deno.test("question counts every other answer to an approval as a denial (DM-34)", () => {
  for (const value of [answer("run_again"), answer("abandon"), { decision: "yes" }, null, "allow"]) {
    const run = ask("approval");
    run.settle("question.ask", JSON.parse(JSON.stringify(value)));
    const { decision, via } = run.output() as { decision: Decision; via: string };
    assert.deepEqual([run.state(), decision, via], ["answered", "deny", "answered"]);
  }
});

Deno.test("question about an approval expires into a denial, and is one where nobody is there (DM-34)", () => {
  const silent = ask("approval");
  silent.fail("question.ask", { status: "timed_out", code: "approval_expired" });
  assert.deepEqual(silent.output(), {
    invocation: "turn/1/call/0.0",
    decision: "deny",
    via: "expired",
    at: 1_001,
    epoch: 1,
  });

  const absent = ask("approval");
  absent.fail("question.ask", { code: "approval_unavailable" });
  assert.deepEqual([absent.state(), (absent.output() as { via: string }).via], ["expired", "unavailable"]);
});

Deno.test("question about an uncertain outcome is asked again when nobody answers", () => {
  const run = ask("uncertain");
  run.now = 3_600_500;
  run.fail("question.ask", { status: "timed_out" });
  assert.deepEqual([run.state(), run.pending()], ["pending", ["question.ask"]]);
  assert.equal(run.desk.asks.at(-1)?.request.deadlineAtMs, 7_200_500);
  assert.equal(run.context()["asked"], 2);
  run.settle("question.ask", answer("mark_applied"));
  assert.equal((run.output() as { decision: Decision }).decision, "mark_applied");
});

Deno.test("question about an uncertain outcome takes no answer that it does not offer", () => {
  const run = ask("uncertain");
  for (const value of [answer("allow"), answer("deny"), null]) {
    run.settle("question.ask", value);
    assert.deepEqual([run.state(), run.pending()], ["pending", ["question.ask"]]);
  }
});

Deno.test("question about an uncertain outcome does not spin when nobody is there", () => {
  const run = ask("uncertain");
  run.now = 2_000;
  run.fail("question.ask", { code: "approval_unavailable" });
  assert.deepEqual([run.state(), run.pending(), run.hasTag("rest")], ["waiting", ["timer.set"], true]);
  assert.deepEqual(run.argsOf("timer.set"), {
    dueAtMs: 3_602_000,
    jitterMs: 0,
    label: "ask again: turn/1/call/0.0",
  });
  run.now = 3_602_000;
  run.settle("timer.set", null);
  assert.deepEqual([run.state(), run.desk.asks.at(-1)?.request.deadlineAtMs], ["pending", 7_202_000]);
});

// Proves K11: only an idempotent port is dropped.
Deno.test("question that is withdrawn drops its port and permits nothing", () => {
  for (const [kind, decision] of [["approval", "deny"], ["uncertain", "abandon"]] as const) {
    const run = ask(kind);
    run.send({ type: "question.withdraw" });
    assert.deepEqual([run.state(), run.desk.asks[0]?.state], ["withdrawn", "dropped"]);
    const { decision: decided, via, by: who } = run.output() as QuestionResult;
    assert.deepEqual([decided, via, who], [decision, "withdrawn", undefined]);
  }
});

Deno.test("question of a server that nobody answers says nothing, and a program's word is nobody's (CM-34)", () => {
  const late = ask("elicitation");
  late.fail("question.ask", { status: "timed_out", code: "approval_expired" });
  const nobody = ask("elicitation");
  nobody.settle("question.ask", { ...answer("deny"), by: { kind: "program", id: "no-answerer" } });
  const noModel = ask("sampling");
  noModel.settle("question.ask", { ...answer("deny"), by: { kind: "program", id: "no-answerer" } });
  const filled = ask("elicitation");
  filled.settle("question.ask", { ...answer("accept"), content: { name: "Ada" } });
  const ends = [late, nobody, noModel, filled].map((run) => {
    const { decision, via, content } = run.output() as QuestionResult;
    return [decision, via, content];
  });
  assert.deepEqual(ends, [
    ["cancel", "expired", undefined],
    ["cancel", "unavailable", undefined],
    ["deny", "unavailable", undefined],
    ["accept", "answered", { name: "Ada" }],
  ]);
});
