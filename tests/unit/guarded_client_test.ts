/** The guarded client against real servers on loopback: what is sent, what comes back, and which connection carries it. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="npm:@modelcontextprotocol/sdk@1.32.2/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { limits } from "../../schemas/limits.ts";
import { failureOf, now, withGuarded } from "../support/guarded.ts";
import { answerOf, say, startRawServer } from "../support/raw_server.ts";

const allow = ["127.0.0.1"];

Deno.test("guarded client sends method, path, headers and body, and gives status, headers and body", async () => {
  const server = startRawServer((_, connection) =>
    say(
      connection,
      answerOf('{"ok":true}', "content-type: application/json\r\nX-Two: a\r\nx-two: b\r\n", "201 Made"),
    )
  );
  await withGuarded({ allow }, async ({ client }) => {
    const response = await client.fetch(`${server.origin}/a%20b?q=1#part`, {
      method: "POST",
      headers: { "X-Api": "one", authorization: "Bearer t" },
      body: "h\u00e9llo",
    });
    assert.deepEqual([response.status, response.statusText, response.ok], [201, "Made", true]);
    assert.equal(response.headers.get("x-two"), "a, b");
    assert.deepEqual(await response.json(), { ok: true });
    assert.deepEqual([response.url, response.redirected], [`${server.origin}/a%20b?q=1#part`, false]);
    const [request] = server.requests;
    const lines = (request?.head ?? "").split("\r\n");
    assert.equal(lines[0], "POST /a%20b?q=1 HTTP/1.1");
    assert.ok(lines.includes(`host: 127.0.0.1:${server.port}`));
    assert.ok(lines.includes("x-api: one") && lines.includes("authorization: Bearer t"));
    assert.ok(
      lines.includes("content-length: 6") && lines.includes("content-type: text/plain;charset=UTF-8"),
    );
    assert.equal(request?.body, "h\u00c3\u00a9llo");
    assert.ok(
      !lines.some((line) => /^(?:cookie|referer|origin):/i.test(line)),
      "nothing is added that tells on us",
    );
  });
  await server.close();
});

Deno.test("guarded client takes every kind of body that fetch takes, and streams one in chunks", async () => {
  const server = startRawServer((_, connection) => say(connection, answerOf("")));
  await withGuarded({ allow }, async ({ client }) => {
    const form = new FormData();
    form.set("a", "1");
    const bodies = [
      Uint8Array.of(104, 105),
      new URLSearchParams({ a: "1 2" }),
      new Blob(["hi"], { type: "text/x" }),
      form,
    ];
    for (const body of bodies) {
      assert.equal((await client.fetch(server.origin, { method: "PUT", body })).status, 200);
    }
    const heads = server.requests.map(({ head }) => /^content-type: (.*?)(?:;.*)?$/m.exec(head)?.[1]?.trim());
    assert.deepEqual(heads, [
      undefined,
      "application/x-www-form-urlencoded",
      "text/x",
      "multipart/form-data",
    ]);
    assert.deepEqual(server.requests.slice(0, 3).map(({ body }) => body), ["hi", "a=1+2", "hi"]);
    const stream = ReadableStream.from([Uint8Array.of(97), new Uint8Array(0), Uint8Array.of(98, 99)]);
    await client.fetch(server.origin, { method: "POST", body: stream });
    assert.equal(server.requests[4]?.body, "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n");
  });
  await server.close();
});

Deno.test("guarded client refuses requests that no caller may make, before anything is sent", async () => {
  await withGuarded({ allow }, async ({ client, dialed }) => {
    const bad: readonly RequestInit[] = [
      { method: "CONNECT" },
      { method: "TRACE" },
      { method: "GET\r\nX: y" },
      { headers: { host: "elsewhere" } },
      { headers: { "transfer-encoding": "chunked" } },
      { headers: { "content-length": "5" } },
      { headers: { "proxy-authorization": "x" } },
      { headers: { "x-a": "b\r\nx-injected: c" } },
      { body: "a body" },
      { method: "POST", body: new Uint8Array(limits.httpRequestBodyBytesMax + 1) },
      { headers: { "x-long": "x".repeat(limits.httpHeadBytesMax) } },
    ];
    for (const init of bad) {
      const error = await failureOf(client.fetch("https://127.0.0.1/", init));
      assert.deepEqual(
        [error.code, error.wasSent],
        ["http_request_invalid", false],
        Object.keys(init).join(),
      );
    }
    assert.deepEqual(dialed, []);
  });
});

Deno.test("guarded client gives the pieces of a stream as they come, and ends the connection when nobody reads on", async () => {
  let write = (_: string): Promise<void> => Promise.resolve();
  const server = startRawServer((_, connection) => {
    write = (text) => say(connection, `${text.length.toString(16)}\r\n${text}\r\n`);
    return say(
      connection,
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
  });
  await withGuarded({ allow }, async ({ client }) => {
    const response = await client.fetch(server.origin);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const text of ["data: one\n\n", "data: two\n\n"]) {
      // The next piece is written only after the one before it was read: nothing is held back.
      await write(text);
      assert.equal((await reader.read()).value, text);
    }
    await reader.cancel();
    await server.nextEnd();
    assert.equal(client.idleConnections, 0);
  });
  await server.close();
});

Deno.test("guarded client uses a connection again only after a whole answer that allows it", async () => {
  const answers: { readonly [path: string]: string } = {
    "/kept": answerOf("one"),
    "/chunked":
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\ntrailer: x\r\n\r\n",
    "/close": answerOf("two", "connection: close\r\n"),
    "/old": "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx",
  };
  const server = startRawServer(({ head }, connection) =>
    say(connection, answers[head.split(" ")[1] ?? ""] ?? "")
  );
  await withGuarded({ allow }, async ({ client, world }) => {
    const get = async (path: string) => (await client.fetch(`${server.origin}${path}`)).text();
    assert.deepEqual([await get("/kept"), await get("/chunked"), await get("/close")], ["one", "abc", "two"]);
    assert.equal(server.connections, 1);
    assert.deepEqual([await get("/old"), await get("/kept")], ["x", "one"]);
    assert.equal(server.connections, 3);
    assert.equal(client.idleConnections, 1);
    await world.advance(limits.httpKeepMs);
    assert.equal(client.idleConnections, 0, "a connection is kept shorter than servers keep theirs");
  });
  await server.close();
});

Deno.test("guarded client never takes an answer that came unasked for the answer to the next request", async () => {
  let speak = (): Promise<void> => Promise.resolve();
  const split = startRawServer(({ connection: index }, connection) => {
    speak = () => say(connection, answerOf("planted"));
    return say(connection, answerOf(`own ${index}`));
  });
  await withGuarded({ allow }, async ({ client, world }) => {
    assert.equal(await (await client.fetch(split.origin)).text(), "own 1");
    await speak();
    for (let turns = 0; turns < 100_000 && client.idleConnections > 0; turns++) await world.settle();
    assert.equal(client.idleConnections, 0);
    assert.equal(await (await client.fetch(split.origin)).text(), "own 2");
  });
  await split.close();
});

Deno.test("guarded client asks once more on a new connection only where that harms nobody", async () => {
  const server = startRawServer(({ head, connection: index }, connection) => {
    if (index === 1 && head.includes("/second")) return connection.close();
    return say(connection, answerOf("fine"));
  });
  await withGuarded({ allow }, async ({ client }) => {
    await (await client.fetch(`${server.origin}/first`)).text();
    assert.equal(await (await client.fetch(`${server.origin}/second`)).text(), "fine");
    assert.deepEqual(server.requests.map(({ head }) => head.split(" ")[1]), ["/first", "/second", "/second"]);
  });
  const deaf = startRawServer(({ head }, connection) =>
    head.includes("/first") ? say(connection, answerOf("fine")) : connection.close()
  );
  await withGuarded({ allow }, async ({ client }) => {
    await (await client.fetch(`${deaf.origin}/first`)).text();
    const error = await failureOf(client.fetch(`${deaf.origin}/second`, { method: "POST", body: "pay" }));
    assert.deepEqual([error.code, error.wasSent, error.retryable], ["http_connection_lost", true, true]);
    assert.equal(deaf.requests.length, 2, "a POST is not sent twice");
  });
  await Promise.all([server.close(), deaf.close()]);
});

Deno.test("guarded client passes over announcements, and takes an answer that comes before all was sent", async () => {
  const early = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const refusing = (async () => {
    const connection = await early.accept();
    await connection.read(new Uint8Array(1_024));
    await say(connection, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n");
    await say(connection, answerOf("too much", "", "413 Too Large"));
    return connection;
  })();
  await withGuarded({ allow }, async ({ client }) => {
    const { port } = early.addr as Deno.NetAddr;
    let isCanceled = false;
    const endless = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      pull: () => new Promise(() => {}),
      cancel: () => void (isCanceled = true),
    });
    const response = await client.fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: endless });
    assert.deepEqual([response.status, await response.text()], [413, "too much"]);
    assert.ok(isCanceled, "the rest is not asked for");
    assert.equal(client.idleConnections, 0);
  });
  (await refusing).close();
  early.close();
});

Deno.test("guarded client stops at the caller's signal, before the answer and in the middle of it", async () => {
  const server = startRawServer(({ head }, connection) =>
    head.includes("/body") ? say(connection, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf") : undefined
  );
  await withGuarded({ allow }, async ({ client, world }) => {
    const reason = new Error("Nobody wants it");
    const early = new AbortController();
    const waiting = client.fetch(`${server.origin}/silent`, { signal: early.signal });
    await server.nextRequest();
    early.abort(reason);
    await assert.rejects(now(world, waiting), reason);
    await server.nextEnd();
    const late = new AbortController();
    const response = await client.fetch(`${server.origin}/body`, { signal: late.signal });
    const reader = response.body!.getReader();
    assert.equal((await reader.read()).value?.length, 4);
    const rest = reader.read();
    late.abort(reason);
    await assert.rejects(now(world, rest), reason);
    await server.nextEnd();
    await assert.rejects(client.fetch(server.origin, { signal: AbortSignal.abort(reason) }), reason);
  });
  await server.close();
});

Deno.test("guarded client has a bound on requests at once, and ends them all when it is closed", async () => {
  const server = startRawServer(() => {});
  await withGuarded({ allow }, async ({ client }) => {
    const waiting = Array.from(
      { length: limits.httpExchangesAtOnceMax },
      () => failureOf(client.fetch(server.origin)),
    );
    await server.nextRequest();
    const busy = await failureOf(client.fetch(server.origin));
    assert.deepEqual([busy.code, busy.retryable, busy.wasSent], ["http_busy", true, false]);
    client.close();
    for (const error of await Promise.all(waiting)) assert.equal(error.code, "http_connection_lost");
  });
  await server.close();
});

Deno.test("guarded client is a fetch for the MCP SDK's transport over HTTP", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = await request.json();
    if (message.id === undefined) return new Response(null, { status: 202 });
    const result = message.method === "initialize"
      ? {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      }
      : { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
    const event = `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`;
    return new Response(event, { headers: { "content-type": "text/event-stream" } });
  });
  await withGuarded({ allow }, async ({ client, decisions }) => {
    const url = new URL(`http://127.0.0.1:${server.addr.port}/mcp`);
    const transport = new StreamableHTTPClientTransport(url, { fetch: client.fetch });
    const mcp = new Client({ name: "test", version: "1" });
    await mcp.connect(transport as Parameters<typeof mcp.connect>[0]);
    assert.deepEqual((await mcp.listTools()).tools.map(({ name }) => name), ["echo"]);
    await mcp.close();
    assert.ok(decisions.length >= 3 && decisions.every(({ reason }) => reason === "allowed"));
  });
  await server.shutdown();
});
