/** The world outside: targets of tools with a ledger, a model, requests on the wire. It outlives every crash. */
import { createDoorRedactor } from "../../src/effects/clean.ts";
import type { PortKind } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import type { Performance, Performer, PerformerResult } from "../../src/effects/performer.ts";
import { createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { keys } from "../../src/journal/keys.ts";
import type { ModelProvider } from "../../src/model/provider.ts";
import { scriptedCapabilities } from "../../src/model/scripted.ts";
import type { HostPerformers, HostServices } from "../../src/host_services.ts";
import { errorEnvelope, textEnvelope } from "../../src/tools/tool.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { digestNow } from "../support/world.ts";
import { type Attempt, nextOf } from "./attempt.ts";
import type { Bug } from "./bugs.ts";
import type { Life } from "./life.ts";
import { type Fate, long, poisons, type Scenario, type Tool, toolNamed, tools } from "./scenario.ts";
import { noServers } from "../support/servers.ts";
import { builtinOf, eventsOf, type Given, openTask, refused } from "./targets.ts";
import { hire } from "./task_scenario.ts";

/** One application of an effect: what cannot be taken back. */
export interface LedgerLine {
  readonly tool: string;
  readonly root: string;
  readonly id: string;
  readonly key: string;
  readonly life: number;
}

/** One start of a performer, as seen from outside the runtime. */
export interface Performed {
  readonly life: number;
  readonly port: string;
  readonly root: string;
  readonly id: string;
  readonly key: string;
  readonly attempt: number;
  readonly effect: string;
  readonly tool: string | undefined;
  /** Canonical text of the request. */
  readonly request: string;
  /** End of its root's stream in the store when it started. */
  readonly durableTo: number;
  /** True unless its machine, as far as it is awake, does not wait for it any more. */
  readonly isWanted: boolean;
  /** For a model call: the conversation that its provider was given, as JSON text. */
  conversation?: string;
}

/** True if the intent of a performance was in the store when it started. */
export function wasDurable({ id, durableTo }: Performed): boolean {
  return durableTo >= Number(id.split(".")[0]);
}

/** Options of {@linkcode Outside}. */
export interface OutsideOptions {
  readonly disk: MemoryDisk;
  readonly scenario: Scenario;
  /** True if targets can be asked whether an effect was applied. */
  readonly canVerify: boolean;
  readonly trace: (line: string) => void;
  readonly bug: Bug;
}

/** Targets, model and wire of one simulation. */
export class Outside {
  readonly ledger: LedgerLine[] = [];
  readonly performed: Performed[] = [];
  attempts: Attempt[] = [];
  readonly #options: OutsideOptions;

  constructor(options: OutsideOptions) {
    this.#options = options;
  }

  /** Attempts that can go on, without those that are over. */
  moving(): Attempt[] {
    this.attempts = this.attempts.filter((one) => !one.isOver && (one.life.isAlive || !one.isApplied));
    return this.attempts.filter((attempt) => nextOf(attempt) !== undefined);
  }

  /** Takes an attempt's next step. */
  advance(attempt: Attempt): void {
    const step = nextOf(attempt);
    if (step === undefined) return;
    this.#options.trace(`${attempt.life.number} ${attempt.name} ${attempt.key} ${step} (${attempt.fate})`);
    if (step === "apply") {
      attempt.life.applied += 1;
      attempt.isApplied = true;
      attempt.apply();
    } else {
      attempt.isOver = true;
      attempt.answer();
    }
  }

  /** The performers of one life: the runtime's own, with targets that only move when the driver says so. */
  performersOf(life: Life, services: HostServices): HostPerformers {
    const { conversations, catalogOf, rawArguments, seams, journal, tasks } = services;
    let current: Started | undefined;
    const builtins = [...tools, hire].map((tool) =>
      builtinOf(tool, (given) => this.#start(life, tool, current, given))
    );
    const call = createToolCall({
      redactor: createDoorRedactor(),
      rawArguments,
      tools: new Map(builtins.map((tool) => [tool.definition.name, tool])),
      catalogOf,
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
      seams,
      tasks,
    });
    const generate = createModelGenerate({
      redactor: createDoorRedactor(),
      rawArguments,
      providerOf: (_name, root) => this.#modelOf(life, root),
      transcript: (root, intent) => conversations.transcript(root, intent),
      exposureOf: (root) => conversations.exposureOf(root),
      catalogOf,
      seams,
    });
    const performers: HostPerformers = {
      "model.generate": (performance) => {
        this.#note(life, performance, undefined);
        return generate(performance);
      },
      ...noServers,
      "tool.call": (performance) => {
        const tool = toolNamed(performance.request.args.entry.name);
        this.#note(life, performance, tool);
        const fate = this.#options.scenario.fate(
          tool,
          performance.request.args.attempt,
          performance.attempt > 1,
        );
        if (fate === "refuse") return Promise.resolve(refused(tool));
        // A handler is called before its performer first waits, so that it can tell which call is its own.
        current = { performance, fate };
        const answer = call(performance);
        current = undefined;
        const result = fate === "twice" ? twice(performance, answer) : answer;
        return this.#options.scenario.isSlow() ? this.#hold(life, performance, result) : result;
      },
      "tool.verify": this.#verifierOf(life),
      "task.run": (performance) => this.#work(life, performance),
    };
    return this.#options.bug.performers?.(performers) ?? performers;
  }

  #note<K extends PortKind>(life: Life, performance: Performance<K>, tool: Tool | undefined): void {
    const { root, id, key, attempt, request } = performance;
    const head = this.#options.disk.get(keys.head(root))?.value as { readonly seq: number } | undefined;
    this.performed.push({
      life: life.number,
      port: request.port,
      root,
      id,
      key,
      attempt,
      effect: request.effect,
      tool: tool?.name,
      request: canonicalJson(request),
      durableTo: head?.seq ?? 0,
      isWanted: life.runtime?.kernel.roots.get(root)?.ports.has(id) ?? true,
    });
    this.#options.trace(
      `${life.number} perform ${request.port} ${tool?.name ?? ""} ${key} attempt ${attempt}`,
    );
  }

  #start(
    life: Life,
    tool: Tool,
    started: Started | undefined,
    given: Given,
  ): Promise<ToolResultEnvelope> {
    const { text, signal } = given;
    if (started === undefined) throw new Error(`The tool "${tool.name}" was called by nobody`);
    const { performance: { root, id, key }, fate } = started;
    const { promise, resolve, reject } = Promise.withResolvers<ToolResultEnvelope>();
    this.#send({ life, name: tool.name, root, key, fate, signal }, {
      apply: () => {
        const isKnown = tool.mechanism === "key" && this.#isApplied(tool, key);
        if (!isKnown) this.ledger.push({ tool: tool.name, root, id, key, life: life.number });
      },
      answer: () => {
        if (tool.opensTask === true) {
          openTask(given).then(
            (isOpen) => isOpen ? resolve(textEnvelope(text)) : reject(new Error("There is no task")),
            reject,
          );
        } else if (fate === "ok" || fate === "late" || fate === "twice") {
          resolve(textEnvelope(`${tool.name} ${text}`));
        } else if (fate === "long") resolve(textEnvelope(long));
        else if (fate === "poison") resolve(textEnvelope(poisons.result));
        else if (fate === "no") resolve(errorEnvelope(failure("tool_failed", "The tool said no")));
        else reject(new Error("The connection broke off"));
      },
    });
    return promise;
  }

  /** The work of a task: of two of a call, one ends well and one breaks off, so that nobody knows. */
  #work(life: Life, performance: Performance<"task.run">): Promise<PerformerResult> {
    this.#note(life, performance, undefined);
    const { root, id, key, request } = performance;
    const { promise, resolve, reject } = Promise.withResolvers<PerformerResult>();
    const breaks = JSON.stringify(request.args.work).includes('"text":"b"');
    this.#send({ life, name: "work", root, key, fate: breaks ? "break_after" : "ok" }, {
      apply: () => void this.ledger.push({ tool: "work", root, id, key, life: life.number }),
      answer: () => {
        if (breaks) reject(new Error("The work broke off"));
        else resolve({ status: "ok", value: { status: "succeeded", summary: "well" } });
      },
    });
    return promise;
  }

  /** A performer that knows its result, and takes its time to tell: whoever cancels it may not wait so long (K11). */
  async #hold(
    life: Life,
    { root, key }: Performance<"tool.call">,
    result: Promise<PerformerResult>,
  ): Promise<PerformerResult> {
    const known = await result;
    return await new Promise((resolve) => {
      const what = { life, name: "return", root, key, fate: "no" as const };
      this.#send(what, { apply: () => {}, answer: () => resolve(known) });
    });
  }

  #send(
    what: Pick<Attempt, "life" | "name" | "root" | "key" | "fate" | "signal">,
    does: Pick<Attempt, "apply" | "answer">,
  ): void {
    this.attempts.push({ ...what, ...does, isApplied: false, isOver: false });
  }

  #isApplied(tool: Tool, key: string): boolean {
    return this.ledger.some((line) => line.tool === tool.name && line.key === key);
  }

  /** A look-up reads its own writes: what it does not see will not be applied later either (notes 3.2). */
  #verifierOf(life: Life): Performer<"tool.verify"> {
    const refuse = createToolVerify();
    return (performance) => {
      const tool = toolNamed(performance.request.args.entry.name);
      this.#note(life, performance, tool);
      if (!this.#options.canVerify) return refuse(performance);
      const { promise, resolve } = Promise.withResolvers<PerformerResult>();
      const { root, key } = performance;
      this.#send({ life, name: `verify ${tool.name}`, root, key, fate: "no" }, {
        apply: () => {},
        answer: () => {
          for (const other of this.attempts) {
            if (other.key === key && other.name === tool.name) other.isOver = true;
          }
          resolve({ status: "ok", value: { applied: this.#isApplied(tool, key) } });
        },
      });
      return promise;
    };
  }

  #modelOf(life: Life, root: string): ModelProvider {
    const { scenario } = this.#options;
    const { performed } = this;
    const wait = () =>
      new Promise<void>((resolve) => {
        const what = { life, name: "model", root, key: `${root} model`, fate: "no" as const };
        this.#send(what, { apply: () => {}, answer: resolve });
      });
    return {
      name: "play",
      capabilities: { ...scriptedCapabilities, parallelToolCalls: true },
      async *generate({ messages }) {
        const call = performed.findLast((one) => one.root === root && one.port === "model.generate");
        if (call !== undefined) call.conversation = JSON.stringify(messages);
        const asked = messages.findLastIndex((message) => message.role === "user");
        const step = messages.slice(asked).filter((message) => message.role === "assistant").length;
        await wait();
        yield* eventsOf(scenario.answer(messages[asked]?.text ?? "", step), `${asked}_${step}`);
      },
    };
  }
}

interface Started {
  readonly performance: Performance<"tool.call">;
  readonly fate: Fate;
}

/** A target that says everything a second time. */
async function twice(
  call: Performance<"tool.call">,
  answer: Promise<PerformerResult>,
): Promise<PerformerResult> {
  const result = await answer;
  call.late?.(result);
  return result;
}
