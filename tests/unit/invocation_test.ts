/** Whether one call goes through its gates in order, and ends as what is known of it. */
import assert from "node:assert/strict";
import type { InvocationContext } from "../../actors/invocation_context.ts";
import { backOff } from "../../actors/invocation_rules.ts";
import type { Decision } from "../../schemas/question.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { type CallSketch, effectOf, endingOf, failedCall, startCall, toolReturn } from "../support/calls.ts";
import type { FailureSketch } from "../support/desk.ts";

const asked: CallSketch = { tool: { approvalPolicy: "prompt" } };
const final: FailureSketch = { retryable: false };

Deno.test("invocation of an allowed call asks for its effect at once and succeeds with the result (I5)", () => {
  const call = startCall({ request: { arguments: { path: "a" } } });
  assert.deepEqual([call.state(), call.kinds()], ["running", ["tool.call"]]);
  const request = call.desk.asks[0]?.request;
  assert.deepEqual([request?.effect, request?.deadlineAtMs], ["idempotent", 31_000]);
  const { entry, arguments: given, ...rest } = call.argsOf("tool.call");
  assert.deepEqual([entry.name, given], ["look", { path: "a" }]);
  assert.deepEqual(rest, { invocation: "call/0.0", origin: "model", attempt: 1 });
  call.settle("tool.call", toolReturn("seen"));
  assert.equal(call.state(), "succeeded");
  assert.deepEqual(call.result(), {
    ordinal: "call/0.0",
    callId: "call_1",
    name: "look",
    outcome: "succeeded",
    outcomeOf: "1.0",
    attempts: 1,
    at: 1_001,
    epoch: 1,
  });
});

// Proves DM-13.
Deno.test("invocation of a name without an entry ends as not found and asks for nothing", () => {
  const call = startCall({ request: { name: "nope", entry: undefined as never } });
  assert.deepEqual(endingOf(call), ["notFound", "not_found", "tool_unknown"]);
  assert.deepEqual([call.kinds(), call.result()?.attempts], [[], 0]);
});

Deno.test("invocation of an entry that is not in its catalog, or not as it was, asks for nothing (DM-8, DM-9)", () => {
  const { catalog, hash } = startCall().argsOf("tool.call").entry;
  const other = `sha256:${"d".repeat(64)}`;
  const refs = [{ catalog: other, name: "look" }, { catalog, name: "look", hash: other }];
  const calls = refs.map((entry) => startCall({ request: { entry } }));
  const foreign = startCall({ entry: { coreRevision: "core-2" } });
  for (const call of [...calls, foreign]) {
    assert.deepEqual(endingOf(call), ["notFound", "not_found", "catalog_mismatch"]);
    assert.deepEqual([call.kinds(), call.result()?.attempts], [[], 0]);
  }
  const same = startCall({
    request: { entry: { catalog, name: "look", ...(hash === undefined ? {} : { hash }) } },
  });
  assert.equal(same.state(), "running");
});

// Proves DM-8: an entry of the catalog that the request names, or none.
Deno.test("invocation does not find an entry that another catalog has", () => {
  const catalog = startCall().argsOf("tool.call").entry.catalog;
  const call = startCall({ request: { entry: { catalog, name: "other" } } });
  assert.equal(call.state(), "notFound");
});

Deno.test("invocation refuses arguments that do not fit or are no object, before it asks anybody", () => {
  const inputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const sketch = { tool: { inputSchema, approvalPolicy: "prompt" as const } };
  for (const given of [{}, { n: "1" }]) {
    const call = startCall({ ...sketch, request: { arguments: given } });
    assert.deepEqual(endingOf(call), ["invalid", "invalid", "arguments_invalid"]);
    assert.deepEqual([call.kinds(), call.reports()], [[], []]);
  }
  const text = startCall({ request: { arguments: undefined as never, argumentsText: "{oops" } });
  assert.deepEqual(endingOf(text), ["invalid", "invalid", "arguments_invalid"]);
  assert.match(text.result()?.failure?.message ?? "", /not a JSON object/);
});

// Proves DM-19: validation comes before authority, so a call that fails both is invalid.
Deno.test("invocation validates before it authorizes", () => {
  const call = startCall({
    tool: { approvalPolicy: "deny" },
    request: { arguments: undefined as never, argumentsText: "" },
  });
  assert.equal(call.state(), "invalid");
});

Deno.test("invocation never asks for the effect of a denied call", () => {
  const denials: readonly (readonly [CallSketch, string])[] = [
    [{ tool: { capability: "fs.write" } }, "capability_missing"],
    [{ tool: { capability: "fs.write" }, capabilities: ["fs.read"] }, "capability_missing"],
    [{ tool: { approvalPolicy: "deny" }, grants: ["look"] }, "policy_denied"],
    [{ entry: { enabled: false } }, "policy_denied"],
  ];
  for (const [sketch, code] of denials) {
    const call = startCall(sketch);
    assert.deepEqual(endingOf(call), ["denied", "denied", code]);
    assert.deepEqual([call.kinds(), call.reports()], [[], []]);
  }
  assert.equal(
    startCall({ tool: { capability: "fs.write" }, capabilities: ["fs.write"] }).state(),
    "running",
  );
});

Deno.test("invocation waits for a person where policy asks, and shows what it would do", () => {
  const call = startCall({ ...asked, request: { arguments: { token: "s3cret", path: "a" } } });
  assert.deepEqual([call.state(), call.kinds()], ["awaitingApproval", []]);
  const [report] = call.reports();
  assert.equal(report?.type, "question.open");
  if (report?.type !== "question.open") return;
  const { kind, tool: name, preview, rule } = report.subject;
  assert.deepEqual([report.ordinal, report.at, kind, name, rule], [
    "call/0.0",
    1_000,
    "approval",
    "look",
    "look",
  ]);
  assert.equal(preview, '{"token": [redacted], "path": "a"}');
});

Deno.test("invocation runs after an allow or an always, with a deadline that counts from the answer", () => {
  for (const decision of ["allow", "always_allow_for_session"] as const) {
    const call = startCall(asked);
    call.run.now = 900_000;
    call.decide(decision);
    assert.deepEqual([call.state(), call.pending()], ["running", ["tool.call"]]);
    assert.equal(call.desk.asks[0]?.request.deadlineAtMs, 930_000);
  }
});

Deno.test("invocation takes everything but a granted approval for a denial", () => {
  const decisions: Decision[] = ["deny", "run_again", "mark_applied", "mark_not_applied", "abandon"];
  for (const decision of decisions) {
    const call = startCall(asked);
    call.decide(decision);
    assert.deepEqual(endingOf(call), ["denied", "denied", "approval_denied"]);
    assert.deepEqual(call.kinds(), []);
  }
});

// Proves DM-34.
Deno.test("invocation is denied when nobody answers or nobody is there", () => {
  for (const [via, code] of [["expired", "approval_expired"], ["unavailable", "approval_unavailable"]]) {
    const call = startCall(asked);
    call.decide("deny", via);
    assert.deepEqual(endingOf(call), ["denied", "denied", code]);
  }
});

Deno.test("invocation is not asked about again under a rule of the session", () => {
  assert.equal(startCall({ ...asked, grants: ["look"] }).state(), "running");
  assert.equal(startCall({ ...asked, grants: ["other", ""] }).state(), "awaitingApproval");
});

// Proves DM-38: one mutation never authorises another.
Deno.test("invocation of a tool with side effects is granted by its exact arguments only", () => {
  const sketch = { tool: { approvalPolicy: "prompt" as const, sideEffects: true } };
  const grants = ['look {"path":"a"}'];
  assert.equal(startCall({ ...sketch, grants, request: { arguments: { path: "a" } } }).state(), "running");
  const other = startCall({ ...sketch, grants, request: { arguments: { path: "b" } } });
  assert.equal(other.state(), "awaitingApproval");
});

Deno.test("invocation ends as what the tool's outcome says", () => {
  const said = startCall();
  said.settle("tool.call", toolReturn("no such file", true));
  assert.deepEqual(endingOf(said), ["completedWithError", "completed_with_error", undefined]);
  assert.equal(said.result()?.outcomeOf, "1.0");

  const endings: readonly (readonly [FailureSketch, string, string])[] = [
    [final, "failed", "failed"],
    [{ status: "timed_out", code: "tool_timed_out" }, "timedOut", "timed_out"],
    [{ status: "canceled", code: "tool_canceled" }, "canceled", "canceled"],
  ];
  for (const [failure, state, outcome] of endings) {
    const call = failedCall({}, failure);
    assert.deepEqual(endingOf(call), [state, outcome, failure.code ?? "tool_failed"]);
    assert.deepEqual([call.result()?.attempts, call.result()?.outcomeOf], [1, undefined]);
  }
});

Deno.test("invocation tries again only as often as its effect class allows", () => {
  const attempts = { idempotent: 5, conditional: 3, non_idempotent: 1 } as const;
  for (const [effect, most] of Object.entries(attempts) as [EffectClass, number][]) {
    const call = startCall(effectOf(effect, effect === "conditional" ? "key" : undefined));
    for (let attempt = 1; attempt < most; attempt++) {
      call.fail("tool.call");
      assert.deepEqual([call.state(), call.pending()], ["backingOff", ["timer.set"]], effect);
      call.settle("timer.set", { firedAtMs: 0 });
      assert.deepEqual([call.state(), call.argsOf("tool.call").attempt], ["running", attempt + 1], effect);
    }
    call.fail("tool.call");
    assert.deepEqual(endingOf(call), ["failed", "failed", "tool_unreachable"], effect);
    assert.equal(call.result()?.attempts, most, effect);
  }
});

Deno.test("invocation carries the first attempt's intent as the key of every later one", () => {
  const call = startCall();
  assert.equal(call.argsOf("tool.call").key, undefined);
  for (let attempt = 2; attempt <= 3; attempt++) {
    call.fail("tool.call");
    call.settle("timer.set", { firedAtMs: 0 });
    assert.equal(call.argsOf("tool.call").key, "1.0");
  }
});

// K7: the machine says how much jitter there may be; the performer draws it.
Deno.test("invocation backs off from half a second, doubling to 30 seconds, all of it jitter", () => {
  const call = startCall();
  const waits: unknown[] = [];
  for (let attempt = 1; attempt < 5; attempt++) {
    call.run.now = attempt * 100_000;
    call.fail("tool.call");
    const { dueAtMs, jitterMs } = call.argsOf("timer.set");
    waits.push([dueAtMs, jitterMs]);
    call.run.now = attempt * 100_000 + 50_000;
    call.settle("timer.set", { firedAtMs: 0 });
    // The next attempt's time counts from its own start.
    assert.equal(call.desk.asks.at(-1)?.request.deadlineAtMs, attempt * 100_000 + 80_000);
  }
  assert.deepEqual(waits, [[100_000, 500], [200_000, 1_000], [300_000, 2_000], [400_000, 4_000]]);
  assert.equal(call.argsOf("timer.set").label, "call/0.0 attempt 5");
});

Deno.test("invocation waits at most 30 seconds between attempts", () => {
  const context = startCall().context() as unknown as InvocationContext;
  const waits = [6, 7, 8, 40].map((attempt) => backOff({ ...context, attempt }).args.jitterMs);
  assert.deepEqual(waits, [16_000, 30_000, 30_000, 30_000]);
});

Deno.test("invocation that has ended ignores whatever comes", () => {
  const call = startCall();
  call.settle("tool.call", toolReturn("done"));
  const before = call.result();
  call.cancel();
  call.decide("allow");
  assert.deepEqual([call.state(), call.result(), call.pending()], ["succeeded", before, []]);
});

Deno.test("invocation tells its parent once, when it has ended", () => {
  const call = startCall(asked);
  assert.equal(call.result(), undefined);
  call.decide("allow");
  assert.equal(call.result(), undefined);
  call.settle("tool.call", toolReturn("done"));
  assert.equal(call.result()?.outcome, "succeeded");
});

// Whoever makes a request: exactly one of both answers for it, and what was made for one turn stays in it.
Deno.test("invocation is judged only for its own turn, or for the principal that the host named (DM-25)", () => {
  const { catalog } = startCall().argsOf("tool.call").entry;
  const turn = { number: 1, catalog };
  const principal = "operator:local";
  const other = { number: 2, catalog: `sha256:${"e".repeat(64)}` };
  const wrong = [
    { scope: {} },
    { scope: undefined as never },
    { scope: { turn, principal } },
    { scope: { turn: other } },
    { scope: { principal } },
    { origin: "host" as const, scope: { turn } },
    { origin: "authored" as const, scope: { principal } },
  ];
  for (const request of wrong) {
    const call = startCall({ request });
    assert.deepEqual(endingOf(call), ["denied", "denied", "scope_invalid"], JSON.stringify(request));
    assert.deepEqual([call.kinds(), call.result()?.attempts], [[], 0]);
  }
  assert.equal(startCall({ request: { scope: { turn } } }).state(), "running");
  assert.equal(startCall({ request: { origin: "host", scope: { principal } } }).state(), "running");
});
