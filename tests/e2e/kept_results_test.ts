/** What a server's results hold besides text: kept beside the journal, taken along by an export, missed by doctor. */
import assert from "node:assert/strict";
import { attachmentsOf } from "../../src/journal/named_blobs.ts";
import { callOf, firstTurn, linesIn, onMcpStage, planned, trustAgent, writeMcpAgent } from "./mcp_stage.ts";

Deno.test("picture that only a kept result names goes along with an export, and is missed by doctor", async () => {
  await onMcpStage(async (stage) => {
    const picture = btoa("\x89PNG");
    const results = { shot: { content: [{ type: "image", mimeType: "image/png", data: picture }] } };
    await stage.write({
      "tools.json": JSON.stringify([{ name: "shot", inputSchema: { type: "object" } }]),
    });
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs", tools: stage.path("tools.json"), results }) },
      answers: [{ calls: [callOf("docs__shot")] }, { expect: "attachment image-1", text: "done" }],
    });
    await stage.output(...trustAgent);
    await stage.output(...firstTurn);
    const file = stage.path("session.jsonl");
    const told = await stage.output("export", "last", "-o", file);
    assert.match(told, /^Wrote \d+ entries and 2 catalogs of .*, with 2 whole results to /);
    const blobs = (await linesIn(file)).filter((line) => "base64" in line);
    const digest = String(blobs.find((line) => line["base64"] === picture)?.["blob"]);
    const named = blobs.flatMap(({ base64 }) => attachmentsOf(Uint8Array.fromBase64(String(base64))));
    assert.deepEqual(named, [digest]);
    assert.match(await stage.output("replay", file), /no divergence/);

    await stage.output("doctor");
    const kv = await Deno.openKv(stage.path("store.db"));
    for await (const { key } of kv.list({ prefix: [] })) if (key.includes(digest)) await kv.delete(key);
    kv.close();
    const damaged = await stage.run("doctor");
    assert.equal(damaged.code, 3, damaged.out);
    assert.match(damaged.out + damaged.err, /what entry \d+ of session\/ses_\w+ holds/);
  });
});
