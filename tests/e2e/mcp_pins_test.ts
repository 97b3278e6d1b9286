/** What a server says of its tools after they were approved: what changed is off until a person approves it again. */
import assert from "node:assert/strict";
import { type Line, linesIn, onMcpStage, planned, trustAgent, writeMcpAgent } from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

const place = ["--agent", "agent", "--workspace", "ws"];
const inputSchema = { type: "object", properties: { q: { type: "string" } } };

function tool(name: string, more: Line = {}): Line {
  return { name, description: `Does ${name}`, inputSchema, ...more };
}

async function tell(stage: Stage, ...tools: readonly Line[]): Promise<void> {
  await stage.write({ "tools.json": JSON.stringify(tools) });
}

/** A trusted server whose tools were listed once: that was their approval. */
async function approve(stage: Stage, ...tools: readonly Line[]): Promise<void> {
  await tell(stage, ...tools);
  const plan = { name: "docs", tools: stage.path("tools.json"), ledger: stage.path("ledger") };
  await writeMcpAgent(stage, { servers: { docs: planned(stage, plan) }, answers: [] });
  await stage.output(...trustAgent);
  assert.deepEqual(await verdicts(stage), Object.fromEntries(tools.map(({ name }) => [name, "ok"])));
}

async function verdicts(stage: Stage): Promise<Line> {
  const { tools } = JSON.parse(await stage.output("mcp", "check", "docs", ...place, "--json"));
  return Object.fromEntries(tools.map((one: Line) => [one["tool"], one["verdict"]]));
}

async function called(stage: Stage): Promise<unknown[]> {
  return (await linesIn(stage.path("ledger"))).map((line) => line["tool"]);
}

// B91: Monday's approval does not cover Tuesday's tool.
Deno.test("tool that is not what was approved is off until a person saw how it differs; the server's others go on", async () => {
  await onMcpStage(async (stage) => {
    await approve(stage, tool("read"), tool("write"));
    await tell(stage, tool("read", { description: "Does read\u{e0041} " }), tool("write"));
    const call = (name: string) => stage.run("mcp", "call", "docs", name, ...place);
    assertRefused(await call("read"), 1, "policy_denied", "mcp.docs.read", /not any more what was approved/);
    assert.match((await call("write")).out, /^docs found/);
    assert.deepEqual(await called(stage), ["write"]);
    assert.deepEqual(await verdicts(stage), { read: "quarantined", write: "ok" });

    // It can be seen wherever tools are shown.
    assert.match(
      await stage.output("mcp", "list", ...place),
      /^docs +trusted +third_party +2 approved, 1 to approve /m,
    );
    assert.match(await stage.output("mcp", "tools", "docs", ...place), /^read +off: it is not any more/m);
    const catalog = await stage.run("catalog", "last");
    assert.match(catalog.out, /^mcp\.docs\.read +docs__read \(off\)/m);
    assert.match(catalog.err, /Switched off mcp\.docs\.read: .*troupe mcp trust docs/);

    // Nobody is there to look: the difference is shown, and nothing is approved.
    const unheard = await stage.run("mcp", "trust", "docs", ...place);
    assertRefused(unheard, 2, "trust_needs_answer", "approved", /--yes/);
    assert.match(unheard.out, /^ {4}- "Does read"$/m);
    assert.match(unheard.out, /^ {4}\+ "Does read\\u\{e0041\} "$/m);
    assert.deepEqual(await verdicts(stage), { read: "quarantined", write: "ok" });

    const approved = await stage.run("mcp", "trust", "docs", ...place, "--yes", "--json");
    const lines = linesOf(approved.out).filter((line) => "tool" in line);
    const fields = [{ path: "description", before: "Does read", after: "Does read\u{e0041} " }];
    assert.deepEqual(lines, [{ server: "docs", tool: "read", isKnown: true, fields }]);
    assert.match((await call("read")).out, /^docs found/);
    assert.deepEqual(await verdicts(stage), { read: "ok", write: "ok" });
  });
});

Deno.test("tool that comes when an approved one is gone is off, one that is merely new is not", async () => {
  await onMcpStage(async (stage) => {
    await approve(stage, tool("read"));
    await tell(stage, tool("read"), tool("fresh"));
    assert.deepEqual(await verdicts(stage), { read: "ok", fresh: "ok" });
    await tell(stage, tool("fresh"), tool("reader"));
    assert.deepEqual(await verdicts(stage), { fresh: "ok", reader: "quarantined" });
    // It does not slip in once the other is back.
    await tell(stage, tool("read"), tool("fresh"), tool("reader"));
    assert.deepEqual(await verdicts(stage), { read: "ok", fresh: "ok", reader: "quarantined" });
    await stage.output("mcp", "trust", "docs", ...place, "--yes");
    assert.deepEqual(await verdicts(stage), { read: "ok", fresh: "ok", reader: "ok" });
  });
});

Deno.test("annotations of a server decide nothing: they are pinned like any word of it, and open no gate (AR-10)", async () => {
  await onMcpStage(async (stage) => {
    const safe = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false };
    await tell(stage, tool("wipe", { annotations: safe }), tool("read"));
    const plan = { name: "docs", tools: stage.path("tools.json"), ledger: stage.path("ledger") };
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, plan, { approval_policy: "prompt" }) },
      answers: [],
    });
    await stage.output(...trustAgent);
    const call = ["mcp", "call", "docs", "wipe", ...place];
    for (const mode of ["auto", "plan"]) {
      assert.equal((await stage.run(...call, "--mode", mode)).code, 1, mode);
    }
    assert.deepEqual(await called(stage), []);
    const catalog = JSON.parse(await stage.output("catalog", "last", "--json"));
    const { riskLevel, effectClass, sideEffects, approvalPolicy } =
      catalog.entries.find((one: { canonicalName: string }) => one.canonicalName === "mcp.docs.wipe")
        .definition;
    assert.deepEqual(
      [effectClass, sideEffects, approvalPolicy, riskLevel === "low"],
      ["non_idempotent", true, "prompt", false],
    );
    await tell(stage, tool("wipe", { annotations: { ...safe, title: "Safe" } }), tool("read"));
    assert.deepEqual(await verdicts(stage), { wipe: "quarantined", read: "ok" });
    assert.equal((await stage.run(...call, "--answer", "allow")).code, 1);
    assert.deepEqual(await called(stage), []);
  });
});

Deno.test("pins that cannot be used let no tool pass, and trust that was taken away takes them along", async () => {
  await onMcpStage(async (stage) => {
    await approve(stage, tool("read"));
    const folder = stage.path("data/troupe/trusted.json.pins");
    const [file = ""] = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
      name !== "lock"
    );
    const text = await Deno.readTextFile(`${folder}/${file}`);
    const check = () => stage.run("mcp", "check", "docs", ...place);
    await Deno.writeTextFile(`${folder}/${file}`, text.slice(1));
    assertRefused(await check(), 1, "mcp_pins_unusable", file, /approved anew/);
    await Deno.writeTextFile(`${folder}/${file}`, text);
    await Deno.chmod(`${folder}/${file}`, 0o666);
    assertRefused(await check(), 1, "mcp_pins_unusable", "others may write it", /remove it/);
    assert.match((await stage.run("mcp", "call", "docs", "read", ...place)).err, /mcp_pins_unusable/);
    assert.deepEqual(await called(stage), []);

    await stage.output("trust", "./agent", "--remove");
    await assert.rejects(Deno.stat(`${folder}/${file}`), Deno.errors.NotFound);
    await tell(stage, tool("read", { description: "Another" }));
    await stage.output(...trustAgent);
    assert.deepEqual(await verdicts(stage), { read: "ok" });
  });
});

Deno.test("server most of whose approved tools are something else is quarantined as a whole until they are approved", async () => {
  await onMcpStage(async (stage) => {
    await approve(stage, tool("read"), tool("write"), tool("fine"));
    const other = { description: "Does something else" };
    await tell(stage, tool("read", other), tool("write", other), tool("fine"));
    const call = (name: string) => stage.run("mcp", "call", "docs", name, ...place);
    const ended = await call("fine");
    assert.equal(ended.code, 1, ended.out);
    assert.match(
      ended.err,
      /mcp_tools_drifted: .*more than half of its approved tools.*troupe mcp trust docs/,
    );
    assertRefused(await stage.run("mcp", "check", "docs", ...place), 1, "mcp_tools_drifted");
    assert.deepEqual(await called(stage), []);
    assert.match(
      await stage.output("mcp", "list", ...place),
      /^docs +trusted +\w+ +3 approved, 2 to approve /m,
    );
    // It waits in the journal as well, also for the session that it was quarantined in.
    const [session = ""] = (await stage.output("sessions", "--json")).match(/ses_[0-9A-Z]{26}/) ?? [];
    const log = await stage.output("log", `connection/docs@${session}`);
    assert.match(log, /mcp\.server_failed +docs mcp_tools_drifted: /);
    await stage.output("mcp", "trust", "docs", ...place, "--yes");
    for (const name of ["read", "write", "fine"]) assert.match((await call(name)).out, /^docs found/);
    assert.deepEqual(await called(stage), ["read", "write", "fine"]);
  });
});
