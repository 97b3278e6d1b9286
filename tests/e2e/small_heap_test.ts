/** What a runtime does that has little memory and is given too much: in a real process with a heap of 64 MiB. */
import assert from "node:assert/strict";
import { onStage } from "./troupe.ts";

const program = new URL("./small_heap.ts", import.meta.url).pathname;

/** 1 GiB of zeros as one gzip stream: a member of 64 MiB, sixteen times. */
async function gzipBomb(): Promise<Uint8Array> {
  const zeros = new Uint8Array(1_048_576);
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (let n = 0; n < 64; n++) controller.enqueue(zeros);
      controller.close();
    },
  });
  const member = new Uint8Array(
    await new Response(source.pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
  );
  const all = new Uint8Array(16 * member.length);
  for (let n = 0; n < 16; n++) all.set(member, n * member.length);
  return all;
}

function endless(): ReadableStream<Uint8Array<ArrayBuffer>> {
  const part = new TextEncoder().encode("<p>more and more</p>".repeat(3_000));
  return new ReadableStream({ pull: (controller) => controller.enqueue(part) });
}

Deno.test("runtime with a heap of 64 MiB holds its caps over texts, files, outputs and pages that are too large, and goes on (F44)", async () => {
  const bomb = await gzipBomb();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const headers = { "content-type": "text/html", "connection": "close" };
    if (url.endsWith("/endless")) return new Response(endless(), { headers });
    return new Response(bomb as never, { headers: { ...headers, "content-encoding": "gzip" } });
  });
  try {
    await onStage(async (stage) => {
      await stage.write({
        "agent/agent.yaml": JSON.stringify({
          name: "hand",
          model: "scripted/script.yaml",
          tools: ["terminal", "web_extract", "read_file", "search_files"],
          capabilities: ["terminal.exec", "network.fetch", "fs.read"],
        }),
        "agent/script.yaml": "answers: [{ text: Done. }]\n",
        "ws/a.txt": "alpha\n",
      });
      const large = await Deno.open(stage.path("ws/large.txt"), { write: true, createNew: true });
      await large.truncate(200 * 1_048_576);
      large.close();
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          "--quiet",
          "--v8-flags=--max-old-space-size=64",
          program,
          stage.folder,
          String(server.addr.port),
        ],
        env: { XDG_DATA_HOME: stage.path("data"), XDG_CONFIG_HOME: stage.path("config") },
        stdin: "null",
      }).output();
      const told = new TextDecoder().decode(stderr);
      assert.equal(code, 0, told);
      const found = JSON.parse(new TextDecoder().decode(stdout));
      assert.deepEqual(found, {
        deep: "json_too_deep",
        large: "json_too_large",
        many: "json_too_large",
        bomb: "yaml_alias_refused",
        longYaml: "yaml_too_large",
        deepYaml: "yaml_too_deep",
        file: "file_too_large",
        search: "succeeded",
        output: "succeeded",
        lines: "succeeded",
        endless: "response_too_large",
        gzip: "response_too_large",
        prompt: "message_invalid",
        after: "succeeded",
      }, told);
      assert.match(await stage.output("doctor"), /nothing is wrong/);
    });
  } finally {
    await server.shutdown();
  }
});
