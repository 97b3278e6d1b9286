/** Whether every conversation, however it came about, becomes one that any provider takes (LC-32). */
import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import { ModelCall, type ModelMessage } from "../../schemas/model.ts";
import { ConversationFold } from "../../src/effects/conversation_fold.ts";
import { noResultText, requestMessages } from "../../src/effects/request_messages.ts";
import { createRandom } from "../support/world.ts";

type Random = () => number;

function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

function upTo(random: Random, count: number): number {
  return Math.floor(random() * (count + 1));
}

/** What a strict provider would refuse. */
function problemsOf(messages: readonly ModelMessage[]): readonly string[] {
  const problems: string[] = [];
  let owed: string[] = [];
  for (const [at, message] of messages.entries()) {
    const before = messages[at - 1]?.role;
    if (message.role === "tool") {
      if (owed[0] !== message.callId) problems.push(`${at}: a result that no call waits for`);
      owed = owed.slice(1);
      continue;
    }
    if (owed.length > 0) problems.push(`${at}: ${owed.length} calls have no result`);
    if (before === message.role) problems.push(`${at}: two ${message.role} messages in a row`);
    owed = message.role === "assistant" ? message.calls.map(({ callId }) => callId) : [];
    for (const call of message.role === "assistant" ? message.calls : []) {
      if ("hadSecret" in call) problems.push(`${at}: what is only ours`);
      if (!ModelCall.safeParse(call).success) problems.push(`${at}: no call`);
    }
  }
  if (owed.length > 0) problems.push(`${owed.length} calls have no result at the end`);
  return problems;
}

/** Any messages in any order: ids come twice, results are missing, late, or of no call. */
function anyMessages(random: Random): readonly ModelMessage[] {
  const ids = ["", "a", "b", "c"];
  let words = 0;
  const word = () => `w${++words};`;
  const call = (): ModelCall => ({
    callId: pick(random, ids),
    name: "look",
    arguments: {},
    ...(random() < 0.3 ? { hadSecret: true } : {}),
  });
  return Array.from({ length: upTo(random, 14) }, (): ModelMessage => {
    switch (pick(random, ["system", "user", "assistant", "tool", "tool"] as const)) {
      case "system":
        return { role: "system", text: word() };
      case "user":
        return { role: "user", text: word() };
      case "assistant":
        return { role: "assistant", text: word(), calls: Array.from({ length: upTo(random, 3) }, call) };
      case "tool":
        return { role: "tool", callId: pick(random, ids), name: "look", text: word(), isError: false };
    }
  });
}

Deno.test("request has a result behind every call and merges what is of one role, whatever was said, and loses nothing (LC-32)", () => {
  for (let seed = 1; seed <= 3_000; seed++) {
    const given = anyMessages(createRandom(seed));
    const made = requestMessages(given);
    const told = JSON.stringify({ seed, given, made });
    assert.deepEqual(problemsOf(made), [], told);
    const text = made.map((message) => message.text).join("\n");
    for (const message of given) {
      assert.equal(text.split(message.text).length, 2, `${message.text} is in it once: ${told}`);
    }
    const callsIn = (messages: readonly ModelMessage[]) =>
      messages.flatMap((message) => message.role === "assistant" ? message.calls : []).length;
    assert.equal(callsIn(made), callsIn(given), told);
    assert.deepEqual(requestMessages(made), made, told);
  }
});

let seq = 0;

function entry(kind: Entry["kind"], type: string, body: unknown): Entry {
  seq += 1;
  return { seq, cause: seq, kind, type, body, at: seq, v: 1 } as unknown as Entry;
}

/** A session as its journal may be: turns are stopped anywhere, steps are asked again, news comes in between. */
function* anySession(random: Random): Iterable<Entry> {
  seq = 0;
  yield entry("created", "session", { input: { agent: { instructions: pick(random, ["", "Be brief"]) } } });
  for (let turn = 1; turn <= 1 + upTo(random, 4); turn++) {
    yield entry("input", "session.prompt", { message: { type: "session.prompt", text: `prompt ${turn}` } });
    let append: unknown[] = [{ type: "prompt", seq }];
    for (let step = 0; step <= upTo(random, 3); step++) {
      const calls = Array.from({ length: upTo(random, 3) }, (_, index) => ({
        callId: pick(random, ["", "x", `c${index}`]),
        name: "look",
        arguments: {},
      }));
      for (let attempt = 0; attempt <= upTo(random, 1); attempt++) {
        yield entry("intent", "model.generate", { n: 0, args: { turn, step, append } });
      }
      const id = `${seq}.0`;
      if (random() < 0.2) break; // No answer came.
      yield entry("outcome", "model.generate", {
        id,
        status: "ok",
        value: { text: `answer ${turn}.${step}`, calls },
      });
      if (random() < 0.3 || calls.length === 0) break; // It was stopped before its calls, or has none.
      append = calls.filter(() => random() < 0.8)
        .map(({ callId, name }) => ({ type: "refusal", callId, name, text: `no ${turn}.${step}` }));
      if (random() < 0.3) append.push({ type: "continuation" });
    }
  }
}

Deno.test("request of any session, stopped and asked again wherever that is, has a result behind every call (LC-32)", () => {
  let placeholders = 0;
  for (let seed = 1; seed <= 1_500; seed++) {
    const fold = new ConversationFold();
    for (const one of anySession(createRandom(seed))) {
      fold.take(one);
      const made = requestMessages(fold.messages);
      assert.deepEqual(problemsOf(made), [], JSON.stringify({ seed, messages: fold.messages, made }));
      placeholders += made.filter(({ text }) => text === noResultText).length;
    }
  }
  assert.ok(placeholders > 0, "no session left a call without a result");
});
