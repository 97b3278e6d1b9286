/** Whether a call of an MCP tool waits for its connection, is sent once, and is told for what it was. */
import { createDoorRedactor } from "../../src/effects/clean.ts";
import { RawArguments } from "../../src/effects/raw_arguments.ts";
import assert from "node:assert/strict";
import { type Failure, failure, retryableFailure } from "../../schemas/failure.ts";
import type { Json } from "../../schemas/json.ts";
import type { CatalogEntry } from "../../schemas/catalog.ts";
import type { EffectClass } from "../../schemas/tool.ts";
import { createMcpCall } from "../../src/effects/mcp_call.ts";
import type { PerformerResult, Progress } from "../../src/effects/performer.ts";
import { createToolCall } from "../../src/effects/tool_call.ts";
import type { StoredReply } from "../../src/kernel/kernel.ts";
import type { McpCall, McpCallResult } from "../../src/mcp/call.ts";
import type { McpClient, McpClosed } from "../../src/mcp/client.ts";
import { SuspendedCalls } from "../../src/mcp/suspended_calls.ts";
import { type BuiltinTool, textEnvelope } from "../../src/tools/tool.ts";
import { readFile } from "../../src/tools/read_file.ts";
import { toolOf } from "../support/desk.ts";
import { catalogWith, createBlobs, entryFor } from "../support/tools.ts";
import { createWorld } from "../support/world.ts";

const hash = `sha256:${"a".repeat(64)}`;
const docs = "connection/docs@ses_1";
const lost = retryableFailure("mcp_connection_lost", "The server ended");
const down = failure("mcp_connect_failed", "The server did not start");
const classes: readonly EffectClass[] = ["idempotent", "conditional", "non_idempotent"];
const returned: McpCallResult = {
  status: "returned",
  result: { content: [{ type: "text", text: "found" }] },
};

/** A client that answers as it is told. */
interface FakeClient extends McpClient {
  readonly calls: McpCall[];
  isGone: boolean;
}

/** `isEnding`: its server has ended, which is noticed with the first call. */
function clientThat(answer: (call: McpCall) => Promise<McpCallResult>, isEnding = false): FakeClient {
  const closed = Promise.withResolvers<McpClosed>();
  const fake: Pick<FakeClient, "call" | "calls" | "closed" | "isGone"> = {
    calls: [],
    isGone: false,
    call: (call) => {
      fake.calls.push(call);
      if (isEnding) {
        fake.isGone = true;
        closed.resolve({ failure: lost, end: undefined });
      }
      return answer(call);
    },
    closed: closed.promise,
  };
  return fake as FakeClient;
}

function clientGiving(answer: McpCallResult): FakeClient {
  return clientThat(() => Promise.resolve(answer));
}

function silentClient(): FakeClient {
  return clientThat(() => new Promise(() => {}));
}

/** A connection as a call meets it: the client that is open, and what opening does. */
interface Sketch {
  readonly client?: FakeClient;
  readonly effect?: EffectClass;
  readonly binding?: string;
  /** Fingerprint of what the open connection was started by. */
  readonly startedBy?: string;
  readonly entry?: Partial<CatalogEntry>;
  readonly arguments?: { readonly [name: string]: Json };
  /** Built-in tools, by the names of their definitions. */
  readonly tools?: ReadonlyMap<string, BuiltinTool>;
  /** What opening yields, and the client that is open from then on. Never asked for by default. */
  readonly open?: () => Promise<{ readonly reply: StoredReply; readonly client?: FakeClient }>;
}

function replyWith(status: "ok" | "failed", value: Json): StoredReply {
  return { status, value, root: docs, seq: 2 };
}

const ready = replyWith("ok", { result: "ready" });

/** Performs one call of `mcp.docs.search` in the session `ses_1`, with a deadline in 10 s. */
function call(sketch: Sketch) {
  const world = createWorld();
  const abort = new AbortController();
  const progress: Progress[] = [];
  const opened: string[] = [];
  let { client } = sketch;
  const effectClass = sketch.effect ?? "non_idempotent";
  const entry = entryFor(toolOf("search", { effectClass }), {
    sourceKind: "mcp",
    adapter: "mcp",
    canonicalName: "mcp.docs.search",
    providerName: "docs__search",
    binding: sketch.binding ?? docs,
    ...sketch.entry,
  });
  const mcp = createMcpCall({
    suspended: new SuspendedCalls(),
    holdsSecret: () => false,
    clientOf: (connection) => connection === docs && client?.isGone === false ? client : undefined,
    fingerprintOf: () => sketch.startedBy,
    open: async (connection) => {
      opened.push(connection);
      const made = await (sketch.open ?? (() => assert.fail("nothing needs to be opened")))();
      client = made.client;
      return made.reply;
    },
    isSecret: (text) => text.includes("hunter2"),
    clock: world.seams.clock,
  });
  const perform = createToolCall({
    redactor: createDoorRedactor(),
    rawArguments: new RawArguments(),
    tools: sketch.tools ?? new Map(),
    catalogOf: (asked) => asked === hash ? catalogWith(entry) : undefined,
    workspaceOf: () => undefined as never,
    permissionsOf: () => ({ mode: "default", capabilities: [] }),
    messages: () => Promise.resolve([]),
    appState: () => ({}),
    blobs: createBlobs(),
    seams: world.seams,
    mcp,
  });
  const result = perform({
    root: "session/ses_1",
    id: "7.0",
    key: "session/ses_1#7.0",
    attempt: 1,
    signal: abort.signal,
    report: (one) => progress.push(one),
    request: {
      port: "mcp.call",
      effect: effectClass,
      deadlineAtMs: world.now() + 10_000,
      args: {
        invocation: "call/0.0",
        entry: { catalog: hash, name: "mcp.docs.search" },
        arguments: sketch.arguments ?? {},
        origin: "model",
        attempt: 1,
      },
    },
  });
  return { world, abort, result, progress, opened };
}

function endingOf(result: PerformerResult): string {
  if (result.status !== "ok") return `${result.status} ${result.failure.code}`;
  const { isError, model } = result.value as { readonly isError: boolean; readonly model: string };
  return `${isError ? "no" : "yes"}: ${model}`;
}

async function ending(sketch: Sketch): Promise<string> {
  return endingOf(await call(sketch).result);
}

Deno.test("mcp call sends the tool's own name, its arguments and the key, once, to the connection of its entry", async () => {
  const client = clientGiving(returned);
  const { result, opened } = call({ client, arguments: { text: "x" } });
  assert.equal(endingOf(await result), "yes: found");
  const [sent] = client.calls;
  assert.deepEqual([sent?.tool, sent?.arguments, sent?.key], ["search", { text: "x" }, "session/ses_1#7.0"]);
  assert.deepEqual([client.calls.length, opened], [1, []]);
});

// Proves LC-11, LC-13: one router and one kind of result; it is the entry that says where a call goes, not a name.
Deno.test("mcp call goes to its server, and a call of the same names to the built-in tool if its entry says so", async () => {
  const handled: unknown[] = [];
  const search: BuiltinTool = {
    ...readFile,
    handler: (input) => {
      handled.push(input);
      return Promise.resolve(textEnvelope("found here"));
    },
  };
  const tools = new Map([["search", search]]);
  const client = clientGiving(returned);
  const given = { arguments: { text: "x" }, client, tools };
  const remote = await call(given).result;
  assert.deepEqual([client.calls.length, handled], [1, []]);
  const local = await call({ ...given, entry: { adapter: "builtin" } }).result;
  assert.deepEqual([client.calls.length, handled], [1, [{ text: "x" }]]);
  const settled = { isError: false, truncated: false };
  assert.deepEqual(remote, {
    status: "ok",
    value: { ...settled, model: "found", operator: "search: found" },
  });
  assert.deepEqual(local, {
    status: "ok",
    value: { ...settled, model: "found here", operator: "search: found here" },
  });
});

Deno.test("mcp call passes progress on until it has ended", async () => {
  const client = clientThat(({ onProgress }) => {
    onProgress("half way");
    return Promise.resolve(returned);
  });
  const { result, progress } = call({ client });
  await result;
  assert.deepEqual(progress, [{ type: "tool", message: "half way" }]);
});

// Proves DM-65.
Deno.test("mcp call reaches no connection but one of its own session", async () => {
  for (const binding of ["connection/docs@ses_2", "connection/docs@ses_10", "connection/docs", "docs", ""]) {
    const client = clientGiving(returned);
    assert.equal(await ending({ binding, client }), "failed catalog_mismatch", binding);
    assert.equal(client.calls.length, 0);
  }
});

Deno.test("mcp call reaches no server but that of the declaration which its catalog is of (DM-61, DM-65)", async () => {
  const [mine, other] = ["a", "b"].map((digit) => `sha256:${digit.repeat(64)}`);
  const provenance = { source: "mcp", origin: "docs", trust: "third_party", fingerprint: mine } as const;
  const client = clientGiving(returned);
  assert.equal(await ending({ entry: { provenance }, startedBy: other!, client }), "failed catalog_mismatch");
  assert.equal(client.calls.length, 0);
  assert.equal(await ending({ entry: { provenance }, startedBy: mine!, client }), "yes: found");
  // Catalogs of earlier releases do not say.
  assert.equal(await ending({ startedBy: other!, client }), "yes: found");
  assert.equal(client.calls.length, 2);
});

Deno.test("mcp call opens a connection that is not open, and waits for it", async () => {
  const client = clientGiving(returned);
  const opening = Promise.withResolvers<void>();
  const { world, result, opened } = call({
    open: () => opening.promise.then(() => ({ reply: ready, client })),
  });
  await world.advance(5_000);
  assert.deepEqual([opened, client.calls.length], [[docs], 0]);
  opening.resolve();
  assert.equal(endingOf(await result), "yes: found");
  assert.equal(world.sleepers, 0);
});

Deno.test("mcp call is not started if the connection cannot be opened, and says why", async () => {
  const refusals = [
    [() => Promise.resolve({ reply: replyWith("failed", { failure: { ...down } }) }), "mcp_connect_failed"],
    [() => Promise.resolve({ reply: replyWith("failed", {}) }), "mcp_unavailable"],
    [() => Promise.reject(new Error("No actor has this address")), "mcp_unavailable"],
  ] as const;
  for (const [open, code] of refusals) {
    for (const effect of classes) assert.equal(await ending({ open, effect }), `failed ${code}`);
  }
});

// A connection may say that it is ready before it has noticed that its server is gone.
Deno.test("mcp call asks again while a connection says that it is ready and is not, and gives up in the end", async () => {
  const client = clientGiving(returned);
  let asks = 0;
  const { world, result } = call({
    open: () => Promise.resolve({ reply: ready, ...(++asks < 3 ? {} : { client }) }),
  });
  await world.advance(1_000);
  assert.deepEqual([endingOf(await result), asks], ["yes: found", 3]);
  const vain = call({ open: () => Promise.resolve({ reply: ready }) });
  await vain.world.advance(9_000);
  assert.equal(endingOf(await vain.result), "failed mcp_unavailable");
  assert.equal(vain.opened.length, 50);
});

// Proves R3 for MCP: what is in doubt is never told as done or as not done.
Deno.test("mcp call tells each way in which a call ended for what it was, by effect class", async () => {
  const why: Failure = retryableFailure("mcp_connection_lost", "The line broke");
  const no = failure("mcp_protocol_error", "No such page");
  for (const effect of classes) {
    assert.equal(await ending({ client: clientGiving(returned), effect }), "yes: found");
    const refused = clientGiving({ status: "refused", failure: no, isUnknown: true });
    assert.match(await ending({ client: refused, effect }), /^no: .*No such page/s);
    const doubtful = clientGiving({ status: "lost", failure: why });
    const status = effect === "idempotent" ? "failed" : "unknown";
    assert.equal(await ending({ client: doubtful, effect }), `${status} mcp_connection_lost`);
  }
});

Deno.test("mcp call passes on what a tool that ran says no with", async () => {
  const result = { isError: true, content: [{ type: "text", text: "not allowed" }] };
  const client = clientGiving({ status: "returned", result });
  assert.equal(await ending({ client }), "no: not allowed");
});

Deno.test("mcp call that was certainly not sent is tried once on a new connection, and then has failed", async () => {
  const unsent = () => clientThat(() => Promise.resolve({ status: "not_sent", failure: lost }), true);
  const well = clientGiving(returned);
  const ends: readonly (readonly [FakeClient, string])[] = [
    [well, "yes: found"],
    [unsent(), "failed mcp_connection_lost"],
  ];
  for (const [second, told] of ends) {
    const first = unsent();
    const { result, opened } = call({
      client: first,
      open: () => Promise.resolve({ reply: ready, client: second }),
    });
    assert.equal(endingOf(await result), told);
    assert.deepEqual([first.calls.length, second.calls.length, opened], [1, 1, [docs]]);
    assert.equal(second.calls[0]?.key, first.calls[0]?.key);
  }
});

// A server that does not read its input takes no call: nothing was sent, whatever the effect class.
Deno.test("mcp call that a living server does not take has failed, and is not unknown at its deadline", async () => {
  const client = clientThat(() => Promise.resolve({ status: "not_sent", failure: lost }));
  for (const effect of classes) {
    const { result, world } = call({ client, effect });
    await world.advance(10_000);
    assert.equal(endingOf(await result), "failed mcp_connection_lost");
  }
  assert.equal(client.calls.length, classes.length);
});

// Proves K11 and R3: before anything was sent, the deadline and a cancel are told as what they are.
Deno.test("mcp call that waits for its connection is timed out or canceled, whatever its class", async () => {
  const open = () => new Promise<never>(() => {});
  for (const effect of classes) {
    const late = call({ open, effect });
    await late.world.advance(10_000);
    assert.equal(endingOf(await late.result), "timed_out tool_timed_out");
    const canceled = call({ open, effect });
    await canceled.world.settle();
    canceled.abort.abort();
    assert.equal(endingOf(await canceled.result), "canceled tool_canceled");
  }
});

// Proves K11, R3, I3.
Deno.test("mcp call that was sent is unknown after its deadline or a cancel, unless a repeat harms nobody", async () => {
  for (const effect of classes) {
    const late = call({ client: silentClient(), effect });
    await late.world.advance(10_000);
    const canceled = call({ client: silentClient(), effect });
    await canceled.world.settle();
    canceled.abort.abort();
    const told = [endingOf(await late.result), endingOf(await canceled.result)];
    assert.deepEqual(
      told,
      effect === "idempotent"
        ? ["timed_out tool_timed_out", "canceled tool_canceled"]
        : Array(2).fill("unknown tool_outcome_unknown"),
    );
  }
});

Deno.test("mcp call tells the server when nobody waits any more", async () => {
  const client = silentClient();
  const { world, abort, result } = call({ client });
  await world.settle();
  assert.equal(client.calls[0]?.signal.aborted, false);
  abort.abort();
  await result;
  assert.equal(client.calls[0]?.signal.aborted, true);
});

Deno.test("mcp call asks what its definition says, by no name, and tells each ending for what it was, by effect class", async () => {
  const reading = (client: FakeClient, effectClass: EffectClass) => {
    const definition = toolOf("search", { effectClass, mcpMethod: "resources/read" });
    return { client, effect: effectClass, entry: { definition }, arguments: { uri: "x:a" } };
  };
  const client = clientGiving({ status: "returned", result: { contents: [{ uri: "x:a", text: "alpha" }] } });
  assert.equal(await ending(reading(client, "non_idempotent")), "yes: alpha");
  const [sent] = client.calls;
  assert.deepEqual(sent?.request, { method: "resources/read", params: { uri: "x:a" } });
  assert.equal(sent?.key, "session/ses_1#7.0");
  const refused = failure("mcp_protocol_error", "The MCP server refused the call");
  for (const effect of classes) {
    const no = clientGiving({ status: "refused", failure: refused, isUnknown: false, code: -32002 });
    assert.equal(
      await ending(reading(no, effect)),
      "no: mcp_protocol_error: The MCP server refused the call",
    );
    const gone = clientGiving({ status: "lost", failure: lost });
    const status = effect === "idempotent" ? "failed" : "unknown";
    assert.equal(await ending(reading(gone, effect)), `${status} mcp_connection_lost`);
    const unsent = clientGiving({ status: "not_sent", failure: lost });
    const { world, result } = call(reading(unsent, effect));
    await world.advance(10_000);
    assert.match(endingOf(await result), /^(?:failed mcp_connection_lost|timed_out tool_timed_out)$/);
  }
});
