/** `troupe replay --what-if` in real processes: a session with an MCP server and a command, another policy, no store. */
import assert from "node:assert/strict";
import { assertRefused, onStage } from "./troupe.ts";

Deno.test("what-if lists the calls that another policy decides otherwise, and starts nothing", async () => {
  await onStage(async (stage) => {
    await stage.output("init", "agent");
    await stage.output("run", "agent", "hi", "--workspace", "agent");
    await stage.output("export", "last", "--fixture", "-o", "fx");
    await stage.write({
      "same.yaml": "{}\n",
      "strict.yaml": 'deny: ["mcp.*.read_*"]\ntools: { list_files: prompt }\n',
      "host.yaml": "store: other.db\npolicy: { connect: deny }\n",
      "wrong.yaml": "tools: { list_files: perhaps }\n",
      "typo.yaml": 'capabilities: { "fs.raed": deny }\n',
    });
    assert.match(
      await stage.output("replay", "last", "--what-if", "same.yaml"),
      /^3 calls judged again, none otherwise$/m,
    );
    // Nothing of the agent is needed, nor the store.
    for (const name of ["store.db", "agent"]) await Deno.remove(stage.path(name), { recursive: true });
    const strict = await stage.run("replay", "./fx", "--what-if", "strict.yaml");
    assertRefused(strict, 1, "decisions_differ", "2 of 3 calls would have been decided otherwise");
    assert.match(
      strict.out,
      /^entry \d+ {2}turn 1 call\/0\.0 list_files\n {4}was allow .*\n {4}now ask by policy\.tools of the host: /m,
    );
    assert.match(
      strict.out,
      /mcp\.files\.read_project_file\n {4}was allow .*\n {4}now deny by policy\.deny of the host names "mcp\.\*\.read_\*"/,
    );
    const host = await stage.run("replay", "./fx", "--what-if", "host.yaml", "--json");
    const { calls, otherwise, notJudged } = JSON.parse(host.out);
    assert.deepEqual([host.code, calls, notJudged], [1, 3, []]);
    const [first] = otherwise;
    assert.deepEqual([first.tool, first.before.verdict, first.after.verdict, first.after.by], [
      "mcp.files.search_project_text",
      "allow",
      "deny",
      "policy.connect of the host",
    ]);
    for (const file of ["wrong.yaml", "typo.yaml", "gone.yaml"]) {
      assertRefused(await stage.run("replay", "./fx", "--what-if", file), 2, "config_invalid", file);
    }
    await stage.write({ "x/y": "" });
    assertRefused(await stage.run("replay", "./x", "--what-if", "same.yaml"), 3, "fixture_not_found");
  });
});

Deno.test("what-if judges a command as its review did, and needs the stream of the catalog", async () => {
  await onStage(async (stage) => {
    await stage.write({
      "agent/agent.yaml":
        "name: shell\nmodel: scripted/script.yaml\ntools: [terminal]\ncapabilities: [terminal.exec]\n",
      "agent/script.yaml":
        "answers:\n  - calls: [{ tool: terminal, arguments: { argv: [ls] } }, { tool: terminal, arguments: { argv: [rm, -rf, /] } }]\n  - text: done\n",
      "ws/a.txt": "a\n",
      "same.yaml": "{}\n",
      "deny.yaml": "default: deny\n",
    });
    await stage.output("run", "agent", "hi", "--workspace", "ws");
    assert.match(
      await stage.output("replay", "last", "--what-if", "same.yaml"),
      /^2 calls judged again, none/m,
    );
    const denied = await stage.run("replay", "last", "--what-if", "deny.yaml");
    assertRefused(denied, 1, "decisions_differ", "1 of 2 calls");
    assert.match(
      denied.out,
      /call\/0\.0 terminal\n {4}was allow by .*\n {4}now deny by policy\.default of the host/,
    );
    // What policy denied after the look may pass now: what was found then still counts.
    await stage.write({ "config/troupe/troupe.yaml": "policy: { default: deny }\n" });
    await stage.output("run", "agent", "hi", "--workspace", "ws");
    const open = await stage.run("replay", "last", "--what-if", "same.yaml");
    assertRefused(open, 1, "decisions_differ", "1 of 2 calls");
    assert.match(
      open.out,
      /call\/0\.0 terminal\n {4}was deny by policy\.default of the host.*\n {4}now allow by its review/,
    );
    await stage.output("export", "last", "-o", "s.jsonl");
    assertRefused(await stage.run("replay", "s.jsonl", "--what-if", "same.yaml"), 2, "option_invalid");
  });
});
