/**
 * Looks after a call that its server carries out as a task (CM-34): asks how it is, as often as the server wants, until
 * it has ended, nobody wants it any more, or its time is over. Looking changes nothing, so what goes wrong with one look
 * only means that it is looked again; a new session finds the task by its handle, also after a restart.
 */
import type { CallTask } from "../../schemas/call_pause.ts";
import { type Failure, failure, type FailureCode, retryableFailure } from "../../schemas/failure.ts";
import type { JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { Binaries } from "../mcp/binaries.ts";
import type { McpCallResult } from "../mcp/call.ts";
import type { McpClient } from "../mcp/client.ts";
import { readResult } from "../mcp/result.ts";
import { type TaskState, taskStateOf } from "../mcp/task.ts";
import { errorEnvelope } from "../tools/tool.ts";
import type { Attempt, Routed } from "./adapter.ts";
import { givenUp, noLongerWanted } from "./deadline.ts";
import { type McpCallOptions, readyClient, withAttachments } from "./mcp_call.ts";

/** A call that became a task. */
export type RoutedTask = Routed & { readonly task: NonNullable<Routed["task"]> };

/** Why a task is not waited for any more. `halted`: the runtime stops, and another one goes on. */
type Stop = "canceled" | "late" | "halted";

/** How often a task is looked at that was told to end. Milliseconds. */
const farewellPollMs = 250;
/** The protocol's code for a task that the server does not know, or not any more. */
const invalidParams = -32_602;

/** Requests of one task that are declined; a server that asks on and on is not answered any more. */
const declinedMax = limits.mcpRequestsAtOnceMax * limits.mcpRoundsMax;
/** What the model is told of them. */
const declined = {
  type: "text",
  text:
    "[The server wanted something of a person while it worked, and was told no: nobody is asked for a task]",
} as const;

const doubt = "it may have been carried out: check before repeating it";

/** Looks after one task until it ends. Rejects only on a fault. */
export async function followTask(routed: RoutedTask, options: McpCallOptions): Promise<Attempt> {
  routed.begin();
  return await new TaskWatch(routed, options).run();
}

class TaskWatch {
  readonly #routed: RoutedTask;
  readonly #options: McpCallOptions;
  readonly #task: CallTask;
  readonly #over = new AbortController();
  #pollMs: number;
  #misses = 0;
  #told: string | undefined;
  /** Requests of the task that were declined. */
  readonly #declined = new Set<string>();

  constructor(routed: RoutedTask, options: McpCallOptions) {
    this.#routed = routed;
    this.#options = options;
    this.#task = routed.task.handle;
    this.#pollMs = this.#task.pollMs;
  }

  async run(): Promise<Attempt> {
    const stopped = this.#untilStopped();
    try {
      this.#tell(this.#task.message);
      for (;;) {
        const seen = await Promise.race([stopped, this.#look()]);
        if (typeof seen === "string") return await this.#giveUp(seen);
        if (seen !== undefined) return seen;
        const news = await Promise.race([stopped, this.#untilNews()]);
        if (typeof news === "string") return await this.#giveUp(news);
      }
    } finally {
      this.#over.abort(givenUp);
    }
  }

  /** Waits until nobody wants the task, or its time is over; one that is found again late is looked at once. */
  async #untilStopped(): Promise<Stop> {
    const { signal, deadlineAtMs } = this.#routed.task;
    const { clock } = this.#options;
    const canceled = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true, signal: this.#over.signal });
    });
    const lastMs = Math.max(deadlineAtMs, clock.now() + limits.mcpTaskLookMs);
    await Promise.race([canceled, clock.sleepUntil(lastMs, this.#over.signal)]);
    if (!signal.aborted) return "late";
    return signal.reason === noLongerWanted ? "canceled" : "halted";
  }

  async #untilNews(): Promise<void> {
    const { clock, clientOf } = this.#options;
    const enough = new AbortController();
    const signal = AbortSignal.any([this.#over.signal, enough.signal]);
    const client = clientOf(this.#routed.entry.binding);
    const told = client === undefined ? [] : [client.taskTold(this.#task.id, signal)];
    await Promise.race([clock.sleepUntil(clock.now() + this.#pollMs, signal), ...told]);
    enough.abort(givenUp);
  }

  /** One look: how the call ended, or undefined if it goes on, or nothing could be seen. */
  async #look(): Promise<Attempt | undefined> {
    const client = await readyClient(this.#routed.entry.binding, this.#routed, this.#options);
    if ("code" in client) return this.#missed(client);
    const answered = await this.#ask(client, "tasks/get");
    if (answered.status !== "returned") return this.#unanswered(answered);
    const state = taskStateOf(answered.result);
    if (state === undefined) return this.#misread("what it answers is no state of a task");
    this.#misses = 0;
    this.#pollMs = state.pollMs ?? this.#task.pollMs;
    return await this.#read(state, client);
  }

  /**
   * Nobody is asked for a task. A server of 2026-07-28 is told so, once for each request, and goes on as it does without
   * an answer; another one waits until its time is over.
   */
  async #decline(asked: readonly string[], client: McpClient): Promise<undefined> {
    const open = asked.filter((key) => !this.#declined.has(key));
    if (open.length === 0 || this.#declined.size >= declinedMax) return undefined;
    const inputResponses = Object.fromEntries(open.map((key) => [key, { action: "decline" }]));
    const answered = await this.#ask(client, "tasks/update", { inputResponses });
    if (answered.status === "returned") { for (const key of open) this.#declined.add(key); }
  }

  #ask(client: McpClient, method: string, more: JsonObject = {}): Promise<McpCallResult> {
    const { entry, use } = this.#routed;
    return client.call({
      tool: entry.definition.name,
      arguments: {},
      request: { method, params: { taskId: this.#task.id, ...more } },
      signal: use.signal,
      idleMs: limits.mcpTaskLookMs,
      onProgress: use.notifications.push,
    });
  }

  async #read(state: TaskState, client: McpClient): Promise<Attempt | undefined> {
    switch (state.status) {
      case "working":
        return void this.#tell(state.message);
      case "input_required":
        this.#tell(`The server waits for input, which is not given. ${state.message}`);
        return await this.#decline(state.asked ?? [], client);
      case "cancelled":
        return lost("mcp_task_canceled", `The server canceled the call's task${said(state)}; ${doubt}`);
      case "completed":
      case "failed":
        return await this.#end(state, client);
    }
  }

  /** The result of a task that has ended: as it was told, or as it is asked for. */
  async #end(state: TaskState, client: McpClient): Promise<Attempt | undefined> {
    if (state.result !== undefined) return await this.#returned(state.result, state);
    if (state.error !== undefined) return refused(state.error.message || state.message);
    if (this.#task.result === "told") {
      return state.status === "failed"
        ? refused(state.message)
        : this.#misread("it completed without a result");
    }
    const answered = await this.#ask(client, "tasks/result");
    if (answered.status === "returned") return await this.#returned(answered.result, state);
    // Of a task that failed there need be no result: that it did is its answer.
    if (answered.status === "refused" && state.status === "failed") {
      return refused(state.message || answered.failure.message);
    }
    return this.#unanswered(answered);
  }

  async #returned(raw: unknown, { status }: TaskState): Promise<Attempt> {
    const { entry: { definition }, use } = this.#routed;
    const binaries = new Binaries(this.#options.isSecret);
    const envelope = readResult(raw, { schema: definition.resultSchema, binaries });
    // A task that failed is a call whose tool said no, whatever its result says of itself.
    const ended = status === "failed" ? { ...envelope, ok: false, isError: true } : envelope;
    const judged = this.#declined.size === 0 ? ended : { ...ended, content: [...ended.content, declined] };
    return { kind: "returned", envelope: await withAttachments(judged, binaries, use.blobs) };
  }

  #unanswered(answered: Exclude<McpCallResult, { readonly status: "returned" }>): Attempt | undefined {
    if (answered.status !== "refused") return undefined; // The connection is opened anew with the next look.
    if (answered.code !== invalidParams) return this.#misread(answered.failure.message);
    const { keptUntilMs } = this.#task;
    const isOver = keptUntilMs !== null && this.#options.clock.now() >= keptUntilMs;
    const why = isOver ? "the time for which it kept it is over" : "it may have been started anew";
    return lost("mcp_task_unknown", `The server does not know the call's task any more: ${why}; ${doubt}`);
  }

  #misread(problem: string): Attempt | undefined {
    this.#misses += 1;
    if (this.#misses < limits.mcpTaskMissesMax) return undefined;
    return lost("mcp_protocol_error", `The server cannot say how the call's task is: ${problem}; ${doubt}`);
  }

  /** A server that is away may come back; one that nobody can reach without a person does not. */
  #missed(why: Failure): Attempt | undefined {
    if (!why.retryable) return { kind: "lost", failure: why };
    this.#pollMs = Math.min(this.#pollMs * 2, limits.mcpTaskPollMsMax);
    return undefined;
  }

  /** Tells the server, and hears what became of the task: a result that it has already is the result. */
  async #giveUp(stop: Stop): Promise<Attempt> {
    const why = stopped(stop);
    if (stop === "halted") return { kind: "lost", failure: why };
    const { clock, clientOf } = this.#options;
    const client = clientOf(this.#routed.entry.binding);
    if (client === undefined) return { kind: "lost", failure: why };
    const enough = clock.sleepUntil(clock.now() + limits.mcpTaskFarewellMs, this.#over.signal);
    const end = this.#farewell(client).catch(() => undefined);
    const seen = await Promise.race([enough.then(() => undefined), end]);
    if (seen?.kind === "returned") return seen;
    const isCanceled = seen?.kind === "lost" && seen.failure.code === "mcp_task_canceled";
    const heard = isCanceled
      ? "the server canceled its task, and does not say how far it had come"
      : "its task did not end";
    return { kind: "lost", failure: { ...why, message: `${why.message}: ${heard}; ${doubt}` } };
  }

  async #farewell(client: McpClient): Promise<Attempt | undefined> {
    const { clock } = this.#options;
    // Whatever it answers, also that there is nothing to cancel any more: how the task is, it says when asked.
    await this.#ask(client, "tasks/cancel");
    while (!this.#over.signal.aborted) {
      const seen = await this.#look();
      if (seen !== undefined) return seen;
      await clock.sleepUntil(clock.now() + farewellPollMs, this.#over.signal);
    }
    return undefined;
  }

  /** What the server says of its task is progress; once is enough. */
  #tell(message = ""): void {
    if (message === "" || message === this.#told) return;
    this.#told = message;
    this.#routed.use.notifications.push(message);
  }
}

function said({ message }: TaskState): string {
  return message === "" ? "" : ` (${message})`;
}

/** The server's own no: like a tool that ran and says no (CM-77). */
function refused(words: string): Attempt {
  const said = words === "" ? "" : `: ${words}`;
  const why = failure("tool_failed", `The server says that the call's task failed${said}`.slice(0, 2_000));
  return { kind: "returned", envelope: errorEnvelope({ ...why, classification: "semantic" }) };
}

function lost(code: FailureCode, message: string): Attempt {
  const cut = message.slice(0, 2_000);
  return {
    kind: "lost",
    failure: code === "mcp_task_unknown" ? retryableFailure(code, cut) : failure(code, cut),
  };
}

function stopped(stop: Stop): Failure {
  switch (stop) {
    case "canceled":
      return failure("tool_canceled", "The call was canceled while its server worked on it");
    case "late":
      return retryableFailure("tool_timed_out", "The call had no result by its deadline");
    case "halted":
      return failure("interrupted", "The runtime stopped while a server worked on the call");
  }
}
