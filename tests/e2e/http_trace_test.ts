/** Which trace a request belongs to, and how far its name goes (GA-27). */
import assert from "node:assert/strict";
import { onHttpStage } from "../support/http_stage.ts";
import { SessionServer } from "../support/session_server.ts";

const agent = [
  "name: tester",
  "model: scripted/script.yaml",
  "tools: [web_extract]",
  'capabilities: [network.fetch, "mcp.connect:*", "mcp.call:*"]',
  "",
].join("\n");

Deno.test({
  name:
    "a trace goes from the request into its answer, the journal, the calls of MCP servers and HTTP of its turn (GA-27)",
  // A store that is closed in a hurry does not take leave of its servers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: playTraces,
});

async function playTraces(): Promise<void> {
  const server = new SessionServer(["ok", "ok"]);
  const web: (string | null)[] = [];
  const site = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    web.push(request.headers.get("x-trace-id"));
    return new Response("plain words", { headers: { "content-type": "text/plain" } });
  });
  const url = `http://127.0.0.1:${site.addr.port}/`;
  const call = (message: string) => ({ tool: "remote__echo", arguments: { message } });
  const script = JSON.stringify({
    answers: [
      { calls: [call("one"), { tool: "web_extract", arguments: { url } }] },
      { text: "first" },
      { calls: [call("two")] },
      { text: "second" },
    ],
  });
  const manifest = { transport: "streamable_http", url: server.url, approval_policy: "auto" };
  await onHttpStage({
    agent,
    script,
    files: { "mcp/remote.yaml": JSON.stringify(manifest) },
    config: {
      network: { allow: [`127.0.0.1:${server.port}`, `127.0.0.1:${site.addr.port}`] },
      policy: { tools: { web_extract: "auto" } },
    },
  }, async (stage) => {
    const { address } = await (await stage.ask("/agents", { body: { agent: "tester" }, key: "s" })).json();
    /** Asks, and allows whatever a person is asked meanwhile. */
    const ask = async (text: string, trace?: string) => {
      const headers = trace === undefined ? {} : { headers: { "x-trace-id": trace } };
      const asked = { isOver: false };
      const turn = stage.ask(`/actors/${address}/ask`, { body: { text }, key: text, ...headers });
      void turn.finally(() => asked.isOver = true);
      while (!asked.isOver) {
        const { questions } = await (await stage.ask("/questions", { token: "operator" })).json();
        for (const { id: question, shown } of questions) {
          const body = { decision: "allow", shown };
          const path = `/questions/${encodeURIComponent(question)}/answer`;
          await (await stage.ask(path, { token: "operator", body, key: question })).body?.cancel();
        }
      }
      return await turn;
    };
    const first = await ask("Hi", "trace-1");
    assert.deepEqual([first.headers.get("x-trace-id"), (await first.json()).text], ["trace-1", "first"]);
    const second = await ask("Ho");
    assert.equal((await second.json()).text, "second");
    const minted = second.headers.get("x-trace-id") ?? "";
    assert.match(minted, /^req_/);
    // Sent again with its key it is the same command, whatever trace that has.
    const again = { body: { text: "Hi" }, key: "Hi", headers: { "x-trace-id": "trace-2" } };
    assert.equal((await (await stage.ask(`/actors/${address}/ask`, again)).json()).text, "first");
    const calls = server.heard.filter(({ message }) => message === "tools/call");
    assert.deepEqual(calls.map(({ meta }) => meta["troupe/trace-id"]), ["trace-1", minted]);
    assert.deepEqual(web, ["trace-1"]);
    const watched = await (await stage.ask(`/actors/${address}/watch?follow=false`)).text();
    const told = watched.split("\n").filter((line) => line.includes('"type":"session.prompt"'));
    assert.deepEqual(told.map((line) => JSON.parse(line.slice(6)).entry.body.trace), ["trace-1", minted]);
    const refused = await stage.ask("/actors/session/none", { headers: { "x-trace-id": "trace-3" } });
    assert.equal((await refused.json()).request_id, "trace-3");
    // What is no name of a trace is none: neither echoed nor written.
    for (const odd of ["a b", "x".repeat(65), 'a"b']) {
      const answer = await stage.ask("/health", { headers: { "x-trace-id": odd } });
      await answer.body?.cancel();
      assert.match(answer.headers.get("x-trace-id") ?? "", /^req_/);
    }
  });
  await server.close();
  await site.shutdown();
}
