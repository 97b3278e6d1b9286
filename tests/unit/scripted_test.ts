// Proves AR-16, AR-18, AR-19, AR-31, AR-32 and AR-33 for the provider that the tests run on.
import assert from "node:assert/strict";
import type { ModelEvent, ModelMessage, ModelRequest } from "../../schemas/model.ts";
import { Script } from "../../schemas/script.ts";
import { loadScript, ScriptFileError } from "../../src/model/load_script.ts";
import { ModelError, type ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider, scriptedCapabilities } from "../../src/model/scripted.ts";
import { withFolder } from "../support/tools.ts";

function providerOf(script: unknown): ModelProvider {
  return createScriptedProvider(Script.parse(script));
}

/** A conversation in which the model has answered this often already. */
function requestAfter(answers: number, last = "go on"): ModelRequest {
  const messages: ModelMessage[] = [{ role: "user", text: "begin" }];
  for (let index = 0; index < answers; index++) {
    messages.push({ role: "assistant", text: "", calls: [] }, { role: "user", text: last });
  }
  return { model: "script.yaml", messages, tools: [], toolChoice: "auto", maxOutputTokens: 100 };
}

async function eventsOf(provider: ModelProvider, request: ModelRequest): Promise<readonly ModelEvent[]> {
  return await Array.fromAsync(provider.generate(request, new AbortController().signal));
}

async function errorOf(provider: ModelProvider, request: ModelRequest): Promise<string> {
  try {
    await eventsOf(provider, request);
    return "none";
  } catch (error) {
    assert(error instanceof ModelError);
    return `${error.failure.code} ${error.failure.retryable}`;
  }
}

Deno.test("scripted plays calls as tool_call_done, text as one text_delta, then done with stop (AR-18, AR-31)", async () => {
  const provider = providerOf({
    answers: [{
      text: "I read two files.",
      calls: [{ tool: "read_file", arguments: { path: "a" } }, {
        tool: "read_file",
        arguments_text: "{oops",
      }],
      usage: { inputTokens: 3, outputTokens: 5 },
    }],
  });
  assert.equal(provider.name, "scripted");
  assert.deepEqual(await eventsOf(provider, requestAfter(0)), [
    { type: "text_delta", text: "I read two files." },
    { type: "tool_call_done", callId: "call_1_1", name: "read_file", arguments: { path: "a" } },
    { type: "tool_call_done", callId: "call_1_2", name: "read_file", arguments: "{oops" },
    { type: "usage", usage: { inputTokens: 3, outputTokens: 5 } },
    { type: "done", finishReason: "stop" },
  ]);
});

Deno.test("scripted has AR-32's capabilities unless the script declares others (AR-19, AR-32, AR-36)", () => {
  assert.deepEqual(providerOf({ answers: [] }).capabilities, {
    toolCalling: true,
    strictToolSchema: true,
    parallelToolCalls: false,
    streaming: false,
    responseContinuation: false,
    maxContextTokens: 64_000,
  });
  assert.deepEqual(providerOf({ capabilities: { maxContextTokens: 9 }, answers: [] }).capabilities, {
    ...scriptedCapabilities,
    maxContextTokens: 9,
  });
});

Deno.test("scripted gives text in words if the script declares streaming", async () => {
  const provider = providerOf({ capabilities: { streaming: true }, answers: [{ text: " a  bc\nd" }, {}] });
  const events = await eventsOf(provider, requestAfter(0));
  assert.deepEqual(events.map((event) => event.type === "text_delta" ? event.text : event.type), [
    " ",
    "a  ",
    "bc\n",
    "d",
    "done",
  ]);
  assert.deepEqual((await eventsOf(provider, requestAfter(1))).map(({ type }) => type), ["done"]);
});

Deno.test("scripted reads its place off the conversation, so that the same request gets the same answer", async () => {
  const script = { answers: [{ text: "one" }, { text: "two" }, { text: "three" }] };
  const provider = providerOf(script);
  for (const answers of [1, 0, 1, 2, 1]) {
    const fresh = await eventsOf(providerOf(script), requestAfter(answers));
    assert.deepEqual(await eventsOf(provider, requestAfter(answers)), fresh);
    assert.deepEqual(fresh[0], { type: "text_delta", text: script.answers[answers]?.text });
  }
});

Deno.test("scripted that is used up is an error, and asking again does not help (AR-33)", async () => {
  const provider = providerOf({ answers: [{ text: "one" }] });
  assert.equal(await errorOf(provider, requestAfter(0)), "none");
  assert.equal(await errorOf(provider, requestAfter(1)), "script_exhausted false");
  assert.equal(await errorOf(providerOf({ answers: [] }), requestAfter(0)), "script_exhausted false");
});

Deno.test("scripted refuses to answer a conversation that its script does not expect", async () => {
  const provider = providerOf({ answers: [{ text: "one" }, { text: "two", expect: "file.txt" }] });
  assert.equal(await errorOf(provider, requestAfter(1, "content of file.txt")), "none");
  assert.equal(await errorOf(provider, requestAfter(1, "something else")), "script_mismatch false");
});

Deno.test("scripted plays errors of a provider, and says whether a retry helps", async () => {
  const provider = providerOf({ answers: [{ error: { message: "busy", retryable: true } }] });
  assert.equal(await errorOf(provider, requestAfter(0)), "model_server_failed true");
  assert.equal(await errorOf(provider, requestAfter(0)), "model_server_failed true");
  assert.equal(
    await errorOf(providerOf({ answers: [{ error: { message: "no" } }] }), requestAfter(0)),
    "model_failed false",
  );
});

Deno.test("scripted takes call ids and finish reasons as they are given, and any number of calls", async () => {
  const calls = [{ tool: "a", id: "same" }, { tool: "b", id: "same" }];
  const events = await eventsOf(
    providerOf({ answers: [{ calls, finish_reason: "tool_calls" }] }),
    requestAfter(0),
  );
  assert.deepEqual(events, [
    { type: "tool_call_done", callId: "same", name: "a", arguments: {} },
    { type: "tool_call_done", callId: "same", name: "b", arguments: {} },
    { type: "done", finishReason: "tool_calls" },
  ]);
});

Deno.test("scripted stops in the middle of an answer when it is aborted (AR-16, AR-36)", async () => {
  const provider = providerOf({ capabilities: { streaming: true }, answers: [{ text: "a b c d" }] });
  const abort = new AbortController();
  const seen: ModelEvent[] = [];
  await assert.rejects(async () => {
    for await (const event of provider.generate(requestAfter(0), abort.signal)) {
      seen.push(event);
      if (seen.length === 2) abort.abort();
    }
  });
  assert.equal(seen.length, 2);
});

Deno.test("a script is read from the agent's folder, and from nowhere else", async () => {
  const yaml =
    "answers:\n  - text: hello\n    calls:\n      - tool: read_file\n        arguments:\n          path: a.txt\n";
  await withFolder(
    { "agent/script.yaml": yaml, "agent/bad.yaml": "answers: 3\n", "out.yaml": yaml },
    async (folder) => {
      const script = await loadScript(`${folder}/agent`, "script.yaml");
      assert.deepEqual(script.answers, [{
        text: "hello",
        calls: [{ tool: "read_file", arguments: { path: "a.txt" } }],
      }]);
      await Deno.symlink("../out.yaml", `${folder}/agent/link.yaml`);
      for (
        const [path, code] of [["../out.yaml", "path_outside_root"], ["link.yaml", "path_outside_root"], [
          "none.yaml",
          "path_not_found",
        ]] as const
      ) {
        await assert.rejects(
          loadScript(`${folder}/agent`, path),
          (error) => error instanceof ScriptFileError && error.failure.code === code,
        );
      }
      await assert.rejects(
        loadScript(`${folder}/agent`, "bad.yaml"),
        /bad\.yaml:1:10: "answers" must be a list/,
      );
    },
  );
});
