/** One call of one tool through lives of a runtime: killed where a test says, started anew on what is in the store. */
import assert from "node:assert/strict";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import type { Entry } from "../../schemas/entry.ts";
import type { RootAddress } from "../../schemas/ids.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Decision } from "../../schemas/question.ts";
import type { ToolDefinition } from "../../schemas/tool.ts";
import { Script } from "../../schemas/script.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import type { OpenQuestion } from "../../src/effects/question_ask.ts";
import { createToolCall } from "../../src/effects/tool_call.ts";
import { answerQuestion } from "../../src/host/answering.ts";
import type { HostPerformers, HostServices } from "../../src/host_services.ts";
import { openJournalReader } from "../../src/journal/journal.ts";
import { submit } from "../../src/kernel/command.ts";
import type { Store } from "../../src/journal/store.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { createScriptedProvider } from "../../src/model/scripted.ts";
import { type Runtime, startRuntime } from "../../src/runtime.ts";
import type { TurnReport } from "../../src/turn_report.ts";
import { type Cut, CuttingStore } from "./cutting_store.ts";
import { MemoryDisk } from "./memory_store.ts";
import { noServers } from "./servers.ts";
import { sourceOf, toolFrom, type ToolSketch } from "./stage.ts";
import { Target } from "./target.ts";
import { createWorld, digestNow } from "./world.ts";

/** Options of {@linkcode openScene}. */
export interface SceneOptions {
  /** The tool `charge`: how a repeat of it is. */
  readonly tool: Pick<ToolSketch, "effect" | "mechanism" | "approval" | "timeoutMs">;
  /** Answers of the model; by default one call of `charge`, then the end. */
  readonly answers?: readonly unknown[];
  /** Tools besides `charge`. */
  readonly others?: readonly ToolSketch[];
  readonly strict?: boolean;
  /** Opens the data; by default a disk in memory. Called anew for every life. */
  readonly openStore?: () => Promise<Store>;
}

/** The one prompt of a scene, and the key under which it is given again and again. */
export const prompt = { text: "Charge Ada.", key: "prompt" } as const;

const charging = [{ calls: [{ tool: "charge", arguments: { text: "Ada" } }] }, { text: "Done." }];

/** A call on its way, and the lives of its runtime. */
export class CrashScene {
  readonly world = createWorld();
  readonly target: Target;
  /** Texts of the results that the model was given, by its latest request. */
  told: readonly string[] = [];
  /** Model calls of all lives. */
  asked = 0;
  /** True: the model thinks until {@linkcode answerModel}. */
  isThinking = false;
  session: RootAddress = "";
  store = new CuttingStore({} as Store);
  readonly #options: SceneOptions;
  readonly #openStore: () => Promise<Store>;
  #inner: Store | undefined;
  #thinking: (() => void)[] = [];
  #runtime: Runtime | undefined;

  constructor(options: SceneOptions) {
    this.#options = options;
    const disk = new MemoryDisk();
    this.#openStore = options.openStore ?? (() => Promise.resolve(disk.open()));
    this.target = new Target({ deduplicates: options.tool.mechanism === "key" });
  }

  get runtime(): Runtime {
    assert.ok(this.#runtime, "no runtime lives");
    return this.#runtime;
  }

  /** Starts a life on what is in the store. */
  async start(): Promise<void> {
    assert.equal(this.#runtime, undefined, "the life before has not ended");
    this.#inner = await this.#openStore();
    this.store = new CuttingStore(this.#inner);
    const starting = startRuntime({
      store: this.store,
      seams: this.world.seams,
      strict: this.#options.strict ?? false,
      performers: (services) => this.#performers(services),
    });
    this.#runtime = await this.through(starting);
  }

  async makeSession(): Promise<void> {
    const { others = [] } = this.#options;
    const tools = this.#tools().map(({ definition }) => definition.name);
    const made = this.runtime.createSession({
      agent: AgentDefinition.parse({ name: "test", model: "scripted/test", tools }),
      coreRevision: "core-1",
      home: "embedded:test",
      sources: [sourceOf(this.#tools())],
      policy: HostPolicy.parse({}),
    });
    this.session = await this.through(made);
    assert.equal(tools.length, 1 + others.length);
  }

  /** Offers `charge` as it is now defined, with these changes. */
  async changeTool(changes: Partial<ToolDefinition>): Promise<void> {
    const source = sourceOf(this.#tools());
    const tools = source.tools.map((tool) => tool.name === "charge" ? { ...tool, ...changes } : tool);
    const root = this.session.replace("session/", "catalog/");
    const ref = { principal: "operator:local", key: `catalog ${JSON.stringify(changes)}` };
    const message = { type: "catalog.change", sources: [{ ...source, tools }] } as never;
    const { reply } = await this.through(submit(this.runtime.kernel, { root, message, ref }));
    await this.through(reply);
  }

  /** Gives the prompt, without waiting for anything. */
  async give(): Promise<{ readonly accepted: () => Promise<void>; readonly report: Promise<TurnReport> }> {
    return await this.through(this.runtime.prompt(this.session, prompt.text, prompt.key));
  }

  /** Gives the prompt and runs until the cut is reached. */
  async giveUntil(cut: Cut): Promise<void> {
    this.store.cut = cut;
    await this.give();
    this.runtime.journal.writer.urge();
    await this.until("the cut", () => this.store.isCut);
  }

  /** Kills the process: nothing of it goes on but what it has sent. */
  crash(): void {
    this.store.die();
    this.runtime.kernel.stopped = "stopped";
    this.runtime.journal.writer.abandon();
    this.world.crash();
    this.#inner?.close();
    this.#runtime = undefined;
  }

  /** Ends the last life of a scene. */
  async end(): Promise<void> {
    if (this.#runtime !== undefined) await this.through(this.#runtime.stop());
    this.#runtime = undefined;
  }

  /** All entries of the session that are in the store; also while nothing lives. */
  async entries(): Promise<Entry[]> {
    const found: Entry[] = [];
    const store = await this.#openStore();
    try {
      const journal = await openJournalReader({ store, seams: this.world.seams });
      for await (const entry of journal.readEntries(this.session)) found.push(entry);
    } finally {
      store.close();
    }
    return found;
  }

  /** Entries of one kind and type, as text of their bodies. */
  async bodies(kind: Entry["kind"], type: string): Promise<string[]> {
    const entries = await this.entries();
    return entries.filter((entry) => entry.kind === kind && entry.type === type)
      .map(({ body }) => JSON.stringify(body));
  }

  /** Rows of one kind that are in the store. */
  async rows(kind: string): Promise<number> {
    const store = await this.#openStore();
    let count = 0;
    for await (const _ of store.list({ prefix: [kind] })) count += 1;
    store.close();
    return count;
  }

  /** The one question that is open, once it is. */
  async question(): Promise<OpenQuestion> {
    await this.until("a question", () => this.runtime.questions.list().length > 0);
    const [question, another] = this.runtime.questions.list();
    assert.ok(question !== undefined && another === undefined, "there is one question");
    return question;
  }

  async answer(decision: Decision, { id, shown }: OpenQuestion, note?: string): Promise<void> {
    const given = { decision, by: localOperator, shown, ...(note === undefined ? {} : { note }) };
    await this.through(answerQuestion(this.runtime, id, given));
  }

  /** The report of the turn, to whoever gives the same prompt again. */
  async report(): Promise<TurnReport> {
    const { report } = await this.give();
    return await this.through(report);
  }

  /** Waits while the world runs, and time passes, if need be, by steps of a tenth of a second. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let waited = 0; !isSo(); waited++) {
      if (waited > 600) throw new Error(`Waited in vain for ${what}`);
      await this.world.settle();
      if (isSo()) return;
      // A file answers in its own time.
      if (this.#options.openStore !== undefined) await new Promise((go) => setTimeout(go, 1));
      await this.world.advance(this.#options.openStore === undefined ? 100 : 20);
    }
  }

  async through<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    promise.then(() => isDone = true, () => isDone = true);
    await this.until("what was asked for", () => isDone);
    return await promise;
  }

  /** Lets the model answer that thinks. */
  answerModel(): void {
    this.isThinking = false;
    for (const go of this.#thinking.splice(0)) go();
  }

  async *#think<T>(answer: () => AsyncIterable<T>): AsyncIterable<T> {
    if (this.isThinking) await new Promise<void>((go) => this.#thinking.push(go));
    yield* answer();
  }

  #tools() {
    const { tool, others = [] } = this.#options;
    const charge = { name: "charge", ...tool, work: this.target.work };
    return [charge, ...others].map((sketch) => toolFrom(sketch, []));
  }

  #performers(
    { conversations, catalogOf, rawArguments, redactor, seams, journal, tasks }: HostServices,
  ): HostPerformers {
    const shared = { redactor, rawArguments, catalogOf, seams };
    const call = createToolCall({
      ...shared,
      tools: new Map(this.#tools().map((tool) => [tool.definition.name, tool])),
      workspaceOf: () => undefined as never,
      permissionsOf: () => ({ mode: "default", capabilities: [] }),
      messages: () => Promise.resolve([]),
      appState: () => ({}),
      blobs: {
        put: (bytes, mediaType, name) => {
          const digest = digestNow(bytes);
          journal.writer.putBlob({ digest, bytes });
          return Promise.resolve({ name, mediaType, bytes: bytes.length, digest });
        },
        get: (digest) => journal.readBlob(digest),
      },
      tasks,
    });
    return {
      ...noServers,
      "model.generate": createModelGenerate({
        ...shared,
        providerOf: () => this.#model(),
        transcript: (root, intent) => conversations.transcript(root, intent),
        exposureOf: (root) => conversations.exposureOf(root),
      }),
      "tool.call": (performance) => this.target.tell(call(performance)),
      "tool.verify": this.target.verify,
    };
  }

  #model(): ModelProvider {
    const provider = createScriptedProvider(Script.parse({ answers: this.#options.answers ?? charging }));
    return {
      ...provider,
      generate: (request, signal) => {
        this.asked += 1;
        this.told = request.messages.filter(({ role }) => role === "tool").map(({ text }) => text);
        return this.#think(() => provider.generate(request, signal));
      },
    };
  }
}

/** A scene whose first life runs and has a session. */
export async function openScene(options: SceneOptions): Promise<CrashScene> {
  const scene = new CrashScene(options);
  await scene.start();
  await scene.makeSession();
  return scene;
}
