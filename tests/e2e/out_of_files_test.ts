/** What a runtime does that has no file descriptor left: in a real process with a real limit of 256. */
import assert from "node:assert/strict";
import { bodiesOf, entriesOf } from "./mcp_stage.ts";
import { onStage } from "./troupe.ts";

const program = new URL("./out_of_files.ts", import.meta.url).pathname;
const page = "<p>Hello from the page</p>";

Deno.test("runtime without file descriptors starts nothing and connects to nothing, writes its journal, and goes on (F43)", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    // Each page needs a connection of its own.
    return new Response(page, { headers: { "content-type": "text/html", "connection": "close" } });
  });
  try {
    await onStage(async (stage) => {
      await stage.write({
        "agent/agent.yaml": JSON.stringify({
          name: "hand",
          model: "scripted/script.yaml",
          tools: ["terminal", "web_extract"],
          capabilities: ["terminal.exec", "network.fetch"],
        }),
        "agent/script.yaml": "answers: [{ text: Done. }]\n",
        "ws/a.txt": "",
      });
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: [
          ...["-c", 'ulimit -n 256; exec "$0" run -A --quiet "$@"', Deno.execPath(), program],
          ...[stage.folder, String(server.addr.port)],
        ],
        env: { XDG_DATA_HOME: stage.path("data"), XDG_CONFIG_HOME: stage.path("config") },
        stdin: "null",
      }).output();
      const told = new TextDecoder().decode(stderr);
      assert.equal(code, 0, told);
      const { before, without, after } = JSON.parse(new TextDecoder().decode(stdout));
      assert.deepEqual([before, after], [["succeeded", "succeeded"], ["succeeded", "succeeded"]], told);
      // With no descriptor free, and with some but too few, of which a start would have got a part.
      assert.deepEqual(without, Array.from({ length: 24 }, () => "resource_exhausted"), told);
      const log = await entriesOf(stage, "last");
      assert.equal(bodiesOf(log, "outcome", "tool.call").length, 28);
      assert.equal(bodiesOf(log, "note", "command.started").length, 2);
      await stage.output("doctor");
      assert.match(await stage.output("replay", "last"), /no divergence/);
    });
  } finally {
    await server.shutdown();
  }
});
