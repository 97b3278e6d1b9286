/** An agent that searches what was said before: as far as the host lets it, and never a secret. */
import assert from "node:assert/strict";
import { bodiesOf, entriesOf, sessionIn } from "./mcp_stage.ts";
import { assertRefused, onStage, type Stage } from "./troupe.ts";

const token = "ghp_x9K2mQ7vL4pR8sT1wY6zB3nD5fG0hJcEaUiO";

async function writeSearcher(stage: Stage, given: object, expect: string): Promise<void> {
  const yaml = { model: "scripted/script.yaml", tools: ["session_search"], capabilities: ["session.read"] };
  await stage.write({
    "talker/agent.yaml": JSON.stringify({ name: "talker", model: "scripted/script.yaml" }),
    "talker/script.yaml": JSON.stringify({ answers: [{ text: "I will remember it" }] }),
    "agent/agent.yaml": JSON.stringify({ name: "searcher", ...yaml }),
    "agent/script.yaml": JSON.stringify({
      answers: [{ calls: [{ tool: "session_search", arguments: given }] }, { text: "finished", expect }],
    }),
    "ws/a.txt": "alpha\n",
  });
}

const search = ["run", "agent", "search", "--workspace", "ws", "--answer", "allow"];

Deno.test("agent finds what was said in other sessions of its owner, if the host lets it and a person allows it, without the secrets (DM-129, DM-130)", async () => {
  await onStage(async (stage) => {
    await writeSearcher(stage, { query: "heron", scope: "all" }, "The heron has [redacted");
    await stage.write({
      "config/troupe/troupe.yaml": JSON.stringify({ session_search: { scope: "operator" } }),
    });
    const talk = await stage.run("run", "talker", `The heron has ${token}`, "--workspace", "ws");
    assert.equal(talk.code, 0, talk.err);
    const ended = await stage.run(...search);
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const log = await stage.output("log", "last");
    assert.match(log, /history\.read .* 2 sessions, \d+ entries, scope operator, of operator:local/);
    const [question] = bodiesOf(await entriesOf(stage, "last"), "intent", "question.ask");
    assert.match(JSON.stringify(question), /\\"scope\\":\\"all\\"/, "a person sees how far it reaches");
    assert.ok(!JSON.stringify(await entriesOf(stage, "last")).includes(token));
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  });
});

Deno.test("agent is refused what the host does not let it read, and told so; a wrong scope in the host's file is refused (DM-130)", async () => {
  await onStage(async (stage) => {
    await writeSearcher(stage, { query: "heron", scope: "all" }, "history_scope_refused");
    await stage.output("run", "talker", "The heron sleeps", "--workspace", "ws");
    const ended = await stage.run(...search);
    assert.match(ended.out, /finished\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    assert.doesNotMatch(JSON.stringify(await entriesOf(stage, sessionIn(ended))), /heron sleeps/);
    await stage.write({
      "config/troupe/troupe.yaml": JSON.stringify({ session_search: { scope: "everything" } }),
    });
    assertRefused(await stage.run(...search), 2, "config_invalid", "session_search");
  });
});
