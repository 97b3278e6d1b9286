/** Servers of 2024-11-05: found by how they refuse, spoken to by their stream, and lost with it. */
import assert from "node:assert/strict";
import type { McpCallResult, McpClient } from "../../src/mcp/client.ts";
import { McpFault } from "../../src/mcp/client.ts";
import { openHttpClient } from "../../src/mcp/http_client.ts";
import { limits } from "../../schemas/limits.ts";
import { McpManifest } from "../../schemas/manifest.ts";
import { type Guarded, withGuarded } from "../support/guarded.ts";
import { type OldQuirks, OldServer } from "../support/old_server.ts";

function open({ client, world }: Guarded, url: string): Promise<McpClient> {
  return openHttpClient({
    url,
    headers: { "x-test": "yes" },
    fetch: client.fetch,
    clock: world.seams.clock,
    connectMs: 30_000,
    signal: new AbortController().signal,
  });
}

async function withOld(
  quirks: OldQuirks,
  play: (guarded: Guarded, server: OldServer) => Promise<void>,
): Promise<void> {
  const server = new OldServer(quirks);
  try {
    await withGuarded({ allow: ["127.0.0.1"] }, (guarded) => play(guarded, server));
  } finally {
    await server.close();
  }
}

async function withClient(
  quirks: OldQuirks,
  play: (client: McpClient, server: OldServer, guarded: Guarded) => Promise<void>,
): Promise<void> {
  await withOld(quirks, async (guarded, server) => {
    const client = await open(guarded, server.url);
    try {
      await play(client, server, guarded);
    } finally {
      await client.close();
    }
  });
}

function call(client: McpClient): Promise<McpCallResult> {
  return client.call({
    tool: "echo",
    arguments: { text: "x" },
    key: "session/s#1.0",
    signal: new AbortController().signal,
    idleMs: limits.mcpCallIdleMs,
    onProgress: () => {},
  });
}

function endingOf(result: McpCallResult): string {
  return result.status === "returned"
    ? JSON.stringify(result.result)
    : `${result.status} ${result.failure.code}`;
}

async function faultOf(opening: Promise<McpClient>): Promise<McpFault["failure"]> {
  const fault = await opening.then(() => assert.fail("it opened"), (error: unknown) => error);
  assert.ok(fault instanceof McpFault, String(fault));
  return fault.failure;
}

async function untilNow(claim: string, holds: () => boolean): Promise<void> {
  for (let looks = 0; looks < 10_000; looks++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.fail(`did not come to hold: ${claim}`);
}

Deno.test("server of 2024-11-05 is spoken to by its stream, once it has refused the newer way (CM-34)", async () => {
  for (const refusal of [400, 404, 405]) {
    await withClient({ refusal }, async (client, server) => {
      const { protocolVersion, session } = client.greeting;
      assert.deepEqual([protocolVersion, session?.transport, session?.id], ["2024-11-05", "sse", null]);
      assert.equal((await client.list(new AbortController().signal)).length, 1);
      assert.match(endingOf(await call(client)), /old \{\\"text\\":\\"x\\"\}/);
      assert.deepEqual(server.heard, [
        "POST /sse initialize",
        "GET /sse -",
        "POST /message initialize",
        "POST /message notifications/initialized",
        "POST /message tools/list",
        "POST /message tools/call",
      ]);
      assert.ok(server.headers.every((headers) => headers.get("x-test") === "yes"));
      await client.close();
      await untilNow("the stream is closed", () => server.open === 0);
      assert.equal(endingOf(await call(client)), "not_sent mcp_connection_closed");
    });
  }
});

Deno.test("server that refuses us, or is broken, is not taken for one of 2024-11-05 (CM-34)", async () => {
  for (const refusal of [401, 403, 406, 500, 503]) {
    await withOld({ refusal }, async (guarded, server) => {
      await faultOf(open(guarded, server.url));
      assert.deepEqual(server.heard, ["POST /sse initialize"], String(refusal));
    });
  }
  // One that has no stream either is told of by its first answer.
  await withOld({ hasStream: false }, async (guarded, server) => {
    const why = await faultOf(open(guarded, server.url));
    assert.match(why.message, /answered with status 404/);
    assert.deepEqual(server.heard, ["POST /sse initialize", "GET /sse -"]);
  });
});

Deno.test("server of 2024-11-05 cannot send our messages to another origin (CM-34)", async () => {
  await withOld({}, async (_, other) => {
    const places = [
      `${other.url.replace("/sse", "/message")}?session=1`,
      "https://example.com/message",
      "//127.0.0.1:1/message",
      "http://ada:pw@127.0.0.1/message",
      "http://[",
    ];
    for (const endpoint of places) {
      await withOld({ endpoint }, async (guarded, server) => {
        const why = await faultOf(open(guarded, server.url));
        assert.match(why.message, /another origin/, endpoint);
        assert.deepEqual(server.heard, ["POST /sse initialize", "GET /sse -"]);
      });
    }
    assert.deepEqual(other.heard, []);
  });
});

Deno.test("calls in flight are lost with the stream of a server of 2024-11-05, and none is sent afterwards (CM-34)", async () => {
  await withClient({ post: () => new Response(null, { status: 202 }) }, async (client, server) => {
    const inFlight = [call(client), call(client)];
    await untilNow("both were sent", () => server.heard.filter((one) => /call$/.test(one)).length === 2);
    server.hangUp();
    for (const one of inFlight) assert.equal(endingOf(await one), "lost mcp_connection_lost");
    assert.equal((await client.closed).failure.code, "mcp_connection_lost");
    assert.equal(endingOf(await call(client)), "not_sent mcp_connection_lost");
  });
});

Deno.test("message that a server of 2024-11-05 refuses is told for what it was (CM-34)", async () => {
  const refusals: readonly (readonly [number, string])[] = [
    [404, "not_sent session_not_found"],
    [401, "not_sent mcp_login_required"],
    [413, "lost mcp_protocol_error"],
    [503, "lost mcp_unavailable"],
  ];
  for (const [code, told] of refusals) {
    const quirks: OldQuirks = {
      post: ({ method }) => method === "tools/call" ? new Response("no", { status: code }) : undefined,
    };
    await withClient(quirks, async (client) => {
      let why = "";
      void client.closed.then(({ failure }) => why = failure.code);
      assert.equal(endingOf(await call(client)), told);
      // A session that the server does not know is over, whatever its stream says.
      if (code === 404) await untilNow("the session is over", () => why === "session_not_found");
    });
  }
});

Deno.test("stream of a server of 2024-11-05 may bring what is no message, and news between answers", async () => {
  await withClient({}, async (client, server) => {
    server.say(": a comment\n\nevent: ping\ndata: {}\n\ndata: nonsense\n\n");
    server.say(`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })}\n\n`);
    await client.listChanged();
    assert.match(endingOf(await call(client)), /old/);
    // A second place counts as little as a second answer.
    server.say("event: endpoint\ndata: /elsewhere\n\n");
    assert.match(endingOf(await call(client)), /old/);
  });
});

Deno.test("handshake with a server of 2024-11-05 that names no place for messages ends in time", async () => {
  await withOld({ isMute: true }, async (guarded, server) => {
    const opening = faultOf(open(guarded, server.url));
    await untilNow("it listens", () => server.open === 1);
    await guarded.world.advance(30_000);
    assert.equal((await opening).code, "mcp_connect_timed_out");
    await untilNow("the stream is closed", () => server.open === 0);
  });
  await withOld({ endpoint: "" }, async (guarded, server) => {
    assert.match(
      (await faultOf(open(guarded, server.url))).message,
      /did not say where messages are sent to/,
    );
  });
});

Deno.test("manifest says what to write for transports that it does not have (LC-24)", () => {
  const told = (transport: string) =>
    McpManifest.safeParse({ transport, url: "https://a.example/" }).error?.issues[0];
  assert.match(told("ws")?.message ?? "", /must be stdio or streamable_http: mcp_transport_unsupported/);
  assert.match(told("sse")?.message ?? "", /must be streamable_http, which finds servers of sse too/);
  assert.equal(told("carrier-pigeon")?.message, "must be stdio or streamable_http");
});
