/** MCP by HTTP: who is let in, whose a session is, how many sessions may be listened to, and how it ends. */
import assert from "node:assert/strict";
import { apiLimits } from "../../schemas/api_limits.ts";
import { onHttpStage } from "../support/http_stage.ts";
import { asks, eras, openMcpClient, until, waits } from "../support/mcp_client.ts";

Deno.test("MCP by HTTP takes nobody by another name (B01), from another origin (B05), or without a token (B08)", () =>
  onHttpStage({ mcp: true }, async (stage) => {
    const { port } = stage.server;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const say = async (...lines: readonly string[]) => {
      const host = lines.some((line) => line.startsWith("Host:")) ? [] : [`Host: 127.0.0.1:${port}`];
      const head = ["POST /mcp HTTP/1.1", ...host, ...lines, "Content-Type: application/json"];
      const text = [...head, `Content-Length: ${body.length}`, "Connection: close", "", body].join("\r\n");
      const told = await stage.raw(text);
      return [Number(told.split(" ")[1]), /"code":"(\w+)"/.exec(told)?.[1]];
    };
    const token = "Authorization: Bearer p1";
    assert.deepEqual(await say(), [401, "token_invalid"]);
    assert.deepEqual(await say("Authorization: Bearer wrong"), [401, "token_invalid"]);
    assert.deepEqual(await say(token, `Host: attacker.example:${port}`), [403, "host_not_allowed"]);
    for (
      const origin of [
        "null",
        "http://127.0.0.1.evil.example",
        `http://localhost:${port + 1}`,
        `https://127.0.0.1:${port}`,
      ]
    ) {
      assert.deepEqual(await say(token, `Origin: ${origin}`), [403, "origin_not_allowed"], origin);
    }
    // This one is let in, and told to begin a session first.
    assert.equal((await say(token, "Accept: application/json, text/event-stream"))[0], 400);
  }));

Deno.test("a session of MCP is its principal's alone, ends when it is deleted, and has no successor", () =>
  onHttpStage({ mcp: true }, async (stage) => {
    const url = `${stage.server.url}/mcp`;
    const send = async (method: string, token: string, id: string, message?: object) => {
      const answer = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: "application/json, text/event-stream",
          ...(message === undefined ? {} : { "content-type": "application/json" }),
          ...(id === "" ? {} : { "mcp-session-id": id }),
        },
        body: message === undefined ? null : JSON.stringify(message),
      });
      await answer.text();
      return answer;
    };
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    };
    const begun = await send("POST", "p1", "", { jsonrpc: "2.0", id: 1, method: "initialize", params });
    const id = begun.headers.get("mcp-session-id") ?? "";
    assert.match(id, /^[0-9a-f]{64}$/);
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    assert.equal((await send("POST", "p1", id, ping)).status, 200);
    assert.equal((await send("POST", "p2", id, ping)).status, 404);
    assert.equal((await send("DELETE", "p2", id)).status, 404);
    assert.equal((await send("DELETE", "p1", id)).status, 204);
    assert.equal((await send("POST", "p1", id, ping)).status, 404);
    assert.equal((await send("PUT", "p1", id)).status, 405);
  }));

Deno.test("a server that ends lets go of whoever listens by MCP", () =>
  onHttpStage({ mcp: true }, async (stage) => {
    const owner = await openMcpClient(stage, "2025-11-25");
    const modern = await openMcpClient(stage, "2026-07-28");
    const { value: { address } } = await owner.call("spawn", { agent: "tester" });
    const uri = `troupe://${String(address)}`;
    await owner.client.subscribeResource({ uri });
    await modern.client.listen({ resourceSubscriptions: [uri] });
    await stage.drained();
    await assert.rejects(owner.call("list"));
    await owner.client.close();
    await modern.client.close();
    await stage.reopen();
  }));

Deno.test("a server that ends in haste tells who asks by MCP that the turn goes on", () =>
  onHttpStage({ mcp: true, script: asks, config: waits }, async (stage) => {
    const clients = await Promise.all(eras.map((era) => openMcpClient(stage, era)));
    const asked = await Promise.all(clients.map(async ({ call }) => {
      const { value: { address } } = await call("spawn", { agent: "tester" });
      const turn = call("ask", { address, text: "Read it" });
      await until(async () => {
        const { questions } = (await call("questions", { address })).value;
        return (questions as unknown[])[0];
      });
      return { turn };
    }));
    const late = new AbortController();
    const ended = stage.drained(late.signal);
    late.abort();
    for (const { turn } of asked) assert.equal((await turn).value["state"], "running");
    await ended;
    for (const { client } of clients) await client.close();
    await stage.reopen();
  }));

Deno.test("subscriptions of one MCP client are bounded", () =>
  onHttpStage({ mcp: true, rate: undefined }, async (stage) => {
    const { client, call, close } = await openMcpClient(stage, "2025-11-25");
    const addresses: string[] = [];
    for (let at = 0; at <= apiLimits.mcpSubscriptionsMax; at++) {
      addresses.push(String((await call("spawn", { agent: "tester" })).value["address"]));
    }
    const [last = "", ...rest] = addresses.reverse();
    for (const one of rest) await client.subscribeResource({ uri: `troupe://${one}` });
    await assert.rejects(client.subscribeResource({ uri: `troupe://${last}` }), /leave one first/);
    await client.unsubscribeResource({ uri: `troupe://${rest[0]}` });
    await client.subscribeResource({ uri: `troupe://${last}` });
    await close();
  }));
