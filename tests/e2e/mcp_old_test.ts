/** Servers of 2024-11-05 through the real command: one of ours, and the reference server's own. */
import assert from "node:assert/strict";
import { OldServer } from "../support/old_server.ts";
import { callOf, firstTurn, onMcpStage, trustAgent, until, writeMcpAgent } from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

const everything = "npm:@modelcontextprotocol/server-everything@2026.8.31";

/** An agent that calls `echo` of a server by HTTP twice. */
async function writeCaller(stage: Stage, url: string): Promise<void> {
  const network = { allow: [new URL(url).host] };
  await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ network }) });
  await writeMcpAgent(stage, {
    servers: { old: { transport: "streamable_http", url, approval_policy: "auto" } },
    answers: [
      { calls: [callOf("old__echo", { message: "one" })] },
      { expect: "one", calls: [callOf("old__echo", { message: "two" })] },
      { expect: "two", text: "finished" },
    ],
  });
  await stage.output(...trustAgent);
}

Deno.test("server of 2024-11-05 is called in a turn by its one stream, and inspect says how it is reached (CM-34)", async () => {
  const server = new OldServer();
  try {
    await onMcpStage(async (stage) => {
      await writeCaller(stage, server.url);
      const ended = await stage.run(...firstTurn, "--answer", "deny");
      assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
      assert.match(await stage.output("inspect", "last", "--json"), /"transport_kind":"sse"/);
      const asked = server.heard.filter((one) => one.startsWith("POST /message tools/call"));
      assert.equal(asked.length, 2);
      assert.match(
        await stage.output("mcp", "check", "old", "--agent", "./agent", "--workspace", "ws"),
        /2024-11-05/,
      );
      await until("all streams are closed", () => server.open === 0);
    });
  } finally {
    await server.close();
  }
});

Deno.test("reference server is called by its stream of 2024-11-05 (CM-34)", async () => {
  const port = freePort();
  await onMcpStage(async (stage) => {
    const server = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--no-config", everything, "sse"],
      env: { PORT: `${port}` },
      cwd: stage.folder,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      await until("the server listens", () => listens(port));
      await writeCaller(stage, `http://127.0.0.1:${port}/sse`);
      const ended = await stage.run(...firstTurn, "--answer", "deny");
      assert.match(ended.out, /✓ mcp\.old\.echo .*Echo: two[^]*finished\nturn 1 completed/, ended.err);
    } finally {
      server.kill("SIGKILL");
      await server.status;
    }
  });
});

/** A port that nobody listens at. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function listens(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
