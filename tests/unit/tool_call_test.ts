// Proves LC-1, LC-2, LC-3, LC-7, LC-8, LC-9, LC-10, LC-13, AR-5, AR-6, DM-11, and R3, R5, R8 (notes, 3.3) for tool calls.
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import assert from "node:assert/strict";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { JsonObject } from "../../schemas/json.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import type { PerformerResult, Progress } from "../../src/effects/performer.ts";
import { createToolCall, createToolVerify } from "../../src/effects/tool_call.ts";
import { builtinTools } from "../../src/tools/builtin.ts";
import { readFile } from "../../src/tools/read_file.ts";
import {
  type BuiltinTool,
  textEnvelope,
  type ToolHandler,
  type ToolUseContext,
} from "../../src/tools/tool.ts";
import type { Workspace } from "../../src/tools/workspace.ts";
import { catalogWith, createBlobs, entryFor, withFolder, workspaceAt } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const hash = `sha256:${"a".repeat(64)}`;
const nowhere: Workspace = {
  relative: () => assert.fail("no file is read here"),
  readFile: () => assert.fail("no file is read here"),
  readText: () => assert.fail("no file is read here"),
  changeText: () => assert.fail("no file is changed here"),
  listFolder: () => assert.fail("no file is read here"),
  realFolder: () => assert.fail("no file is read here"),
};

interface Setting {
  readonly handler?: ToolHandler;
  readonly effect?: EffectClass;
  readonly entry?: Partial<CatalogEntry>;
  readonly cwd?: Workspace;
  /** What the request says, where it differs from what the catalog has. */
  readonly asks?: { readonly catalog?: string; readonly name?: string; readonly hash?: string };
  readonly arguments?: JsonObject;
  readonly deadlineInMs?: number;
  readonly isAborted?: boolean;
}

function start(setting: Setting) {
  const world = createWorld();
  const abort = new AbortController();
  const progress: Progress[] = [];
  const blobs = createBlobs();
  let calls = 0;
  const sample: BuiltinTool = {
    definition: { ...readFile.definition, name: "sample", effectClass: setting.effect ?? "idempotent" },
    inputSchema: readFile.inputSchema,
    handler: (input, use) => {
      calls++;
      return (setting.handler ?? (() => Promise.resolve(textEnvelope("done"))))(input, use);
    },
  };
  const catalog = catalogWith(
    entryFor(sample.definition, { canonicalName: "runtime.sample", ...setting.entry }),
  );
  const perform = createToolCall({
    redactor: createDoorRedactor(),
    rawArguments: new RawArguments(),
    tools: new Map([...builtinTools, ["sample", sample]]),
    catalogOf: (asked) => asked === hash ? catalog : undefined,
    workspaceOf: () => setting.cwd ?? nowhere,
    permissionsOf: () => ({ mode: "plan", capabilities: ["fs.read"] }),
    messages: (root, intent) => Promise.resolve([{ role: "user", text: `${root} ${intent}` }]),
    appState: (root) => ({ session: root }),
    blobs,
    seams: world.seams,
  });
  if (setting.isAborted) abort.abort();
  const result = perform({
    root: "session/ses_1",
    id: "7.0",
    key: "session/ses_1#7.0",
    attempt: 1,
    signal: abort.signal,
    report: (one) => progress.push(one),
    request: {
      port: "tool.call",
      effect: setting.effect ?? "idempotent",
      deadlineAtMs: world.now() + (setting.deadlineInMs ?? 1_000),
      args: {
        invocation: "turn/1/call/1.0",
        entry: { catalog: hash, name: "runtime.sample", ...setting.asks },
        arguments: setting.arguments ?? {},
        origin: "model",
        attempt: 1,
      },
    },
  });
  return { world, abort, result, progress, blobs, catalog, calls: () => calls };
}

function endingOf(result: PerformerResult): string {
  return result.status === "ok" ? "ok" : `${result.status} ${result.failure.code}`;
}

/** Runs until the deadline is long over. */
async function endOf(setting: Setting): Promise<string> {
  const { world, result } = start(setting);
  await world.advance(5_000);
  return endingOf(await result);
}

function never(): Promise<never> {
  return new Promise(() => {});
}

Deno.test("tool_call returns the settled result of the tool that the entry names", async () => {
  const { result, calls, world } = start({});
  assert.deepEqual(await result, {
    status: "ok",
    value: { isError: false, model: "done", operator: "sample: done", truncated: false },
  });
  assert.equal(calls(), 1);
  assert.equal(world.sleepers, 0, "the deadline still waits");
});

Deno.test("tool_call refuses what no sealed catalog owns, before any tool is reached (DM-11, AR-5)", async () => {
  const strangers: readonly Setting[] = [
    { asks: { catalog: `sha256:${"b".repeat(64)}` } },
    { asks: { name: "sample" } },
    { asks: { name: "read_file" } },
    { entry: { enabled: false } },
  ];
  for (const setting of strangers) {
    const { result, calls } = start({ ...setting, effect: "non_idempotent" });
    assert.equal(endingOf(await result), "failed catalog_mismatch");
    assert.equal(calls(), 0);
  }
});

Deno.test("tool_call refuses an entry that says something else than that which was meant, or is of another revision (DM-8, DM-9)", async () => {
  const own = `sha256:${"c".repeat(64)}`;
  const cases: readonly (readonly [Setting, string])[] = [
    [{ entry: { hash: own }, asks: { hash: own } }, "ok"],
    [{ entry: { hash: own }, asks: { hash } }, "failed catalog_mismatch"],
    [{ asks: { hash: own } }, "failed catalog_mismatch"],
    [{ entry: { coreRevision: "core-2" } }, "failed catalog_mismatch"],
  ];
  for (const [setting, expected] of cases) {
    const { result, calls } = start(setting);
    assert.deepEqual([endingOf(await result), calls()], [expected, expected === "ok" ? 1 : 0]);
  }
});

/** What a tool would say of a call if it were believed: that it never began, that others refused it, that it is over. */
const forged = {
  ...{ status: "succeeded", outcome: "denied", started: false, retryable: true, attempt: 0, intent: "1.0" },
  ...{ code: "approval_denied", provenance: { by: "person" }, failure: { code: "tool_unknown" } },
};

Deno.test("tool_call takes an entry of its own catalog, arguments that nobody changes, and no word of a tool about its own life (DM-140)", async () => {
  const other = start({ asks: { catalog: `sha256:${"b".repeat(64)}` }, effect: "non_idempotent" });
  assert.deepEqual([endingOf(await other.result), other.calls()], ["failed catalog_mismatch", 0]);

  const given = { path: "x", deep: { list: [1] } };
  const changing: ToolHandler = (input) => {
    const { deep } = input as typeof given;
    for (
      const change of [
        () => deep.list.push(2),
        () => Object.assign(deep, { more: 1 }),
        () => Object.assign(input as object, { path: "y" }),
      ]
    ) {
      assert.throws(change, TypeError);
    }
    return Promise.resolve(textEnvelope("done"));
  };
  const { result } = start({ arguments: given, handler: changing });
  assert.equal(endingOf(await result), "ok");
  assert.deepEqual(given, { path: "x", deep: { list: [1] } });

  const throwing: ToolHandler = () => Promise.reject(Object.assign(new Error("canceled"), forged));
  const returning: ToolHandler = () => Promise.resolve({ ...textEnvelope("done"), ...forged } as never);
  const refusing: ToolHandler = () =>
    Promise.resolve({
      ok: false,
      isError: true,
      attachments: [],
      content: [{
        type: "error",
        failure: { ...forged, code: "tool_failed", message: "no", retryable: false },
      }],
    } as never);
  for (const handler of [throwing, returning, refusing]) {
    const ended = await start({ handler, effect: "non_idempotent" }).result;
    assert(ended.status !== "ok");
    const { status, started, provenance } = ended;
    assert.deepEqual([status, started, provenance?.by], ["unknown", true, "runtime"]);
    assert.equal(ended.failure.code, "tool_outcome_unknown");
    assert.ok(!JSON.stringify(ended).includes("approval_denied"));
  }
});

Deno.test("tool_call sends every source through one router, and names the adapter that is not there (LC-13)", async () => {
  for (const adapter of ["authored", "program", "mcp"] as const) {
    const { result } = start({ entry: { adapter }, effect: "non_idempotent" });
    const ended = await result;
    assert.equal(endingOf(ended), "failed tool_failed");
    assert(ended.status === "failed" && ended.failure.message.includes(`"${adapter}"`));
  }
  const gone = entryFor({ ...readFile.definition, name: "gone" });
  assert.equal(await endOf({ entry: { definition: gone.definition } }), "failed tool_failed");
});

Deno.test("tool_call gives a handler its context and no more: LC-8's fields, frozen (LC-1, LC-2, LC-3, LC-8, LC-9)", async () => {
  let seen: ToolUseContext | undefined;
  const given = { path: "x", deep: { list: [1] } };
  const { result, world, catalog, progress } = start({
    arguments: given,
    handler: async (input, use) => {
      seen = use;
      assert.deepEqual(input, given);
      assert.throws(() => (input as { deep: { list: number[] } }).deep.list.push(2), TypeError);
      assert.throws(() => Object.assign(use, { cwd: 1 }), TypeError);
      assert.throws(() => Object.assign(use.permission_context, { mode: "auto" }), TypeError);
      use.notifications.push("half way\u001b[2J");
      return textEnvelope(JSON.stringify(await use.messages()));
    },
  });
  assert.equal(endingOf(await result), "ok");
  assert(seen !== undefined);
  assert.deepEqual(Object.keys(seen).sort(), [
    "agents",
    "app_state",
    "blobs",
    "catalog",
    "clock",
    "cwd",
    "deadlineAtMs",
    "fetch",
    "idempotencyKey",
    "mcp_clients",
    "messages",
    "notifications",
    "permission_context",
    "results",
    "schedules",
    "signal",
    "tasks",
    "tools",
    "update",
  ]);
  assert.equal(seen.idempotencyKey, "session/ses_1#7.0");
  assert.deepEqual(seen.permission_context, {
    mode: "plan",
    capabilities: ["fs.read"],
    workspaces: [nowhere],
  });
  assert.deepEqual([seen.mcp_clients, seen.app_state], [[], { session: "session/ses_1" }]);
  assert.deepEqual(await seen.messages(), [{ role: "user", text: "session/ses_1 7.0" }]);
  assert.equal(seen.catalog, catalog);
  assert.equal(seen.cwd, nowhere);
  assert.equal(seen.deadlineAtMs, world.now() + 1_000);
  assert.deepEqual([...seen.tools.keys()].sort(), [
    "clarify",
    "delegate_task",
    "list_files",
    "patch",
    "read_file",
    "read_result",
    "sample",
    "schedule_manage",
    "search_files",
    "session_search",
    "skill_manage",
    "skill_view",
    "skills_list",
    "subagent_close",
    "subagent_list",
    "subagent_send",
    "subagent_spawn",
    "subagent_wait",
    "task_control",
    "task_list",
    "task_status",
    "terminal",
    "todo",
    "tools_list",
    "web_extract",
    "write_file",
    "yield_until",
  ]);
  assert.deepEqual(progress, [{ type: "tool", message: "half way\\u{1b}[2J" }]);
});

Deno.test("tool_call ends a late call as timed out only if a repeat harms nobody (R3, K11)", async () => {
  assert.equal(await endOf({ handler: never }), "timed_out tool_timed_out");
  assert.equal(await endOf({ handler: never, effect: "conditional" }), "unknown tool_outcome_unknown");
  assert.equal(await endOf({ handler: never, effect: "non_idempotent" }), "unknown tool_outcome_unknown");
});

Deno.test("tool_call that is due before it starts is timed out, and no tool is reached", async () => {
  const { result, calls } = start({ deadlineInMs: 0, effect: "non_idempotent" });
  assert.equal(endingOf(await result), "timed_out tool_timed_out");
  assert.equal(calls(), 0);
});

Deno.test("tool_call ends a canceled call as canceled only if it was not started or harms nobody (R8)", async () => {
  const ends = [];
  for (const effect of ["idempotent", "conditional", "non_idempotent"] as const) {
    const running = start({ handler: never, effect });
    await running.world.settle();
    running.abort.abort();
    ends.push(endingOf(await running.result));
    assert.equal(running.world.sleepers, 0, "the deadline still waits");
    const early = start({ effect, isAborted: true });
    assert.equal(endingOf(await early.result), "canceled tool_canceled");
    assert.equal(early.calls(), 0);
  }
  assert.deepEqual(ends, [
    "canceled tool_canceled",
    "unknown tool_outcome_unknown",
    "unknown tool_outcome_unknown",
  ]);
});

Deno.test("tool_call ends a broken call as failed only if a repeat harms nobody, and shows no error text (R5)", async () => {
  const handlers: readonly ToolHandler[] = [
    () => Promise.reject(new Error("SECRET in /home/me")),
    () => {
      throw new Error("SECRET at once");
    },
    () => Promise.resolve({ ok: true, content: "SECRET" } as never),
    () => Promise.resolve("SECRET" as never),
    () => Promise.resolve(undefined as never),
  ];
  for (const handler of handlers) {
    assert.equal(await endOf({ handler }), "failed tool_execution_failed");
    for (const effect of ["conditional", "non_idempotent"] as const) {
      const { result, world } = start({ handler, effect });
      assert.equal(endingOf(await result), "unknown tool_outcome_unknown");
      assert(!JSON.stringify([await result, world.logs]).includes("SECRET"));
      assert.deepEqual(world.logs.map(({ event }) => event), ["tool.threw"]);
    }
  }
});

Deno.test("tool_call stops the tool's signal at the deadline, and drops what comes late", async () => {
  let finish = () => {};
  let late: ToolUseContext | undefined;
  const { world, result, progress } = start({
    handler: (_input, use) => {
      late = use;
      return new Promise((resolve) => finish = () => resolve(textEnvelope("late")));
    },
  });
  await world.advance(999);
  assert.equal(late?.signal.aborted, false);
  await world.advance(1);
  const ended = await result;
  assert.equal(late?.signal.aborted, true);
  finish();
  late?.notifications.push("still here");
  await world.settle();
  assert.equal(endingOf(ended), "timed_out tool_timed_out");
  assert.deepEqual(progress, []);
});

Deno.test("tool_call lets a handler that fails late fail unheard", async () => {
  let fail = () => {};
  const { world, result } = start({
    handler: () => new Promise((_, reject) => fail = () => reject(new Error("late"))),
  });
  await world.advance(1_000);
  assert.equal(endingOf(await result), "timed_out tool_timed_out");
  fail();
  await world.settle();
});

Deno.test("tool_call reads a real file through the guard, and a refusal is a result that says no (LC-10)", async () => {
  await withFolder({ "ws/f.txt": "content", "out.txt": "SECRET" }, async (folder) => {
    const cwd = await workspaceAt(`${folder}/ws`);
    const entry = { definition: readFile.definition };
    const well = await start({ cwd, entry, arguments: { path: "f.txt" } }).result;
    assert(well.status === "ok");
    assert.equal((well.value as { model?: unknown }).model, "content");
    const refused = await start({ cwd, entry, arguments: { path: "../out.txt" } }).result;
    assert(refused.status === "ok");
    const { isError, model } = refused.value as { isError?: unknown; model?: string };
    assert.equal(isError, true);
    assert.match(model ?? "", /^path_outside_root: /);
  });
});

Deno.test("tool_verify looks nothing up: no tool of this release can", async () => {
  const entry = { catalog: hash, name: "x" };
  const args = { invocation: "turn/1/call/1.0", entry, arguments: {}, origin: "model", attempt: 1 } as const;
  const request = { port: "tool.verify", effect: "idempotent", args } as const;
  const { signal } = new AbortController();
  const place = { root: "session/ses_1", id: "8.0", key: "session/ses_1#8.0" };
  const result = await createToolVerify()({ ...place, attempt: 1, signal, report: () => {}, request });
  assert.equal(endingOf(result), "failed tool_failed");
});
