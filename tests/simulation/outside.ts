/** The world outside: targets of tools with a ledger, a model, requests on the wire. It outlives every crash. */
import type { PortRequest } from "../../schemas/effect.ts";
import { failure } from "../../schemas/failure.ts";
import type { ToolResultEnvelope } from "../../schemas/tool.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { createMcpConnection } from "../../src/effects/mcp_connection.ts";
import { createModelGenerate } from "../../src/effects/model_generate.ts";
import type { Performance, Performer, PerformerResult } from "../../src/effects/performer.ts";
import { createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { keys } from "../../src/journal/keys.ts";

import type { HostPerformers, HostServices } from "../../src/host_services.ts";
import { errorEnvelope, textEnvelope } from "../../src/tools/tool.ts";
import type { MemoryDisk } from "../support/memory_store.ts";
import { type Attempt, nextOf, type Send } from "./attempt.ts";
import type { Bug } from "./bugs.ts";
import type { Life } from "./life.ts";
import { type Fate, long, poisons, type Scenario, type Tool, toolNamed, tools } from "./scenario.ts";
import { noServers } from "../support/servers.ts";
import { ownCapabilities, ownTools } from "./own_tools.ts";
import { playModel } from "./play_model.ts";
import { servedCalls } from "./served_calls.ts";
import { type ServerMemory, SimulatedServers } from "./servers.ts";
import { blobsOf, builtinOf, type Given, openTask, ownOf, refused } from "./targets.ts";
import { hire } from "./task_scenario.ts";
import { withSecret } from "./secrets.ts";
import type { Sites } from "./sites.ts";
import { workAs } from "./works.ts";

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

/** An answer of a target that its process got. */
export interface Heard extends Pick<LedgerLine, "root" | "id" | "life"> {
  readonly fate: Fate;
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
  readonly sites: Sites;
}

/** Targets, model and wire of one simulation. */
export class Outside {
  readonly ledger: LedgerLine[] = [];
  readonly performed: Performed[] = [];
  /** What targets answered to processes that lived. */
  readonly heard: Heard[] = [];
  attempts: Attempt[] = [];
  readonly #options: OutsideOptions;
  readonly #memory: ServerMemory = { tasks: new Map(), versions: new Map() };
  /** What was decided for the last attempt under each key. */
  readonly #fates = new Map<string, Started>();

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
    const { scenario, sites } = this.#options;
    const { conversations, catalogOf, rawArguments, seams, journal, tasks, agents, schedules, redactor } =
      services;
    let current: Started | undefined;
    const builtins = [
      ...[...tools, hire].map((tool) => builtinOf(tool, (given) => this.#start(life, tool, current, given))),
      ...ownTools.map((tool) => ownOf(tool, () => this.#applyAtOnce(life, tool, current))),
    ];
    const connections = this.#serversOf(life);
    const call = createToolCall({
      redactor,
      rawArguments,
      tools: new Map(builtins.map((tool) => [tool.definition.name, tool])),
      catalogOf,
      workspaceOf: () => undefined as never,
      permissionsOf: () => ({ mode: "default", capabilities: ownCapabilities }),
      messages: () => Promise.resolve([]),
      appState: () => ({}),
      blobs: blobsOf(journal),
      seams,
      tasks,
      agents,
      schedules: (root, key) => schedules.of(root, key),
      mcp: servedCalls(services, connections),
    });
    const generate = createModelGenerate({
      redactor,
      rawArguments,
      providerOf: (_name, root) =>
        playModel({ life, root, scenario, performed: this.performed, sites, send: this.#send }),
      transcript: (root, intent) => conversations.transcript(root, intent),
      exposureOf: (root) => conversations.exposureOf(root),
      catalogOf,
      seams,
    });
    const perform = (performance: Started["performance"]) => {
      const tool = toolNamed(performance.request.args.entry.name);
      this.#note(life, performance, tool);
      const fate = scenario.fate(tool, performance.request.args.attempt, performance.attempt > 1);
      if (fate === "refuse") return Promise.resolve(refused(tool));
      this.#fates.set(performance.key, { performance, fate });
      // A handler is called before its performer first waits, so that it can tell which call is its own.
      current = { performance, fate };
      const answer = call(performance);
      current = undefined;
      const isTwice = fate === "twice" && tool.server === undefined;
      const result = isTwice ? twice(performance, answer) : answer;
      return scenario.isSlow() ? this.#hold(life, performance, result) : result;
    };
    const performers: HostPerformers = {
      "model.generate": (performance) => {
        this.#note(life, performance, undefined);
        return generate(performance);
      },
      ...noServers,
      ...createMcpConnection({
        connections: connections as never,
        seams,
        redactor,
        putBlob: (blob) => journal.writer.putBlob(blob),
      }),
      "tool.call": perform,
      "mcp.call": perform,
      "mcp.task": call,
      "tool.verify": this.#verifierOf(life),
      "task.run": (performance) => this.#work(life, performance),
    };
    return this.#options.bug.performers?.(performers) ?? performers;
  }

  #serversOf(life: Life): SimulatedServers {
    const { scenario } = this.#options;
    return new SimulatedServers({
      life,
      memory: this.#memory,
      send: this.#send,
      fateOf: () => scenario.serves?.() ?? "ok",
      callOf: (_connection, key, name) => {
        const started = this.#fates.get(key);
        if (started === undefined) throw new Error(`Nobody called "${name}" under ${key}`);
        const tool = toolNamed(started.performance.request.args.entry.name);
        return { fate: started.fate, apply: () => this.#apply(life, tool, started.performance) };
      },
      looks: () => Math.floor(scenario.isSlow() ? 6 : 2),
    });
  }

  #note(life: Life, performance: Noted, tool: Tool | undefined): void {
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
    const { signal } = given;
    if (started === undefined) throw new Error(`The tool "${tool.name}" was called by nobody`);
    const { performance, fate } = started;
    const { root, key } = performance;
    let isMet = true;
    const { promise, resolve, reject } = Promise.withResolvers<ToolResultEnvelope>();
    this.#send({ life, name: tool.name, root, key, fate, signal }, {
      apply: () => void (isMet = this.#apply(life, tool, performance)),
      answer: () => {
        this.heard.push({ root, id: performance.id, life: life.number, fate: isMet ? fate : "no" });
        if (!isMet) return resolve(errorEnvelope(failure("tool_failed", "It is not as it was any more")));
        const isLost = fate === "break_before" || fate === "break_after";
        const say = () =>
          isLost ? reject(new Error("The connection broke off")) : resolve(this.#said(tool, given, fate));
        if (tool.opensTask !== true || fate === "no" || fate === "break_before") return say();
        openTask(given).then((isOpen) => isOpen ? say() : reject(new Error("There is no task")), reject);
      },
    });
    return promise;
  }

  #said(tool: Tool, { text }: Given, fate: Fate): ToolResultEnvelope {
    if (fate === "long") return textEnvelope(long);
    if (fate === "poison") return textEnvelope(poisons.result);
    if (fate === "no") return errorEnvelope(failure("tool_failed", "The tool said no"));
    return textEnvelope(withSecret(`${tool.name} ${text}`, this.#options.sites));
  }

  /** A tool of the runtime itself is begun: whatever it does follows from that. */
  #applyAtOnce(life: Life, tool: Tool, started: Started | undefined): void {
    if (started === undefined) throw new Error(`The tool "${tool.name}" was called by nobody`);
    life.applied += 1;
    this.#apply(life, tool, started.performance);
  }

  /** What cannot be taken back. False if the target refuses, since it is not any more as the call wants to find it. */
  #apply(life: Life, tool: Tool, { root, id, key }: Pick<Performance, "root" | "id" | "key">): boolean {
    const isKnown = tool.mechanism !== undefined && this.#isApplied(tool, key);
    if (tool.mechanism === "precondition" && isKnown) return false;
    if (tool.mechanism !== "key" || !isKnown) {
      this.ledger.push({ tool: tool.name, root, id, key, life: life.number });
    }
    return true;
  }

  #work(life: Life, performance: Performance<"task.run">): Promise<PerformerResult> {
    this.#note(life, performance, undefined);
    const { root, id, key, request: { args: { work } } } = performance;
    const text = work.kind === "terminal.exec" ? String(work.arguments["text"]) : "";
    const fate = this.#options.scenario.work(text);
    const apply = () => void this.ledger.push({ tool: "work", root, id, key, life: life.number });
    return workAs({ life, fate, performance, send: this.#send, apply });
  }

  /** A performer that knows its result, and takes its time to tell: whoever cancels it may not wait so long (K11). */
  async #hold(
    life: Life,
    { root, key }: Pick<Performance, "root" | "key">,
    result: Promise<PerformerResult>,
  ): Promise<PerformerResult> {
    const known = await result;
    return await new Promise((resolve) => {
      const what = { life, name: "return", root, key, fate: "no" as const };
      this.#send(what, { apply: () => {}, answer: () => resolve(known) });
    });
  }

  readonly #send: Send = (what, does) => {
    const attempt = { ...what, ...does, isApplied: false, isOver: false };
    this.attempts.push(attempt);
    if (!this.#options.sites.strikes("target_prompt")) return;
    // Within this turn of the loop, as far as it goes on by itself.
    Promise.resolve().then(() => {
      while (attempt.life.isAlive && nextOf(attempt) !== undefined) this.advance(attempt);
    });
  };

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
}

/** What is noted of the start of a performer. */
interface Noted extends Pick<Performance, "root" | "id" | "key" | "attempt"> {
  readonly request: PortRequest;
}

interface Started {
  readonly performance: Performance<"tool.call"> | Performance<"mcp.call">;
  readonly fate: Fate;
}

/** A target that says everything a second time. */
async function twice(
  call: Pick<Performance, "late">,
  answer: Promise<PerformerResult>,
): Promise<PerformerResult> {
  const result = await answer;
  call.late?.(result);
  return result;
}
