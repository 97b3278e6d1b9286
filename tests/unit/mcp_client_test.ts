// Real servers, each misbehaving in one way, and what the client makes of it.
import assert from "node:assert/strict";
import { McpEnd, McpGreeting } from "../../schemas/effect.ts";
import { Failure, type FailureCode } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import {
  type McpCall,
  type McpClient,
  type McpClientOptions,
  McpFault,
  openMcpClient,
} from "../../src/mcp/client.ts";
import { type Child, startChild } from "../../src/processes/child.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { createWorld, type World } from "../support/world.ts";

const { clock } = createSystemSeams({ log: () => {} });
const script = new URL("../support/bad_server.ts", import.meta.url).pathname;
const never = new AbortController().signal;

/** A server that shakes hands in two lines of a shell, and then does what it is told. */
const shellHandshake = "read line; printf '%s\\n' '" + JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  result: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "sh", version: "" },
  },
}) + "'; read line; ";

function start(command: string, args: readonly string[]): Child {
  const env: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "DENO_DIR"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  return startChild({ command, args, cwd: Deno.cwd(), env, clock });
}

function startServer(...args: readonly string[]): Child {
  return start(Deno.execPath(), ["run", "-A", "--no-check", script, ...args]);
}

/** Nothing of a server is left: neither it nor anything in its group. */
function assertGone({ pid }: Child): void {
  for (const target of [pid, -pid]) assert.throws(() => Deno.kill(target, "SIGCONT"), Deno.errors.NotFound);
}

type Options = Partial<Omit<McpClientOptions, "child">>;

/** Opens a client on a child for one test, and closes it whatever happens. */
async function withClient(child: Child, play: (client: McpClient) => Promise<void>, options: Options = {}) {
  try {
    const client = await openMcpClient({ child, clock, connectMs: 30_000, signal: never, ...options });
    try {
      await play(client);
    } finally {
      await client.close();
    }
  } finally {
    await child.close();
    assertGone(child);
  }
}

/** Why a client cannot be opened; the process must be gone by the time that this is known. */
async function whyNotOpened(child: Child, options: Options = {}): Promise<Failure> {
  try {
    await openMcpClient({ child, clock, connectMs: 30_000, signal: never, ...options });
  } catch (error) {
    assertGone(child);
    assert(error instanceof McpFault);
    return Failure.parse(error.failure);
  }
  await child.close();
  return assert.fail("opened");
}

function call(client: McpClient, changes: Partial<McpCall> = {}) {
  return client.call({
    tool: "echo",
    arguments: {},
    key: "session/s#1.0",
    signal: never,
    idleMs: limits.mcpCallIdleMs,
    onProgress: () => {},
    ...changes,
  });
}

function returned(text: string) {
  return { status: "returned", result: { content: [{ type: "text", text }] } };
}

/** The failure of a call that did not return, checked for its status and code. */
async function failureOf(
  result: ReturnType<McpClient["call"]>,
  [status, code]: readonly [status: string, code: FailureCode],
): Promise<Failure> {
  const ended = await result;
  assert("failure" in ended, JSON.stringify(ended).slice(0, 500));
  assert.deepEqual([ended.status, ended.failure.code], [status, code]);
  return Failure.parse(ended.failure);
}

async function listFault(list: Promise<readonly unknown[]>): Promise<Failure> {
  const error = await list.then(() => assert.fail("listed"), (reason: unknown) => reason);
  assert(error instanceof McpFault);
  return Failure.parse(error.failure);
}

function namesOf(tools: readonly unknown[]): unknown[] {
  return tools.map((tool) => (tool as { name?: unknown } | null)?.name);
}

/** Opens a client whose time is moved by the test; the process lives in real time. */
async function withWorld(mode: string, play: (client: McpClient, world: World) => Promise<void>) {
  const world = createWorld();
  await withClient(startServer(...mode.split(" ")), (client) => play(client, world), {
    clock: world.seams.clock,
  });
}

Deno.test("mcp client shakes hands, lists, calls with the idempotency key, and closes", async () => {
  const ledger = await Deno.makeTempFile();
  const child = startServer("good", "--ledger", ledger, "--name", "write");
  await withClient(child, async (client) => {
    const server = { name: "bad server", version: "1.2.3" };
    const capabilities = ["tools"];
    assert.deepEqual(client.greeting, { protocolVersion: "2025-11-25", era: "legacy", server, capabilities });
    McpGreeting.parse({ ...client.greeting, tookMs: 1 });
    assert.deepEqual(namesOf(await client.list(never)), ["write", "slow", "environment"]);
    const args = { text: "a\u2028b\u0000c\nd \u{1f600}", deep: [{ a: null, b: 1.5 }] };
    assert.deepEqual(await call(client, { tool: "write", arguments: args }), returned(JSON.stringify(args)));
    const recorded = JSON.parse(await Deno.readTextFile(ledger));
    assert.deepEqual(recorded, { tool: "write", arguments: args, key: "session/s#1.0" });
    const end = McpEnd.parse(await client.close());
    assert.deepEqual(end, { code: 0, signal: null, stderr: "" });
    assertGone(child);
    const closed = await client.closed;
    assert.equal(closed.failure.code, "mcp_connection_closed");
    assert.deepEqual(closed.end, { code: 0, signal: null, stderr: "" });
    assert.deepEqual(await client.close(), end);
    await failureOf(call(client), ["not_sent", "mcp_connection_closed"]);
    assert.equal((await listFault(client.list(never))).code, "mcp_connection_closed");
  });
  await Deno.remove(ledger);
});

Deno.test("mcp client tells the exit code and the last words of a server that ends before it answers", async () => {
  const failure = await whyNotOpened(startServer("exits-before-initialize"));
  assert.equal(failure.code, "mcp_connect_failed");
  assert(failure.retryable);
  assert.match(failure.message, /exit code 3/);
  assert.match(failure.message, /starting \| boom: missing API key$/);
});

Deno.test("mcp client shows at most 1,000 visible characters of what a server said last", async () => {
  const words = `printf 'x%.0s' $(seq 3000) >&2; printf '\\033[31mred' >&2; exit 1`;
  const { message } = await whyNotOpened(start("sh", ["-c", words]));
  const shown = message.slice(message.indexOf("last words: ") + "last words: ".length);
  assert.match(shown, /^x+\\u\{1b\}\[31mred$/);
  assert.equal(shown.length, 1_000);
});

Deno.test("mcp client gives up a server that never answers when its time is over", async () => {
  const world = createWorld();
  const opening = whyNotOpened(startServer("never-answers"), { clock: world.seams.clock, connectMs: 5_000 });
  await world.advance(4_999);
  assert.equal(world.sleepers, 1);
  await world.advance(1);
  const failure = await opening;
  assert.equal(failure.code, "mcp_connect_timed_out");
  assert(failure.retryable);
  assert.match(failure.message, /5 s/);
  assert.equal(world.sleepers, 0);
});

Deno.test("mcp client counts what a program wrote that speaks no protocol", async () => {
  const world = createWorld();
  const isHeard = Promise.withResolvers<void>();
  const child = start("sh", ["-c", "printf 'Welcome!\\n\\nReady\\n> \\n'; cat > /dev/null"]);
  const options = { clock: world.seams.clock, onNotice: () => isHeard.resolve() };
  const opening = whyNotOpened(child, options);
  await isHeard.promise;
  await world.advance(30_000);
  assert.match((await opening).message, /within 30 s; lines on its standard output that are no messages: 4$/);
});

Deno.test("mcp client gives the handshake up when nobody wants it any more", async () => {
  const stop = new AbortController();
  const opening = whyNotOpened(startServer("never-answers"), { signal: stop.signal });
  stop.abort(new Error("SECRET"));
  assert.equal((await opening).code, "mcp_connection_closed");
  assert.equal((await whyNotOpened(startServer(), { signal: stop.signal })).code, "mcp_connection_closed");
});

Deno.test("mcp client refuses a server that speaks an unknown revision, or no protocol at all", async () => {
  const failure = await whyNotOpened(startServer("wrong-version"));
  assert.equal(failure.code, "mcp_connect_failed");
  assert(!failure.retryable);
  assert.match(failure.message, /1999-01-01/);
  const answers = (answer: object) =>
    start("sh", [
      "-c",
      `read line; printf '%s\\n' '${JSON.stringify({ jsonrpc: "2.0", id: 0, ...answer })}'; cat >&2`,
    ]);
  assert.match(
    (await whyNotOpened(answers({ result: { a: 1 } }))).message,
    /its answer to initialize is not/,
  );
  const refused = await whyNotOpened(answers({ error: { code: -32603, message: "no\u202e license" } }));
  assert.match(refused.message, /refused the handshake with error -32603: no\\u\{202e\} license/);
});

Deno.test("mcp client passes over noise on standard output, and tells the first ten lines of it (F22)", async () => {
  const notices: string[] = [];
  await withClient(startServer("noise"), async (client) => {
    assert.equal((await client.list(never)).length, 3);
    for (const n of [1, 2]) {
      assert.deepEqual(await call(client, { arguments: { n } }), returned(`{"n":${n}}`));
    }
  }, { onNotice: (text) => notices.push(text) });
  assert.equal(notices.length, 10);
  assert.match(notices[0] ?? "", /what is no message; it is passed over: Listening on stdio\.\.\.$/);
  assert.match(notices[2] ?? "", /passed over: \\u\{0\}\\u\{0\}$/);
});

Deno.test("mcp client ends a server that writes more than 100 lines in a minute that are no messages (F22)", async () => {
  const notices: string[] = [];
  const isOver = (lines: number) => startServer("chatty", "--lines", String(lines));
  await withClient(isOver(100), async (client) => {
    assert.deepEqual(await call(client), returned("{}"));
  });
  await withClient(isOver(101), async (client) => {
    const lost = await failureOf(call(client), ["lost", "mcp_protocol_error"]);
    assert.match(lost.message, /more than 100 lines that are no messages .*log to its standard error/);
    assert.equal((await client.closed).failure.code, "mcp_protocol_error");
  }, { onNotice: (text) => notices.push(text) });
  assert.equal(notices.length, 10);
  // A minute later the count begins anew: it may write as much as before.
  await withWorld("chatty --lines 60", async (client, world) => {
    for (let minute = 0; minute < 3; minute++) {
      assert.deepEqual(await call(client), returned("{}"));
      await world.advance(limits.mcpNoiseWindowMs);
    }
  });
});

Deno.test("mcp client counts an answer to what nobody asked as a fault, and gives it to no call (F20)", async () => {
  const notices: string[] = [];
  await withClient(startServer("answers-another"), async (client) => {
    const [stray, own] = await Promise.all([
      call(client, { arguments: { n: 1 } }),
      call(client, { arguments: { n: 2 } }),
    ]);
    assert.deepEqual([stray, own], [returned('{"n":1}'), returned('{"n":2}')]);
  }, { onNotice: (text) => notices.push(text) });
  assert.equal(notices.length, 2);
  assert.match(notices[0] ?? "", /passed over: .*"id":4711,/);
});

Deno.test("mcp client reads messages that come byte by byte, with CRLF, U+2028 and NUL in them", async () => {
  await withClient(startServer("crlf-and-single-bytes"), async (client) => {
    assert.deepEqual(await call(client, { arguments: { a: 1 } }), returned('one\u2028two\u0000{"a":1}'));
  });
});

Deno.test("mcp client reads answers with null for whatever is absent, and ids given back as text", async () => {
  await withClient(startServer("null-fields"), async (client) => {
    assert.equal((await client.list(never)).length, 3);
    const answer = { content: [{ type: "text", text: "{}" }], nextCursor: null, isError: null };
    assert.deepEqual(await call(client), { status: "returned", result: answer });
  });
});

Deno.test("mcp client gets a result of 9 MB whole, and ends a connection that sends more than a message may have", async () => {
  await withClient(startServer("big"), async (client) => {
    assert.deepEqual(await call(client), returned("x".repeat(9_000_000)));
  });
  await withClient(startServer("too-big"), async (client) => {
    const failure = await failureOf(call(client), ["lost", "mcp_message_too_large"]);
    assert(failure.message.includes(String(limits.mcpMessageBytesMax)));
    assert.equal((await client.closed).failure.code, "mcp_message_too_large");
    await failureOf(call(client), ["not_sent", "mcp_message_too_large"]);
  });
  await withClient(startServer(), async (client) => {
    const text = "x".repeat(limits.mcpMessageBytesMax);
    await failureOf(call(client, { arguments: { text } }), ["not_sent", "mcp_message_too_large"]);
    assert.deepEqual(await call(client), returned("{}"));
  });
});

Deno.test("mcp client is not blocked by a server that floods its standard error", async () => {
  await withClient(startServer("stderr-flood"), async (client) => {
    assert.deepEqual(await call(client), returned("{}"));
    const { stderr } = await client.close();
    assert(stderr.length <= limits.processStderrTailBytesMax && stderr.endsWith("e\n"));
  });
});

Deno.test("mcp client loses the calls in flight with the server, and sends none afterwards", async () => {
  const ledger = await Deno.makeTempFile();
  await withClient(startServer("dies-in-call", "--ledger", ledger), async (client) => {
    const first = call(client, { arguments: { n: 1 } });
    const failure = await failureOf(first, ["lost", "mcp_connection_lost"]);
    assert(failure.retryable);
    assert.match(failure.message, /exit code 7; the call may have been carried out/);
    assert.match(
      (await failureOf(call(client), ["not_sent", "mcp_connection_lost"])).message,
      /exit code 7$/,
    );
    const closed = await client.closed;
    assert.deepEqual([closed.failure.code, closed.end], [
      "mcp_connection_lost",
      { code: 7, signal: null, stderr: "" },
    ]);
    await failureOf(call(client), ["not_sent", "mcp_connection_lost"]);
    assert.equal((await listFault(client.list(never))).code, "mcp_connection_lost");
  });
  assert.equal((await Deno.readTextFile(ledger)).trim().split("\n").length, 1);
  await Deno.remove(ledger);
});

Deno.test("mcp client loses all calls in flight when a server is killed", async () => {
  const child = startServer("progress", "--silent", "--reports", "1");
  await withClient(child, async (client) => {
    let waiting = 3;
    const areThere = Promise.withResolvers<void>();
    const calls = [1, 2, 3].map((n) =>
      failureOf(
        call(client, { arguments: { n }, onProgress: () => --waiting === 0 && areThere.resolve() }),
        ["lost", "mcp_connection_lost"],
      )
    );
    await areThere.promise;
    Deno.kill(child.pid, "SIGKILL");
    for (const { message } of await Promise.all(calls)) {
      assert.match(message, /was ended by SIGKILL; the call may/);
    }
  });
});

Deno.test("mcp client still hears what a server said right before its end", async () => {
  await withClient(startServer("says-and-dies"), async (client) => {
    assert.deepEqual(await call(client, { arguments: { a: 1 } }), returned('{"a":1}'));
    assert.equal((await client.closed).failure.code, "mcp_connection_lost");
  });
});

Deno.test("mcp client learns by itself that a server has ended", async () => {
  await withClient(startServer("exits-after-initialize"), async (client) => {
    const { failure, end } = await client.closed;
    assert.equal(failure.code, "mcp_connection_lost");
    assert.deepEqual(end, { code: 0, signal: null, stderr: "" });
  });
});

Deno.test("mcp client gives up a silent call after its idle time and 2 s of grace (B95)", async () => {
  await withWorld("hangs-in-call", async (client, world) => {
    let isOver = false;
    const result = failureOf(call(client, { idleMs: 3_000 }), ["lost", "mcp_unavailable"]);
    result.then(() => isOver = true);
    await world.advance(2_999);
    await world.advance(1_999);
    assert(!isOver);
    await world.advance(2);
    const failure = await result;
    assert(failure.retryable);
    assert.match(failure.message, /silent for 3 s .* may have been carried out/);
    assert.equal(world.sleepers, 0);
    // The connection is as good as before.
    assert.equal((await client.list(never)).length, 3);
  });
});

Deno.test("mcp client takes an answer that comes within the grace, and tells the server no reason of ours", async () => {
  for (const isAborted of [true, false]) {
    await withWorld("answers-cancel", async (client, world) => {
      const stop = new AbortController();
      const result = call(client, { signal: stop.signal, idleMs: 1_000 });
      if (isAborted) stop.abort(new Error("SECRET"));
      else await world.advance(1_000);
      const reason = { requestId: 1, reason: "The client no longer waits for this request" };
      assert.deepEqual(await result, returned(`late: ${JSON.stringify(reason)}`));
      assert.equal(world.sleepers, 0);
    });
  }
});

Deno.test("mcp client prefers an answer that is there to a cancellation that comes at the same moment", async () => {
  const asLine = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\\n`;
  // All lines for one call come in one chunk; every notification in between is one step from the abort to the answer.
  const numbers = Array.from({ length: 12 }, (_, index) => index + 1);
  const script = numbers.map((id) => {
    const report = asLine({ method: "notifications/progress", params: { progressToken: id, progress: 1 } });
    const steps = asLine({ method: "notifications/message" }).repeat(id - 1);
    const answer = asLine({ id, result: { content: [{ type: "text", text: "done" }] } });
    return `await_call; printf '${report}${steps}${answer}'; `;
  });
  // Cancellations are passed over.
  const awaitCall =
    `await_call() { while read line; do case "$line" in *tools/call*) return;; esac; done; exit; }`;
  const world = createWorld();
  const child = start("sh", ["-c", `${shellHandshake} ${awaitCall}; ${script.join("")} cat > /dev/null`]);
  await withClient(child, async (client) => {
    for (const _ of numbers) {
      const stop = new AbortController();
      const result = call(client, { signal: stop.signal, onProgress: () => stop.abort() });
      assert.deepEqual(await result, returned("done"));
      assert(stop.signal.aborted);
    }
  }, { clock: world.seams.clock });
});

Deno.test("mcp client leaves a canceled call in doubt if the server says no, or nothing", async () => {
  await withWorld("refuses-cancel", async (client, world) => {
    const stop = new AbortController();
    const result = call(client, { signal: stop.signal });
    stop.abort();
    const failure = await failureOf(result, ["lost", "tool_canceled"]);
    assert.match(failure.message, /may have been carried out/);
    assert.equal(world.sleepers, 0);
  });
  await withWorld("progress --silent", async (client, world) => {
    const stop = new AbortController();
    const result = call(client, { signal: stop.signal, onProgress: () => stop.abort() });
    await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
    await world.advance(2_000);
    await failureOf(result, ["lost", "tool_canceled"]);
  });
});

Deno.test("mcp client sends nothing of a call that was canceled before its turn", async () => {
  const ledger = await Deno.makeTempFile();
  await withClient(startServer("good", "--ledger", ledger), async (client) => {
    await failureOf(call(client, { signal: AbortSignal.abort() }), ["not_sent", "tool_canceled"]);
    assert.deepEqual(await call(client), returned("{}"));
  });
  assert.equal((await Deno.readTextFile(ledger)).trim().split("\n").length, 1);
  await Deno.remove(ledger);
});

Deno.test("mcp client never sends a call that was canceled while others were before it", async () => {
  const folder = await Deno.makeTempDir();
  const [gate, methods] = [`${folder}/gate`, `${folder}/methods`];
  await withClient(startServer("reads-late", "--gate", gate, "--methods", methods), async (client) => {
    // The first call fills the pipe, the others wait behind it.
    const text = "x".repeat(1_000_000);
    const first = call(client, { arguments: { text } });
    const stop = new AbortController();
    const second = call(client, { signal: stop.signal });
    const third = call(client);
    stop.abort();
    await failureOf(second, ["not_sent", "tool_canceled"]);
    await Deno.writeTextFile(gate, "");
    assert.deepEqual(await first, returned(JSON.stringify({ text })));
    assert.deepEqual(await third, returned("{}"));
  });
  assert.deepEqual((await Deno.readTextFile(methods)).trim().split("\n"), [
    ...["initialize", "notifications/initialized", "tools/call", "tools/call"],
  ]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("mcp client tells calls that were written from those that were not when a server is killed", async () => {
  await withClient(start("sh", ["-c", `${shellHandshake} exec sleep 1000`]), async (client) => {
    const first = call(client, { arguments: { text: "x".repeat(1_000_000) } });
    const second = call(client);
    const third = call(client, { arguments: { text: "x" }, idleMs: 50 });
    await failureOf(third, ["not_sent", "mcp_unavailable"]);
    client.kill();
    await failureOf(first, ["lost", "mcp_connection_closed"]);
    await failureOf(second, ["not_sent", "mcp_connection_closed"]);
    assert.deepEqual((await client.closed).end, {
      code: null,
      signal: "SIGKILL",
      stderr: "",
    });
  });
});

Deno.test("mcp client does not wait for the grace of a call once the server is gone", async () => {
  const world = createWorld();
  const child = startServer("hangs-in-call");
  await withClient(child, async (client) => {
    const stop = new AbortController();
    const result = call(client, { signal: stop.signal });
    stop.abort();
    Deno.kill(child.pid, "SIGKILL");
    await failureOf(result, ["lost", "tool_canceled"]);
    assert.equal(world.sleepers, 0);
  }, { clock: world.seams.clock });
});

Deno.test("mcp client passes progress on, and is patient with a call that makes some", async () => {
  await withWorld("progress", async (client) => {
    const told: string[] = [];
    assert.deepEqual(await call(client, { onProgress: (message) => told.push(message) }), returned("{}"));
    assert.deepEqual(told, ["1 of 3", "step 2", "step 3"]);
  });
  await withWorld("progress --silent --reports 1", async (client, world) => {
    const reported = Promise.withResolvers<void>();
    const asked = call(client, { idleMs: 10_000, onProgress: () => reported.resolve() });
    // Before the report can have come: no turn of the event loop lies between.
    world.setClock(world.now() + 9_000);
    let isOver = false;
    const result = failureOf(asked, ["lost", "mcp_unavailable"]);
    result.then(() => isOver = true);
    await reported.promise;
    await world.advance(9_999);
    await world.advance(1);
    await world.advance(1_999);
    assert(!isOver);
    await world.advance(1);
    assert(isOver);
    await result;
  });
});

Deno.test("mcp client passes 10,000 reports of progress on, and no more", async () => {
  await withClient(startServer("progress", "--reports", "10050"), async (client) => {
    let told = 0;
    assert.deepEqual(await call(client, { onProgress: () => told++ }), returned("{}"));
    assert.equal(told, 10_000);
  });
});

Deno.test("mcp client gives errors of tools as results, and errors of the protocol as refusals", async () => {
  await withClient(startServer("tool-error"), async (client) => {
    const result = { content: [{ type: "text", text: "the disk is full" }], isError: true };
    assert.deepEqual(await call(client), { status: "returned", result });
  });
  await withClient(startServer("rpc-error"), async (client) => {
    const failure = await failureOf(call(client), ["refused", "mcp_protocol_error"]);
    assert.equal(failure.message, "The MCP server refused the call with error -32602: no such tool");
  });
});

Deno.test("mcp client gives each of 32 calls its own answer, in whatever order they come", async () => {
  await withClient(startServer("reversed"), async (client) => {
    const numbers = Array.from({ length: 32 }, (_, n) => n);
    const order: number[] = [];
    const results = await Promise.all(numbers.map(async (n) => {
      const result = await call(client, { arguments: { n } });
      order.push(n);
      return result;
    }));
    assert.deepEqual(results, numbers.map((n) => returned(`{"n":${n}}`)));
    assert.deepEqual(order, numbers.toReversed());
  });
});

Deno.test("mcp client answers a server that asks for what was not offered, so that none waits", async () => {
  await withClient(startServer("asks-back"), async (client) => {
    assert.deepEqual(await call(client), returned("ask-1: -32601, ask-2: -32601"));
  });
});

Deno.test("mcp client ends a server that ignores the end of its input and TERM", async () => {
  await withClient(startServer("ignores-eof-and-term"), async (client) => {
    assert.deepEqual(await client.close(), { code: null, signal: "SIGKILL", stderr: "" });
  });
});

Deno.test("mcp client loses a server that closes its input or its output and lives on, and ends it (F23)", async () => {
  const silenced = start("sh", ["-c", `${shellHandshake} exec 1>&-; exec sleep 1000`]);
  await withClient(silenced, async (client) => {
    const { failure, end } = await client.closed;
    assert.deepEqual([failure.code, failure.message], [
      "mcp_connection_lost",
      "The MCP server closed its output",
    ]);
    assert.equal(end?.signal, "SIGTERM");
    await failureOf(call(client), ["not_sent", "mcp_connection_lost"]);
  });
  const deaf = start("sh", ["-c", `${shellHandshake} exec 0<&-; printf '%s\\n' deaf; exec sleep 1000`]);
  const isDeaf = Promise.withResolvers<void>();
  await withClient(deaf, async (client) => {
    await isDeaf.promise;
    const failure = await failureOf(call(client), ["lost", "mcp_connection_lost"]);
    assert.match(failure.message, /does not read its input any more/);
    assert.equal((await client.closed).failure.code, "mcp_connection_lost");
    await failureOf(call(client), ["not_sent", "mcp_connection_lost"]);
  }, { onNotice: () => isDeaf.resolve() });
});

Deno.test("mcp client loses the calls in flight before it closes", async () => {
  await withClient(startServer("progress", "--silent"), async (client) => {
    const order: string[] = [];
    const isThere = Promise.withResolvers<void>();
    const lost = failureOf(call(client, { onProgress: () => isThere.resolve() }), [
      "lost",
      "mcp_connection_closed",
    ]);
    lost.then(() => order.push("lost"));
    await isThere.promise;
    const [first, second] = await Promise.all([
      client.close().finally(() => order.push("closed")),
      client.close(),
    ]);
    assert.deepEqual(first, second);
    assert.deepEqual(order, ["lost", "closed"]);
    await lost;
  });
});

Deno.test("mcp client reads all pages of a list, and stops where a server goes round in circles (B88, AR-4)", async () => {
  await withClient(startServer("many-pages"), async (client) => {
    assert.deepEqual(namesOf(await client.list(never)), ["page-1", "page-2", "page-3", "page-4", "page-5"]);
  });
  await withClient(startServer("many-pages", "--pages", String(limits.mcpListPagesMax)), async (client) => {
    assert.equal((await client.list(never)).length, limits.mcpListPagesMax);
  });
  await withClient(startServer("same-cursor"), async (client) => {
    assert.deepEqual(namesOf(await client.list(never)), ["echo", "slow", "environment"]);
  });
  await withClient(startServer("stuck-cursor"), async (client) => {
    assert.deepEqual(namesOf(await client.list(never)), ["page-1", "page-2"]);
  });
});

Deno.test("mcp client keeps lists within bounds of pages and bytes, and the connection with them (B88, AR-4)", async () => {
  for (
    const [mode, bound] of [["endless-pages", limits.mcpListPagesMax], ["huge-list", limits.mcpListBytesMax]]
  ) {
    await withClient(startServer(String(mode)), async (client) => {
      const failure = await listFault(client.list(never));
      assert.equal(failure.code, "mcp_list_invalid");
      assert(failure.message.includes(String(bound)));
      assert.deepEqual(await call(client), returned("{}"));
    });
  }
});

Deno.test("mcp client refuses a list that is none, and takes no list for an empty one if no tools were declared", async () => {
  await withClient(startServer("no-tools-array"), async (client) => {
    assert.equal((await listFault(client.list(never))).code, "mcp_list_invalid");
  });
  await withClient(startServer("no-tools"), async (client) => {
    assert.deepEqual(await client.list(never), []);
  });
  await withClient(startServer("one-bad-tool"), async (client) => {
    assert.deepEqual(namesOf(await client.list(never)), ["echo", "bad", undefined, "slow", "environment"]);
  });
});

Deno.test("mcp client waits for a page no longer than it may, or than somebody wants it", async () => {
  await withWorld("never-lists", async (client, world) => {
    const stop = new AbortController();
    const canceled = listFault(client.list(stop.signal));
    stop.abort();
    assert.equal((await canceled).code, "mcp_connection_closed");
    const late = listFault(client.list(never));
    await world.advance(limits.mcpListPageMs - 1);
    assert.equal(world.sleepers, 1);
    await world.advance(1);
    const failure = await late;
    assert.equal(failure.code, "mcp_unavailable");
    assert(failure.retryable);
    assert.deepEqual(await call(client), returned("{}"));
    assert.equal(world.sleepers, 0);
  });
});
