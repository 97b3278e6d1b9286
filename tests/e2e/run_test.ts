/** `troupe run`, `log` and `sessions` in real processes, with the scripts of seed AR (AR-46). */
import assert from "node:assert/strict";
import { assertRefused, linesOf, onStage, readScript, writeAgent } from "./troupe.ts";

Deno.test("run shows the turn as it happens, without colours on a pipe", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    const { code, out, err } = await stage.run("run", "agent", "hi", "--workspace", "ws");
    assert.equal(code, 0, err);
    assert.match(
      out,
      /^\nreading\n {2}✓ read_file \{"path": "a\.txt"\} {2}\d+ ms {2}alpha\n\nfinished\nturn 1 completed: 2 steps, 1 call, .*\n$/,
    );
    assert.match(err, /^session ses_[0-9A-Z]{26}\n$/);
    assert.ok(!(out + err).includes("\x1b"));
  });
});

Deno.test("run --json prints each durable entry as one line, as log --json does", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    const { code, out, err } = await stage.run("run", "agent", "hi", "--workspace", "ws", "--json");
    assert.deepEqual([code, err], [0, ""]);
    const entries = linesOf(out);
    assert.deepEqual(entries.map((entry) => entry["seq"]), entries.map((_, index) => index + 1));
    assert.deepEqual(entries.map((entry) => entry["kind"]).filter((kind) => kind !== "note"), [
      ...[
        "created",
        "input",
        "input",
        "intent",
        "outcome",
        "intent",
        "outcome",
        "intent",
        "outcome",
        "reply",
      ],
    ]);
    // A state hash is added when an entry is written; all else is the same.
    const plain = (all: typeof entries) => all.map(({ state: _, ...rest }) => rest);
    const logged = linesOf(await stage.output("log", "last", "--json"));
    assert.deepEqual(plain(entries), plain(logged));
    assert.deepEqual(linesOf(await stage.output("log", "last", "--json", "--from", "5")), logged.slice(4));
    const sessions = linesOf(await stage.output("sessions", "--json"));
    assert.deepEqual(sessions.map(({ title, status, entries: count }) => [title, status, count]), [
      ["tester", "active", logged.length],
    ]);
    const table = await stage.output("log", String(sessions[0]?.["address"]).slice(-8));
    assert.equal(table.trimEnd().split("\n").length, logged.length);
    assert.match(table, /outcome {5}tool\.call {7} {2}.* ok read_file: alpha/);
  });
});

Deno.test("run goes on with a session, and fails once its script is used up", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, "answers:\n  - text: first\n  - text: second\n");
    assert.match(
      await stage.output("run", "agent", "one", "--workspace", "ws"),
      /^\nfirst\nturn 1 completed: 1 step, 0 calls/,
    );
    assert.match(
      await stage.output("run", "agent", "two", "--session", "last"),
      /^\nsecond\nturn 2 completed/,
    );
    const ended = await stage.run("run", "agent", "three", "--session", "last");
    assertRefused(ended, 1, "script_exhausted", "The turn 3 ended as failed");
    assert.match(ended.out, /✗ model {2}script_exhausted/);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("run tells the model of an illegal name, of illegal arguments and of a tool's own refusal, and goes on", async () => {
  await onStage(async (stage) => {
    await writeAgent(
      stage,
      `answers:
  - text: trying
    calls:
      - { tool: rm_all, arguments: {} }
      - { tool: read_file, arguments: { pth: a.txt } }
      - { tool: read_file, arguments_text: "not json" }
      - { tool: read_file, arguments: { path: ../outside } }
      - { tool: read_file, arguments: { path: gone.txt } }
  - expect: path_not_found
    text: again
    calls: [{ tool: rm_all, arguments: {} }]
  - expect: not_found
    text: and again
    calls: [{ tool: rm_all, arguments: {} }]
  - text: I give up
`,
    );
    const out = await stage.output("run", "agent", "hi", "--workspace", "ws");
    assert.match(out, /✗ rm_all {2}not_found {2}No tool is named "rm_all"/);
    assert.match(out, /✗ read_file {2}invalid {2}.*arguments\.path/);
    assert.match(out, /✗ read_file {2}invalid {2}.*not a JSON object/);
    assert.match(out, /✗ read_file \{"path": "\.\.\/outside"\} .*completed_with_error {2}path_outside_root/);
    assert.match(out, /✗ read_file \{"path": "gone\.txt"\} .*completed_with_error {2}path_not_found/);
    assert.equal(out.match(/✗ rm_all {2}not_found/g)?.length, 3);
    assert.match(out, /I give up\nturn 1 completed: 4 steps, 7 calls/);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("run makes parallel-safe calls at once, and shows the stages", async () => {
  await onStage(async (stage) => {
    await writeAgent(
      stage,
      `capabilities: { streaming: true }
answers:
  - text: All three at once.
    calls:
      - { tool: read_file, arguments: { path: a.txt } }
      - { tool: read_file, arguments: { path: b.txt } }
      - { tool: search_files, arguments: { pattern: alpha } }
  - text: finished
`,
    );
    const { out, err, code } = await stage.run("run", "agent", "hi", "--workspace", "ws", "--json");
    assert.equal(code, 0, err);
    const calls = linesOf(out).filter(({ kind, type }) => kind === "intent" && type === "tool.call");
    assert.deepEqual(calls.map((call) => call["cause"]), Array(3).fill(calls[0]?.["cause"]));
    const shown = await stage.output("run", "agent", "hi", "--workspace", "ws");
    assert.match(shown, /^\nAll three at once\.\n {2}stage 1 of 1: 3 calls at once\n( {2}✓ .*\n){3}/);
  });
});

Deno.test("run takes a script in place of the agent's own, and reads nothing outside its folder", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, "answers: []\n");
    await stage.write({ "other.yaml": "answers: [{ text: from the other script }]\n" });
    const args = ["run", "agent", "hi", "--workspace", "ws"];
    assert.match(await stage.output(...args, "--script", "other.yaml"), /from the other script/);
    await stage.write({
      "agent/agent.yaml": "name: tester\nmodel: scripted/../other.yaml\n",
      "bad.yaml": "answers:\n  - text: x\n    cals: []\n",
    });
    const outside = await stage.run(...args);
    assertRefused(outside, 1, "model_unknown", "outside");
    const broken = await stage.run(...args, "--script", "bad.yaml");
    assertRefused(broken, 1, "model_unknown", 'bad.yaml:3:5: unknown key "cals"');
  });
});

Deno.test("run waits for the disk with everything under --strict, and ends the same", async () => {
  await onStage(async (stage) => {
    await writeAgent(stage, readScript);
    assert.match(
      await stage.output("run", "agent", "hi", "--workspace", "ws", "--strict"),
      /finished\nturn 1 completed/,
    );
  });
});

Deno.test("run of the demonstration replays what it recorded", async () => {
  await onStage(async (stage) => {
    const { code, out, err } = await stage.run("demo");
    assert.equal(code, 0, err);
    assert.match(out, /✓ files {2}.* 2 tools/);
    assert.match(out, /stage 1 of 1: 2 calls at once/);
    assert.equal(out.match(/^ {2}[✓✗] /gm)?.length, 5);
    assert.match(out, /✓ list_files/);
    assert.match(out, /✓ tools_list/);
    assert.match(out, /✓ mcp\.files\.read_project_file .* # Troupe/);
    assert.match(out, /✓ mcp\.files\.search_project_text/);
    assert.match(out, /turn 1 completed: 3 steps, 4 calls/);
    assert.match(
      out,
      /entries {4}\d+ in .* a second\n.*\n {2}intents {4}7 compared\n {2}states .*\n {2}restarts {3}12 compared\n {2}no divergence\n/,
    );
    assert.match(out, /^catalog\/.* no divergence$/m);
    assert.match(out, /^connection\/files@.* no divergence$/m);
    await stage.output("demo", "--store", "kept.db");
    assert.match(await stage.output("replay", "last", "--store", "kept.db"), /no divergence/);
  });
});
