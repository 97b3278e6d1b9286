/** Whether a call that its server holds up asks what must be asked, goes on with the answers, and is never repeated unseen. */
import assert from "node:assert/strict";
import type { CallRound, ServerRequest } from "../../schemas/call_pause.ts";
import { failure } from "../../schemas/failure.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import {
  type Call,
  endingOf,
  nameField,
  nameForm as form,
  remote,
  sampling,
  startCall,
  toolReturn,
  wanted,
} from "../support/calls.ts";

const page: ServerRequest = { kind: "url", key: "page", message: "Log in", url: "https://example.org/x" };
const easy: ServerRequest = {
  kind: "form",
  key: "easy",
  gate: "auto",
  message: "",
  fields: [{ kind: "integer", name: "days", required: true, default: 3 }],
};
const forbidden: ServerRequest = {
  kind: "refused",
  key: "no",
  why: failure("mcp_input_refused", "its form asks for a secret"),
};
const state = `sha256:${"5".repeat(64)}`;

/** What the latest effect was asked with. */
function roundOf(call: Call): CallRound | undefined {
  const { args } = call.desk.asks.at(-1)?.request ?? {};
  return (args as { readonly round?: CallRound } | undefined)?.round;
}

function held(effect: EffectClass = "non_idempotent", requests: readonly ServerRequest[] = [form]): Call {
  const call = startCall(remote(effect));
  call.settle("mcp.call", wanted({ how: "held", requests: [...requests] }));
  return call;
}

function notesOf(call: Call) {
  return call.desk.posts.flatMap((post) =>
    post.kind === "note" && post.type === "server.answered"
      ? [post.body as { readonly action: string; readonly via: string }]
      : []
  ).map(({ action, via }) => `${action} ${via}`);
}

Deno.test("invocation whose server wants a form asks a person, says who asks, and goes on with what was filled in (CM-34)", () => {
  const call = startCall(remote());
  assert.equal(roundOf(call), undefined);
  call.settle("mcp.call", wanted({ requests: [form], state }));
  assert.deepEqual([call.state(), call.pending()], ["asking", []]);
  const [opened] = call.reports();
  assert.ok(opened?.type === "question.open");
  const { kind, reason, preview, elicitation } = opened.subject;
  assert.deepEqual([kind, preview, elicitation], ["elicitation", "Who?", {
    server: "docs",
    fields: [nameField],
  }]);
  assert.match(reason, /the server "docs" asks/);
  call.decide("accept", "answered", { name: "Ada" });
  assert.deepEqual([call.state(), call.pending()], ["running", ["mcp.call"]]);
  const answers = [{ key: "who", action: "accept", content: { name: "Ada" } }];
  assert.deepEqual(roundOf(call), { round: 1, how: "retry", state, answers });
  const { key, attempt } = call.argsOf("mcp.call");
  assert.deepEqual([key, attempt], ["1.0", 1], "a round is the same attempt, under the same key");
  call.settle("mcp.call", toolReturn("hello Ada"));
  assert.deepEqual([...endingOf(call), call.result()?.attempts], ["succeeded", "succeeded", undefined, 1]);
  assert.deepEqual(notesOf(call), ["accept answered"]);
});

Deno.test("invocation asks one request after the other, and counts its rounds (CM-34)", () => {
  const call = held("idempotent", [form, page]);
  call.decide("decline");
  assert.equal(call.state(), "asking");
  const [, second] = call.reports();
  assert.ok(second?.type === "question.open");
  assert.deepEqual(second.subject.elicitation, {
    server: "docs",
    url: page.kind === "url" ? page.url : "",
    held: "1.0",
  });
  call.decide("accept");
  assert.deepEqual(roundOf(call)?.answers, [{ key: "who", action: "decline" }, {
    key: "page",
    action: "accept",
  }]);
  call.settle("mcp.call", wanted({ how: "held", requests: [{ ...form, key: "again" }] }));
  call.decide("accept", "answered", { name: "Bo" });
  const answers = [{ key: "again", action: "accept", content: { name: "Bo" } }];
  assert.deepEqual(roundOf(call), { round: 2, how: "held", answers });
});

Deno.test("invocation asks nobody what must not be asked, or what the host lets defaults answer; the model is told of the first (CM-34)", () => {
  const call = startCall(remote());
  call.settle("mcp.call", wanted({ requests: [forbidden, easy] }));
  assert.deepEqual([call.state(), call.reports()], ["running", []]);
  const round = roundOf(call);
  assert.deepEqual(round?.answers, [
    { key: "no", action: "decline" },
    { key: "easy", action: "accept", content: { days: 3 } },
  ]);
  assert.match(round?.told?.[0] ?? "", /got "decline": its form asks for a secret/);
  assert.equal(round?.told?.length, 1);
  assert.deepEqual(notesOf(call), ["decline mcp_input_refused", "accept policy"]);
  const mixed = startCall(remote());
  mixed.settle("mcp.call", wanted({ requests: [easy, form, easy] }));
  assert.equal(mixed.state(), "asking");
  mixed.decide("decline");
  assert.deepEqual(roundOf(mixed)?.answers.map(({ action }) => action), ["accept", "decline", "accept"]);
  const bare = startCall(remote());
  bare.settle("mcp.call", wanted({ requests: [], state }));
  assert.deepEqual([bare.state(), roundOf(bare)], ["running", {
    round: 1,
    how: "retry",
    state,
    answers: [],
  }]);
});

Deno.test("invocation whose server asked, and nobody answered, tells the server that it is canceled, and the model why (CM-34)", () => {
  for (const [via, why] of [["unavailable", /nobody is there/], ["expired", /in time/]] as const) {
    const call = held();
    call.decide("cancel", via);
    assert.equal(roundOf(call)?.answers[0]?.action, "cancel");
    assert.match(roundOf(call)?.told?.[0] ?? "", why);
  }
  const denied = held();
  denied.decide("deny", "limited");
  assert.equal(roundOf(denied)?.answers[0]?.action, "cancel");
});

Deno.test("invocation that is canceled while a person is asked withdraws the question and tells its server, once (CM-34)", () => {
  const call = held("non_idempotent", [form, page]);
  call.cancel();
  assert.deepEqual([call.state(), call.pending()], ["running", ["mcp.call"]]);
  assert.equal(call.reports().at(-1)?.type, "question.withdraw");
  const answers = [{ key: "who", action: "cancel" }, { key: "page", action: "cancel" }];
  assert.deepEqual(roundOf(call), { round: 1, how: "held", answers, isLast: true });
  call.fail("mcp.call", { status: "failed", retryable: false });
  assert.deepEqual([call.state(), call.result()?.outcome], ["canceled", "canceled"]);
  // What the server says to it counts: it may have done its work.
  const done = held();
  done.cancel();
  done.settle("mcp.call", toolReturn("done all the same"));
  assert.equal(done.result()?.outcome, "succeeded");
  const lost = held();
  lost.cancel();
  lost.fail("mcp.call", { status: "unknown" });
  assert.equal(lost.state(), "needsOperator");
});

Deno.test("invocation that was canceled before its server asked asks nobody (CM-34)", () => {
  const call = startCall(remote());
  call.cancel();
  call.settle("mcp.call", wanted({ requests: [form, page] }));
  assert.deepEqual([call.state(), call.reports()], ["running", []]);
  assert.equal(roundOf(call)?.isLast, true);
});

Deno.test("invocation whose held call went with its runtime is judged by its class, and never repeated unseen (CM-34)", () => {
  const lose = (effect: EffectClass) => {
    const call = held(effect);
    call.run.restore();
    assert.equal(call.state(), "asking");
    call.decide("cancel", "unavailable");
    // The performer finds no such call: for a harmless one it says that it failed and may be tried again.
    if (effect === "idempotent") call.fail("mcp.call", { status: "failed", code: "mcp_connection_lost" });
    else call.fail("mcp.call", { status: "unknown", code: "tool_outcome_unknown", retryable: false });
    return call;
  };
  assert.equal(lose("non_idempotent").state(), "needsOperator");
  const again = lose("idempotent");
  assert.equal(again.state(), "backingOff");
  again.settle("timer.set", { firedAtMs: 9_000 });
  assert.deepEqual([again.state(), roundOf(again)], ["running", undefined], "begun anew, without a round");
  assert.equal(again.argsOf("mcp.call").attempt, 2);
});

Deno.test("invocation sends the answers once more if their round did not get through, and asks nobody twice (CM-34)", () => {
  const call = startCall(remote("idempotent"));
  call.settle("mcp.call", wanted({ requests: [form], state }));
  call.run.restore();
  call.decide("accept", "answered", { name: "Ada" });
  const first = roundOf(call);
  call.fail("mcp.call", {});
  assert.equal(call.state(), "backingOff");
  call.settle("timer.set", { firedAtMs: 9_000 });
  assert.deepEqual([call.state(), roundOf(call), call.argsOf("mcp.call").attempt], ["running", first, 2]);
  assert.equal(call.reports().length, 1);
});

const sample = { text: "In short.", model: "scripted/test", stopReason: "endTurn" };

Deno.test("invocation lets the model answer a server only after a person allowed it, with the server's texts alone (CM-34)", () => {
  const call = held("non_idempotent", [sampling, form]);
  const [opened] = call.reports();
  assert.ok(opened?.type === "question.open");
  const { kind, preview, reason } = opened.subject;
  assert.deepEqual([kind, preview], ["sampling", "system: Be brief\nuser: Sum it up"]);
  assert.match(reason, /the server "docs" asks .* the agent's model answers/);
  call.decide("allow");
  assert.deepEqual([call.state(), call.pending()], ["sampling", ["model.sample"]]);
  assert.deepEqual(call.argsOf("model.sample"), {
    server: "docs",
    call: "call/0.0",
    system: "Be brief",
    messages: [{ role: "user", text: "Sum it up" }],
    maxOutputTokens: 100,
  });
  call.settle("model.sample", sample);
  assert.equal(call.state(), "asking");
  call.decide("decline");
  const answers = [{ key: "model", action: "accept", sample }, { key: "who", action: "decline" }];
  assert.deepEqual(roundOf(call), { round: 1, how: "held", answers });
  assert.deepEqual(notesOf(call), ["accept model", "decline answered"]);
});

Deno.test("invocation tells a server no if a person or the model refuses, or it had its share, and asks nobody where policy lets it (CM-34)", () => {
  const denied = held("non_idempotent", [sampling]);
  denied.decide("deny");
  assert.deepEqual(denied.kinds(), ["mcp.call", "mcp.call"]);
  assert.deepEqual(roundOf(denied)?.answers, [{ key: "model", action: "cancel" }]);
  const broken = held("non_idempotent", [sampling]);
  broken.decide("allow");
  broken.fail("model.sample", { code: "model_refused", retryable: false });
  assert.deepEqual(roundOf(broken)?.answers, [{ key: "model", action: "decline" }]);
  assert.match(roundOf(broken)?.told?.[0] ?? "", /model_refused/);
  const free: ServerRequest = { ...sampling, gate: "auto" } as ServerRequest;
  const share = held("non_idempotent", [free, free, free]);
  share.settle("model.sample", sample);
  share.settle("model.sample", sample);
  assert.deepEqual([share.state(), share.reports()], ["running", []]);
  assert.deepEqual(roundOf(share)?.answers.map(({ action }) => action), ["accept", "accept", "decline"]);
  assert.match(roundOf(share)?.told?.[0] ?? "", /as often as its manifest allows/);
});

Deno.test("invocation that is canceled while the model answers its server drops that, and tells the server (CM-34)", () => {
  const call = held("non_idempotent", [sampling]);
  call.decide("allow");
  call.cancel();
  assert.deepEqual([call.state(), call.pending()], ["running", ["mcp.call"]]);
  assert.deepEqual(roundOf(call)?.answers, [{ key: "model", action: "cancel" }]);
  assert.equal(roundOf(call)?.isLast, true);
});

Deno.test("question about texts for the model shows a part of long ones, and is answered by who read them all (CM-34)", () => {
  const messages = [{ role: "user" as const, text: `${"x".repeat(5_000)} the end` }];
  const call = held("non_idempotent", [{ ...sampling, messages } as ServerRequest]);
  const [opened] = call.reports();
  assert.ok(opened?.type === "question.open");
  assert.ok(opened.subject.preview.length < 2_100 && opened.whole?.endsWith("the end"));
  assert.equal(opened.subject.characters, opened.whole?.length);
});
