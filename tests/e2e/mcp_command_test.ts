/** `troupe mcp`: servers are declared, looked at, trusted, called and taken away from the command line. */
import assert from "node:assert/strict";
import {
  bad,
  type Line,
  linesIn,
  markOf,
  onMcpStage,
  planned,
  plannedServer,
  startWith,
  testProcesses,
  untilNone,
  writeMcpAgent,
} from "./mcp_stage.ts";

import { assertRefused, linesOf, type Stage } from "./troupe.ts";

const place = ["--agent", "agent", "--workspace", "ws"];

function start(stage: Stage, name: string): readonly string[] {
  const plan = JSON.stringify({ name, started: stage.path("started") });
  return [Deno.execPath(), "run", "-A", "--quiet", "--no-config", plannedServer, plan, markOf(stage, name)];
}

async function starts(stage: Stage): Promise<number> {
  return (await linesIn(stage.path("started"))).length;
}

// Looking at a server starts it once, and that is all that does.
Deno.test("server is declared, found, connected and called in steps of their own, each with a gate (LC-25, AR-9)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, { servers: {}, answers: [], capabilities: ["mcp.connect:docs"] });
    for (const name of ["docs", "wiki"]) {
      const added = await stage.run("mcp", "add", name, "--agent", "agent", "--", ...start(stage, name));
      assert.equal(added.out, `Wrote mcp/${name}.yaml\n`, added.err);
      const lacks = name === "docs" ? "mcp.call:docs" : "mcp.connect:wiki, mcp.call:wiki";
      assert.match(added.err, new RegExp(`^Add to capabilities in agent.yaml: ${lacks}$`, "m"));
    }
    assert.match(
      await stage.output("mcp", "list", ...place),
      /^docs +asks +unknown +not listed yet .*\nwiki +capability_missing +unknown +not listed yet /m,
    );
    assert.equal(await starts(stage), 0);

    // Without the capability, and without a yes, nothing is started.
    assertRefused(
      await stage.run("mcp", "check", "wiki", ...place, "--answer", "allow"),
      1,
      "capability_missing",
      '"mcp.connect:wiki"',
    );
    assertRefused(
      await stage.run("mcp", "check", "docs", ...place),
      1,
      "mcp_connect_denied",
      "nobody can be asked",
    );
    assertRefused(
      await stage.run("mcp", "check", "docs", ...place, "--answer", "deny"),
      1,
      "mcp_connect_denied",
      "the answer was no",
    );
    assert.equal(await starts(stage), 0);
    const checked = await stage.output("mcp", "check", "docs", ...place, "--answer", "allow");
    assert.match(
      checked,
      /^ {2}protocol +2025-11-25 \(legacy era\)\n {2}calls itself +docs 1\n {2}capabilities +tools$/m,
    );
    assert.match(checked, /^search +ok +The tool search$/m);
    assert.equal(await starts(stage), 1);
    await untilNone(markOf(stage));

    await stage.write({
      "agent/agent.yaml": JSON.stringify({
        name: "tester",
        model: "scripted/script.yaml",
        capabilities: ["mcp.connect:*", "mcp.call:*"],
      }),
    });
    await stage.output("mcp", "trust", "docs", ...place, "--yes");
    const listed = await stage.output("mcp", "list", ...place);
    assert.match(listed, /^docs +trusted +third_party +3 approved .*\nwiki +asks +unknown +not listed yet /m);
    await stage.output("mcp", "trust", "wiki", ...place, "--yes");
    // A call has a gate of its own; two servers' tools of one name are two tools.
    assertRefused(await stage.run("mcp", "call", "docs", "search", ...place), 1, "approval_unavailable");
    for (const name of ["docs", "wiki"]) {
      const { out, err } = await stage.run(
        "mcp",
        "call",
        name,
        "search",
        '{"q": 1}',
        ...place,
        "--answer",
        "allow",
      );
      assert.equal(out, `${name} found {"q":1}\n`);
      assert.match(err, new RegExp(`\\? mcp\\.${name}\\.search {2}allow by operator local`));
    }
  });
});

Deno.test("declaration is checked before it is written, never overwritten unasked, and taken away by name", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, { servers: {}, answers: [] });
    const add = (...args: readonly string[]) => stage.run("mcp", "add", "--agent", "agent", ...args);
    assertRefused(await add("docs"), 2, "argument_missing", "--npm");
    assertRefused(await add("docs", "--url", "https://a.example", "--", "x"), 2, "option_invalid", "one of");
    assertRefused(await add("docs", "--url", "ftp://a.example"), 2, "config_invalid", "http or https");
    assertRefused(await add("docs", "--npm", "server@latest"), 2, "config_invalid", "exact version");
    assertRefused(await add("docs", "--read", "x", "--", "x"), 2, "option_invalid", "--npm too");
    assertRefused(await add("Docs", "--", "x"), 2, "argument_invalid", "lower-case");
    assertRefused(await stage.run("mcp", "add", "docs", "--", "x"), 2, "agent_not_found", "--agent");
    assertRefused(await stage.run("mcp", "ad"), 2, "command_unknown", "troupe mcp add");
    await assert.rejects(Deno.stat(stage.path("agent/mcp")), Deno.errors.NotFound);

    assert.equal((await add("docs", "--env", "TOKEN,MODE=fast", "--", "x", "-y")).code, 0);
    const text = await Deno.readTextFile(stage.path("agent/mcp/docs.yaml"));
    assert.equal(text, 'command: x\nargs:\n  - "-y"\nenv:\n  TOKEN: "${TOKEN}"\n  MODE: fast\n');
    assertRefused(await add("docs", "--", "y"), 2, "file_exists", "--force");
    assert.equal(await Deno.readTextFile(stage.path("agent/mcp/docs.yaml")), text);
    assert.equal((await add("docs", "--force", "--url", "https://a.example/mcp")).code, 0);
    assert.match(
      await stage.output("mcp", "list", ...place),
      /^docs +\S+ +unknown +not listed yet +https:\/\/a\.example$/m,
    );

    assert.equal(await stage.output("mcp", "remove", "docs", "--agent", "agent"), "Removed mcp/docs.yaml\n");
    assertRefused(await stage.run("mcp", "remove", "docs", "--agent", "agent"), 2, "server_unknown");
    assertRefused(await stage.run("mcp", "check", "docs", ...place), 2, "server_unknown", "troupe mcp add");
  });
});

Deno.test("server that is removed takes its own homes along, and nothing of another agent's server, or of one with a longer name", async () => {
  await onMcpStage(async (stage) => {
    const servers = ["docs", "docs-more"].map((name) => [name, planned(stage, { name })] as const);
    for (const folder of ["agent", "other"]) {
      await writeMcpAgent(stage, { servers: Object.fromEntries(servers), answers: [{ text: "hi" }], folder });
      await stage.output("run", folder, "hi", "--workspace", "ws", "--answer", "allow");
    }
    const homes = () =>
      [...Deno.readDirSync(stage.path("store.db.homes"))].map(({ name }) =>
        name.replace(/-[0-9a-f]{12}$/, "")
      ).sort();
    assert.deepEqual(homes(), ["docs", "docs", "docs-more", "docs-more"]);
    const remove = ["mcp", "remove", "docs", "--agent", "agent"];
    const out = await stage.output(...remove);
    assert.match(out, /^Removed mcp\/docs\.yaml\nRemoved \S+\/store\.db\.homes\/docs-[0-9a-f]{12}\n$/);
    assert.deepEqual(homes(), ["docs", "docs-more", "docs-more"]);
    const kept = ["mcp", "remove", "docs", "--agent", "other", "--keep", "--json"];
    assert.deepEqual(JSON.parse(await stage.output(...kept)).homes, []);
    assert.deepEqual(homes(), ["docs", "docs-more", "docs-more"]);
  });
});

testProcesses(
  "check says of a server what is wrong with it, shows what nobody sees, and leaves no process",
  async (stage) => {
    const inputSchema = { type: "object", properties: {} };
    const hidden = { name: "hidden", description: "Fine\u{e0049}\u{200b}.", inputSchema };
    await stage.write({
      "tools.json": JSON.stringify([hidden, { name: "broken" }, { name: "a b", inputSchema }]),
    });
    await writeMcpAgent(stage, {
      servers: {
        docs: planned(stage, { name: "docs", tools: stage.path("tools.json") }),
        dead: planned(stage, { name: "dead", tells: "REASON" }, { env: { REASON: "no key: ${SECRET_KEY}" } }),
        gone: { command: "no-such-program-here" },
        off: { command: "x", enabled: false },
      },
      answers: [],
    });
    const args = (name: string) => ["mcp", "check", name, ...place, "--answer", "allow", "--json"];
    const { code, out } = await stage.run(...args("docs"));
    const report = JSON.parse(out);
    assert.deepEqual([code, report.usable, report.droppedCount], [0, true, 2]);
    assert.deepEqual(report.tools[0], { tool: "hidden", verdict: "ok", unseen: 2 });
    assert.deepEqual(
      report.tools.slice(1).map((one: Line) => [one["tool"], one["verdict"]]),
      [["broken", "dropped"], ["a b", "dropped"]],
    );
    const table = await stage.output("mcp", "check", "docs", ...place, "--answer", "allow");
    assert.match(table, /^hidden +ok +\(2 unseen taken out\) Fine\\u\{e0049\}\\u\{200b\}\.$/m);
    assert.match(table, /^broken +dropped +it has no inputSchema$/m);

    const dead = await (await startWith(stage, { SECRET_KEY: "sk-4711-do-not-tell" }, ...args("dead"))).ended;
    assertRefused(dead, 1, "mcp_connect_failed", /its last words: .*no key: \[redacted\]/);
    assert.doesNotMatch(dead.out + dead.err, /4711/);
    assert.equal(JSON.parse(dead.out).usable, false);
    assertRefused(await stage.run(...args("dead")), 1, "mcp_variable_missing", "SECRET_KEY");
    assertRefused(await stage.run(...args("gone")), 1, "mcp_connect_failed", "no-such-program-here");
    assertRefused(await stage.run(...args("off")), 1, "mcp_disabled");
    await untilNone(markOf(stage));
  },
);

Deno.test("logs and tools tell what the journals know of a server, and start nothing", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: {
        docs: planned(stage, { name: "docs", started: stage.path("started") }),
        odd: bad(stage, ["exits-before-initialize"]),
      },
      answers: [{ text: "one" }, { text: "two" }],
    });
    await stage.write({ "other/agent.yaml": JSON.stringify({ name: "other", model: "scripted/x.yaml" }) });
    assertRefused(await stage.run("mcp", "tools", "docs", ...place), 2, "store_not_found");
    await stage.output("run", "agent", "hi", "--workspace", "ws");
    assertRefused(await stage.run("mcp", "tools", "docs", ...place), 2, "server_not_listed", "--live");
    await stage.output("run", "agent", "hi", "--workspace", "ws", "--answer", "allow");
    const tools = linesOf(await stage.output("mcp", "tools", "docs", ...place, "--json"));
    assert.deepEqual(tools.map((one) => [one["tool"], one["state"]]), [
      ["search", "ok"],
      ["wait", "ok"],
      ["variables", "ok"],
    ]);
    const events = linesOf(await stage.output("mcp", "logs", "docs", "--agent", "agent", "--json"));
    assert.deepEqual(events.map((one) => one["event"]), ["not_started", "started", "listed", "closed"]);
    assert.equal(events[0]?.["code"], "mcp_connect_denied");
    const odd = await stage.output("mcp", "logs", "odd", "--agent", "agent");
    assert.match(odd, /not_started +mcp_connect_denied: /);
    assert.match(odd, /not_started +mcp_connect_failed: .*exit code 3.*boom: missing API key/);
    assert.equal(await starts(stage), 1);
    // Another agent's servers of the same name are others.
    const others = await stage.run("mcp", "logs", "docs", "--agent", "other");
    assert.match(others.err, /No session of the agent has had to do with that server yet/);
    const live = await stage.output("mcp", "tools", "docs", "--live", ...place, "--answer", "allow");
    assert.match(live, /^wait +ok +The tool wait$/m);
    assert.equal(await starts(stage), 2);
  });
});
