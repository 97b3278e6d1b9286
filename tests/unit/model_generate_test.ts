// Proves AR-5, AR-16, AR-17, AR-18, AR-20, AR-21, AR-26, AR-46 and K18 for model calls.
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import assert from "node:assert/strict";
import type { ResolvedCatalog } from "../../schemas/catalog.ts";
import { limits } from "../../schemas/limits.ts";
import {
  ModelAnswer,
  type ModelEvent,
  type ModelMessage,
  type ModelRequest,
  type ToolChoice,
} from "../../schemas/model.ts";
import { Script } from "../../schemas/script.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import type { RoundPrepare } from "../../src/effects/round_prepare.ts";
import type { PerformerResult, Progress } from "../../src/effects/performer.ts";
import { ModelError, type ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider, scriptedCapabilities } from "../../src/model/scripted.ts";
import { listFiles } from "../../src/tools/list_files.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { catalogWith, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const hash = `sha256:${"c".repeat(64)}`;
const done: ModelEvent = { type: "done", finishReason: "stop" };
const question: readonly ModelMessage[] = [{ role: "user", text: "What is in a.txt?" }];

/** A provider that says these events and remembers what it was asked. */
function vendor(events: readonly ModelEvent[], capabilities = scriptedCapabilities) {
  const requests: ModelRequest[] = [];
  const provider: ModelProvider = {
    name: "vendor",
    capabilities,
    async *generate(request) {
      requests.push(request);
      yield* events;
    },
  };
  return { provider, requests };
}

interface Setting {
  readonly provider: ModelProvider;
  readonly model?: string;
  readonly catalog?: ResolvedCatalog;
  readonly catalogHash?: string;
  readonly messages?: readonly ModelMessage[];
  readonly toolChoice?: ToolChoice;
  readonly deadlineInMs?: number;
  readonly prepare?: RoundPrepare;
  /** Resolves once the conversation may be read. */
  readonly reading?: Promise<void>;
}

function start({ provider, ...setting }: Setting) {
  const world = createWorld();
  const abort = new AbortController();
  const progress: Progress[] = [];
  const messages = setting.messages ?? question;
  const perform = createModelGenerate({
    redactor: createDoorRedactor(),
    rawArguments: new RawArguments(),
    providerOf: (name) => name === provider.name ? provider : undefined,
    transcript: async () => {
      await setting.reading;
      return messages;
    },
    ...(setting.prepare === undefined ? {} : { prepare: setting.prepare }),
    catalogOf: (asked) => asked === hash ? setting.catalog ?? catalogWith() : undefined,
    seams: world.seams,
  });
  const result = perform({
    root: "session/ses_1",
    id: "5.0",
    key: "session/ses_1#5.0@1",
    attempt: 1,
    signal: abort.signal,
    report: (one) => progress.push(one),
    request: {
      port: "model.generate",
      effect: "idempotent",
      ...(setting.deadlineInMs === undefined ? {} : { deadlineAtMs: world.now() + setting.deadlineInMs }),
      args: {
        model: setting.model ?? `${provider.name}/large`,
        turn: 1,
        step: 0,
        catalog: { hash: setting.catalogHash ?? hash, epoch: 1 },
        append: [],
        toolChoice: setting.toolChoice ?? "auto",
        maxOutputTokens: 500,
      },
    },
  });
  return { world, abort, result, progress };
}

function answerIn(result: PerformerResult): ModelAnswer {
  assert(result.status === "ok", JSON.stringify(result));
  return ModelAnswer.parse(JSON.parse(JSON.stringify(result.value)));
}

function endingOf(result: PerformerResult): string {
  return result.status === "ok"
    ? "ok"
    : `${result.status} ${result.failure.code} ${result.failure.retryable}`;
}

async function endOf(events: readonly ModelEvent[]): Promise<string> {
  return endingOf(await start({ provider: vendor(events).provider }).result);
}

Deno.test("model_generate asks with the conversation, the enabled tools as wrapped, and the limits (AR-5, AR-17)", async () => {
  const catalog = catalogWith(
    entryFor(readFile.definition, { canonicalName: "mcp.docs.read", providerName: "docs__read" }),
    entryFor(listFiles.definition, { enabled: false }),
  );
  const { provider, requests } = vendor([done]);
  await start({ provider, catalog }).result;
  assert.deepEqual(requests, [{
    model: "large",
    messages: question,
    tools: [{
      name: "docs__read",
      description: `Read file: ${readFile.definition.description}`,
      inputSchema: readFile.definition.inputSchema,
    }],
    toolChoice: "auto",
    maxOutputTokens: 500,
  }]);
  const mute = vendor([done], { ...scriptedCapabilities, toolCalling: false });
  await start({ provider: mute.provider, catalog }).result;
  assert.deepEqual(mute.requests[0]?.tools, []);
});

Deno.test("model_generate passes on how freely the model may call tools: auto, none or a named one (AR-17)", async () => {
  const choices: readonly ToolChoice[] = ["auto", "none", { tool: "docs__read" }];
  for (const toolChoice of choices) {
    const { provider, requests } = vendor([done]);
    assert.equal(endingOf(await start({ provider, toolChoice }).result), "ok");
    assert.deepEqual(requests.map((request) => request.toolChoice), [toolChoice]);
  }
});

Deno.test("model_generate collects a stream into one answer, and reports every event (AR-16, AR-18, AR-20, AR-36)", async () => {
  const events: readonly ModelEvent[] = [
    { type: "text_delta", text: "I " },
    { type: "tool_call_delta", callId: "b", name: "read_file" },
    { type: "tool_call_delta", callId: "a", name: "list_files", argumentsDelta: '{"depth"' },
    { type: "tool_call_delta", callId: "b", argumentsDelta: '{"path":"x"}' },
    { type: "text_delta", text: "read" },
    { type: "tool_call_delta", callId: "a", argumentsDelta: ":2}" },
    { type: "tool_call_done", callId: "a", name: "list_files", arguments: { depth: 2 } },
    { type: "usage", usage: { inputTokens: 1, outputTokens: 2 } },
    { type: "usage", usage: { inputTokens: 3, outputTokens: 4 } },
    { type: "done", finishReason: "tool_calls", metadata: { vendor_id: "r-1" } },
  ];
  const { result, progress, world } = start({
    provider: vendor([...events, { type: "text_delta", text: "after the end" }]).provider,
  });
  assert.deepEqual(answerIn(await result), {
    text: "I read",
    calls: [
      { callId: "b", name: "read_file", arguments: { path: "x" } },
      { callId: "a", name: "list_files", arguments: { depth: 2 } },
    ],
    usage: { inputTokens: 3, outputTokens: 4 },
    finishReason: "tool_calls",
    metadata: { vendor_id: "r-1" },
  });
  // Who watches sees what is said, as soon as it can be no secret, and what is called, but no arguments.
  const seen = progress.map((one) => one.type === "model" ? one.event : undefined);
  const said = seen.map((event) => event?.type === "text_delta" ? event.text : "").join("");
  assert.equal(said, "I read");
  assert.deepEqual(seen.filter((event) => event?.type !== "text_delta"), [
    { type: "tool_call_delta", callId: "b", name: "read_file" },
    { type: "tool_call_delta", callId: "a", name: "list_files" },
    { type: "tool_call_delta", callId: "b" },
    { type: "tool_call_delta", callId: "a" },
    { type: "tool_call_done", callId: "a", name: "list_files", arguments: {} },
    { type: "usage", usage: { inputTokens: 1, outputTokens: 2 } },
    { type: "usage", usage: { inputTokens: 3, outputTokens: 4 } },
    { type: "done", finishReason: "tool_calls" },
  ]);
  assert.equal(world.sleepers, 0, "the deadline still waits");
});

Deno.test("model_generate stops an answer without end as soon as it is too large (K18)", async () => {
  let said = 0;
  const endless: ModelProvider = {
    ...vendor([]).provider,
    async *generate() {
      for (; said < 1_000; said++) yield { type: "text_delta", text: "x".repeat(10_000) };
    },
  };
  assert.equal(endingOf(await start({ provider: endless }).result), "failed too_large false");
  assert(said < 30, `${said} pieces were taken`);
});

Deno.test("model_generate refuses an answer whose names or ids do not fit", async () => {
  const call: ModelEvent = { type: "tool_call_done", callId: "c".repeat(201), name: "t", arguments: {} };
  assert.equal(await endOf([call, done]), "failed model_answer_invalid false");
});

Deno.test("model_generate fails, and may be retried, if the stream ends before the answer (AR-26)", async () => {
  assert.equal(await endOf([{ type: "text_delta", text: "half" }]), "failed model_unreachable true");
});

Deno.test("model_generate keeps a provider's own code and its word on retries; other errors show nothing (AR-26)", async () => {
  const throwing = (error: unknown): ModelProvider => ({
    ...vendor([]).provider,
    // deno-lint-ignore require-yield
    async *generate() {
      throw error;
    },
  });
  const busy = start({
    provider: throwing(new ModelError("model_rate_limited", "rate limit")),
  });
  assert.deepEqual(await busy.result, {
    status: "failed",
    failure: { code: "model_rate_limited", message: "rate limit", retryable: true },
  });
  const used = start({ provider: throwing(new ModelError("script_exhausted", "used up")) });
  assert.equal(endingOf(await used.result), "failed script_exhausted false");
  const broken = start({ provider: throwing(new Error("key SECRET")) });
  assert.equal(endingOf(await broken.result), "failed model_failed false");
  assert(!JSON.stringify([await broken.result, broken.world.logs]).includes("SECRET"));
  assert.deepEqual(broken.world.logs.map(({ event }) => event), ["model.threw"]);
});

Deno.test("model_generate stops at the deadline and on cancel, tells the provider, and hears no more of it", async () => {
  const signals: AbortSignal[] = [];
  let say = () => {};
  const hanging: ModelProvider = {
    ...vendor([]).provider,
    async *generate(_request, signal) {
      signals.push(signal);
      yield { type: "text_delta", text: "one. " };
      await new Promise<void>((resolve) => say = resolve);
      yield { type: "text_delta", text: "late" };
    },
  };
  const late = start({ provider: hanging, deadlineInMs: 1_000 });
  await late.world.advance(1_000);
  assert.equal(endingOf(await late.result), "failed model_timed_out true");
  say();
  await late.world.settle();
  assert.deepEqual(late.progress.length, 1);
  const canceled = start({ provider: hanging });
  await canceled.world.settle();
  canceled.abort.abort();
  assert.equal(endingOf(await canceled.result), "canceled turn_canceled false");
  assert.equal(canceled.world.sleepers, 0, "the deadline still waits");
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true]);
  say();
});

Deno.test("model_generate asks no provider once the call was given up while its conversation was read (I8)", async () => {
  const { provider, requests } = vendor([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const { world, result } = start({ provider, deadlineInMs: 1_000, reading: promise });
  await world.advance(1_000);
  assert.equal(endingOf(await result), "failed model_timed_out true");
  resolve();
  await world.settle();
  assert.deepEqual(requests, []);
});

Deno.test("model_generate waits 120 s if the request sets no deadline", async () => {
  const { world, result } = start({
    provider: {
      ...vendor([]).provider,
      generate: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    },
  });
  await world.settle();
  const began = world.now();
  assert(await world.step());
  assert.equal(world.now() - began, limits.modelCallDurationMs);
  assert.equal(endingOf(await result), "failed model_timed_out true");
});

Deno.test("answer that goes on is waited for, silence no longer than the provider may keep it, and nothing for ever (AR-26)", async () => {
  for (const timeoutMs of [undefined, 600_000]) {
    let say: (event: ModelEvent) => void = () => {};
    const slow: ModelProvider = {
      ...vendor([]).provider,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      async *generate() {
        for (;;) {
          const event = await new Promise<ModelEvent>((resolve) => say = resolve);
          yield event;
          if (event.type === "done") return;
        }
      },
    };
    const quietMs = timeoutMs ?? limits.modelCallDurationMs;
    const goesOn = start({ provider: slow, deadlineInMs: limits.modelCallDurationMs });
    for (let part = 0; part < 4; part++) {
      await goesOn.world.advance(quietMs - 1);
      say({ type: "text_delta", text: "a" });
      await goesOn.world.settle();
    }
    say(done);
    await goesOn.world.settle();
    assert.equal(endingOf(await goesOn.result), "ok");
    assert.equal(goesOn.world.sleepers, 0);

    const silent = start({ provider: slow, deadlineInMs: limits.modelCallDurationMs });
    await silent.world.advance(quietMs - 1);
    say({ type: "text_delta", text: "a" });
    await silent.world.advance(quietMs - 1);
    let ended = "";
    silent.result.then((result) => ended = endingOf(result));
    await silent.world.settle();
    assert.equal(ended, "");
    await silent.world.advance(1);
    assert.equal(ended, "failed model_timed_out true");
    say(done);

    const endless = start({ provider: slow });
    let end = "";
    endless.result.then((result) => end = endingOf(result));
    const parts = Math.ceil(limits.modelAnswerDurationMsMax / (quietMs / 2));
    for (let part = 0; part < parts && end === ""; part++) {
      await endless.world.advance(quietMs / 2);
      say({ type: "text_delta", text: "a" });
      await endless.world.settle();
    }
    assert.equal(end, "failed model_timed_out true");
    say(done);
  }
});

Deno.test("model_generate fails for a model without provider, and for a catalog that is not known", async () => {
  const { provider } = vendor([done]);
  assert.equal(endingOf(await start({ provider, model: "other/x" }).result), "failed model_unknown false");
  assert.equal(endingOf(await start({ provider, model: "other" }).result), "failed model_unknown false");
  const catalogHash = `sha256:${"d".repeat(64)}`;
  assert.equal(endingOf(await start({ provider, catalogHash }).result), "failed catalog_unavailable false");
});

Deno.test("model_generate gives the same answer from a script as from a vendor: the caller sees no difference (AR-21, AR-46)", async () => {
  const script = Script.parse({
    answers: [{ text: "look", calls: [{ tool: "read_file", arguments: { path: "a" } }] }],
  });
  const other = vendor([
    { type: "text_delta", text: "lo" },
    { type: "text_delta", text: "ok" },
    { type: "tool_call_delta", callId: "call_1_1", name: "read_file", argumentsDelta: '{"path":"a"}' },
    done,
  ]);
  const played = answerIn(await start({ provider: createScriptedProvider(script) }).result);
  const streamed = answerIn(await start({ provider: other.provider }).result);
  assert.deepEqual(played, streamed);
});

Deno.test("model_generate tells the model what the program of its catalog has prepared, and asks none without it (CM-38)", async () => {
  const catalog = {
    ...catalogWith(entryFor(readFile.definition), entryFor(listFiles.definition)),
    preparedBy: "acme",
  };
  const prepared: readonly ModelMessage[] = [{ role: "user", text: "In short?" }];
  const { provider, requests } = vendor([{ type: "text_delta", text: "Yes" }, done]);
  const prepare: RoundPrepare = ({ program, messages, tools }) => {
    assert.deepEqual([program, messages, tools.length], ["acme", question, 2]);
    return Promise.resolve({ messages: prepared, tools: tools.slice(0, 1) });
  };
  assert.equal(answerIn(await start({ provider, catalog, prepare }).result).text, "Yes");
  assert.deepEqual(requests.map(({ messages, tools }) => [messages, tools.length]), [[prepared, 1]]);
  const alone = await start({ provider, catalog }).result;
  assert.equal(endingOf(alone), "failed program_unavailable false");
  assert.equal(requests.length, 1);
});
