import assert from "node:assert/strict";
import type { Entry } from "../../schemas/entry.ts";
import type { Json } from "../../schemas/json.ts";
import type { HostEvent } from "../../src/host/host.ts";
import { createStyle } from "../../src/cli/style.ts";
import type { Output, Terminal } from "../../src/cli/terminal.ts";
import { createJsonView } from "../../src/cli/json_view.ts";
import { createTranscript } from "../../src/cli/transcript.ts";

const root = "session/ses_00000000000000000000000001";
const startMs = 1_800_000_000_000;

/** Pipes that keep what was written. */
function createPipes() {
  const shown = { out: "", err: "" };
  const output = (name: "out" | "err"): Output => ({
    isTerminal: false,
    style: createStyle(false),
    write: (text) => void (shown[name] += text),
    line: (text) =>
      void (shown[name] += `${shown[name] === "" || shown[name].endsWith("\n") ? "" : "\n"}${text}\n`),
  });
  const terminal: Terminal = {
    out: output("out"),
    err: output("err"),
    canAsk: false,
    isClosed: false,
    columns: 80,
    status: () => {},
    readLine: () => Promise.resolve(undefined),
  };
  return { terminal, shown };
}

function entry(seq: number, kind: Entry["kind"], type: string, body: Json): Entry {
  return { v: 1, seq, at: startMs + seq * 10, kind, type, cause: seq, epoch: 1, body };
}

/** An entry that the one with number `cause` caused. */
function causedBy(cause: number, { cause: _, ...rest }: Entry): Entry {
  return { ...rest, cause };
}

function entries(...list: Entry[]): HostEvent {
  return { type: "entries", root, entries: list };
}

function delta(id: string, text: string): HostEvent {
  return { type: "progress", root, id, progress: { type: "model", event: { type: "text_delta", text } } };
}

const prompt = entry(2, "input", "session.prompt", { message: { type: "session.prompt", text: "hi" } });
const generate = causedBy(
  2,
  entry(3, "intent", "model.generate", { n: 0, port: "model.generate", args: { append: [] } }),
);

function answer(seq: number, id: string, text: string): Entry {
  return entry(seq, "outcome", "model.generate", {
    id,
    attempt: 1,
    status: "ok",
    value: { text, calls: [] },
  });
}

function plan(seq: number, ...stages: string[][]): Entry {
  const body = { stages: stages.map((members) => ({ members: members.map((ordinal) => ({ ordinal })) })) };
  return causedBy(4, entry(seq, "note", "turn.planned", body));
}

function call(seq: number, n: number, invocation: string, args: Json = {}): Entry {
  const body = { n, port: "tool.call", args: { invocation, entry: { name: `tool_${n}` }, arguments: args } };
  return causedBy(4, entry(seq, "intent", "tool.call", body));
}

function result(seq: number, id: string, value: Json): Entry {
  return entry(seq, "outcome", "tool.call", { id, attempt: 1, status: "ok", value });
}

function play(...events: HostEvent[]): string {
  const { terminal, shown } = createPipes();
  const view = createTranscript(terminal);
  for (const event of events) view.hear(event);
  return shown.out;
}

Deno.test("transcript shows text as it comes, and not again when it is durable", () => {
  const shown = play(
    entries(prompt, generate),
    delta("2.0", "Hello "),
    delta("2.0", "world"),
    entries(answer(4, "2.0", "Hello world")),
  );
  assert.equal(shown, "\nHello world\n");
});

Deno.test("transcript shows text that was not streamed once it is durable", () => {
  assert.equal(play(entries(prompt, generate, answer(4, "2.0", "Hello"))), "\nHello\n");
});

Deno.test("transcript shows the answer that counts if another was streamed before it (K12)", () => {
  const shown = play(entries(prompt, generate), delta("2.0", "Helo"), entries(answer(4, "2.0", "Hello")));
  assert.equal(shown, "\nHelo\nHello\n");
});

Deno.test("transcript keeps text back until what came before it was shown", () => {
  const { terminal, shown } = createPipes();
  const view = createTranscript(terminal);
  view.hear(delta("2.0", "Hel"));
  view.hear(delta("2.0", "lo"));
  assert.equal(shown.out, "");
  view.hear(entries(prompt, generate));
  view.hear(delta("2.0", "!"));
  assert.equal(shown.out, "\nHello!");
});

Deno.test("transcript never shows half a character", () => {
  const shown = play(
    entries(prompt, generate),
    delta("2.0", "a\ud83d"),
    delta("2.0", "\ude00b"),
    entries(answer(4, "2.0", "a😀b")),
  );
  assert.equal(shown, "\na😀b\n");
});

Deno.test("transcript makes visible what a model or a tool sends to the terminal (B121)", () => {
  const shown = play(
    entries(prompt, generate),
    delta("2.0", "x\x1b[2J\u202e"),
    entries(
      answer(4, "2.0", "x\x1b[2J\u202e"),
      plan(5, ["call/0.0"]),
      call(6, 0, "call/0.0", { "a\x1b": "\x9b31m" }),
      result(7, "4.0", { isError: false, model: "", operator: "tool_0: \x1b]0;title\x07" }),
    ),
  );
  assert.ok(shown.includes("x\\u{1b}[2J\\u{202e}"));
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(shown, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

Deno.test("transcript shows an answer once, also where a secret was taken out of it (DM-46)", () => {
  const streamed = play(
    entries(prompt, generate),
    delta("2.0", "it is [redacted: DOCS_KEY], I say"),
    entries(answer(4, "2.0", "it is [redacted], I say")),
  );
  assert.deepEqual(streamed.match(/it is .*, I say/g), ["it is [redacted: DOCS_KEY], I say"]);
  const another = play(
    entries(prompt, generate),
    delta("2.0", "it is [redacted: DOCS_KEY], I say"),
    entries(answer(4, "2.0", "it is [redacted], you say")),
  );
  assert.match(another, /you say/);
});

Deno.test("transcript has a card for each call: name, arguments, time, outcome", () => {
  const shown = play(entries(
    prompt,
    plan(5, ["call/0.0", "call/0.1"], ["call/0.2"]),
    call(6, 0, "call/0.0", { path: "a.txt" }),
    call(7, 1, "call/0.1", { token: "hunter2" }),
    result(8, "4.1", { isError: true, model: "", operator: "tool_1: path_not_found: no" }),
    result(9, "4.0", { isError: false, model: "", operator: "tool_0: hello" }),
    call(10, 2, "call/0.2"),
    entry(11, "outcome", "tool.call", {
      id: "4.2",
      attempt: 1,
      status: "timed_out",
      failure: { code: "tool_timed_out", message: "late", retryable: true },
    }),
  ));
  assert.equal(
    shown,
    [
      "  stage 1 of 2: 2 calls at once",
      '  ✗ tool_1 {"token": [redacted]}  10 ms  completed_with_error  path_not_found: no',
      '  ✓ tool_0 {"path": "a.txt"}  30 ms  hello',
      "  stage 2 of 2: 1 call",
      "  ✗ tool_2 {}  10 ms  timed_out  tool_timed_out: late",
      "",
    ].join("\n"),
  );
});

Deno.test("transcript shows calls that never reached a tool, with the reason that the model got", () => {
  const append = [
    { type: "result", callId: "a", name: "tool_0", outcome: "4.0" },
    { type: "refusal", callId: "b", name: "rm\x1b", text: "not_found: No tool is named so: use another" },
  ];
  const again = entry(9, "intent", "model.generate", { n: 0, port: "model.generate", args: { append } });
  assert.equal(play(entries(again)), "  ✗ rm\\u{1b}  not_found  No tool is named so: use another\n");
});

Deno.test("transcript says who decided a question", () => {
  const ask = causedBy(
    4,
    entry(6, "intent", "question.ask", { n: 1, port: "question.ask", args: { subject: { tool: "rm" } } }),
  );
  const value = { decision: "deny", by: { kind: "operator", id: "local" } };
  const decided = entry(7, "outcome", "question.ask", { id: "4.1", attempt: 1, status: "ok", value });
  assert.equal(play(entries(ask, decided)), "  ? rm  deny by operator local\n");
  const failure = { code: "approval_unavailable", message: "nobody", retryable: false };
  const nobody = entry(7, "outcome", "question.ask", { id: "4.1", attempt: 1, status: "failed", failure });
  assert.equal(play(entries(ask, nobody)), "  ? rm  approval_unavailable\n");
});

Deno.test("transcript ends with how the turn ended, and what it took", () => {
  const { terminal, shown } = createPipes();
  const view = createTranscript(terminal);
  view.hear(entries(prompt, call(3, 0, "call/0.0"), entry(152, "reply", "ok", {})));
  view.end({ turn: 1, outcome: "completed", steps: 2, text: "", failure: undefined });
  assert.equal(shown.out, "turn 1 completed: 2 steps, 1 call, 1.5 s\n");
});

Deno.test("transcript tells what has gone on for more than a second", () => {
  const { terminal } = createPipes();
  const view = createTranscript(terminal);
  view.hear(entries(call(1, 0, "call/0.0"), call(2, 1, "call/0.1")));
  assert.equal(view.status(startMs + 1_000), undefined);
  assert.equal(view.status(startMs + 1_015), "tool_0 (1 s)");
  assert.equal(view.status(startMs + 3_500), "tool_0, tool_1 (3 s)");
  view.hear(entries(result(3, "4.0", {})));
  assert.equal(view.status(startMs + 3_500), "tool_1 (3 s)");
});

Deno.test("transcript tells how far a call says it is, before it has a result (LC-18)", () => {
  const { terminal, shown } = createPipes();
  const view = createTranscript(terminal);
  const notice = (id: string, message: string): HostEvent => ({
    type: "progress",
    root,
    id,
    progress: { type: "tool", message },
  });
  view.hear(entries(call(1, 0, "call/0.0"), call(2, 1, "call/0.1")));
  view.hear(notice("4.1", "1 of 9"));
  view.hear(notice("4.1", "2 of 9"));
  view.hear(notice("7.0", "of nobody's concern"));
  assert.equal(view.status(startMs + 3_500), "tool_0, tool_1: 2 of 9 (3 s)");
  view.hear(entries(result(3, "4.1", { isError: false, model: "", operator: "tool_1: done" })));
  assert.equal(view.status(startMs + 3_500), "tool_0 (3 s)");
  assert.doesNotMatch(shown.out, /of 9|concern/);
});

Deno.test("transcript as JSON is one line for each durable entry, and nothing else", () => {
  const { terminal, shown } = createPipes();
  const view = createJsonView(terminal);
  view.hear(delta("2.0", "provisional"));
  view.hear(entries(prompt, generate));
  view.hear({ type: "quarantined", root, reason: "x" });
  view.end({ turn: 1, outcome: "failed", steps: 1, text: "", failure: undefined });
  assert.deepEqual(shown.out.trimEnd().split("\n").map((line) => JSON.parse(line)), [prompt, generate]);
});

Deno.test("transcript shows what servers answered, also if it heard meanwhile that one was lost", () => {
  const { terminal, shown } = createPipes();
  const transcript = createTranscript(terminal);
  const input = (seq: number, message: Json) =>
    entry(seq, "input", (message as { readonly type: string }).type, { message });
  const entries = [
    entry(1, "message", "catalog.renew", { message: { servers: [{ server: "docs" }] } }),
    input(2, { type: "catalog.stale", server: "docs", rule: "disconnect" }),
    input(3, { type: "catalog.issued", renewal: 1, servers: [{ server: "docs", tools: 2, rejected: 0 }] }),
  ];
  transcript.hear({ type: "entries", root, entries } as HostEvent);
  assert.match(shown.out, /✓ docs {2}20 ms {2}2 tools/);
});
