/** Real servers by Streamable HTTP, each misbehaving in one way, and what the client makes of it. */
import assert from "node:assert/strict";
import { McpGreeting } from "../../schemas/effect.ts";
import { Failure } from "../../schemas/failure.ts";
import { limits } from "../../schemas/limits.ts";
import { type McpCall, type McpCallResult, type McpClient, McpFault } from "../../src/mcp/client.ts";
import { openHttpClient } from "../../src/mcp/http_client.ts";
import { version } from "../../src/version.ts";
import { type Guarded, withGuarded } from "../support/guarded.ts";
import {
  event,
  events,
  greet,
  type HttpMessage,
  type HttpQuirks,
  HttpServer,
  json,
  resultEvent,
  said,
  status,
} from "../support/http_server.ts";
import type { World } from "../support/world.ts";

/** What a test plays with. */
interface Scene {
  readonly client: McpClient;
  readonly server: HttpServer;
  readonly world: World;
  readonly notices: readonly string[];
}

function open({ client, world }: Guarded, server: HttpServer, notices: string[] = []): Promise<McpClient> {
  return openHttpClient({
    url: server.url,
    headers: { "x-test": "yes" },
    fetch: client.fetch,
    clock: world.seams.clock,
    connectMs: 30_000,
    signal: new AbortController().signal,
    onNotice: (text) => void notices.push(text),
  });
}

async function withServer(
  quirks: HttpQuirks,
  play: (guarded: Guarded, server: HttpServer) => Promise<void>,
): Promise<void> {
  const server = new HttpServer(quirks);
  try {
    await withGuarded({ allow: ["127.0.0.1"] }, (guarded) => play(guarded, server));
  } finally {
    await server.close();
  }
}

/** Plays with a client that is open, and closes it whatever happens. */
async function withClient(quirks: HttpQuirks, play: (scene: Scene) => Promise<void>): Promise<void> {
  await withServer(quirks, async (guarded, server) => {
    const notices: string[] = [];
    const client = await open(guarded, server, notices);
    try {
      await play({ client, server, world: guarded.world, notices });
    } finally {
      await client.close();
    }
  });
}

function call(client: McpClient, changes: Partial<McpCall> = {}): Promise<McpCallResult> {
  return client.call({
    tool: "echo",
    arguments: {},
    key: "session/s#1.0",
    signal: new AbortController().signal,
    idleMs: limits.mcpCallIdleMs,
    onProgress: () => {},
    ...changes,
  });
}

/** How a call ended, in one line. */
function ending(result: McpCallResult): string {
  if (result.status === "returned") return `returned ${textIn(result.result)}`;
  Failure.parse(result.failure);
  return `${result.status} ${result.failure.code}`;
}

function textIn(result: unknown): string {
  return (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text ?? "";
}

async function endingOf(result: Promise<McpCallResult>): Promise<string> {
  return ending(await result);
}

/** Waits until something holds while virtual time stands still. */
async function untilNow(holds: () => boolean): Promise<void> {
  for (let looks = 0; looks < 10_000; looks++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.fail("did not come to hold");
}

/** Waits until something holds, letting virtual time pass by a second every ten looks. */
async function untilLater(world: World, holds: () => boolean): Promise<void> {
  for (let looks = 0; looks < 2_000; looks++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
    await world.advance(looks % 10 === 9 ? 1_000 : 0);
  }
  assert.fail("did not come to hold");
}

/** An answer as it is written down. */
function raw(body: string, type = "application/json", code = 200): Response {
  return new Response(body, { status: code, headers: { "content-type": type } });
}

Deno.test("http client shakes hands, names its session and revision in everything that follows, and gives it back (CM-64, CM-66, CM-69, CM-70)", async () => {
  await withClient({}, async ({ client, server }) => {
    const greeting = McpGreeting.parse({ ...client.greeting, tookMs: 1 });
    assert.deepEqual(greeting.session?.id, "session-1");
    assert.equal(greeting.session?.url, server.url);
    const { clientInfo } = server.heardOf("initialize")[0]?.message.params ?? {};
    assert.equal((clientInfo as { readonly name: string }).name, "troupe");
    assert.equal(await endingOf(call(client)), "returned done");
    await client.close();
    const shown = server.heard.map(({ method, message, headers }) => [
      message.method ?? method,
      headers.get("mcp-session-id"),
      headers.get("mcp-protocol-version"),
    ]);
    assert.deepEqual(shown.filter(([what]) => what !== "GET"), [
      ["initialize", null, null],
      ["notifications/initialized", "session-1", "2025-06-18"],
      ["tools/call", "session-1", "2025-06-18"],
      ["DELETE", "session-1", "2025-06-18"],
    ]);
    assert.ok(server.heard.every(({ path, headers }) => path === "/mcp" && headers.get("x-test") === "yes"));
    assert.equal(await endingOf(call(client)), "not_sent mcp_connection_closed");
  });
});

// Nobody below us, the SDK included, sends anything again: whether a call is made once more is decided by its class.
Deno.test("http client calls itself troupe, asks for the newest revision and takes an old one, opens one stream, and repeats nothing (GA-41)", async () => {
  const initialize = (message: HttpMessage) =>
    json(message, {
      protocolVersion: "2024-11-05",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "old", version: "1" },
    });
  let calls = 0;
  const refuse = () => [status(503), status(429), status(500)][calls++] ?? status(500);
  await withClient(
    { initialize, call: refuse, list: () => status(503) },
    async ({ client, server, world }) => {
      const [greeted] = server.heardOf("initialize");
      assert.deepEqual(greeted?.message.params, {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "troupe", version },
      });
      assert.equal(client.greeting.protocolVersion, "2024-11-05");
      for (let made = 0; made < 3; made++) assert.doesNotMatch(await endingOf(call(client)), /^returned/);
      await assert.rejects(client.list(new AbortController().signal));
      await world.advance(600_000);
      assert.equal(server.heardOf("tools/call").length, 3);
      assert.equal(server.heardOf("tools/list").length, 1);
      assert.equal(server.heardOf("initialize").length, 1);
      assert.equal(server.heardOf("GET").length, 1);
    },
  );
});
/** An answer that were whole, did not one byte of its text belong to no character. */
function spoilt({ id }: HttpMessage): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id, result: said("x") }));
  bytes[bytes.lastIndexOf("x".charCodeAt(0))] = 0xff;
  return bytes;
}

/** What a call comes to by each answer, with nothing but the answer to go by: nobody waits for a time to pass. */
const answers: { readonly [name: string]: readonly [string, NonNullable<HttpQuirks["call"]>] } = {
  "a stream that ends before the answer": ["lost mcp_protocol_error", () => events([": nothing\n\n"])],
  "a stream that breaks off before the answer": [
    "lost http_connection_lost",
    () => events([": nothing\n\n"], "broken"),
  ],
  "202 without an answer": ["lost mcp_protocol_error", () => status(202)],
  "an empty 200": ["lost mcp_protocol_error", () => raw("")],
  "HTML (F25)": ["lost mcp_protocol_error", () => raw("<p>Welcome</p>", "text/html")],
  "neither a result nor an error": [
    "lost mcp_protocol_error",
    ({ id }) => Response.json({ jsonrpc: "2.0", id }),
  ],
  "the number of another call (F20)": [
    "lost mcp_protocol_error",
    ({ id = 0 }) => json({ id: id + 1 }, said("not yours")),
  ],
  "bytes that are no UTF-8 (B99)": [
    "lost mcp_protocol_error",
    (message) => new Response(spoilt(message), { headers: { "content-type": "application/json" } }),
  ],
  "an event that is no UTF-8 (B99)": [
    "lost mcp_protocol_error",
    (message) => events(["data: ", spoilt(message), "\n\n"]),
  ],
  "two messages in one event": [
    "lost mcp_protocol_error",
    (message) => events([`data: ${JSON.stringify(message)}${JSON.stringify(message)}\n\n`]),
  ],
  "a byte-order mark, CRLF and U+2028 (B99)": [
    "returned a\u2028b",
    (message) => events([`\ufeff: hi\r\n${resultEvent(message, "a\u2028b").replaceAll("\n", "\r\n")}`]),
  ],
  "an answer split over lines of data (CM-72)": [
    "returned split",
    ({ id }) =>
      events([
        `data: {"jsonrpc": "2.0",\ndata: "id": ${id},\ndata: "result": ${JSON.stringify(said("split"))}}\n\n`,
      ]),
  ],
  "404": ["not_sent session_not_found", () => status(404)],
  "400 that names the session": [
    "not_sent session_not_found",
    () => raw("Bad Request: No valid session ID provided", "text/plain", 400),
  ],
  "400 that names something else": ["lost mcp_protocol_error", () => raw("Bad Request", "text/plain", 400)],
  "400 with an answer of the protocol": [
    "refused mcp_protocol_error",
    ({ id }) =>
      Response.json({ jsonrpc: "2.0", id, error: { code: -32602, message: "no" } }, { status: 400 }),
  ],
  "401": ["not_sent mcp_login_required", () => status(401)],
  "403": ["lost mcp_protocol_error", () => status(403)],
  "500 (F25)": ["lost mcp_unavailable", () => raw("<h1>oops</h1>", "text/html", 500)],
  "a redirect to another server": [
    "lost http_redirect_refused",
    () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example/mcp" } }),
  ],
  "a message of more than 16 MiB": [
    "lost mcp_message_too_large",
    (message) => json(message, said("x".repeat(limits.mcpMessageBytesMax))),
  ],
  "a line of more than 16 MiB that never ends (B93, B94)": [
    "lost mcp_message_too_large",
    () => events(repeated("x".repeat(1_048_576), 18), "open"),
  ],
  "more events than 10,000 (B94)": [
    "lost mcp_message_too_large",
    () => events(repeated("id: 1\ndata: {}\n\n".repeat(100), 101), "open"),
  ],
  "more than 64 MiB of comments (B94)": [
    "lost mcp_message_too_large",
    () => events(repeated(`: ${"x".repeat(1_048_576)}\n`, 65), "open"),
  ],
};

function* repeated(piece: string, times: number): Generator<string> {
  for (let n = 0; n < times; n++) yield piece;
}

for (const [name, [expected, answer]] of Object.entries(answers)) {
  Deno.test(`http client that is answered with ${name} knows at once: ${expected}`, async () => {
    await withClient({ call: answer }, async ({ client, world }) => {
      assert.equal(await endingOf(call(client)), expected);
      assert.ok(world.now() === 1_800_000_000_000, "time has passed");
    });
  });
}

Deno.test("http client never takes a piece of an answer for the whole, wherever its stream is cut (F24)", async () => {
  const whole = (message: HttpMessage) => `: hi\n\n${resultEvent(message, "whole")}`;
  const length = whole({ id: 10 }).length;
  let cut = 0;
  await withClient(
    { call: (message) => events([whole(message).slice(0, cut)], "broken") },
    async ({ client }) => {
      const endings = new Map<string, number>();
      for (cut = 0; cut < length; cut++) {
        const told = await endingOf(call(client));
        endings.set(told, (endings.get(told) ?? 0) + 1);
      }
      assert.deepEqual([...endings.keys()], ["lost http_connection_lost"]);
      cut = length + 10;
      assert.equal(await endingOf(call(client)), "returned whole");
    },
  );
});

Deno.test("http client tells the wait that a server in repair asks for (F25)", async () => {
  const repair = () => new Response(null, { status: 503, headers: { "retry-after": "7" } });
  await withClient({ call: repair }, async ({ client }) => {
    const result = await call(client);
    assert.ok(result.status === "lost");
    const { code, retryable, retryAfterMs, details } = result.failure;
    assert.deepEqual({ code, retryable, retryAfterMs, details }, {
      code: "mcp_unavailable",
      retryable: true,
      retryAfterMs: 7_000,
      details: { http_status: 503 },
    });
  });
});

Deno.test("http client tells of its goodbye: true for 204, false for 404, a failure of the transport for anything else (CM-73)", async () => {
  const goodbyes: unknown[] = [];
  for (const code of [204, 404, 405, 500]) {
    await withClient({ delete: () => status(code) }, async ({ client }) => {
      goodbyes.push((await client.close()).goodbye);
    });
  }
  const failed = (http_status: number) => ({
    code: "mcp_unavailable",
    message: `The MCP server did not say that it ended its session (status ${http_status})`,
    retryable: true,
    classification: "transport",
    details: { http_status },
  });
  assert.deepEqual(goodbyes, [true, false, failed(405), failed(500)]);
  // Nothing was opened: there is nothing to give back.
  await withClient({ initialize: (message) => greetWithout(message) }, async ({ client, server }) => {
    assert.equal((await client.close()).goodbye, undefined);
    assert.equal(server.heardOf("DELETE").length, 0);
  });
});

/** An answer to `initialize` that opens no session. */
function greetWithout(message: HttpMessage): Response {
  const greeted = greet(message);
  greeted.headers.delete("mcp-session-id");
  return greeted;
}

Deno.test("http client calls a tool by tools/call, and gives the content that came, block by block (CM-68)", async () => {
  const content = [
    { type: "text", text: "a" },
    { type: "image", data: "AA==", mimeType: "image/png" },
    { type: "resource_link", uri: "x:1", name: "one" },
  ];
  await withClient({ call: (message) => json(message, { content }) }, async ({ client, server }) => {
    const result = await call(client, { tool: "Echo.2", arguments: { a: [1, null] } });
    assert.ok(result.status === "returned");
    assert.deepEqual((result.result as { readonly content: unknown }).content, content);
    const [heard, ...others] = server.heardOf("tools/call");
    const { name, arguments: given } = heard?.message.params ?? {};
    assert.deepEqual([name, given, others.length], ["Echo.2", { a: [1, null] }, 0]);
  });
});

for (const code of [400, 404, 405, 500]) {
  Deno.test(`http client is as well without the stream of its server, and without its goodbye: ${code}`, async () => {
    await withClient(
      { get: () => status(code), delete: () => status(code) },
      async ({ client, server, world }) => {
        await untilLater(world, () => server.heardOf("GET").length === 1);
        await world.advance(600_000);
        assert.equal(await endingOf(call(client)), "returned done");
        const end = await client.close();
        assert.deepEqual([end.code, server.heardOf("GET").length, server.heardOf("DELETE").length], [
          null,
          1,
          1,
        ]);
      },
    );
  });
}

Deno.test("http client stays with the session that it began with, whatever a later answer names (CM-82)", async () => {
  const call2 = (message: HttpMessage) => json(message, said("done"), { "mcp-session-id": "session-2" });
  await withClient({ call: call2 }, async ({ client, server, notices }) => {
    assert.equal(await endingOf(call(client)), "returned done");
    assert.equal(await endingOf(call(client)), "returned done");
    await client.close();
    assert.ok(server.heard.slice(1).every(({ headers }) => headers.get("mcp-session-id") === "session-1"));
    assert.deepEqual(notices.length, 1);
    assert.match(notices[0] ?? "", /names another session/);
  });
});

Deno.test("http client whose session is lost sends nothing more, and lets other calls end with the same answer (CM-75, CM-81)", async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let calls = 0;
  const lose = async () => {
    const mine = calls++;
    await gates[mine]?.promise;
    return status(404);
  };
  await withClient({ call: lose }, async ({ client, server }) => {
    const both = [call(client), call(client)];
    await untilNow(() => server.heardOf("tools/call").length === 2);
    gates[0]?.resolve();
    assert.equal(await endingOf(Promise.race(both)), "not_sent session_not_found");
    assert.equal(await endingOf(call(client)), "not_sent session_not_found");
    gates[1]?.resolve();
    assert.deepEqual(await Promise.all(both.map(endingOf)), [
      "not_sent session_not_found",
      "not_sent session_not_found",
    ]);
    assert.equal((await client.closed).failure.code, "session_not_found");
    // It is over: there is nothing to give back, and nobody to whom.
    assert.deepEqual([server.heardOf("tools/call").length, server.heardOf("DELETE").length], [2, 0]);
  });
});

Deno.test("http client has its answer at once from a stream that does not end, and cuts it off a second later", async () => {
  const gone = Promise.withResolvers<void>();
  const endless = (message: HttpMessage) => {
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(resultEvent(message, "first"))),
      cancel: () => gone.resolve(),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  await withClient({ call: endless }, async ({ client, world }) => {
    assert.equal(await endingOf(call(client)), "returned first");
    await world.advance(1_000);
    await gone.promise;
    assert.equal(await endingOf(call(client)), "returned first");
  });
});

Deno.test("http client opens the stream of an answer again behind the last event, after the wait that the server asks for", async () => {
  let asked: HttpMessage = {};
  await withServer({}, async (guarded) => {
    const { world } = guarded;
    const at = { ended: 0, opened: 0 };
    const server = new HttpServer({
      call: (message) => {
        asked = message;
        at.ended = world.now();
        return events(["id: at-7\nretry: 5000\ndata:\n\n"]);
      },
      get: ({ headers }) => {
        if (headers.get("last-event-id") !== "at-7") return status(405);
        at.opened = world.now();
        return events([resultEvent(asked, "resumed")]);
      },
    });
    const client = await open(guarded, server);
    try {
      const result = endingOf(call(client));
      await untilLater(world, () => at.opened > 0);
      assert.equal(await result, "returned resumed");
      assert.ok(at.opened - at.ended >= 5_000, `${at.opened - at.ended} ms`);
    } finally {
      await client.close();
      await server.close();
    }
  });
});

Deno.test("http client gives an answer up whose stream cannot be opened again", async () => {
  await withClient({ call: () => events(["id: at-7\ndata:\n\n"]) }, async ({ client, server, world }) => {
    const told: string[] = [];
    void endingOf(call(client)).then((one) => told.push(one));
    await untilLater(world, () => told.length === 1);
    assert.deepEqual(told, ["lost mcp_protocol_error"]);
    assert.equal(server.heard.filter(({ headers }) => headers.has("last-event-id")).length, 3);
  });
});

Deno.test("http client gives a call up that is silent for too long, tells the server, and lets its request go (B95)", async () => {
  const hang = () => events([": one byte, then silence\n\n"], "open");
  await withClient({ call: hang }, async ({ client, server, world }) => {
    const told: string[] = [];
    void endingOf(call(client, { idleMs: 60_000 })).then((one) => told.push(one));
    await untilNow(() => server.heardOf("tools/call").length === 1);
    await world.advance(59_000);
    assert.deepEqual(told, []);
    await untilLater(world, () => told.length === 1);
    assert.deepEqual(told, ["lost mcp_unavailable"]);
    const [canceled] = server.heardOf("notifications/cancelled");
    assert.equal(canceled?.message.params?.["requestId"], server.heardOf("tools/call")[0]?.message.id);
  });
});

Deno.test("http client hears of changes by the stream of its server, also after that was opened again (CM-67)", async () => {
  const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
  const quirks: HttpQuirks = {
    get: ({ headers }) =>
      headers.has("last-event-id")
        ? events([event(changed)], "open")
        : events([": hello\n\nevent: other\ndata: not for us\n\n", event({ no: "message" }, "at-1")]),
  };
  await withClient(quirks, async ({ client, server, world }) => {
    await client.list(new AbortController().signal);
    let isChanged = false;
    void client.listChanged().then(() => isChanged = true);
    await untilLater(world, () => isChanged);
    assert.equal(server.heardOf("GET").length, 2);
    assert.equal(server.heardOf("GET")[1]?.headers.get("last-event-id"), "at-1");
    assert.equal((await client.close()).lastEvent, "notifications/tools/list_changed");
  });
});

Deno.test("http client refuses what a server asks of it, and goes on (B100)", async () => {
  const asking = { jsonrpc: "2.0", id: "s-1", method: "sampling/createMessage", params: {} };
  await withClient(
    { call: (message) => events([event(asking), resultEvent(message, "asked")]) },
    async (scene) => {
      assert.equal(await endingOf(call(scene.client)), "returned asked");
      const answered = () => scene.server.heard.find(({ message }) => message.error !== undefined);
      await untilLater(scene.world, () => answered() !== undefined);
      assert.equal(answered()?.message.error?.code, -32601);
    },
  );
});

Deno.test("http client follows its server within its origin, with the same message", async () => {
  const moved = (path: string) => () => new Response(null, { status: 307, headers: { location: path } });
  const quirks = {
    call: moved("/moved"),
    elsewhere: ({ message, path }: { readonly message: HttpMessage; readonly path: string }) =>
      json(message, said(`${path} ${JSON.stringify(message.params?.["arguments"])}`)),
  };
  await withClient(quirks, async ({ client }) => {
    assert.equal(await endingOf(call(client, { arguments: { a: 1 } })), 'returned /moved {"a":1}');
  });
  // Another server is never told anything, not even that it was named (B101).
  const other = new HttpServer();
  try {
    await withClient({ call: moved(other.url) }, async ({ client }) => {
      assert.equal(await endingOf(call(client)), "not_sent http_redirect_refused");
      assert.deepEqual(other.heard, []);
    });
  } finally {
    await other.close();
  }
});

/** What a handshake fails with, by what the server answers to `initialize`. */
const handshakes: { readonly [name: string]: readonly [string, NonNullable<HttpQuirks["initialize"]>] } = {
  "404": ["mcp_protocol_error", () => status(404)],
  "401": ["mcp_login_required", () => status(401)],
  "503": ["mcp_unavailable", () => status(503)],
  "HTML": ["mcp_protocol_error", () => raw("<p>Welcome</p>", "text/html")],
  "a stream that ends": ["mcp_protocol_error", () => events([])],
  "no greeting": ["mcp_connect_failed", (message) => json(message, { hello: "there" })],
  "a session that no header can carry": [
    "mcp_protocol_error",
    (message) => greet(message, "x".repeat(2_000)),
  ],
};

for (const [name, [code, initialize]] of Object.entries(handshakes)) {
  Deno.test(`http client cannot connect to a server that greets with ${name}: ${code}`, async () => {
    await withServer({ initialize }, async (guarded, server) => {
      const error = await open(guarded, server).then(() => undefined, (reason: unknown) => reason);
      assert.ok(error instanceof McpFault, String(error));
      assert.equal(Failure.parse(error.failure).code, code);
    });
  });
}

Deno.test("http client whose server is away says that nothing was sent, and goes on once it is back", async () => {
  await withGuarded({ allow: ["127.0.0.1"] }, async (guarded) => {
    const server = new HttpServer();
    const client = await open(guarded, server);
    const { port } = new URL(server.url);
    assert.equal(await endingOf(call(client)), "returned done");
    await server.close();
    const away = await call(client);
    assert.ok(away.status === "not_sent" || away.status === "lost", away.status);
    assert.equal(await endingOf(call(client)), "not_sent http_connect_failed");
    const back = Deno.serve(
      { hostname: "127.0.0.1", port: Number(port), onListen: () => {} },
      async (request) => {
        if (request.method !== "POST") return status(405);
        return json(await request.json(), said("back"));
      },
    );
    assert.equal(await endingOf(call(client)), "returned back");
    await client.close();
    await back.shutdown();
  });
});
