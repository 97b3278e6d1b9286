/** Looking after a call that is a task: how often, how long, what each answer means, and what is told at the end. */
import assert from "node:assert/strict";
import type { CallTask } from "../../schemas/call_pause.ts";
import { failure, retryableFailure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { noLongerWanted } from "../../src/effects/deadline.ts";
import { SuspendedCalls } from "../../src/mcp/suspended_calls.ts";
import { createMcpCall } from "../../src/effects/mcp_call.ts";
import type { PerformerResult, Progress } from "../../src/effects/performer.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import { createToolCall } from "../../src/effects/tool_call.ts";
import type { McpCall, McpCallResult } from "../../src/mcp/call.ts";
import type { McpClient } from "../../src/mcp/client.ts";
import { pauseOf } from "../../src/mcp/call_pause.ts";
import { toolOf } from "../support/desk.ts";
import { taskHandle } from "../support/tasks.ts";
import { catalogWith, createBlobs, entryFor } from "../support/tools.ts";
import { createWorld, type World } from "../support/world.ts";

const hash = `sha256:${"a".repeat(64)}`;
const docs = "connection/docs@ses_1";
const deadlineMs = 30_000;
const away = retryableFailure("mcp_connection_lost", "The line broke");

type Answers = (method: string, call: McpCall, nowMs: number) => McpCallResult | "silent";

function state(status: string, more: Record<string, unknown> = {}): McpCallResult {
  return { status: "returned", result: { taskId: "task-1", status, ...more } };
}

function content(text: string, isError = false): McpCallResult {
  return { status: "returned", result: { content: [{ type: "text", text }], isError } };
}

function refused(code: number): McpCallResult {
  return { status: "refused", failure: failure("mcp_protocol_error", "no"), isUnknown: false, code };
}

interface Sketch {
  readonly answers: Answers;
  readonly effect?: EffectClass;
  readonly task?: Partial<CallTask>;
  /** How long ago its deadline was; it is still to come without. */
  readonly lateByMs?: number;
  readonly redacted?: true;
}

/** Looks after one task in a world of its own. */
function watch({ answers, effect = "non_idempotent", task = {}, lateByMs, redacted }: Sketch) {
  const world = createWorld();
  const abort = new AbortController();
  const progress: Progress[] = [];
  const asked: { readonly method: string; readonly at: number; readonly key: string | undefined }[] = [];
  const news: (() => void)[] = [];
  const client = {
    call: (call: McpCall) => {
      const method = call.request?.method ?? "";
      asked.push({ method, at: world.now(), key: call.key });
      const answer = answers(method, call, world.now());
      return answer === "silent" ? new Promise(() => {}) : Promise.resolve(answer);
    },
    taskTold: () => new Promise<void>((resolve) => news.push(resolve)),
    closed: new Promise(() => {}),
  } as unknown as McpClient;
  const entry = entryFor(toolOf("search", { effectClass: effect }), {
    sourceKind: "mcp",
    adapter: "mcp",
    canonicalName: "mcp.docs.search",
    providerName: "docs__search",
    binding: docs,
  });
  const perform = createToolCall({
    redactor: createDoorRedactor(),
    rawArguments: new RawArguments(),
    tools: new Map(),
    catalogOf: () => catalogWith(entry),
    workspaceOf: () => undefined as never,
    permissionsOf: () => ({ mode: "default", capabilities: [] }),
    messages: () => Promise.resolve([]),
    appState: () => ({}),
    blobs: createBlobs(),
    seams: world.seams,
    mcp: createMcpCall({
      suspended: new SuspendedCalls(),
      holdsSecret: () => false,
      clientOf: () => client,
      open: () => assert.fail("it is open"),
      isSecret: () => false,
      clock: world.seams.clock,
    }),
  });
  const startedAt = world.now();
  const result = perform({
    root: "session/ses_1",
    id: "9.0",
    key: "session/ses_1#7.0",
    attempt: 1,
    signal: abort.signal,
    report: (one) => progress.push(one),
    request: {
      port: "mcp.task",
      effect: "idempotent",
      deadlineAtMs: world.now() + (lateByMs === undefined ? deadlineMs : -lateByMs),
      args: {
        invocation: "call/0.0",
        entry: { catalog: hash, name: "mcp.docs.search" },
        arguments: {},
        origin: "model",
        attempt: 1,
        key: "7.0",
        task: taskHandle(task),
        ...(redacted === undefined ? {} : { redacted }),
      },
    },
  });
  const lookedAt = () => asked.filter(({ method }) => method === "tasks/get").map(({ at }) => at - startedAt);
  const tell = () => news.splice(0).forEach((one) => one());
  return { world, abort, progress, asked, lookedAt, tell, result };
}

function endingOf(result: PerformerResult): string {
  if (result.status !== "ok") return `${result.status} ${result.failure.code}`;
  const { isError, model } = result.value as { readonly isError: boolean; readonly model: string };
  return `${isError ? "no" : "yes"}: ${model}`;
}

async function within(world: World, result: Promise<PerformerResult>, ms = 60_000): Promise<string> {
  await world.advance(ms);
  return endingOf(await result);
}

Deno.test("task is asked for as often as its server wants, within bounds, and at once when there is news of it (CM-34)", async () => {
  const asks: readonly (readonly [pollMs: number, told: unknown, at: readonly number[]])[] = [
    [1_000, undefined, [0, 1_000, 2_000, 3_000]],
    [1_000, { pollInterval: 1 }, [0, 500, 1_000, 1_500, 2_000, 2_500, 3_000]],
    [1_000, { pollIntervalMs: 2_000 }, [0, 2_000]],
    [60_000, { pollInterval: 1e12 }, [0]],
  ];
  for (const [pollMs, told, at] of asks) {
    const { world, asked, lookedAt } = watch({
      task: { pollMs },
      answers: () => state("working", Object(told)),
    });
    // What follows a task is loaded with the first one.
    while (asked.length === 0) await world.settle();
    await world.advance(3_000);
    assert.deepEqual(lookedAt(), at);
  }
  const waiting = watch({ task: { pollMs: 20_000 }, answers: () => state("working") });
  await waiting.world.advance(1_000);
  waiting.tell();
  await waiting.world.advance(1);
  assert.deepEqual(waiting.lookedAt(), [0, 1_000]);
});

Deno.test("task that has ended is read as a call's result: told with its state, or asked for by itself (CM-34)", async () => {
  const ends: readonly (readonly [Partial<CallTask>, McpCallResult, McpCallResult, string])[] = [
    [{ result: "asked" }, state("completed"), content("found"), "yes: found"],
    [{ result: "asked" }, state("completed"), content("no", true), "no: no"],
    [{ result: "asked" }, state("failed"), content("broke", true), "no: broke"],
    // Whatever the result says of itself, the server says that it failed.
    [{ result: "asked" }, state("failed"), content("broke"), "no: broke"],
    [
      { result: "asked" },
      state("failed", { statusMessage: "the disk is full" }),
      refused(-32_603),
      "no: tool_failed: The server says that the call's task failed: the disk is full",
    ],
    [
      { result: "told" },
      state("completed", { result: { content: [{ type: "text", text: "found" }] } }),
      refused(0),
      "yes: found",
    ],
    [
      { result: "told" },
      state("failed", { error: { code: -32_603, message: "it crashed" } }),
      refused(0),
      "no: tool_failed: The server says that the call's task failed: it crashed",
    ],
  ];
  for (const [task, seen, result, told] of ends) {
    const { world, asked, result: ended } = watch({
      task,
      answers: (method) => method === "tasks/get" ? seen : result,
    });
    assert.equal(await within(world, ended), told);
    const methods = asked.map(({ method }) => method);
    assert.deepEqual(methods, task.result === "asked" ? ["tasks/get", "tasks/result"] : ["tasks/get"]);
    // Who only asks is no call: servers that deduplicate by its key have nothing to do with it.
    assert.ok(asked.every(({ key }) => key === undefined));
    assert.equal(world.sleepers, 0);
  }
});

Deno.test("task's own words are progress, and so is that it waits for input, which nobody gives (CM-34)", async () => {
  const words = [
    ["working", "reading"],
    ["working", "reading"],
    ["working", "writing\u202e"],
    ["input_required", "Which one?"],
  ] as const;
  let looks = 0;
  const { world, progress, result } = watch({
    task: { message: "queued" },
    answers: (method) => {
      if (method === "tasks/result") return content("done");
      const [status, statusMessage] = words[looks++] ?? ["completed", ""];
      return state(status, { statusMessage });
    },
  });
  assert.equal(await within(world, result), "yes: done");
  assert.deepEqual(progress.map((one) => one.type === "tool" && one.message), [
    "queued",
    "reading",
    "writing\\u{202e}",
    "The server waits for input, which is not given. Which one?",
  ]);
});

// Proves I3: nothing that brought no result is told as not done, unless a repeat harms nobody.
Deno.test("task that brings no result is in doubt, and failed only of an idempotent tool (CM-34)", async () => {
  const nonsense: McpCallResult = { status: "returned", result: { status: "asleep" } };
  const ends: readonly (readonly [Answers, string])[] = [
    [() => refused(-32_602), "mcp_task_unknown"],
    [() => state("cancelled"), "mcp_task_canceled"],
    [() => nonsense, "mcp_protocol_error"],
    [() => refused(-32_601), "mcp_protocol_error"],
    [(method) => method === "tasks/get" ? state("completed") : refused(-32_602), "mcp_task_unknown"],
  ];
  for (const [answers, code] of ends) {
    const harmful = watch({ answers });
    assert.equal(await within(harmful.world, harmful.result, 20_000), `unknown ${code}`);
    const harmless = watch({ answers, effect: "idempotent" });
    assert.equal(await within(harmless.world, harmless.result, 20_000), `failed ${code}`);
  }
  const forgotten = watch({ answers: () => refused(-32_602), task: { keptUntilMs: 1 } });
  await forgotten.world.advance(1);
  const { failure: why } = await forgotten.result as { readonly failure: { readonly message: string } };
  assert.match(why.message, /does not know the call's task any more: the time for which it kept it is over/);
});

Deno.test("task is looked for again after a broken connection, an answer that is none, or a server's fault (CM-34)", async () => {
  const troubles: readonly McpCallResult[] = [
    { status: "lost", failure: away },
    { status: "not_sent", failure: away },
    refused(-32_603),
    { status: "returned", result: {} },
  ];
  for (const trouble of troubles) {
    let looks = 0;
    const { world, result } = watch({
      answers: (method) => {
        if (method === "tasks/result") return content("found");
        return ++looks < 4 ? trouble : state("completed");
      },
    });
    assert.equal(await within(world, result), "yes: found");
  }
});

Deno.test("task that is canceled is told to its server, and what that says is how the call ended (CM-34)", async () => {
  const cases: readonly (readonly [after: McpCallResult, EffectClass, string])[] = [
    [state("completed"), "non_idempotent", "yes: found"],
    [state("cancelled"), "non_idempotent", "unknown tool_canceled"],
    [state("working"), "non_idempotent", "unknown tool_canceled"],
    [state("cancelled"), "idempotent", "canceled tool_canceled"],
  ];
  for (const [after, effect, told] of cases) {
    let isCanceled = false;
    const { world, abort, asked, result } = watch({
      effect,
      task: { pollMs: 20_000 },
      answers: (method) => {
        if (method === "tasks/cancel") isCanceled = true;
        if (method !== "tasks/get") return method === "tasks/result" ? content("found") : refused(-32_602);
        return isCanceled ? after : state("working");
      },
    });
    await world.advance(1_000);
    abort.abort(noLongerWanted);
    // The kernel waits for its outcome for so long, and no longer.
    assert.equal(await within(world, result, limits.cancelGraceMs - 1), told);
    assert.equal(asked.filter(({ method }) => method === "tasks/cancel").length, 1);
    assert.equal(world.sleepers, 0);
  }
});

Deno.test("task is not canceled by a runtime that stops: another one goes on with it (CM-34)", async () => {
  const { world, abort, asked, result } = watch({ answers: () => state("working") });
  await world.advance(1_000);
  abort.abort();
  assert.equal(await within(world, result), "unknown interrupted");
  assert.ok(!asked.some(({ method }) => method === "tasks/cancel"));
});

Deno.test("task whose deadline is over is canceled, and in doubt unless a repeat harms nobody (CM-34)", async () => {
  for (const [effect, status] of [["non_idempotent", "unknown"], ["idempotent", "timed_out"]] as const) {
    const { world, asked, result } = watch({ effect, answers: () => state("working") });
    await world.advance(deadlineMs - 1);
    assert.ok(!asked.some(({ method }) => method === "tasks/cancel"));
    assert.equal(await within(world, result, 1 + limits.mcpTaskFarewellMs), `${status} tool_timed_out`);
    assert.ok(asked.some(({ method }) => method === "tasks/cancel"));
  }
  // Also if the server is silent.
  const silent = watch({ answers: () => "silent" });
  assert.equal(await within(silent.world, silent.result), "unknown tool_timed_out");
});

Deno.test("task that ended while the runtime was away is found, although its deadline is over (CM-34)", async () => {
  const { world, result } = watch({
    lateByMs: 60_000,
    answers: (method) => method === "tasks/get" ? state("completed") : content("found"),
  });
  assert.equal(await within(world, result), "yes: found");
  const working = watch({ lateByMs: 60_000, answers: () => state("working") });
  assert.equal(await within(working.world, working.result, 20_000), "unknown tool_timed_out");
});

// Proves DM-49 for tasks: what was taken out of the arguments may come back, and nobody knows any more what it was.
Deno.test("result of a task whose arguments held a secret is withheld once the secret is not known any more", async () => {
  const { world, result } = watch({
    redacted: true,
    answers: (method) => method === "tasks/get" ? state("completed") : content("it was hunter2"),
  });
  const told = await within(world, result);
  assert.match(told, /^no: redaction_failed/);
  assert.ok(!told.includes("hunter2"));
});

Deno.test("handle of a task is read from both forms, within bounds; what is none is a result (CM-34)", () => {
  const now = 1_000;
  const task = { taskId: "t", status: "working", createdAt: "", lastUpdatedAt: "" };
  const old = pauseOf({ task: { ...task, ttl: 5_000, pollInterval: 250, statusMessage: "queued" } }, now);
  assert.deepEqual(old, {
    type: "task",
    id: "t",
    result: "asked",
    pollMs: 500,
    keptUntilMs: 6_000,
    message: "queued",
  });
  const newer = pauseOf({ resultType: "task", ...task, ttlMs: null, pollIntervalMs: 7_000.4 }, now);
  assert.deepEqual(newer, { type: "task", id: "t", result: "told", pollMs: 7_000, keptUntilMs: null });
  const slow = pauseOf({ resultType: "task", ...task, pollIntervalMs: 1e12 }, now);
  assert.ok(slow?.type === "task");
  assert.equal(slow.pollMs, limits.mcpTaskPollMsMax);
  const results: readonly unknown[] = [
    { content: [] },
    { content: [], task },
    { resultType: "complete", content: [], taskId: "t", status: "working" },
    { task: { ...task, taskId: "" } },
    { task: { ...task, taskId: "t".repeat(limits.mcpTaskIdCharactersMax + 1) } },
    { task: { ...task, status: "asleep" } },
    { resultType: "task" },
    null,
    "task",
  ];
  for (const raw of results) assert.equal(pauseOf(raw, now), undefined, JSON.stringify(raw));
});
