/** The simulated MCP servers of one life: what its connections reach, and what becomes of each request on the wire. */
import type { McpEnd, McpGreeting, McpNews } from "../../schemas/effect.ts";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import { type RootAddress, serverOf } from "../../schemas/ids.ts";
import type { McpCall, McpCallResult } from "../../src/mcp/call.ts";
import type { McpClient } from "../../src/mcp/client.ts";
import type { Close, ConnectOrder, Launch, Watch } from "../../src/mcp/connection_orders.ts";
import type { Send } from "./attempt.ts";
import type { Life } from "./life.ts";
import type { Fate } from "./scenario.ts";
import { isTask, listOf } from "./served_tools.ts";

/** A task as its server keeps it. */
interface ServedTask {
  readonly text: string;
  /** How often it is still looked at before it has ended. */
  left: number;
  status: "working" | "completed" | "failed" | "cancelled";
}

/** What servers keep while no runtime is there: their tasks, and which tools they have. */
export interface ServerMemory {
  readonly tasks: Map<string, ServedTask>;
  readonly versions: Map<string, number>;
}

/** How a request of a call goes, and what its target does once it takes hold. */
export interface ServedCall {
  readonly fate: Fate;
  readonly apply: () => void;
}

/** Options of {@linkcode SimulatedServers}. */
export interface SimulatedServersOptions {
  readonly life: Life;
  readonly memory: ServerMemory;
  readonly send: Send;
  /** How a start, a list or a look at a task goes. */
  readonly fateOf: (what: "connect" | "list" | "poll") => Fate;
  /** The call of a key. */
  readonly callOf: (root: RootAddress, key: string, tool: string) => ServedCall;
  /** How often a new task is looked at before it has ended. */
  readonly looks: () => number;
}

interface Live {
  readonly launch: number;
  readonly client: McpClient;
  readonly fingerprint: string;
  readonly ended: PromiseWithResolvers<McpNews>;
  changed: PromiseWithResolvers<McpNews>;
  /** Aborted once the server is gone. */
  readonly gone: AbortController;
  served: number;
  inFlight: number;
  quietSinceMs: number;
}

const lost = retryableFailure("mcp_connection_lost", "The server is gone");
const unknownTask = -32_602;
const end: McpEnd = { code: 0, signal: null, stderr: "" };

/** Servers that are processes of one life: they end with it. */
export class SimulatedServers {
  readonly #options: SimulatedServersOptions;
  readonly #live = new Map<RootAddress, Live>();

  constructor(options: SimulatedServersOptions) {
    this.#options = options;
  }

  clientOf(root: RootAddress): McpClient | undefined {
    return this.#live.get(root)?.client;
  }

  fingerprintOf(root: RootAddress): string | undefined {
    return this.#live.get(root)?.fingerprint;
  }

  takeUrlDecisions(): readonly never[] {
    return [];
  }

  repeatsArguments(): boolean {
    return false;
  }

  async connect(order: ConnectOrder): Promise<McpGreeting | Failure> {
    const { root, launch, declaration, deadlineAtMs, signal } = order;
    this.#end(root, lost);
    const greeted = await this.#ask({ root, what: "connect", signal, untilMs: deadlineAtMs });
    if (signal.aborted) return failure("mcp_connection_closed", "Connecting was given up");
    if (greeted === "silent") return retryableFailure("mcp_connect_timed_out", "It did not greet in time");
    if (greeted !== "answered") return retryableFailure("mcp_connect_failed", "It ended at once");
    const live: Live = {
      launch,
      client: this.#clientFor(root),
      fingerprint: declaration.fingerprint,
      ended: Promise.withResolvers(),
      changed: Promise.withResolvers(),
      gone: new AbortController(),
      served: 0,
      inFlight: 0,
      quietSinceMs: this.#now,
    };
    this.#live.set(root, live);
    return {
      protocolVersion: "2025-11-25",
      server: { name: declaration.server, version: "1" },
      tookMs: 5,
      capabilities: ["tools", "tasks"],
    };
  }

  async list({ root, launch }: Launch, signal: AbortSignal): Promise<readonly unknown[] | Failure> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return lost;
    const version = this.#options.memory.versions.get(serverOf(root)) ?? 0;
    const listed = await this.#ask({ root, what: "list", signal, untilMs: this.#now + 10_000 });
    if (listed === "answered" && !live.gone.signal.aborted) return listOf(version);
    this.#end(root, lost);
    return lost;
  }

  async watch({ root, launch, stale, idleMs = Infinity, signal }: Watch): Promise<McpNews | Failure> {
    const live = this.#liveOf({ root, launch });
    if (live === undefined) return failure("interrupted", "It ended with its runtime");
    const { clock } = this.#options.life.seams;
    const enough = new AbortController();
    const leave = () => enough.abort();
    signal?.addEventListener("abort", leave, { once: true });
    for (;;) {
      const quietMs = live.inFlight > 0 ? this.#now : live.quietSinceMs;
      const idle = clock.sleepUntil(quietMs + idleMs, enough.signal).then(() => ({ type: "idle" } as const));
      const changed = stale === true ? [] : [live.changed.promise];
      const news = await Promise.race([live.ended.promise, idle, ...changed]);
      const isBusy = live.inFlight > 0 || live.quietSinceMs + idleMs > this.#now;
      if (news.type === "idle" && isBusy && !enough.signal.aborted) continue;
      enough.abort();
      // What changes from now on is told to whoever watches next; whoever is idle takes no call any more.
      if (news.type === "list_changed") live.changed = Promise.withResolvers();
      if (news.type === "idle" && this.#live.get(root) === live) this.#live.delete(root);
      return news;
    }
  }

  close({ root, launch }: Close): Promise<McpEnd> {
    if (this.#liveOf({ root, launch }) !== undefined) this.#end(root, lost);
    return Promise.resolve(end);
  }

  get #now(): number {
    return this.#options.life.seams.clock.now();
  }

  #liveOf({ root, launch }: Launch): Live | undefined {
    const live = this.#live.get(root);
    return live?.launch === launch ? live : undefined;
  }

  /** The server is gone: whoever waits for anything of it hears so. */
  #end(root: RootAddress, why: Failure): void {
    const live = this.#live.get(root);
    if (live === undefined) return;
    this.#live.delete(root);
    live.gone.abort();
    live.ended.resolve({ type: "ended", failure: why, served: live.served });
  }

  #changed(root: RootAddress): void {
    const { versions } = this.#options.memory;
    const server = serverOf(root);
    versions.set(server, (versions.get(server) ?? 0) + 1);
    this.#live.get(root)?.changed.resolve({ type: "list_changed" });
  }

  /** A question without any effect. */
  async #ask({ root, what, signal, untilMs }: {
    readonly root: RootAddress;
    readonly what: "connect" | "list" | "poll";
    readonly signal: AbortSignal;
    readonly untilMs: number;
  }): Promise<"answered" | "silent" | "ended" | "broke"> {
    const { life, send, fateOf } = this.#options;
    const fate = fateOf(what);
    const enough = new AbortController();
    const told = new Promise<"answered" | "ended" | "broke">((resolve) => {
      const answer = () =>
        resolve(fate === "dies_before" ? "ended" : fate === "break_before" ? "broke" : "answered");
      if (fate !== "stall") {
        send({ life, name: what, root, key: `${root} ${what}`, fate: "no" }, { apply: () => {}, answer });
      }
    });
    const silent = life.seams.clock.sleepUntil(untilMs, enough.signal).then(() => "silent" as const);
    const aborted = new Promise<"silent">((resolve) => {
      if (signal.aborted) resolve("silent");
      signal.addEventListener("abort", () => resolve("silent"), { once: true });
    });
    const heard = await Promise.race([told, silent, aborted]);
    enough.abort();
    return heard;
  }

  #clientFor(root: RootAddress): McpClient {
    return {
      greeting: { protocolVersion: "2025-11-25", server: { name: serverOf(root), version: "1" } },
      isRemote: false,
      list: () => Promise.reject(new Error("Lists are asked of the connections")),
      call: (call) =>
        this.#counted(root, call.request === undefined ? this.#call(root, call) : this.#look(root, call)),
      listChanged: () => new Promise(() => {}),
      taskTold: () => new Promise(() => {}),
      closed: new Promise(() => {}),
      close: () => Promise.resolve(end),
      kill: () => this.#end(root, lost),
    };
  }

  async #counted(root: RootAddress, answer: Promise<McpCallResult>): Promise<McpCallResult> {
    const live = this.#live.get(root);
    if (live === undefined) return await answer;
    live.inFlight += 1;
    const result = await answer;
    live.inFlight -= 1;
    live.quietSinceMs = this.#now;
    return result;
  }

  #call(root: RootAddress, call: McpCall): Promise<McpCallResult> {
    const { life, send, callOf } = this.#options;
    const live = this.#live.get(root);
    if (live === undefined) return Promise.resolve({ status: "not_sent", failure: lost });
    const { key = "", tool, signal, onStray } = call;
    const { fate, apply } = callOf(root, key, tool);
    const { promise, resolve } = Promise.withResolvers<McpCallResult>();
    let isHeard = false;
    const hear = (result: McpCallResult) => {
      if (isHeard && result.status === "returned") onStray?.(result.result);
      isHeard = true;
      resolve(result);
    };
    const giveUp = () => hear({ status: "lost", failure: lost });
    signal.addEventListener("abort", giveUp, { once: true });
    live.gone.signal.addEventListener("abort", giveUp, { once: true });
    send({ life, name: tool, root, key, fate, signal }, {
      apply: () => {
        apply();
        if (isTask(tool)) this.#beginTask(key, String(call.arguments["text"] ?? ""));
      },
      answer: () => {
        if (live.gone.signal.aborted) return;
        live.served += 1;
        if (fate === "dies_before" || fate === "dies_after") return this.#end(root, lost);
        if (fate === "break_before" || fate === "break_after") return giveUp();
        hear(this.#resultOf(tool, key, { fate, text: String(call.arguments["text"] ?? "") }));
        if (fate === "twice") hear(this.#resultOf(tool, key, { fate, text: "again" }));
        if (fate === "changes") this.#changed(root);
      },
    });
    return promise;
  }

  #resultOf(
    tool: string,
    key: string,
    { fate, text }: { readonly fate: Fate; readonly text: string },
  ): McpCallResult {
    if (fate === "garbage") return { status: "returned", result: { garbage: text } };
    const task = this.#options.memory.tasks.get(key);
    if (isTask(tool) && task !== undefined && fate !== "no") {
      const state = { taskId: key, status: task.status, ttl: 600_000, pollInterval: 500 };
      return { status: "returned", result: { task: state } };
    }
    return { status: "returned", result: contentOf(`${tool} ${text}`, fate === "no") };
  }

  #beginTask(key: string, text: string): void {
    const { memory: { tasks }, looks } = this.#options;
    if (!tasks.has(key)) tasks.set(key, { text, left: looks(), status: "working" });
  }

  /** A look at a task, or another word about it. */
  async #look(root: RootAddress, { request, signal, idleMs }: McpCall): Promise<McpCallResult> {
    const { method, params } = request ?? { method: "", params: {} };
    const gone: McpCallResult = { status: "lost", failure: lost };
    const heard = await this.#ask({ root, what: "poll", signal, untilMs: this.#now + idleMs });
    if (heard === "ended") this.#end(root, lost);
    if (heard !== "answered" || !this.#live.has(root)) return gone;
    const task = this.#options.memory.tasks.get(String(params["taskId"]));
    if (task === undefined) {
      const failed = failure("mcp_protocol_error", "No such task");
      return { status: "refused", failure: failed, isUnknown: false, code: unknownTask };
    }
    if (method === "tasks/cancel" && task.status === "working") task.status = "cancelled";
    if (method === "tasks/result") return { status: "returned", result: contentOf(task.text, false) };
    if (task.status === "working" && task.left-- <= 0) task.status = "completed";
    const state = { taskId: String(params["taskId"]), status: task.status, pollInterval: 500 };
    return { status: "returned", result: state };
  }
}

function contentOf(text: string, isError: boolean) {
  return { content: [{ type: "text", text }], isError };
}
