/** An agent that asks a person in the middle of a turn: answered elsewhere, or by nobody. */
import assert from "node:assert/strict";
import { assertRefused, linesOf, onStage, type Stage } from "./troupe.ts";

const turn = ["run", "agent", "paint it", "--workspace", "ws"];

async function writeAsking(stage: Stage, expect: string): Promise<void> {
  const given = { question: "Which colour?", choices: ["red", "blue"] };
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "painter",
      model: "scripted/script.yaml",
      tools: ["clarify"],
    }),
    "agent/script.yaml": JSON.stringify({
      answers: [{ calls: [{ tool: "clarify", arguments: given }] }, { text: "finished", expect }],
    }),
    "ws/a.txt": "alpha\n",
  });
}

async function assertReplays(stage: Stage): Promise<void> {
  const replayed = await stage.output("replay", "last", "--strict");
  assert.match(replayed, /no divergence/);
}

Deno.test("question of an agent is shown as its own, answered by troupe answer, and told to the model (DM-16)", async () => {
  await onStage(async (stage) => {
    await writeAsking(stage, "The person answered: blue");
    const owner = stage.start(...turn, "--answer", "wait");
    assert.match(await owner.until("A question waits"), /troupe answer \S+ accept\|decline/);
    const shown = await stage.output("questions");
    for (
      const line of [
        /The agent asks you\. Give it nothing/,
        /says {7}Which colour\?/,
        /field {6}answer \(one of red \| blue, required\)/,
      ]
    ) assert.match(shown, line);
    assert.doesNotMatch(shown, /server/);
    const [question] = linesOf(await stage.output("questions", "--json"));
    const id = String(question?.["id"]);
    const wrong = await stage.run("answer", id, "accept", "answer=green");
    assert.match(wrong.err, /"answer" must be one of red, blue.*\[form_invalid\]/s);
    await stage.output("answer", id, "accept", "answer=blue");
    const ended = await owner.ended;
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const log = await stage.output("log", "last");
    assert.match(log, /not yet: the tool wants 1 answer first/);
    assert.match(log, /tool\.answered .*clarify round 1: accept/);
    assert.match(await stage.output("invocations", "last"), /clarify/);
    await assertReplays(stage);
  });
});

Deno.test("agent whose question nobody can answer is told so at once, as the person is, and ends its turn, which needs one (DM-16, DM-133)", async () => {
  await onStage(async (stage) => {
    await writeAsking(stage, "nobody is there to be asked");
    const ended = await stage.run(...turn);
    assert.match(ended.out, /finished\nturn 1 needs_user/, `${ended.out}\n${ended.err}`);
    assertRefused(ended, 1, "approval_unavailable", '"clarify" asked a person, and nobody answered');
    assert.match(ended.err, /The agent asked: .*clarify round 1: cancel \(unavailable\)/);
    await assertReplays(stage);
  });
});
