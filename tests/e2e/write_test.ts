/** Files written by an agent: asked about first, once, with all that would be written. */
import assert from "node:assert/strict";
import { bodiesOf, entriesOf, sessionIn } from "./mcp_stage.ts";
import { onStage, type Stage } from "./troupe.ts";

async function writeAgent(
  stage: Stage,
  capabilities: readonly string[] = ["fs.read", "fs.write"],
): Promise<void> {
  const edits = [{ old: "alpha", new: "beta" }];
  const calls = [
    { tool: "write_file", arguments: { path: "notes/new.md", content: "# New\n" } },
    { tool: "patch", arguments: { path: "a.txt", edits } },
    { tool: "patch", arguments: { path: "a.txt", edits: [{ old: "beta", new: "gamma" }] } },
  ];
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "writer",
      model: "scripted/script.yaml",
      tools: ["write_file", "patch", "read_file"],
      capabilities,
    }),
    "agent/script.yaml": JSON.stringify({ answers: [{ calls }, { text: "done" }] }),
    "ws/a.txt": "alpha\n",
  });
}

const run = ["run", "agent", "go", "--workspace", "ws"];

Deno.test("run asks before it writes files, and makes two edits of one file one after the other (DM-16)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    const ended = await stage.run(...run, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.equal(await Deno.readTextFile(`${stage.folder}/ws/notes/new.md`), "# New\n");
    assert.equal(await Deno.readTextFile(`${stage.folder}/ws/a.txt`), "gamma\n");
    const entries = await entriesOf(stage, sessionIn(ended));
    assert.equal(bodiesOf(entries, "intent", "question.ask").length, 3);
    const replayed = await stage.run("replay", "last");
    assert.equal(replayed.code, 0, replayed.err);
  });
});

Deno.test("run writes nothing that nobody allowed, and nothing without the capability", async () => {
  for (const capabilities of [["fs.read", "fs.write"], ["fs.read"]]) {
    await onStage(async (stage) => {
      await writeAgent(stage, capabilities);
      const answer = capabilities.length === 1 ? "allow" : "deny";
      await stage.run(...run, "--answer", answer);
      assert.deepEqual([...Deno.readDirSync(`${stage.folder}/ws`)].map(({ name }) => name), ["a.txt"]);
      assert.equal(await Deno.readTextFile(`${stage.folder}/ws/a.txt`), "alpha\n");
    });
  }
});
