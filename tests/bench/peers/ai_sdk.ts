/** The child that runs Vercel's AI SDK: `generateText` with its own mock model, no persistence, no governance. */
import process from "node:process";
import { measureAllocation } from "../allocation.ts";
import type * as protocol from "../protocol.ts";
import { serve } from "../serve.ts";
import { callsNow, caseIn, echoedText, promptOf, stepsOf, toolNames, type TurnCase } from "../turn_case.ts";

/** What this peer uses of the packages. They are in `peers/deno.json` only, so the product's graph has no types of them. */
interface AiSdk {
  readonly generateText: (
    options: object,
  ) => Promise<{ readonly text: string; readonly steps: readonly unknown[] }>;
  readonly tool: (definition: object) => object;
  readonly stepCountIs: (steps: number) => unknown;
}

interface AiSdkTest {
  readonly MockLanguageModelV4: new (
    options: { doGenerate: (call: ModelCall) => Promise<object> },
  ) => MockModel;
}

interface MockModel {
  readonly doGenerateCalls: unknown[];
}

interface Zod {
  readonly strictObject: (fields: object) => object;
  readonly string: () => object;
}

interface ModelCall {
  readonly prompt: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly type: string; readonly text?: string }[];
  }[];
}

// Names in variables: the checker of the product's own graph must not look for these packages.
const [sdkName, testName, zodName]: readonly string[] = ["ai", "ai/test", "zod"];
const sdk = await import(String(sdkName)) as AiSdk;
const { MockLanguageModelV4 } = await import(String(testName)) as AiSdkTest;
const { z } = await import(String(zodName)) as { readonly z: Zod };

let executed = 0;

const echo = sdk.tool({
  description: "Echo: Gives its text back",
  inputSchema: z.strictObject({ text: z.string() }),
  execute: ({ text }: { readonly text: string }) => {
    executed += 1;
    return Promise.resolve(text);
  },
});
const tools = { [toolNames.idempotent]: echo, [toolNames.non_idempotent]: echo };

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

const model = new MockLanguageModelV4({
  doGenerate: ({ prompt }) => {
    const last = prompt.findLastIndex(({ role }) => role === "user");
    const [part] = prompt[last]?.content ?? [];
    const asked = caseIn(typeof part === "object" ? part.text ?? "" : "");
    let done = 0;
    for (let index = last + 1; index < prompt.length; index++) {
      if (prompt[index]?.role === "tool") done += prompt[index]?.content.length ?? 0;
    }
    return Promise.resolve(answer(asked, done));
  },
});

function answer(asked: TurnCase, done: number): object {
  const calls = callsNow(asked, done);
  if (calls === 0) {
    const content = [{ type: "text", text: "Done" }];
    return { content, finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
  }
  const content = Array.from({ length: calls }, (_, index) => ({
    type: "tool-call",
    toolCallId: `call-${done + index}`,
    toolName: toolNames[asked.effect],
    input: JSON.stringify({ text: echoedText }),
  }));
  return { content, finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
}

async function turn(asked: TurnCase): Promise<void> {
  const before = executed;
  model.doGenerateCalls.length = 0; // The mock keeps every call it ever had; that is not the peer's cost.
  const { text, steps } = await sdk.generateText({
    model,
    tools,
    prompt: promptOf(asked),
    stopWhen: sdk.stepCountIs(stepsOf(asked) + 1),
  });
  const isRight = text === "Done" && steps.length === stepsOf(asked) + 1 && executed - before === asked.calls;
  if (!isRight) {
    throw new Error(`The turn made ${executed - before} calls in ${steps.length} steps: "${text}"`);
  }
}

async function runTurns({ asked, turns }: protocol.TurnsRequest): Promise<protocol.TurnsAnswer> {
  const cpuBefore = process.cpuUsage();
  const times: number[] = [];
  for (let index = 0; index < turns; index++) {
    const start = performance.now();
    await turn(asked);
    times.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { times, cpuMs: (user + system) / 1_000 };
}

await serve({
  turns: runTurns,
  allocation: ({ asked, ...window }) => measureAllocation(() => turn(asked), window),
});
