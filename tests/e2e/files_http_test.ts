/** `troupe mcp-server files --http`: the real command on loopback, asked by HTTP, and by an agent of troupe. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { callOf, firstTurn, onMcpStage, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { assertRefused, type Running, type Stage } from "./troupe.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};

/** Plays with a server of the stage's workspace. */
async function withFiles(play: (stage: Stage, url: URL) => Promise<void>): Promise<void> {
  await onMcpStage(async (stage) => {
    await stage.write({ "ws/a.txt": "alpha\n" });
    const running: Running = stage.start("mcp-server", "files", "--root", "ws", "--http", "0");
    const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(await running.until("/mcp\n")) ?? [];
    try {
      await play(stage, new URL(url));
    } finally {
      running.signal("SIGTERM");
      const ended = await running.ended;
      assert.deepEqual([ended.code, ended.err], [0, ""]);
    }
  });
}

/** The one answer that a connection brings: the server need not close behind it. */
async function readAnswer(connection: Deno.Conn): Promise<string> {
  const bytes = new Uint8Array(65_536);
  let text = "";
  for (let missing = Infinity; missing > 0;) {
    const count = await connection.read(bytes);
    if (count === null) break;
    text += new TextDecoder().decode(bytes.subarray(0, count));
    const head = text.indexOf("\r\n\r\n");
    if (head < 0) continue;
    const [, length = "0"] = /^content-length: *(\d+)/im.exec(text.slice(0, head)) ?? [];
    missing = head + 4 + Number(length) - text.length;
  }
  return text;
}

/** One request as it is written down, so that every header can be said; gives the status and the body. */
async function ask(
  url: URL,
  { method = "POST", headers = {}, body }: {
    readonly method?: string;
    readonly headers?: { readonly [name: string]: string };
    readonly body?: unknown;
  },
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const all = {
    host: url.host,
    connection: "close",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": String(new TextEncoder().encode(text).length),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(url.port) });
  await connection.write(
    new TextEncoder().encode(`${method} ${url.pathname} HTTP/1.1\r\n${lines}\r\n${text}`),
  );
  const answer = await readAnswer(connection);
  const cut = answer.indexOf("\r\n\r\n");
  const [first = "", ...fields] = answer.slice(0, cut).split("\r\n");
  const told = new Headers(fields.map((field) => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon), field.slice(colon + 1).trim()] as [string, string];
  }));
  return { status: Number(first.split(" ")[1]), headers: told, text: answer.slice(cut + 4) };
}

Deno.test("mcp-server files by HTTP serves an agent of troupe, and ends at TERM", async () => {
  await withFiles(async (stage, url) => {
    await stage.write({
      "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: [url.host] } }),
    });
    await writeMcpAgent(stage, {
      servers: { files: { transport: "streamable_http", url: url.href, approval_policy: "auto" } },
      answers: [
        { calls: [callOf("files__read_project_file", { path: "a.txt" })] },
        { expect: "alpha", text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    assert.match(await stage.output(...firstTurn, "--answer", "deny"), /finished/);
    // No other machine is listened to, and nothing but a port is taken.
    assertRefused(await stage.run("mcp-server", "files", "--http", "70000"), 2, "option_invalid", "65535");
    assertRefused(await stage.run("mcp-server", "files", "--http", url.port), 2, "option_invalid", "in use");
  });
});

Deno.test("mcp-server files by HTTP serves loopback by its own names only, and no page of another origin", async () => {
  await withFiles(async (_stage, url) => {
    const refused = [
      { host: "files.example" },
      { host: `files.example:${url.port}` },
      { host: "127.0.0.1:1" },
      { host: `127.0.0.1.example:${url.port}` },
      { origin: "https://evil.example" },
      { origin: "http://127.0.0.1.evil.example" },
      { origin: "null" },
    ];
    for (const headers of refused) {
      const { status, text } = await ask(url, { headers, body: initialize });
      assert.equal(status, 403, JSON.stringify(headers));
      assert.equal(JSON.parse(text).error.code, -32000);
    }
    const served: { readonly [name: string]: string }[] = [
      {},
      { host: `localhost:${url.port}` },
      { origin: "http://localhost:5173" },
    ];
    for (const headers of served) {
      assert.equal((await ask(url, { headers, body: initialize })).status, 200, JSON.stringify(headers));
    }
  });
});

Deno.test("mcp-server files by HTTP knows its sessions, answers for others with 404, and takes no endless body", async () => {
  const held: Deno.Conn[] = [];
  await withFiles(async (_stage, url) => {
    const began = await ask(url, { body: initialize });
    const session = { "mcp-session-id": began.headers.get("mcp-session-id") ?? "" };
    assert.equal(JSON.parse(began.text).result.serverInfo.name, "troupe-files");
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    const listed = await ask(url, { headers: session, body: list });
    assert.deepEqual(
      JSON.parse(listed.text).result.tools.map(({ name }: { readonly name: string }) => name),
      ["read_project_file", "search_project_text"],
    );
    const unknown = await ask(url, { headers: { "mcp-session-id": "made-up" }, body: list });
    assert.deepEqual([unknown.status, JSON.parse(unknown.text).error.code], [404, -32000]);
    assert.equal((await ask(url, { body: list })).status, 400);
    assert.equal((await ask(url, { method: "GET", headers: session })).status, 405);
    assert.equal((await ask(url, { method: "PUT", headers: session })).status, 405);
    assert.equal((await ask(url, { headers: session, body: "{" })).status, 400);
    const long = { "content-length": String(limits.mcpServedBodyBytesMax + 1) };
    assert.equal((await ask(url, { headers: { ...session, ...long } })).status, 413);
    assert.equal((await ask(url, { method: "DELETE", headers: session })).status, 204);
    assert.equal((await ask(url, { headers: session, body: list })).status, 404);
    // A client that asks half and goes on holding its connection does not hold up the end.
    const half = await Deno.connect({ hostname: "127.0.0.1", port: Number(url.port) });
    held.push(half);
    await half.write(
      new TextEncoder().encode(`POST /mcp HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: 9\r\n\r\n{`),
    );
  });
  for (const connection of held) connection.close();
});
