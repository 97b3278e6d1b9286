import assert from "node:assert/strict";
import type { FormField } from "../../schemas/form.ts";
import { KernelError } from "../../src/kernel/kernel.ts";
import type { GivenAnswer, OpenQuestion } from "../../src/effects/question_ask.ts";
import { createAsker, type StandingAnswer } from "../../src/cli/ask.ts";
import { createStyle } from "../../src/cli/style.ts";
import type { Output, Terminal } from "../../src/cli/terminal.ts";
import { createWorld } from "../support/world.ts";

const root = "session/ses_00000000000000000000000001";

function questionOf(n: number, kind: "approval" | "uncertain" = "approval"): OpenQuestion {
  return {
    id: `${root}#5.${n}`,
    root,
    subject: {
      kind,
      invocation: `call/0.${n}`,
      tool: `tool_${n}\x1b[2J`,
      title: "Tool",
      risk: "high",
      reason: "because",
      preview: '{"path": "a\u202e.txt"}',
      rule: "tool",
    },
    shown: `sha256:${String(n).repeat(64)}`,
    deadlineAtMs: Infinity,
  };
}

/** A question of a server, about a form with these fields. */
function formOf(...fields: FormField[]): OpenQuestion {
  const asked = questionOf(0);
  const elicitation = { server: "docs", fields };
  return { ...asked, subject: { ...asked.subject, kind: "elicitation", preview: "Who\u202e?", elicitation } };
}

const form = formOf(
  { kind: "text", name: "name", required: true },
  { kind: "integer", name: "days", required: true, max: 30, default: 3 },
  { kind: "boolean", name: "sure", required: false },
  { kind: "choices", name: "roles", required: false, options: [{ value: "r" }, { value: "w" }] },
);

/** An asker at a keyboard that is made of a test; the host refuses what a test says, once each. */
function createDesk(standing?: StandingAnswer, ...refusals: Error[]) {
  const world = createWorld();
  let shown = "";
  let typed: ((line: string | undefined) => void) | undefined;
  const output: Output = {
    isTerminal: true,
    style: createStyle(false),
    write: (text) => void (shown += text),
    line: (text) => void (shown += `${text}\n`),
  };
  const terminal: Terminal = {
    out: output,
    err: output,
    canAsk: true,
    isClosed: false,
    columns: 80,
    status: () => {},
    readLine: (signal) =>
      new Promise((resolve) => {
        typed = resolve;
        signal.addEventListener("abort", () => resolve(undefined), { once: true });
      }),
  };
  const answers: (GivenAnswer & { readonly id: string })[] = [];
  const unanswerable: string[] = [];
  const asker = createAsker({
    cli: { terminal, seams: world.seams },
    host: {
      answer: (id, answer) => {
        answers.push({ id, ...answer });
        const refusal = refusals.shift();
        return refusal === undefined ? Promise.resolve() : Promise.reject(refusal);
      },
    },
    standing,
    onUnanswerable: (question) => unanswerable.push(question.id),
  });
  return {
    asker,
    answers,
    unanswerable,
    shown: () => shown,
    /** Types a line, a second after the question was shown. */
    type: async (line: string | undefined, afterMs = 1_000) => {
      await world.advance(afterMs);
      typed?.(line);
      await world.settle();
    },
    settle: () => world.settle(),
  };
}

Deno.test("question at the terminal takes the decision that is typed, with the operator as its principal", async () => {
  for (
    const [line, decision] of [
      ["a", "allow"],
      ["d", "deny"],
      ["s", "always_allow_for_session"],
      [" Allow ", "allow"],
    ] as const
  ) {
    const desk = createDesk();
    const question = questionOf(0);
    desk.asker.take(question);
    await desk.type(line);
    const by = { kind: "operator", id: "local" };
    assert.deepEqual(desk.answers, [{ id: question.id, decision, by, shown: question.shown }]);
  }
});

Deno.test("question at the terminal is shown whole, with nothing that acts on it (B121)", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0));
  await desk.settle();
  for (const part of ["tool_0\\u{1b}[2J (Tool)", "high", "because", "a\\u{202e}.txt", "always allow"]) {
    assert.ok(desk.shown().includes(part), part);
  }
  assert.ok(!desk.shown().includes("\x1b"));
});

Deno.test("question at the terminal is shown whole before an answer is taken, with its length and its hash (B18)", async () => {
  const desk = createDesk();
  const whole = `{"text": "${"harmless ".repeat(2_000)}\u202e\x1b[2Jmarker"}`;
  const asked = questionOf(0);
  const subject = { ...asked.subject, preview: '{"text": "harmless… cut', characters: whole.length };
  desk.asker.take({ ...asked, subject, whole });
  await desk.settle();
  assert.ok(desk.shown().includes(`${"harmless ".repeat(2_000)}\\u{202e}\\u{1b}[2Jmarker`));
  for (const part of [`${whole.length} characters`, asked.shown]) {
    assert.ok(desk.shown().includes(part), part);
  }
  assert.deepEqual(desk.answers, []);
  await desk.type("a");
  assert.equal(desk.answers.length, 1);
});

Deno.test("question at the terminal takes no always where it is not offered, and says why (B20)", async () => {
  const desk = createDesk();
  const asked = questionOf(0);
  desk.asker.take({ ...asked, subject: { ...asked.subject, rule: "", offers: ["allow", "deny"] } });
  await desk.settle();
  assert.match(desk.shown(), /always {5}is not offered: no rule says exactly what would be allowed/);
  assert.doesNotMatch(desk.shown(), /always allow this for the session/);
  for (const line of ["s", "always", "always_allow_for_session"]) await desk.type(line);
  assert.deepEqual(desk.answers, []);
  await desk.type("d");
  assert.equal(desk.answers.length, 1);
});

Deno.test("question at the terminal asks again after anything else", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0));
  for (const line of ["", "yes", "allow all", "r"]) await desk.type(line);
  assert.equal(desk.answers.length, 0);
  await desk.type("a");
  assert.equal(desk.answers.length, 1);
});

Deno.test("question at the terminal is not answered by what was typed before it could be read", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0));
  await desk.type("a", 10);
  assert.equal(desk.answers.length, 0);
});

Deno.test("question at the terminal is a denial at the end of input", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0));
  await desk.type(undefined);
  assert.equal(desk.answers[0]?.decision, "deny");
});

Deno.test("questions at the terminal come one at a time, and a withdrawn one is left", async () => {
  const desk = createDesk();
  for (const n of [0, 1, 2]) desk.asker.take(questionOf(n));
  desk.asker.closed(questionOf(1).id);
  await desk.type("a");
  await desk.type("d");
  assert.deepEqual(desk.answers.map(({ id, decision }) => [id, decision]), [
    [questionOf(0).id, "allow"],
    [questionOf(2).id, "deny"],
  ]);
  desk.asker.take(questionOf(3));
  await desk.settle();
  desk.asker.closed(questionOf(3).id);
  await desk.type("a");
  assert.equal(desk.answers.length, 2);
});

Deno.test("question about an uncertain call offers what an operator can know, and takes no silence for it", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0, "uncertain"));
  await desk.type("a");
  assert.equal(desk.answers.length, 0);
  await desk.type("n");
  await desk.type("not on the bill");
  assert.equal(desk.answers[0]?.decision, "mark_not_applied");
  desk.asker.take(questionOf(1, "uncertain"));
  await desk.type(undefined);
  assert.deepEqual([desk.answers.length, desk.unanswerable], [1, [questionOf(1).id]]);
});

Deno.test("question about an uncertain call is not settled until its operator has said how he knows (R11)", async () => {
  const desk = createDesk();
  desk.asker.take(questionOf(0, "uncertain"));
  await desk.type("y");
  await desk.type("  ");
  await desk.type("x".repeat(1_001));
  assert.deepEqual(desk.answers, []);
  await desk.type("seen on the bill");
  assert.deepEqual(desk.answers.map(({ decision, note }) => [decision, note]), [
    ["mark_applied", "seen on the bill"],
  ]);
  // The end of input tells nothing.
  desk.asker.take(questionOf(1, "uncertain"));
  await desk.type("r");
  await desk.type(undefined);
  assert.deepEqual([desk.answers.length, desk.unanswerable], [1, [questionOf(1).id]]);
});

Deno.test("question with a standing answer is answered by it, and the journal is told so", async () => {
  const desk = createDesk("deny");
  desk.asker.take(questionOf(0));
  await desk.settle();
  assert.equal(desk.answers[0]?.decision, "deny");
  assert.equal(desk.answers[0]?.note, "--answer deny");
  desk.asker.take(questionOf(1, "uncertain"));
  await desk.settle();
  assert.deepEqual([desk.answers.length, desk.unanswerable], [1, [questionOf(1).id]]);
});

Deno.test("question that shall wait is left open, and its id is shown", async () => {
  const desk = createDesk("wait");
  desk.asker.take(questionOf(0));
  await desk.settle();
  assert.equal(desk.answers.length, 0);
  assert.ok(desk.shown().includes(`troupe answer ${questionOf(0).id} allow|deny`));
});

Deno.test("form at the terminal is typed field by field, what does not fit is asked again, and what is left empty is its default (CM-34)", async () => {
  const desk = createDesk(undefined, new KernelError("form_secret", "The value looks like a secret"));
  desk.asker.take(form);
  await desk.settle();
  for (
    const part of [
      "A server wants an answer",
      "server     docs",
      "says       Who\\u{202e}?",
      "days (whole number to 30, default 3)",
    ]
  ) {
    assert.ok(desk.shown().includes(part), part);
  }
  for (const line of ["a", "Ada", "soon", "", "y", "r,x", "r, w"]) await desk.type(line);
  const by = { kind: "operator", id: "local" };
  const given = { id: form.id, decision: "accept", by, shown: form.shown };
  const content = { name: "Ada", sure: true, roles: ["r", "w"] };
  assert.deepEqual(desk.answers, [{ ...given, content }]);
  assert.match(desk.shown(), /days must be a number/);
  assert.match(desk.shown(), /roles must be a list of some of r, w/);
  // What the host does not take is asked again.
  assert.match(desk.shown(), /looks like a secret/);
  for (const line of ["accept", "Bo", "1", "", ""]) await desk.type(line);
  assert.deepEqual(desk.answers[1], { ...given, content: { name: "Bo", days: 1 } });
  assert.deepEqual(desk.unanswerable, []);
});

Deno.test("form at the terminal is declined by a key, and canceled by the end of input (CM-34)", async () => {
  for (
    const [lines, decision] of [[["d"], "decline"], [["c"], "cancel"], [["a", undefined], "cancel"], [[
      undefined,
    ], "cancel"]] as const
  ) {
    const desk = createDesk();
    desk.asker.take(form);
    for (const line of lines) await desk.type(line);
    assert.deepEqual(desk.answers.map((answer) => [answer.decision, answer.content]), [[
      decision,
      undefined,
    ]]);
  }
});
