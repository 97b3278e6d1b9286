/** Calls that run commands: looked at before they are judged, and what was found decides with policy, never against it. */
import assert from "node:assert/strict";
import type { CommandReview } from "../../schemas/command_review.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { terminal } from "../../src/tools/terminal.ts";
import { type Call, type CallSketch, endingOf, startCall, toolReturn } from "../support/calls.ts";

function hashOf(digit: string): string {
  return `sha256:${digit.repeat(64)}`;
}

const reviews = {
  allow: { verdict: "allow", risk: "low", findings: [], identity: hashOf("a") },
  prompt: {
    verdict: "prompt",
    risk: "high",
    findings: [
      { rule: "pipeline", verdict: "prompt", why: "one program writes to another" },
      { rule: "file-write", verdict: "prompt", why: "it writes to out.txt" },
    ],
    identity: hashOf("b"),
  },
  block: {
    verdict: "block",
    risk: "critical",
    findings: [{ rule: "recursive-delete", verdict: "block", why: "it deletes /usr" }],
    identity: hashOf("c"),
  },
} as const satisfies { readonly [verdict: string]: CommandReview };

const argv = { argv: ["git", "status"] };

/** A call of the terminal by an agent that may run commands; policy is the tool's own unless `sketch` says more. */
function startCommand(given: JsonObject = argv, sketch: CallSketch = {}): Call {
  return startCall({
    capabilities: ["terminal.exec", "shell", "secret.bind:TOKEN"],
    ...sketch,
    tool: { ...terminal.definition, name: "look", ...sketch.tool },
    entry: { approvalBy: "tool", ...sketch.entry },
    request: { arguments: given, ...sketch.request },
  });
}

function reviewed(
  verdict: keyof typeof reviews,
  given: JsonObject = argv,
  sketch: CallSketch = {},
): Call {
  const call = startCommand(given, sketch);
  assert.deepEqual([call.state(), call.pending()], ["reviewing", ["command.review"]]);
  call.settle("command.review", reviews[verdict]);
  return call;
}

function questionOf(call: Call) {
  const [report] = call.reports();
  assert.ok(report?.type === "question.open");
  return report;
}

function checksOf(call: Call): readonly { readonly check: string; readonly by: string }[] {
  const note = call.run.notes().find(({ type }) => type === "invocation.judged");
  return (note?.body as unknown as { readonly checks: { check: string; by: string }[] }).checks;
}

Deno.test("command is looked at first: an idempotent port that is told of the call, and starts nothing", () => {
  const call = startCommand();
  const { invocation, arguments: given } = call.argsOf("command.review");
  assert.deepEqual([invocation, given, call.kinds()], ["call/0.0", argv, ["command.review"]]);
  assert.deepEqual(call.reports(), [], "nobody is asked before that");
});

Deno.test("terminal runs unasked only if nothing was found in its command (DM-16)", () => {
  const { riskLevel, capability, approvalPolicy, effectClass } = terminal.definition;
  assert.deepEqual([riskLevel, capability, approvalPolicy, effectClass], [
    "high",
    "terminal.exec",
    "prompt",
    "non_idempotent",
  ]);
  const call = reviewed("allow");
  assert.deepEqual([call.state(), call.pending()], ["running", ["tool.call"]]);
  call.settle("tool.call", toolReturn("ok"));
  assert.deepEqual(endingOf(call), ["succeeded", "succeeded", undefined]);
  assert.equal(reviewed("prompt").state(), "awaitingApproval");
});

Deno.test("command that needs a person shows why, at high risk, whatever the mode or policy would let pass (DM-94)", () => {
  for (
    const sketch of [
      {},
      { mode: "auto" },
      { tool: { approvalPolicy: "auto" }, entry: { approvalBy: undefined as never } },
      { tool: { approvalPolicy: "auto", riskLevel: "low" }, mode: "auto", entry: { mayPassUnasked: true } },
    ] as const
  ) {
    const call = reviewed("prompt", argv, sketch);
    assert.equal(call.state(), "awaitingApproval");
    const { risk, reason, preview } = questionOf(call).subject;
    assert.equal(risk, "high");
    assert.match(
      reason,
      /needs a person: pipeline, file-write\. pipeline: one program writes to another; file-/,
    );
    assert.equal(preview, '{"argv": ["git", "status"]}');
  }
});

Deno.test("command in which nothing was found is denied and asked about as the host says (DM-94)", () => {
  const denied = reviewed("allow", argv, {
    tool: { approvalPolicy: "deny" },
    entry: { approvalBy: "host_default" },
  });
  assert.deepEqual(endingOf(denied), ["denied", "denied", "policy_denied"]);
  for (const approvalBy of ["host_tool", "host_capability", "host_risk", "host_default", "agent"] as const) {
    assert.equal(reviewed("allow", argv, { entry: { approvalBy } }).state(), "awaitingApproval", approvalBy);
  }
  assert.equal(reviewed("allow", argv, { mode: "plan" }).state(), "denied");
  assert.equal(reviewed("allow", argv, { capabilities: [] }).state(), "denied");
});

Deno.test("command that does harm is blocked with its reasons, whatever was granted", () => {
  for (const sketch of [{}, { mode: "auto" }, { tool: { approvalPolicy: "auto" } }] as const) {
    const call = reviewed("block", argv, sketch);
    assert.deepEqual(endingOf(call), ["denied", "denied", "command_blocked"]);
    assert.match(call.result()?.failure?.message ?? "", /blocked\. recursive-delete: it deletes \/usr/);
    assert.deepEqual(checksOf(call).at(-1)?.by, "recursive-delete");
    assert.deepEqual(call.reports(), []);
  }
});

Deno.test("approval of a command that does not say what it runs is for its very identity (DM-95)", () => {
  const plain = `look {"argv":["git","status"]}`;
  const first = questionOf(reviewed("prompt"));
  assert.equal(first.subject.rule, `${plain} ${hashOf("b")}`);
  assert.ok(first.twin.endsWith(hashOf("b")));
  const granted = { grants: [first.subject.rule] };
  assert.equal(reviewed("prompt", argv, granted).state(), "running");
  // The same words elsewhere, or with other variables, are another command.
  const elsewhere = startCommand(argv, granted);
  elsewhere.settle("command.review", { ...reviews.prompt, identity: hashOf("d") });
  assert.equal(elsewhere.state(), "awaitingApproval");
  assert.equal(reviewed("prompt", argv, { grants: [plain] }).state(), "awaitingApproval");
  // A command in which nothing was found is what its arguments say.
  const asked = questionOf(reviewed("allow", argv, { entry: { approvalBy: "host_tool" } }));
  assert.equal(asked.subject.rule, plain);
});

Deno.test("command that is given secrets is asked about each time, and needs the very right to each (DM-27, DM-82)", () => {
  const given = { ...argv, secrets: [{ variable: "T", source: "env:TOKEN" }] };
  const { subject, twin } = questionOf(reviewed("allow", given));
  assert.deepEqual([subject.rule, twin], ["", ""]);
  assert.ok(!subject.offers?.includes("always_allow_for_session"));
  for (const capabilities of [["terminal.exec"], ["terminal.exec", "secret.bind:*"]]) {
    const call = reviewed("allow", given, { capabilities });
    assert.deepEqual(endingOf(call), ["denied", "denied", "capability_missing"]);
    assert.match(call.result()?.failure?.message ?? "", /needs the capability "secret\.bind:TOKEN"/);
  }
});

Deno.test("command with variables of its own is asked about (DM-84)", () => {
  assert.equal(reviewed("allow", { ...argv, env: { CI: "1" } }).state(), "awaitingApproval");
  assert.equal(reviewed("allow", { ...argv, env: {} }).state(), "running");
});

Deno.test("text for a shell, and a shell by its name, need the capability shell", () => {
  const capabilities = ["terminal.exec"];
  for (const given of [{ shell: "ls" }, { argv: ["/bin/BASH", "-c", "ls"] }, { argv: ["sh"] }]) {
    const call = reviewed("allow", given, { capabilities });
    assert.deepEqual(endingOf(call), ["denied", "denied", "capability_missing"]);
    assert.equal(reviewed("allow", given).state(), "running");
  }
  assert.equal(reviewed("allow", { argv: ["shred-not", "bash"] }, { capabilities }).state(), "running");
});

Deno.test("command that nobody could look at is not run", () => {
  for (const tool of [{}, { approvalPolicy: "auto" }] as const) {
    const call = startCommand(argv, { tool });
    call.fail("command.review", { code: "path_outside_root" });
    assert.deepEqual(endingOf(call), ["denied", "denied", "path_outside_root"]);
    assert.equal(checksOf(call).at(-1)?.check, "review");
    assert.deepEqual(call.kinds(), ["command.review"]);
  }
});

Deno.test("command whose call is canceled while it is looked at is never run", () => {
  const call = startCommand();
  call.cancel();
  assert.deepEqual(endingOf(call), ["canceled", "canceled", "tool_canceled"]);
});
