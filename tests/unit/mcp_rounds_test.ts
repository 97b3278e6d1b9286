/** Whether the rounds of a call reach its server as they must, and what is only in memory is not made up after a restart. */
import assert from "node:assert/strict";
import { type CallRound, InputRequired } from "../../schemas/call_pause.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import type { Attempt } from "../../src/effects/adapter.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { createMcpCall } from "../../src/effects/mcp_call.ts";
import { settlePause } from "../../src/effects/settle_pause.ts";
import type { McpCall, McpCallResult, McpClient } from "../../src/mcp/client.ts";
import { redactingClient } from "../../src/mcp/redacting_client.ts";
import { readElicitation } from "../../src/mcp/server_request.ts";
import type { AskAnswer } from "../../src/mcp/server_requests.ts";
import { readSampling } from "../../src/mcp/sample_request.ts";
import { SuspendedCalls } from "../../src/mcp/suspended_calls.ts";
import { toolOf } from "../support/desk.ts";
import { createBlobs, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const form = { message: "Who?", requestedSchema: { properties: { name: { type: "string" } } } };
const wants = {
  resultType: "input_required",
  inputRequests: { who: { method: "elicitation/create", params: form } },
};
const booked = { content: [{ type: "text", text: "booked" }] };
const answers = [{ key: "who", action: "accept" as const, content: { name: "Ada" } }];

/** A runtime as the rounds of one call see it; its server does what `serve` says, call by call. */
function createRuntime(
  serve: (call: McpCall, number: number) => Promise<McpCallResult>,
  blobs = createBlobs(),
) {
  const calls: McpCall[] = [];
  const client = {
    greeting: { protocolVersion: "", server: { name: "", version: "" } },
    isRemote: true,
    gate: "prompt",
    closed: new Promise(() => {}),
    call: (call: McpCall) => serve(call, calls.push(call)),
  } as unknown as McpClient;
  const suspended = new SuspendedCalls<Attempt>();
  const perform = createMcpCall({
    clientOf: () => client,
    open: () => assert.fail("it is open"),
    isSecret: () => false,
    holdsSecret: (text) => text.includes("hunter2"),
    suspended,
    clock: createWorld().seams.clock,
  });
  let begun = 0;
  const play = (round?: CallRound, signal = new AbortController().signal) =>
    perform({
      root: "session/ses_1",
      entry: entryFor(toolOf("book"), { binding: "connection/docs@ses_1", canonicalName: "mcp.docs.book" }),
      arguments: { day: 1 },
      use: { signal, notifications: { push: () => {} }, idempotencyKey: "k", blobs } as never,
      intent: "7.0",
      attempt: "7.0",
      ordinal: "call/0.0",
      note: () => {},
      origin: "model",
      round,
      begin: () => {
        begun += 1;
        return () => void (begun -= 1);
      },
      late: () => {},
    });
  return { play, calls, suspended, blobs, hasBegun: () => begun > 0 };
}

function returning(...results: readonly object[]) {
  return (_: McpCall, number: number) =>
    Promise.resolve<McpCallResult>({ status: "returned", result: results[number - 1] });
}

function pauseOf(attempt: Attempt) {
  return attempt.kind === "paused"
    ? InputRequired.parse(attempt.pause)
    : assert.fail(JSON.stringify(attempt));
}

function codeOf(attempt: Attempt): string {
  if (attempt.kind === "not_started" || attempt.kind === "lost") {
    return `${attempt.kind} ${attempt.failure.code}`;
  }
  if (attempt.kind === "paused") return attempt.kind;
  const [piece] = (attempt.envelope as ToolResultEnvelope).content;
  return piece?.type === "error" ? `returned ${piece.failure.code}` : attempt.kind;
}

Deno.test("what a server wants back is kept as a blob over a restart, and in memory alone if it holds a secret of the host (CM-34)", async () => {
  const open = createRuntime(returning({ ...wants, requestState: "\ufeffplain" }));
  const kept = pauseOf(await open.play());
  assert.match(kept.state ?? "", /^sha256:/);
  const next = createRuntime(returning(booked), open.blobs);
  const round: CallRound = { round: 1, how: "retry", state: kept.state, answers };
  assert.equal((await next.play(round)).kind, "returned");
  assert.deepEqual(next.calls[0]?.more, {
    inputResponses: { who: { action: "accept", content: { name: "Ada" } } },
    requestState: "\ufeffplain",
  });
  const secret = createRuntime(returning({ ...wants, requestState: "hunter2" }, booked));
  const pause = pauseOf(await secret.play());
  assert.equal(pause.state, "memory");
  assert.equal((await secret.play({ ...round, state: "memory" })).kind, "returned");
  assert.equal(secret.calls[1]?.more?.["requestState"], "hunter2");
  const restarted = createRuntime(returning(booked));
  assert.equal(codeOf(await restarted.play({ ...round, state: "memory" })), "not_started mcp_input_invalid");
  assert.deepEqual([restarted.calls.length, restarted.hasBegun()], [0, false]);
});

Deno.test("call that is given up gets no further round, and one of five rounds no sixth (CM-34, B98)", async () => {
  const always = returning(wants, wants);
  const round: CallRound = { round: 5, how: "retry", answers };
  assert.equal(codeOf(await createRuntime(always).play(round)), "returned mcp_rounds_exceeded");
  assert.equal(codeOf(await createRuntime(always).play({ ...round, round: 4 })), "paused");
  const last = await createRuntime(always).play({ ...round, round: 1, isLast: true });
  assert.equal(codeOf(last), "not_started tool_canceled");
  const repeat: CallRound = { round: 1, how: "repeat", answers: [{ key: "page-1", action: "decline" }] };
  assert.equal(codeOf(await createRuntime(always).play(repeat)), "returned mcp_input_refused");
});

/** A server that holds its call open and asks `groups` one after the other; its result is what it was told. */
function holding(...groups: readonly number[]) {
  return async ({ onAsk }: McpCall): Promise<McpCallResult> => {
    const told: AskAnswer[] = [];
    for (const count of groups) {
      const asks = Array.from({ length: count }, () => {
        const ask = {
          read: (key: string) => readElicitation(key, form, "prompt"),
          signal: new AbortController().signal,
        };
        return onAsk?.(ask) ?? assert.fail("nobody answers");
      });
      told.push(...await Promise.all(asks));
    }
    return { status: "returned", result: { content: [{ type: "text", text: JSON.stringify(told) }] } };
  };
}

Deno.test("call that is held open goes on with its answers, one call over all rounds, and is lost with its runtime (CM-34)", async () => {
  const runtime = createRuntime(holding(2, 1));
  const first = pauseOf(await runtime.play());
  assert.deepEqual([first.how, first.requests.map(({ key }) => key)], ["held", ["ask-1", "ask-2"]]);
  let isGone = false;
  runtime.suspended.untilGone("session/ses_1", "7.0").then(() => isGone = true);
  await Promise.resolve();
  assert.ok(!isGone);
  const held: CallRound = {
    round: 1,
    how: "held",
    answers: [{ key: "ask-1", action: "accept", content: { name: "Ada" } }, {
      key: "ask-2",
      action: "decline",
    }],
  };
  const second = pauseOf(await runtime.play(held));
  assert.deepEqual(second.requests.map(({ key }) => key), ["ask-3"]);
  const end = await runtime.play({
    ...held,
    round: 2,
    answers: [{ key: "ask-3", action: "cancel" }],
    told: ["said"],
  });
  assert.ok(end.kind === "returned");
  assert.deepEqual((end.envelope as ToolResultEnvelope).content, [
    {
      type: "text",
      text: '[{"action":"accept","content":{"name":"Ada"}},{"action":"decline"},{"action":"cancel"}]',
    },
    { type: "text", text: "[said]" },
  ]);
  assert.equal(runtime.calls.length, 1);
  const restarted = createRuntime(holding(1));
  assert.equal(codeOf(await restarted.play(held)), "lost mcp_connection_lost");
  assert.deepEqual([restarted.calls.length, restarted.hasBegun()], [0, true]);
  await restarted.suspended.untilGone("session/ses_1", "7.0");
});

Deno.test("call that is held open asks nobody any more once it is given up, or after five rounds (CM-34, B98)", async () => {
  for (const [more, action] of [[{ isLast: true }, "cancel"], [{ round: 5 }, "decline"]] as const) {
    const runtime = createRuntime(holding(1, 1, 1));
    await runtime.play();
    const round: CallRound = {
      round: 1,
      how: "held",
      answers: [{ key: "ask-1", action: "accept" }],
      ...more,
    };
    const end = await runtime.play(round);
    assert.ok(end.kind === "returned");
    const [piece] = (end.envelope as ToolResultEnvelope).content;
    const told = JSON.parse(piece?.type === "text" ? piece.text : "[]") as AskAnswer[];
    assert.deepEqual(told.map((one) => one.action), ["accept", action, action]);
  }
});

Deno.test("what a server asks is kept without secrets: its message is masked, a form that holds one is refused (CM-34)", () => {
  const token = "ghp_x9K2mQ7vL4pR8sT1wY6zB3nD5fG0hJcEaUiO";
  const settled = settlePause({
    type: "input_required",
    server: "docs",
    how: "held",
    requests: [
      readElicitation("a", { ...form, message: `Use ${token}` }, "prompt"),
      readElicitation("b", {
        message: "",
        requestedSchema: { properties: { x: { type: "string", default: token } } },
      }, "prompt"),
    ],
  }, { effect: "non_idempotent", redactor: createDoorRedactor() });
  assert.ok(settled.status === "ok");
  const pause = InputRequired.parse((settled.value as { readonly pause: unknown }).pause);
  assert.ok(!JSON.stringify(pause).includes(token));
  assert.deepEqual(pause.requests.map(({ kind }) => kind), ["form", "refused"]);
});

Deno.test("server that was given a secret gets its state back as it came, and what it asks is shown without it (CM-34)", async () => {
  const given = "correct horse battery";
  const raw = { ...wants, requestState: `sealed ${given}`, note: given };
  let asked = "";
  const client = redactingClient({
    greeting: { protocolVersion: "", server: { name: "", version: "" } },
    isRemote: false,
    gate: "prompt",
    closed: new Promise(() => {}),
    call: async ({ onAsk }: McpCall) => {
      const ask = { read: (key: string) => readElicitation(key, { ...form, message: given }, "prompt") };
      await onAsk?.({ ...ask, signal: new AbortController().signal });
      return { status: "returned", result: raw };
    },
  } as unknown as McpClient, [given]);
  const call = { tool: "book", arguments: {}, key: "k", signal: new AbortController().signal, idleMs: 1 };
  const answered = await client.call({
    ...call,
    onProgress: () => {},
    onAsk: ({ read }) => {
      asked = JSON.stringify(read("k"));
      return Promise.resolve({ action: "decline" });
    },
  });
  assert.ok(answered.status === "returned");
  const { requestState, note } = answered.result as { readonly requestState: string; readonly note: string };
  assert.equal(requestState, raw.requestState);
  assert.ok(!note.includes(given) && asked !== "" && !asked.includes(given));
});

Deno.test("texts for a model are read alone: no context, no tool, no picture, nothing invisible, within their bounds (CM-34)", () => {
  const rule = { gate: "prompt" as const, max_requests: 2, max_tokens: 50 };
  const user = (content: unknown) => ({ role: "user", content });
  const hello = user({ type: "text", text: "Hel\u200blo" });
  const read = readSampling("k", {
    messages: [hello],
    systemPrompt: "S",
    includeContext: "allServers",
    maxTokens: 9,
  }, rule);
  assert.deepEqual(read, {
    kind: "sampling",
    key: "k",
    gate: "prompt",
    system: "S",
    messages: [{ role: "user", text: "Hello" }],
    maxOutputTokens: 9,
    timesMax: 2,
  });
  for (
    const params of [
      undefined,
      {},
      { messages: [] },
      { messages: [hello], tools: [{ name: "x" }] },
      { messages: [user({ type: "image", data: "" })] },
      { messages: [{ role: "system", content: { type: "text", text: "" } }] },
      { messages: Array(65).fill(hello) },
      { messages: [user({ type: "text", text: "x".repeat(32_769) })] },
    ]
  ) assert.equal(readSampling("k", params, rule).kind, "refused", JSON.stringify(params)?.slice(0, 100));
  const greedy = readSampling("k", { messages: [hello], maxTokens: 10_000 }, rule);
  assert.ok(greedy.kind === "sampling" && greedy.maxOutputTokens === 50);
});
