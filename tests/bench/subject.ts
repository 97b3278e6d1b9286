/** Our runtime as the bench measures it: a mock model, two tools that only echo, and a counter of cranks. */
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { z } from "zod";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import type { ModelEvent, ModelMessage } from "../../schemas/model.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import { createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { openKvStore } from "../../src/journal/kv_store.ts";
import type { Store } from "../../src/journal/store.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { type Runtime, startRuntime } from "../../src/runtime.ts";
import type { HostPerformers, HostServices } from "../../src/host_services.ts";
import type { Seams } from "../../src/seams.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { type BuiltinTool, defineTool, textEnvelope } from "../../src/tools/tool.ts";
import { sourceOf } from "../support/stage.ts";
import { createBlobs } from "../support/tools.ts";
import type { Counts } from "./protocol.ts";
import { noServers } from "../support/servers.ts";
import { callsNow, caseIn, echoedText, promptOf, stepsMax, toolNames, type TurnCase } from "./turn_case.ts";

/** A runtime ready for turns. */
export interface Subject {
  readonly runtime: Runtime;
  readonly seams: Seams;
  /** Makes a session. */
  session(): Promise<RootAddress>;
  /** Runs one turn to its durable end; throws if it does not complete. */
  turn(session: RootAddress, asked: TurnCase): Promise<void>;
  /** What was counted since the subject was opened. */
  counts(): Omit<Counts, "turns">;
  stop(): Promise<void>;
}

/** Options of {@linkcode openSubject}. */
export interface SubjectOptions {
  /** Path of the store's file, or `:memory:`. */
  readonly location: string;
  /** Puts something between the runtime and its store, for timing. */
  readonly wrapStore?: (store: Store) => Store;
  readonly wrapSeams?: (seams: Seams) => Seams;
  /** How long the tool takes that only echoes. Milliseconds; default 0. */
  readonly echoMs?: number;
  /** Default: the mock model. */
  readonly model?: ModelProvider;
  /** Default 50. */
  readonly awakeMax?: number;
}

/** Opens a store and starts a runtime on it. */
export async function openSubject(options: SubjectOptions): Promise<Subject> {
  const plain = createSystemSeams({ log: (event) => console.error(JSON.stringify(event)) });
  const seams = options.wrapSeams?.(plain) ?? plain;
  const opened = await openKvStore(options.location, { log: seams.log });
  const runtime = await startRuntime({
    store: options.wrapStore?.(opened) ?? opened,
    seams,
    performers: (services) =>
      benchPerformers(services, {
        model: options.model ?? mockModel,
        offered: toolsOf(options.echoMs ?? 0),
      }),
    awakeMax: options.awakeMax ?? 50,
  });
  let cranks = 0;
  runtime.watch((event) => {
    if (event.type !== "entries") return;
    for (const entry of event.entries) if (entry.cause === entry.seq) cranks += 1;
  });
  return {
    runtime,
    seams,
    session: () => createSession(runtime),
    turn: async (session, asked) => {
      const { report } = await runtime.prompt(session, promptOf(asked));
      const { outcome, failure } = await report;
      if (outcome !== "completed") throw new Error(`The turn ${outcome}: ${failure?.message}`);
    },
    counts: () => {
      const { commits, entries, bytes } = runtime.journal.writer.counters;
      return { flushes: commits, entries, bytes, cranks };
    },
    stop: () => runtime.stop(),
  };
}

const echo = defineTool({
  name: toolNames.idempotent,
  title: "Echo",
  description: "Gives its text back",
  resource: { kind: "text", scope: "call" },
  parallelSafe: true,
  inputSchema: z.strictObject({ text: z.string() }),
  run: ({ text }) => Promise.resolve(textEnvelope(text)),
});

/** The same tool, but for what a repeat would do: it starts only once its intent is durable. */
const post: BuiltinTool = {
  ...echo,
  definition: {
    ...echo.definition,
    name: toolNames.non_idempotent,
    effectClass: "non_idempotent",
    sideEffects: true,
  },
};

const tools = [echo, post] as const;

/** The tools, the first of which may take its time. */
function toolsOf(echoMs: number): readonly BuiltinTool[] {
  if (echoMs === 0) return tools;
  const handler: BuiltinTool["handler"] = async (input, use) => {
    await new Promise((resolve) => setTimeout(resolve, echoMs));
    return await echo.handler(input, use);
  };
  return [{ ...echo, handler }, post];
}

/** Calls a tool as nobody governs it: its handler, with the arguments that the model gives. */
export function callDirectly(effect: TurnCase["effect"]): Promise<unknown> {
  const { handler } = effect === "idempotent" ? echo : post;
  return handler({ text: echoedText }, undefined as never); // These handlers use nothing but their input.
}

/** What a runtime of the bench is made with: its model, and the tools that touch no files. */
export function benchPerformers(
  { conversations, catalogOf, rawArguments, seams, tasks, agents }: HostServices,
  { model, offered }: { readonly model: ModelProvider; readonly offered: readonly BuiltinTool[] },
): HostPerformers {
  return {
    "model.generate": createModelGenerate({
      redactor: createDoorRedactor(),
      rawArguments,
      providerOf: () => model,
      transcript: (root, intent) => conversations.transcript(root, intent),
      exposureOf: (root) => conversations.exposureOf(root),
      catalogOf,
      seams,
    }),
    ...noServers,
    "tool.call": createToolCall({
      redactor: createDoorRedactor(),
      rawArguments,
      tools: new Map(offered.map((tool) => [tool.definition.name, tool])),
      catalogOf,
      workspaceOf: () => undefined as never, // The tools of the bench touch no files.
      permissionsOf: () => ({ mode: "default", capabilities: [] }),
      messages: () => Promise.resolve([]),
      appState: () => ({}),
      blobs: createBlobs(),
      seams,
      tasks,
      agents,
    }),
    "tool.verify": createToolVerify(),
  };
}

/** A model that makes the calls that its prompt asks for, and answers. */
export const mockModel: ModelProvider = {
  name: "mock",
  capabilities: {
    toolCalling: true,
    strictToolSchema: true,
    parallelToolCalls: true,
    streaming: false,
    responseContinuation: false,
    maxContextTokens: 100_000,
  },
  generate: ({ messages }) => answer(messages),
};

async function* answer(messages: readonly ModelMessage[]): AsyncIterable<ModelEvent> {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const asked = caseIn(messages[last]?.text ?? "");
  let done = 0;
  for (let index = last + 1; index < messages.length; index++) {
    if (messages[index]?.role === "tool") done += 1;
  }
  const calls = callsNow(asked, done);
  for (let index = 0; index < calls; index++) {
    const callId = `call-${done + index}`;
    yield { type: "tool_call_done", callId, name: toolNames[asked.effect], arguments: { text: echoedText } };
  }
  if (calls === 0) yield { type: "text_delta", text: "Done" };
  yield { type: "usage", usage: { inputTokens: 10, outputTokens: 10 } };
  yield { type: "done", finishReason: calls > 0 ? "tool_calls" : "stop" };
}

/** A session that has its catalog: the time of its first turn holds nothing of its making. */
async function createSession(runtime: Runtime): Promise<RootAddress> {
  const session = await runtime.createSession({
    agent: AgentDefinition.parse({
      name: "bench",
      model: "mock/model",
      tools: tools.map((tool) => tool.definition.name),
      limits: { rounds_per_turn: Math.min(stepsMax + 1, limits.roundsPerTurnMax) },
    }),
    coreRevision: "bench",
    home: "embedded:bench",
    sources: [sourceOf(tools)],
    policy: HostPolicy.parse({}),
  });
  while (runtime.kernel.roots.get(session)?.state !== "idle") {
    await runtime.journal.writer.idle();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return session;
}
