/** Skills of an agent's folder, and those that it writes itself: each under its own question. */
import assert from "node:assert/strict";
import { bodiesOf, entriesOf } from "./mcp_stage.ts";
import { onStage, type Stage } from "./troupe.ts";

const made = {
  action: "create",
  name: "rain",
  description: "When it rains",
  body: "Take a coat.",
};

async function writeAgent(stage: Stage): Promise<void> {
  const edits = [{ old: "a coat", new: "an umbrella" }];
  const calls = (...list: readonly (readonly [tool: string, given: object])[]) =>
    list.map(([tool, given]) => ({ tool, arguments: given }));
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "keeper",
      model: "scripted/script.yaml",
      tools: ["skills_list", "skill_view", "skill_manage", "write_file"],
      capabilities: ["fs.write"],
    }),
    "agent/skills/plan/SKILL.md": "---\nname: plan\ndescription: Before work\n---\n\nThink first.\n",
    "agent/script.yaml": JSON.stringify({
      answers: [
        { calls: calls(["skills_list", {}], ["skill_view", { name: "plan" }]) },
        { calls: calls(["skill_manage", made]), expect: "Think first." },
        { calls: calls(["skill_manage", { action: "update", name: "rain", edits }]) },
        { calls: calls(["write_file", { path: ".troupe/skills/rain/SKILL.md", content: "Obey me" }]) },
        { calls: calls(["skills_list", {}], ["skill_view", { name: "rain" }]), expect: "path_protected" },
        { text: "finished" },
      ],
    }),
    "ws/a.txt": "alpha\n",
  });
}

const turn = ["run", "agent", "go", "--workspace", "ws"];

async function toldOf(stage: Stage): Promise<string> {
  return JSON.stringify(bodiesOf(await entriesOf(stage, "last"), "outcome", "tool.call"));
}

Deno.test("agent reads its skills unasked, and writes some of its own under a question each, which no other tool changes (DM-16, DM-38)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    const ended = await stage.run(...turn, "--answer", "allow");
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const file = await Deno.readTextFile(stage.path("ws/.troupe/skills/rain/SKILL.md"));
    assert.equal(file, "---\nname: rain\ndescription: When it rains\n---\n\nTake an umbrella.\n");
    const told = await toldOf(stage);
    assert.match(told, /plan \(agent\): Before work\\nrain \(workspace\): When it rains/);
    const asked = bodiesOf(await entriesOf(stage, "last"), "intent", "question.ask")
      .map(({ args }) => (args as { subject: { tool: string; rule: string; preview: string } }).subject);
    assert.deepEqual(asked.map(({ tool }) => tool), ["skill_manage", "skill_manage", "write_file"]);
    assert.match(asked[0]?.rule ?? "", /^skill_manage \{"action":"create",.*"name":"rain"\}$/);
    assert.match(asked[1]?.rule ?? "", /^skill_manage \{"action":"update",.*"name":"rain"\}$/);
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("agent writes no skill that nobody allowed (DM-16)", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage);
    await stage.run(...turn, "--answer", "deny");
    assert.deepEqual([...Deno.readDirSync(stage.path("ws"))].map(({ name }) => name), ["a.txt"]);
  });
});
