/** A page read by an agent, and the one policy that says where requests may go. */
import assert from "node:assert/strict";
import { onStage, type Stage } from "./troupe.ts";

async function writeAgent(stage: Stage, url: string, network: readonly string[]): Promise<void> {
  const calls = [{ tool: "web_extract", arguments: { url } }];
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "reader",
      model: "scripted/script.yaml",
      tools: ["web_extract"],
      capabilities: ["network.fetch", "mcp.connect:*", "mcp.call:*"],
    }),
    "agent/mcp/remote.yaml": JSON.stringify({
      transport: "streamable_http",
      url: `${url}mcp`,
      approval_policy: "auto",
    }),
    "agent/script.yaml": JSON.stringify({ answers: [{ calls }, { text: "done" }] }),
    "config/troupe/troupe.yaml": JSON.stringify({ network: { allow: network } }),
    "ws/a.txt": "",
  });
}

const run = ["run", "agent", "go", "--workspace", "ws"];

Deno.test("one network policy of the host says where pages and MCP servers may be reached (DM-74)", async () => {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return pathname === "/mcp"
      ? new Response("no", { status: 500 })
      : new Response("<p>Hello from the page</p>", { headers: { "content-type": "text/html" } });
  });
  try {
    for (const network of [[], ["127.0.0.1"]]) {
      await onStage(async (stage) => {
        await writeAgent(stage, `http://127.0.0.1:${server.addr.port}/`, network);
        await stage.run("trust", "agent", "--yes");
        const ended = await stage.run(...run, "--answer", "allow", "--json");
        const isAllowed = network.length > 0;
        assert.equal(asked.includes("/"), isAllowed, ended.err);
        assert.equal(asked.includes("/mcp"), isAllowed, ended.err);
        const shown = await stage.output("log", "last", "--json");
        assert.equal(shown.includes("url_blocked"), !isAllowed);
        assert.equal(shown.includes("Hello from the page"), isAllowed);
      });
    }
  } finally {
    await server.shutdown();
  }
});

Deno.test("run reads no page that nobody allowed (DM-16)", async () => {
  let asked = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked += 1;
    return new Response("x");
  });
  try {
    await onStage(async (stage) => {
      await writeAgent(stage, `http://127.0.0.1:${server.addr.port}/`, ["127.0.0.1"]);
      await Deno.remove(`${stage.folder}/agent/mcp`, { recursive: true });
      await stage.run(...run, "--answer", "deny");
      assert.equal(asked, 0);
    });
  } finally {
    await server.shutdown();
  }
});
