// Proves AR-18, AR-20, K18 and B102: a provider's events become one bounded answer, or a failure.
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { ModelEvent } from "../../schemas/model.ts";
import type { Json } from "../../schemas/json.ts";
import { AnswerCollector, type CollectedAnswer } from "../../src/model/collect.ts";

const done: ModelEvent = { type: "done", finishReason: "stop" };

function callWith(value: Json, callId = "c"): ModelEvent {
  return { type: "tool_call_done", callId, name: "t", arguments: value };
}

function textOf(characters: number, letter = "x"): ModelEvent {
  return { type: "text_delta", text: letter.repeat(characters) };
}

/** The answer, or the code of the failure and how many events were taken before it. */
function collect(events: readonly ModelEvent[]): CollectedAnswer | string {
  const collector = new AnswerCollector();
  for (const [index, event] of events.entries()) {
    const problem = collector.take(event);
    if (problem !== undefined) return `${problem.code} at ${index}`;
  }
  const collected = collector.finish();
  return collected.ok ? collected.answer : collected.failure.code;
}

function answerOf(events: readonly ModelEvent[]): CollectedAnswer {
  const answer = collect(events);
  assert(typeof answer !== "string", String(answer));
  return answer;
}

Deno.test("collector counts no tokens where the provider counts none, and takes ids that come twice", () => {
  const answer = answerOf([callWith({ a: 1 }, "same"), callWith({ a: 2 }, "same"), done]);
  assert.deepEqual(answer.usage, { inputTokens: 0, outputTokens: 0 });
  assert.deepEqual(answer.calls, [
    { callId: "same", name: "t", arguments: { a: 1 } },
    { callId: "same", name: "t", arguments: { a: 2 } },
  ]);
});

Deno.test("collector keeps arguments that are no JSON object as text", () => {
  const given: readonly Json[] = ["{oops", "[1]", "", '{"a":1}', ["x"], null, 7, { b: 2 }];
  const { calls } = answerOf([...given.map((value, index) => callWith(value, `c${index}`)), done]);
  assert.deepEqual(calls.map((call) => "arguments" in call ? call.arguments : call.argumentsText), [
    "{oops",
    "[1]",
    {},
    { a: 1 },
    '["x"]',
    "null",
    "7",
    { b: 2 },
  ]);
});

Deno.test("collector takes a call whose pieces came without their end", () => {
  const { calls } = answerOf([
    { type: "tool_call_delta", callId: "c", name: "t", argumentsDelta: '{"a":' },
    { type: "tool_call_delta", callId: "c", argumentsDelta: "1}" },
    done,
  ]);
  assert.deepEqual(calls, [{ callId: "c", name: "t", arguments: { a: 1 } }]);
});

Deno.test("collector refuses more than 64 calls, at the first too many (K18)", () => {
  const calls = Array.from(
    { length: limits.modelCallsPerAnswerMax + 1 },
    (_, index) => callWith({}, `c${index}`),
  );
  assert.equal(answerOf([...calls.slice(1), done]).calls.length, 64);
  assert.equal(collect([...calls, done]), "too_large at 64");
});

Deno.test("collector refuses more than 256 KiB, counted in bytes (K18)", () => {
  const half = limits.unitBytesMax / 2;
  assert.equal(
    answerOf([textOf(limits.unitBytesMax - 1_000), done]).text.length,
    limits.unitBytesMax - 1_000,
  );
  assert.equal(collect([textOf(half), textOf(half + 1), done]), "too_large at 1");
  assert.equal(collect([textOf(half, "\u20ac"), done]), "too_large");
  assert.equal(collect([callWith({ big: "x".repeat(limits.unitBytesMax) }), done]), "too_large");
  const pieces: ModelEvent = { type: "tool_call_delta", callId: "c", argumentsDelta: "x".repeat(half) };
  assert.equal(collect([pieces, pieces, pieces]), "too_large at 2");
});

Deno.test("collector never follows a value into its depth (B102)", () => {
  const text = "[".repeat(100_000) + "]".repeat(100_000);
  assert.equal(collect([callWith({ deep: JSON.parse(text) }), done]), "too_large");
  assert.equal(collect([{ ...done, metadata: { deep: JSON.parse(text) } }]), "too_large");
  const [call] = answerOf([callWith(`{"deep":${text}}`), done]).calls;
  assert(call !== undefined && "argumentsText" in call);
});

Deno.test("collector has no answer before the provider says that it is done", () => {
  assert.equal(collect([textOf(10)]), "model_unreachable");
});
