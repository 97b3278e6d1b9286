/** Real servers by HTTP in the era of 2026-07-28, each misbehaving in one way, and what the client makes of it. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { type McpCallResult, type McpClient, McpFault } from "../../src/mcp/client.ts";
import {
  discovered,
  event,
  events,
  type HttpMessage,
  type HttpQuirks,
  type HttpServer,
  json,
  refused,
  said,
  status,
} from "../support/http_server.ts";
import { within } from "../support/child_stage.ts";
import { call, never, until, withServer } from "../support/modern_scene.ts";

async function whyNotOpened(opening: Promise<McpClient>): Promise<string> {
  try {
    await opening;
  } catch (error) {
    assert.ok(error instanceof McpFault, String(error));
    return error.failure.code;
  }
  assert.fail("was opened");
}

function methodsOf({ heard }: HttpServer): readonly string[] {
  return heard.map(({ message, method }) => message.method ?? method);
}

function codeOf(result: McpCallResult): string {
  return result.status === "returned" ? "returned" : `${result.status} ${result.failure.code}`;
}

Deno.test("mcp server of the modern era is asked what it is, and told all in every request and its headers", async () => {
  await withServer({ discover: (message) => discovered(message) }, async ({ server, open }) => {
    const client = await open();
    const { era, protocolVersion, server: told, session } = client.greeting;
    assert.deepEqual({ era, protocolVersion, told, id: session?.id }, {
      era: "modern",
      protocolVersion: "2026-07-28",
      told: { name: "modern", version: "3" },
      id: null,
    });
    await client.list(never);
    assert.equal((await call(client, { arguments: { a: 1 } })).status, "returned");
    await client.close();
    assert.deepEqual(methodsOf(server), ["server/discover", "tools/list", "tools/call"]);
    for (const { message, headers } of server.heard) {
      const meta = message.params?.["_meta"] as { readonly [key: string]: unknown };
      assert.equal(headers.get("mcp-protocol-version"), "2026-07-28");
      assert.equal(headers.get("mcp-method"), message.method);
      assert.equal(headers.get("mcp-session-id"), null);
      assert.equal(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
      assert.deepEqual(meta["io.modelcontextprotocol/clientCapabilities"], {});
      assert.equal((meta["io.modelcontextprotocol/clientInfo"] as { name: string }).name, "troupe");
    }
    const [called] = server.heardOf("tools/call");
    assert.equal(called?.headers.get("mcp-name"), "echo");
    const meta = called?.message.params?.["_meta"] as { readonly [key: string]: unknown };
    assert.equal(meta["troupe/idempotency-key"], "session/s#1.0");
  });
});

/** Answers to `server/discover` that say nothing of the modern era. */
const notModern: { readonly [what: string]: (message: HttpMessage) => Response } = {
  "status 400": () => status(400),
  "status 404": () => status(404),
  "status 405": () => status(405),
  "status 500": () => status(500),
  "status 202": () => status(202),
  "method not found": (message) => refused(message, -32_601, "Method not found"),
  "an error to nobody": () => refused({ id: null as unknown as number }, -32_600, "no", { status: 400 }),
  "an empty result": (message) => json(message, {}),
  "other versions": (message) => json(message, { supportedVersions: ["2031-01-01"], capabilities: {} }),
  "a version that is refused": (message) => {
    const data = { supported: ["2025-11-25"], requested: "2026-07-28" };
    return refused(message, -32_022, "Unsupported", { status: 400, data });
  },
};

for (const [what, discover] of Object.entries(notModern)) {
  Deno.test(`mcp server that answers the first question with ${what} is taken for legacy`, async () => {
    await withServer({ discover }, async ({ server, open }) => {
      const client = await open();
      assert.equal(client.greeting.era, "legacy");
      assert.equal((await call(client)).status, "returned");
      assert.deepEqual(methodsOf(server).slice(0, 3), [
        "server/discover",
        "initialize",
        "notifications/initialized",
      ]);
      const [first] = server.heardOf("initialize");
      // Nothing of the other era is left in what is said now.
      assert.equal(first?.headers.get("mcp-method"), null);
      assert.equal(first?.headers.get("mcp-protocol-version"), null);
      assert.equal(server.heardOf("tools/call")[0]?.headers.get("mcp-session-id"), "session-1");
    });
  });
}

Deno.test("mcp server that never answers the first question is taken for legacy after five seconds", async () => {
  const gone = Promise.withResolvers<void>();
  const silent = () =>
    new Response(new ReadableStream({ cancel: () => gone.resolve() }), {
      headers: { "content-type": "text/event-stream" },
    });
  await withServer({ discover: silent }, async ({ server, world, open }) => {
    const opening = open();
    await until("it was asked", { world }, () => server.heard.length === 1);
    await world.advance(limits.mcpProbeMs - 1);
    assert.deepEqual(methodsOf(server), ["server/discover"]);
    await world.advance(1);
    const client = await opening;
    assert.equal(client.greeting.era, "legacy");
    // The question is not left open.
    await within("hanging up", () => gone.promise);
  });
});

Deno.test("mcp server of the modern era that is slow to answer is asked once more, after it refused the other", async () => {
  const asked: HttpMessage[] = [];
  const gone = Promise.withResolvers<void>();
  const discover = (message: HttpMessage) => {
    asked.push(message);
    if (asked.length > 1) return discovered(message);
    return new Response(new ReadableStream({ cancel: () => gone.resolve() }), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  const initialize = (message: HttpMessage) => refused(message, -32_022, "Unsupported", { status: 400 });
  await withServer({ discover, initialize }, async ({ server, world, open }) => {
    const opening = open();
    await until("it was asked", { world }, () => asked.length === 1);
    await world.advance(limits.mcpProbeMs);
    const client = await within("opening", () => opening);
    assert.equal(client.greeting.era, "modern");
    assert.deepEqual(methodsOf(server), ["server/discover", "initialize", "server/discover"]);
    await within("hanging up", () => gone.promise);
  });
});

for (const [code, failure] of [[401, "mcp_login_required"], [403, "mcp_protocol_error"]] as const) {
  Deno.test(`mcp server that answers the first question with status ${code} has shown nothing of its era`, async () => {
    await withServer({ discover: () => status(code) }, async ({ server, open }) => {
      assert.equal(await whyNotOpened(open()), failure);
      assert.deepEqual(methodsOf(server), ["server/discover"]);
    });
  });
}

Deno.test("mcp server that was legacy and is no more is found anew in the same start", async () => {
  const initialize = (message: HttpMessage) =>
    refused(message, -32_022, "Unsupported", { status: 400, data: { supported: ["2026-07-28"] } });
  await withServer({ initialize, discover: (message) => discovered(message) }, async ({ server, open }) => {
    const client = await open([{ era: "legacy" }, { era: "modern" }]);
    assert.equal(client.greeting.era, "modern");
    assert.deepEqual(methodsOf(server), ["initialize", "server/discover"]);
  });
});

Deno.test("mcp server that answers a handshake with a revision that has none is of the modern era", async () => {
  const quirks: HttpQuirks = {
    initialize: (message) => {
      const serverInfo = { name: "odd", version: "1" };
      return json(message, { protocolVersion: "2026-07-28", capabilities: {}, serverInfo });
    },
    discover: (message) => discovered(message),
  };
  await withServer(quirks, async ({ server, open }) => {
    const client = await open([{ era: "legacy" }, { era: "modern" }]);
    assert.equal(client.greeting.era, "modern");
    assert.deepEqual(methodsOf(server), ["initialize", "server/discover"]);
  });
});

Deno.test("mcp call whose stream breaks is lost, and is neither resumed nor taken from what came (F24)", async () => {
  const answer = ({ id }: HttpMessage) =>
    JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...said("half") } });
  for (const end of ["closed", "broken"] as const) {
    const pieces = (
      message: HttpMessage,
    ) => [event({ jsonrpc: "2.0", method: "notifications/x" }, "1"), `data: ${answer(message).slice(0, 40)}`];
    const quirks = {
      discover: (message: HttpMessage) => discovered(message),
      call: (message: HttpMessage) => events(pieces(message), end),
    };
    await withServer(quirks, async ({ server, world, open }) => {
      const client = await open();
      let result: McpCallResult | undefined;
      void call(client).then((ended) => result = ended);
      await until("the call ended", { world }, () => result !== undefined, 1_000);
      assert.match(codeOf(result as McpCallResult), /^lost /);
      assert.deepEqual(server.heardOf("GET"), []);
    });
  }
});

Deno.test("mcp call that is given up ends its stream, and nothing else is sent", async () => {
  const gone = Promise.withResolvers<void>();
  const hold = () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(": here\n\n")),
        cancel: () => gone.resolve(),
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  await withServer(
    { discover: (message) => discovered(message), call: hold },
    async ({ server, world, open }) => {
      const client = await open();
      const abort = new AbortController();
      const calling = call(client, { signal: abort.signal });
      await until("it was called", { world }, () => server.heardOf("tools/call").length === 1);
      abort.abort();
      // No time passes: whoever hangs up waits for no late answer.
      assert.equal(codeOf(await calling), "lost tool_canceled");
      await within("hanging up", () => gone.promise);
      assert.deepEqual(server.heardOf("notifications/cancelled"), []);
    },
  );
});

Deno.test("mcp call that is refused for its revision did not happen, and the connection ends to find out anew", async () => {
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    call: (message) =>
      refused(message, -32_022, "Unsupported", {
        status: 400,
        data: { supported: ["2027-01-01"], requested: "2026-07-28" },
      }),
  };
  await withServer(quirks, async ({ open }) => {
    const client = await open();
    const result = await call(client);
    assert.equal(codeOf(result), "not_sent mcp_version_unsupported");
    assert.ok(
      result.status === "not_sent" && result.failure.retryable && /2027-01-01/.test(result.failure.message),
    );
    assert.equal((await within("the end", () => client.closed)).failure.code, "mcp_version_unsupported");
  });
});

Deno.test("mcp server that lies about its revision to the first question is found out by its list", async () => {
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    list: (message) =>
      refused(message, -32_022, "Unsupported", { status: 400, data: { supported: ["2025-11-25"] } }),
  };
  await withServer(quirks, async ({ open }) => {
    const client = await open();
    await assert.rejects(
      () => client.list(never),
      (error) => error instanceof McpFault && error.failure.code === "mcp_version_unsupported",
    );
    assert.equal((await within("the end", () => client.closed)).failure.code, "mcp_version_unsupported");
  });
});

Deno.test("mcp errors of the modern era say what is wrong: headers that do not match, a capability that is missing", async () => {
  const answers = [
    (message: HttpMessage) => refused(message, -32_020, "Header mismatch", { status: 400 }),
    (message: HttpMessage) =>
      refused(message, -32_021, "Missing", {
        status: 400,
        data: { requiredCapabilities: { elicitation: {}, roots: {} } },
      }),
  ];
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    call: (message) => answers.shift()?.(message) ?? status(500),
  };
  await withServer(quirks, async ({ open }) => {
    const client = await open();
    const mismatch = await call(client);
    assert.equal(codeOf(mismatch), "refused mcp_header_mismatch");
    // The tools are asked for again: what is known of their headers is out of date.
    assert.ok(mismatch.status === "refused" && mismatch.isUnknown);
    const missing = await call(client);
    assert.equal(codeOf(missing), "refused mcp_capability_missing");
    assert.ok(
      missing.status === "refused" && !missing.isUnknown &&
        /elicitation, roots/.test(missing.failure.message),
    );
  });
});

Deno.test("mcp results that want something first come out as they came", async () => {
  const results = [
    {
      resultType: "input_required",
      requestState: "s",
      inputRequests: { a: { method: "elicitation/create", params: { x: [1] } } },
    },
    { resultType: "task", taskId: "t-1", status: "working", pollIntervalMs: 50, ttlMs: null },
    { content: [{ type: "text" }], structuredContent: [1, null] },
  ];
  const left = [...results];
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    call: (message) => json(message, left.shift()),
  };
  await withServer(quirks, async ({ open }) => {
    const client = await open();
    for (const result of results) assert.deepEqual(await call(client), { status: "returned", result });
  });
});

Deno.test("mcp call of the modern era hears how far it has come, and what its server logs meanwhile", async () => {
  const pieces = (message: HttpMessage) => {
    const { progressToken } = message.params?.["_meta"] as { readonly progressToken: unknown };
    const progress = { progressToken, progress: 1, total: 3, message: "one third" };
    return [
      event({ jsonrpc: "2.0", method: "notifications/progress", params: progress }),
      event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "working" } }),
      event({ jsonrpc: "2.0", id: message.id, result: { resultType: "complete", ...said("done") } }),
    ];
  };
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    call: (message) => events(pieces(message)),
  };
  await withServer(quirks, async ({ open }) => {
    const client = await open();
    const shown: string[] = [];
    const result = await call(client, { onProgress: (line) => void shown.push(line) });
    assert.equal(result.status, "returned");
    assert.deepEqual(shown, ["one third", "[info] working"]);
  });
});

Deno.test("mcp arguments are repeated in the headers that their tool names, and in no others", async () => {
  const inputSchema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      other: { type: "string" },
      deep: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
    },
  };
  const quirks: HttpQuirks = {
    discover: (message) => discovered(message),
    list: (message) => json(message, { tools: [{ name: "echo", inputSchema }] }),
  };
  await withServer(quirks, async ({ server, open }) => {
    const client = await open();
    await client.list(never);
    await call(client, { arguments: { region: "Zürich", other: "x", deep: { count: 7 } } });
    await call(client, { arguments: { region: "north 1" } });
    const shown = server.heardOf("tools/call").map(({ headers }) =>
      [...headers].filter(([name]) => name.startsWith("mcp-param-")).map(([name, value]) =>
        `${name}: ${value}`
      )
    );
    assert.deepEqual(shown, [
      ["mcp-param-count: 7", "mcp-param-region: =?base64?WsO8cmljaA==?="],
      ["mcp-param-region: north 1"],
    ]);
  });
});
