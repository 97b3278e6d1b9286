/** `troupe record` in real processes: what models said becomes a script, and the script gives the same run again. */
import assert from "node:assert/strict";
import { callOf, entriesOf, sessionIn } from "./mcp_stage.ts";
import { assertRefused, onStage, type Stage } from "./troupe.ts";

/** The failed request counts, and what the child asked stands with its parent's. */
async function assertUsage(stage: Stage, session: string): Promise<void> {
  const { sessions, total } = JSON.parse(await stage.output("usage", session, "--json"));
  const rows = sessions.map(({ rows }: { rows: Record<string, unknown>[] }) => rows);
  const use = {
    priced_calls: 0,
    counted_calls: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
  };
  const told = {
    priced_calls: 1,
    counted_calls: 1,
    input_tokens: 7,
    cached_input_tokens: 0,
    output_tokens: 3,
    cost_usd: 0.25,
  };
  assert.deepEqual(rows, [
    [{ turn: 1, model: "scripted/script.yaml", ...told, model_calls: 4 }],
    [{ turn: 1, model: "scripted/child.yaml", ...use, model_calls: 1 }],
  ]);
  assert.deepEqual(total, { ...told, model_calls: 5 });
  const shown = await stage.output("usage", session);
  assert.match(shown, /^all +5 +7 +3 +0\.250000/m);
  assert.match(shown, /The cost is not known for 4 of 5 requests/);
  assert.match(await stage.output("usage"), new RegExp(`^session/${session} +4 +7 +3 +0\\.250000`, "m"));
}

Deno.test("record makes a script of a run: retries, parallel calls and a child agent come again, without the models", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml": JSON.stringify({
        name: "boss",
        model: "scripted/script.yaml",
        model_fallbacks: ["scripted/child.yaml"],
        tools: ["read_file", "delegate_task"],
        capabilities: ["fs.read", "agents.spawn:boss"],
        subagents: { enabled: true },
      }),
      "agent/script.yaml": JSON.stringify({
        capabilities: { streaming: true },
        answers: [
          {
            text: "Both files, then a child.",
            calls: [callOf("read_file", { path: "a.txt" }), callOf("read_file", { path: "b.txt" })],
            usage: { inputTokens: 7, outputTokens: 3, costUsd: 0.25 },
            fail: { code: "model_rate_limited", times: 1, retry_after_ms: 1 },
          },
          { calls: [callOf("delegate_task", { goal: "count them", model: "scripted/child.yaml" })] },
          { text: "There are two.", finish_reason: "content_filter" },
        ],
      }),
      "agent/child.yaml": JSON.stringify({ answers: [{ text: "counted: 2" }] }),
      "ws/a.txt": "alpha\n",
      "ws/b.txt": "beta\n",
    });
    const first = await stage.run("run", "agent", "go", "--workspace", "ws");
    assert.equal(first.code, 0, `${first.out}\n${first.err}`);
    const session = sessionIn(first);
    await assertUsage(stage, session);
    const said = await stage.run("record", session, "-o", "again.yaml", "--json");
    assert.deepEqual([said.code, said.err], [0, ""]);
    const { answers, conversations, losses } = JSON.parse(said.out);
    assert.deepEqual([answers, conversations, losses], [3, 1, { secrets: 0, failures: 0, doubles: 0 }]);

    // The models' own files are gone: the script that was recorded is all that there is to play.
    await Deno.remove(`${stage.folder}/agent/script.yaml`);
    await Deno.remove(`${stage.folder}/agent/child.yaml`);
    const again = await stage.run("run", "agent", "go", "--workspace", "ws", "--script", "again.yaml");
    assert.equal(again.code, 0, `${again.out}\n${again.err}`);
    assert.match(again.out, /There are two/);
    const other = sessionIn(again);
    assert.notEqual(other, session);
    const [before, after] = [await entriesOf(stage, session), await entriesOf(stage, other)].map((entries) =>
      entries.filter((one) => one["type"] === "model.generate").map((one) =>
        `${one["kind"]} ${one["status"]}`
      )
    );
    assert.deepEqual(after, before);
    // Nothing differs but the whole report of the child, which names its session.
    const ended = await stage.run("diff", session, other, "--json");
    const { differences } = JSON.parse(ended.out);
    const paths = differences.flatMap(({ fields }: { fields: { path: string }[] }) =>
      fields.map(({ path }) => path)
    );
    assert.deepEqual(paths, ["value.full.digest"]);
    // What is recorded of the second run is what was played.
    const [one, two] = [
      await Deno.readTextFile(stage.path("again.yaml")),
      await stage.output("record", other),
    ]
      .map((text) => text.slice(text.indexOf("\n")));
    assert.equal(two, one);
  });
});

Deno.test("record refuses what has no answers, keeps a file that is there, and says what a script cannot say", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml": JSON.stringify({ name: "x", model: "scripted/script.yaml" }),
      "agent/script.yaml": JSON.stringify({
        answers: [{ text: "well" }, { fail: { code: "model_refused", message: "no" } }],
      }),
      "taken.yaml": "mine",
    });
    await stage.output("run", "agent", "hi");
    assert.equal((await stage.run("run", "agent", "more", "--session", "last")).code, 1);
    assertRefused(await stage.run("record", "last", "-o", "taken.yaml"), 2, "file_exists");
    assert.equal(await Deno.readTextFile(stage.path("taken.yaml")), "mine");
    assertRefused(await stage.run("record", "last", "--json"), 2, "option_invalid");
    const { code, out, err } = await stage.run("record", "last", "-o", "taken.yaml", "--force");
    assert.deepEqual([code, out.trim()], [
      0,
      out.match(/^Wrote 1 answer of session\/ses_\w+ to taken\.yaml$/m)?.[0],
    ]);
    assert.match(err, /^Without 1 failures/m);
    await stage.write({ "agent/script.yaml": JSON.stringify({ answers: [] }) });
    await stage.run("run", "agent", "hi");
    assertRefused(await stage.run("record", "last"), 2, "script_empty");
  });
});
