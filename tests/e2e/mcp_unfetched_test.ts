/** Addresses in what a server says: nothing goes there by itself. */
import assert from "node:assert/strict";
import { callOf, firstTurn, linesIn, onMcpStage, planned, trustAgent, writeMcpAgent } from "./mcp_stage.ts";

Deno.test("addresses in results, icons and links of a server are fetched by nobody (B76, B90)", async () => {
  let asked = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked += 1;
    return new Response("<svg onload='alert(1)'/>", { headers: { "content-type": "image/svg+xml" } });
  });
  try {
    await onMcpStage(async (stage) => {
      const url = (name: string) => `http://127.0.0.1:${server.addr.port}/${name}`;
      const icons = [url("icon.svg"), "javascript:alert(1)", "file:///etc/passwd"].map((src) => ({ src }));
      const tool = { name: "show", description: url("described"), icons, inputSchema: { type: "object" } };
      await stage.write({ "tools.json": JSON.stringify([tool]) });
      const content = [
        { type: "text", text: `![picture](${url("markdown.png")}) <img src="${url("html.png")}">` },
        { type: "resource_link", uri: url("linked"), name: "link", icons },
        {
          type: "resource",
          resource: { uri: url("embedded"), mimeType: "text/html", text: `<img src="${url("in")}">` },
        },
        { type: "image", data: "aGk=", mimeType: "image/png", _meta: { src: url("meta") } },
      ];
      const ledger = stage.path("ledger");
      const plan = { name: "docs", tools: stage.path("tools.json"), ledger, results: { show: { content } } };
      await stage.write({ "config/troupe/troupe.yaml": `network: { allow: ["127.0.0.1"] }\n` });
      await writeMcpAgent(stage, {
        servers: { docs: planned(stage, plan) },
        answers: [{ calls: [callOf("docs__show")] }, { text: "done" }],
      });
      await stage.output(...trustAgent);
      const ended = await stage.run(...firstTurn, "--answer", "allow");
      assert.match(ended.out, /✓ mcp\.docs\.show/, ended.err);
      await stage.output("invocations", "last", "--json");
      await stage.output("inspect", "last", "--json");
      await stage.output("mcp", "tools", "docs", "--agent", "agent", "--workspace", "ws");
      assert.ok((await linesIn(ledger)).length >= 1);
      // The model is told of the link; nothing but a call of its own would follow it.
      assert.match(await stage.output("log", "last", "--json"), /\/linked/);
      assert.equal(asked, 0);
    });
  } finally {
    await server.shutdown();
  }
});
