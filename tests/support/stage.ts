/** A whole runtime on a stage: virtual time, a disk in memory, a scripted model, tools that act on an outside ledger. */
import { AgentDefinition } from "../../schemas/agent.ts";
import type { CatalogSource } from "../../schemas/catalog.ts";
import { type HistoryScope, HostPolicy } from "../../schemas/config.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { Recovery } from "../../schemas/recovery.ts";
import { Script } from "../../schemas/script.ts";
import { ToolDefinition, type ToolResultEnvelope } from "../../schemas/tool.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import type { Conversations } from "../../src/effects/conversation.ts";
import { createProgramCall } from "../../src/effects/program_call.ts";
import { createRoundPrepare } from "../../src/effects/round_prepare.ts";
import { type CallPerformer, createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { createSessionArchive } from "../../src/effects/session_archive.ts";
import { createTaskRun, type TaskWorkers } from "../../src/effects/task_run.ts";
import { loadShelved } from "../../src/effects/shelved.ts";
import { replay, type ReplayReport } from "../../src/kernel/replay.ts";
import { machineCode } from "../../src/machine_code.ts";
import type { Redactor } from "../../src/redact/redactor.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { type Runtime, type RuntimeOptions, startRuntime } from "../../src/runtime.ts";
import type { BuiltinTool, ToolUseContext } from "../../src/tools/tool.ts";
import { textEnvelope } from "../../src/tools/tool.ts";
import { MemoryDisk, type MemoryStore, type MemoryStoreOptions } from "./memory_store.ts";
import { builtinTools } from "../../src/tools/builtin.ts";
import { createBlobs } from "./tools.ts";
import { noServers } from "./servers.ts";
import { createWorld, type World } from "./world.ts";

/** What happened outside: survives every crash of the runtime. One line per application of an effect. */
export interface LedgerLine {
  readonly tool: string;
  readonly key: string;
}

/** How a test's tool behaves. `work` runs once it was started; what it returns is the result's text. */
export interface ToolSketch {
  readonly name: string;
  readonly effect?: "idempotent" | "conditional" | "non_idempotent";
  readonly mechanism?: "key" | "verify";
  readonly approval?: "auto" | "prompt" | "deny";
  readonly parallelSafe?: boolean;
  readonly timeoutMs?: number;
  /** Its arguments besides the text. */
  readonly properties?: JsonObject;
  readonly work?: (use: ToolUseContext, input: unknown) => Promise<string | ToolResultEnvelope>;
}

/** Makes a built-in tool from a sketch. It takes an object with an optional text. */
export function toolFrom(sketch: ToolSketch, ledger: LedgerLine[]): BuiltinTool {
  const effectClass = sketch.effect ?? "idempotent";
  const definition = ToolDefinition.parse({
    name: sketch.name,
    title: sketch.name,
    description: "A tool of a test",
    version: "1",
    inputSchema: {
      type: "object",
      properties: { text: { type: "string" }, ...sketch.properties },
      additionalProperties: false,
    },
    riskLevel: "low",
    sideEffects: effectClass !== "idempotent",
    resources: [],
    timeoutMs: sketch.timeoutMs ?? 30_000,
    outputPolicy: {},
    effectClass,
    ...(sketch.mechanism === undefined ? {} : { mechanism: sketch.mechanism }),
    approvalPolicy: sketch.approval ?? "auto",
    parallelSafe: sketch.parallelSafe ?? false,
  });
  return {
    definition,
    inputSchema: undefined as never,
    handler: async (input, use) => {
      ledger.push({ tool: sketch.name, key: "" });
      const result = await (sketch.work?.(use, input) ?? Promise.resolve(`${sketch.name} is done`));
      return typeof result === "string" ? textEnvelope(result) : result;
    },
  };
}

/** The tools of a test as one source of the catalog. */
export function sourceOf(tools: readonly BuiltinTool[]): CatalogSource {
  return {
    kind: "runtime",
    provenance: { source: "runtime", origin: "built in", trust: "trusted_local" },
    adapter: "builtin",
    remote: false,
    tools: tools.map((tool) => tool.definition),
  };
}

/** Options of {@linkcode openStage}. */
export interface StageOptions {
  readonly seed?: number;
  readonly disk?: MemoryDisk;
  readonly world?: World;
  readonly store?: MemoryStoreOptions;
  readonly answers?: readonly unknown[];
  readonly script?: unknown;
  /** Scripts of other models than the agent's own, by the whole name of the model. */
  readonly scripts?: { readonly [model: string]: unknown };
  readonly tools?: readonly ToolSketch[];
  /** Tools that come with the runtime, as they are. */
  readonly builtins?: readonly BuiltinTool[];
  /** What sessions may read of the past. */
  readonly history?: HistoryScope;
  /** Who does the work of tasks. */
  readonly workers?: TaskWorkers;
  readonly ledger?: LedgerLine[];
  readonly strict?: boolean;
  readonly code?: string;
  readonly hasAnswerer?: () => boolean;
  readonly agent?: { readonly [key: string]: unknown };
  readonly policy?: unknown;
  readonly redactor?: Redactor;
  /** How turns go on after failures of the model; by default they fail. */
  readonly recovery?: Recovery;
  readonly runtime?: Partial<RuntimeOptions>;
  /** What tools are told that the agent was granted. */
  readonly granted?: readonly string[];
  /** Sources besides the one of the stage's tools. */
  readonly sources?: readonly CatalogSource[];
}

/** A runtime on a stage. */
export interface Stage {
  readonly world: World;
  readonly disk: MemoryDisk;
  readonly handle: MemoryStore;
  readonly runtime: Runtime;
  readonly ledger: LedgerLine[];
  /** Makes a session with the stage's tools and waits until it can take prompts. */
  session(): Promise<RootAddress>;
  entries(root: RootAddress): Promise<Entry[]>;
  replay(root: RootAddress, options?: { readonly strict?: boolean }): Promise<ReplayReport>;
  /** Kills the process: what was not durable is gone. The disk and the ledger stay. */
  crash(): void;
}

/** Starts a runtime on a stage. Settles before it returns; time does not pass. */
export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const world = options.world ?? createWorld(options.seed ?? 1);
  const disk = options.disk ?? new MemoryDisk();
  const handle = disk.open(options.store ?? {});
  const ledger = options.ledger ?? [];
  const sketched = (options.tools ?? []).map((sketch) => toolFrom(sketch, ledger));
  const tools = [...sketched, ...options.builtins ?? []];
  const provider = createScriptedProvider(Script.parse(options.script ?? { answers: options.answers ?? [] }));
  const providers = new Map(
    Object.entries(options.scripts ?? {}).map((
      [model, script],
    ) => [model, createScriptedProvider(Script.parse(script))]),
  );
  const starting = startRuntime({
    store: handle,
    seams: world.seams,
    strict: options.strict ?? false,
    ...(options.code === undefined ? {} : { code: options.code }),
    ...(options.hasAnswerer === undefined ? {} : { hasAnswerer: options.hasAnswerer }),
    ...(options.redactor === undefined ? {} : { redactor: options.redactor }),
    performers: (
      {
        conversations,
        catalogOf,
        journal,
        rawArguments,
        redactor,
        seams,
        programs,
        schedules,
        tasks,
        agents,
      },
    ) => ({
      "model.generate": createModelGenerate({
        redactor,
        rawArguments,
        providerOf: (name, _, model) => name === "scripted" ? providers.get(model) ?? provider : undefined,
        transcript: (root, intent) => conversations.transcript(root, intent),
        exposureOf: (root) => conversations.exposureOf(root),
        droppedOf: (root) => conversations.droppedOf(root),
        outputOf: (root) => conversations.outputOf(root),
        readBlob: (digest) => journal.readBlob(digest),
        catalogOf,
        prepare: createRoundPrepare({ programOf: (name) => programs.find(name), redactor, seams }),
        seams,
      }),
      ...noServers,
      "tool.call": loaded(
        conversations,
        createToolCall({
          redactor,
          rawArguments,
          tools: new Map([...builtinTools, ...tools.map((tool) => [tool.definition.name, tool] as const)]),
          tasks,
          agents,
          catalogOf,
          workspaceOf: () => undefined as never,
          permissionsOf: () => ({ mode: "default", capabilities: options.granted ?? [] }),
          messages: (root, intent) => conversations.transcript(root, intent),
          appState: (root) => conversations.stateOf(root),
          blobs: createBlobs(),
          seams,
          sessionsOf: ({ root, request, note = () => {} }) =>
            createSessionArchive({
              journal,
              clock: seams.clock,
              root,
              isOperators: options.history === "operator",
              ordinal: request.args.invocation,
              note,
            }),
          schedules: (root, key) => schedules.of(root, key),
          program: createProgramCall({ programOf: (name) => programs.find(name), seams }),
        }),
      ),
      "tool.verify": createToolVerify(),
      "task.run": createTaskRun(options.workers ?? {}),
    }),
    ...options.runtime,
  });
  const runtime = await settled(world, starting);
  return stageOf({ world, disk, handle, runtime, ledger }, tools, options);
}

/** As a host does: a session's journal is read before its tools are called. */
function loaded(conversations: Conversations, perform: CallPerformer): CallPerformer {
  return async (call) => {
    await conversations.load(call.root);
    return await perform(call);
  };
}

/** Waits for a promise while the world runs; time does not pass. */
export async function settled<T>(world: World, promise: Promise<T>): Promise<T> {
  let isDone = false;
  promise.then(() => isDone = true, () => isDone = true);
  for (let turns = 0; !isDone; turns++) {
    if (turns > 1_000) throw new Error("Waited for something that never happens without time passing");
    await world.settle();
  }
  return await promise;
}

function stageOf(
  parts: Pick<Stage, "world" | "disk" | "handle" | "runtime" | "ledger">,
  tools: readonly BuiltinTool[],
  options: StageOptions,
): Stage {
  const { world, handle, runtime } = parts;
  const agent = AgentDefinition.parse({
    name: "test",
    model: "scripted/test",
    tools: tools.map((tool) => tool.definition.name),
    ...options.agent,
  });
  return {
    ...parts,
    session: async () => {
      const made = runtime.createSession({
        agent,
        coreRevision: "core-1",
        home: "embedded:test",
        sources: [sourceOf(tools), ...options.sources ?? []],
        policy: HostPolicy.parse(options.policy ?? {}),
        recovery: options.recovery,
      });
      const address = await settled(world, made);
      await world.settle();
      return address;
    },
    entries: async (root) => {
      const found: Entry[] = [];
      await settled(
        world,
        (async () => {
          for await (const entry of runtime.journal.readEntries(root)) found.push(entry);
        })(),
      );
      return found;
    },
    replay: (root, replayOptions = {}) =>
      settled(
        world,
        replay({
          address: root,
          pages: runtime.journal.readPages(root),
          code: options.code ?? machineCode,
          digest: world.seams.digest,
          loadShelved: (hash) => loadShelved(runtime.journal, hash),
          ...replayOptions,
        }),
      ),
    crash: () => {
      handle.die();
      runtime.kernel.stopped = "stopped";
      runtime.journal.writer.abandon();
      world.crash();
    },
  };
}
