/** Answers of vendors as they come in the world: in odd pieces, without ids, without ends (AR-16, AR-18). */
import assert from "node:assert/strict";
import type { ModelEvent } from "../../schemas/model.ts";
import { AnswerCollector, type CollectedAnswer } from "../../src/model/collect.ts";
import { callDelta, chatWire, chunk, counted, done } from "../support/vendors/chat_wire.ts";
import { geminiWire } from "../support/vendors/gemini_wire.ts";
import { messagesWire } from "../support/vendors/messages_wire.ts";
import { data, type Wire } from "../support/vendors/reply.ts";
import { responsesWire } from "../support/vendors/responses_wire.ts";
import { ask, events, heard, inTurn, refusalOf, withVendor } from "../support/vendors/vendor_server.ts";

const wires: readonly Wire[] = [chatWire, responsesWire, messagesWire, geminiWire];

const start = chunk({ role: "assistant", content: "" });

function collected(all: readonly ModelEvent[]): CollectedAnswer {
  const collector = new AnswerCollector();
  for (const event of all) assert.equal(collector.take(event), undefined);
  const end = collector.finish();
  assert.ok(end.ok);
  return end.answer;
}

/** What becomes of a stream of chunks. */
async function chat(parts: readonly (string | Uint8Array<ArrayBuffer>)[]): Promise<CollectedAnswer> {
  let answer: CollectedAnswer | undefined;
  await withVendor(chatWire, () => events(parts), async ({ provider }) => {
    answer = collected(await heard(provider));
  });
  assert.ok(answer !== undefined);
  return answer;
}

function named({ calls }: CollectedAnswer) {
  return calls.map((call) => [call.name, "arguments" in call ? call.arguments : call.argumentsText]);
}

const tail = [counted(12, 7), done];

/** Waits for what a broken build would wait for without end. */
async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Waited 20 seconds")), 20_000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

Deno.test("vendor answers come as events: text, deltas of calls by id, whole calls, usage, done (AR-16, AR-18, AR-36)", async () => {
  const reply = { text: "Hello", calls: [{ id: "call_1", name: "look", arguments: { at: "x" } }] };
  for (const wire of wires) {
    await withVendor(wire, inTurn(wire, [reply]), async ({ provider }) => {
      const all = await heard(provider);
      const types = all.map(({ type }) => type).filter((type, index, list) => type !== list[index - 1]);
      assert.deepEqual(
        types,
        ["text_delta", "tool_call_delta", "tool_call_done", "usage", "done"],
        wire.kind,
      );
      const deltas = all.flatMap((event) => event.type === "tool_call_delta" ? [event] : []);
      const [whole] = all.flatMap((event) => event.type === "tool_call_done" ? [event] : []);
      assert.equal(deltas.map(({ argumentsDelta = "" }) => argumentsDelta).join(""), '{"at":"x"}', wire.kind);
      assert.deepEqual(
        [...new Set(deltas.map(({ callId }) => callId)), deltas[0]?.name, whole?.arguments],
        [whole?.callId, "look", '{"at":"x"}'],
      );
      const { text, usage, finishReason, metadata } = collected(all);
      assert.deepEqual([text, usage, finishReason], [
        "Hello",
        { inputTokens: 12, outputTokens: 7 },
        "tool_calls",
      ]);
      assert.deepEqual([metadata["provider"], metadata["kind"], metadata["model"]], [
        "vendor",
        wire.kind,
        "test-model",
      ]);
    });
  }
});

Deno.test("vendor text that is split inside a character, in single bytes and behind comments, comes whole", async () => {
  for (const wire of wires) {
    const whole = new TextEncoder().encode(
      `: keep-alive\n\n${wire.stream({ text: "Grüße 🎭 – 漢字" }).join(": ping\n\n")}`,
    );
    const bytes = [...whole].map((byte) => Uint8Array.of(byte));
    await withVendor(wire, () => events(bytes), async ({ provider }) => {
      assert.equal(collected(await heard(provider)).text, "Grüße 🎭 – 漢字", wire.kind);
    });
  }
});

Deno.test("vendor calls in parallel whose pieces are interleaved are put together by their index", async () => {
  const answer = await chat([
    start,
    chunk(callDelta(0, "a", "look", "")),
    chunk(callDelta(1, "b", "pay", "")),
    chunk(callDelta(1, undefined, undefined, '{"sum"')),
    chunk(callDelta(0, undefined, undefined, '{"at":')),
    chunk(callDelta(1, undefined, undefined, ":7}")),
    chunk(callDelta(0, undefined, undefined, '"x"}')),
    chunk({}, "tool_calls"),
    ...tail,
  ]);
  assert.deepEqual(named(answer), [["look", { at: "x" }], ["pay", { sum: 7 }]]);
});

Deno.test("vendor calls without ids, with one id twice, with one index for all, or with none, are each a call", async () => {
  const whole = ['{"at":"x"}', '{"at":"y"}'] as const;
  const shapes: readonly (readonly [string, number | undefined, string | undefined, number | undefined])[] = [
    ["no ids", 0, undefined, 1],
    ["one id", 0, "same", 1],
    ["one index", 0, "", 0],
    ["no index", undefined, "", undefined],
  ];
  for (const [shape, first, id, second] of shapes) {
    const [a, b] = id === "" ? ["a", "b"] : [id, id];
    const answer = await chat([
      start,
      chunk(callDelta(first, a, "look", whole[0])),
      chunk(callDelta(second, b, "look", whole[1])),
      chunk({}, "tool_calls"),
      ...tail,
    ]);
    assert.deepEqual(named(answer), [["look", { at: "x" }], ["look", { at: "y" }]], shape);
    assert.equal(new Set(answer.calls.map(({ callId }) => callId)).size, 2, shape);
    assert.ok(answer.calls.every(({ callId }) => callId !== ""), shape);
  }
});

Deno.test("vendor calls with nothing for arguments take nothing; what is no JSON is kept as it was written", async () => {
  const answer = await chat([
    start,
    chunk(callDelta(0, "a", "look", "")),
    chunk(callDelta(1, "b", "pay", '{"sum": 7,}')),
    chunk({}, "tool_calls"),
    ...tail,
  ]);
  assert.deepEqual(named(answer), [["look", {}], ["pay", '{"sum": 7,}']]);
  const block = { type: "tool_use", id: "t", name: "look", input: {} };
  const messages = messagesWire.stream({});
  const stream = [
    ...messages.slice(0, 2),
    data({ type: "content_block_start", index: 0, content_block: block }),
    data({ type: "content_block_stop", index: 0 }),
    ...messages.slice(2),
  ];
  await withVendor(messagesWire, () => events(stream), async ({ provider }) => {
    assert.deepEqual(named(collected(await heard(provider))), [["look", {}]]);
  });
});

Deno.test("vendor usage may be absent or come last; a reason to stop may be missing if the stream says that it is whole", async () => {
  const absent = await chat([start, chunk({ content: "Hi" }), chunk({}, "stop"), done]);
  assert.deepEqual(absent.usage, { inputTokens: 0, outputTokens: 0 });
  const unsaid = await chat([start, chunk({ content: "Hi" }), counted(3, 2), done]);
  assert.deepEqual([unsaid.text, unsaid.finishReason, unsaid.usage.inputTokens], ["Hi", "other", 3]);
  const called = await chat([start, chunk(callDelta(0, "a", "look", "{}")), chunk({}, "stop"), ...tail]);
  assert.equal(called.finishReason, "tool_calls");
});

Deno.test("vendor finish reasons become ours: stop, length, content_filter", async () => {
  for (const [said, ours] of [["stop", "stop"], ["length", "length"], ["content_filter", "content_filter"]]) {
    assert.equal((await chat([start, chunk({ content: "x" }), chunk({}, said), ...tail])).finishReason, ours);
  }
});

Deno.test("vendor stream that is cut, or ends in the middle of a call, is no answer: it may be asked for again", async () => {
  const reply = { text: "I go", calls: [{ id: "c", name: "look", arguments: { at: "somewhere" } }] };
  for (const wire of wires) {
    const whole = wire.stream(reply);
    for (const [how, isCut] of [["cut", true], ["ended", false]] as const) {
      // Before what says why it ended: two events, or three with the end mark.
      const part = whole.slice(0, -(wire === geminiWire || wire === responsesWire ? 1 : 3));
      await withVendor(wire, () => events(part, { isCut }), async ({ provider }) => {
        const { failure } = await refusalOf(provider);
        assert.deepEqual(
          [failure.code, failure.retryable],
          ["model_unreachable", true],
          `${wire.kind} ${how}`,
        );
      });
    }
  }
});

Deno.test("vendor stream may be one line of two megabytes, and compressed", async () => {
  const text = "ab".repeat(1_000);
  const padding = data({ ignored: "x".repeat(2_000_000), choices: [] });
  assert.equal(
    (await chat([start, padding, chunk({ content: text }), chunk({}, "stop"), ...tail])).text,
    text,
  );
  const zipped = (parts: readonly string[]) => {
    const { body } = events(parts);
    const stream = body?.pipeThrough(new CompressionStream("gzip")) ?? null;
    return new Response(stream, {
      headers: { "content-type": "text/event-stream", "content-encoding": "gzip" },
    });
  };
  for (const wire of wires) {
    await withVendor(wire, () => zipped(wire.stream({ text })), async ({ provider }) => {
      assert.equal(collected(await heard(provider)).text, text, wire.kind);
    });
  }
});

Deno.test("vendor thoughts are kept with the answer, not said; too many of them are refused", async () => {
  const thought = { text: "Hmm", signature: "c2ln" };
  for (const wire of wires) {
    await withVendor(wire, inTurn(wire, [{ text: "Yes", thought }]), async ({ provider }) => {
      const { text, metadata } = collected(await heard(provider));
      assert.equal(text, "Yes");
      assert.equal((metadata["parts"] as { text?: string }[])[0]?.text, "Hmm", wire.kind);
    });
  }
  const endless = [start, ...Array(300).fill(chunk({ reasoning_content: "x".repeat(1_024) })), ...tail];
  await withVendor(chatWire, () => events(endless), async ({ provider }) => {
    assert.equal((await refusalOf(provider)).failure.code, "model_answer_invalid");
  });
});

Deno.test("vendor request ends at once when it is aborted, and when nobody reads on (AR-16, AR-36)", async () => {
  for (const wire of wires) {
    const gone: Promise<void>[] = [];
    const open = () => {
      const left = [...wire.stream({ text: "Hello, long answer" }).slice(0, -3)];
      const over = Promise.withResolvers<void>();
      gone.push(over.promise);
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        pull(controller) {
          const next = left.shift();
          if (next === undefined) return new Promise<void>(() => {});
          controller.enqueue(new TextEncoder().encode(next));
          return Promise.resolve();
        },
        cancel: () => over.resolve(),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    await withVendor(wire, open, async ({ provider }) => {
      const stop = new AbortController();
      const told: ModelEvent[] = [];
      const asking = async () => {
        for await (const event of provider.generate(ask(), stop.signal)) {
          told.push(event);
          stop.abort(new Error("enough"));
        }
      };
      await assert.rejects(() => within(asking()), /enough/);
      assert.ok(told.length >= 1, wire.kind);
      for await (const _ of provider.generate(ask(), new AbortController().signal)) break;
      await within(Promise.all(gone));
    });
  }
});

Deno.test("vendor usage is priced as the configuration says, cached tokens for less", async () => {
  const usage = {
    prompt_tokens: 1_000,
    completion_tokens: 100,
    prompt_tokens_details: { cached_tokens: 400 },
  };
  const parts = [start, chunk({ content: "x" }), chunk({}, "stop"), data({ choices: [], usage }), done];
  const prices = { input_per_million_usd: 10, output_per_million_usd: 50, cached_input_per_million_usd: 1 };
  await withVendor(chatWire, () => events(parts), async ({ provider }) => {
    const { usage } = collected(await heard(provider));
    assert.deepEqual([usage.inputTokens, usage.cachedInputTokens], [1_000, 400]);
    assert.equal(usage.costUsd, (600 * 10 + 400 * 1 + 100 * 50) / 1e6);
  }, { settings: { prices } });
});
