/** Modes, the host's tool policy and the capability to connect, from the command line down to real processes. */
import assert from "node:assert/strict";
import {
  type Answer,
  bodiesOf,
  callOf,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  linesIn,
  markOf,
  nextTurn,
  onMcpStage,
  planned,
  trustAgent,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, onStage, type Stage } from "./troupe.ts";

const answers: readonly Answer[] = [
  { calls: [callOf("docs__search"), callOf("read_file", { path: "a.txt" })] },
  { text: "first" },
  { calls: [callOf("docs__search"), callOf("read_file", { path: "a.txt" })] },
  { text: "second" },
];

/** An agent with a server `docs`, which is trusted, and a built-in reader. */
async function writeAgent(stage: Stage, capabilities: readonly string[], more: Line = {}): Promise<void> {
  await writeMcpAgent(stage, {
    servers: { docs: planned(stage, { name: "docs", ...traces(stage) }, more) },
    tools: ["read_file"],
    capabilities,
    answers,
  });
  await stage.output(...trustAgent);
}

function traces(stage: Stage) {
  return { started: stage.path("started"), ledger: stage.path("ledger") };
}

const all = ["fs.read", "mcp.connect:docs", "mcp.call:docs"];

/** What the journal says of the judged calls: `read_file allow`. */
function judgedIn(entries: readonly Line[]): string[] {
  return bodiesOf(entries, "note", "invocation.judged").map(({ tool, verdict }) => `${tool} ${verdict}`);
}

Deno.test("run in plan mode lets no side effect happen, in this turn and in those that follow, and replays (LC-21, DM-31)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, all);
    const planning = await stage.run(...firstTurn, "--mode", "plan", "--answer", "allow");
    assert.equal(planning.code, 0, planning.err);
    assert.match(planning.out, /✗ docs__search {2}denied .*mode "plan"/);
    assert.match(planning.out, /✓ read_file/);
    // The mode is the session's: it goes on in the next turn, which another process runs.
    const again = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(again.out, /✗ docs__search {2}denied .*mode "plan"/);
    assertRefused(await stage.run(...nextTurn, "--mode", "default"), 2, "option_invalid", "--mode");
    const entries = await entriesOf(stage, "last");
    const created = bodiesOf(entries, "created", "session")[0] as { readonly input: Line } | undefined;
    assert.equal(created?.input["mode"], "plan");
    const turn = ["mcp.docs.search deny", "read_file allow"];
    assert.deepEqual(judgedIn(entries), [...turn, ...turn]);
    assert.deepEqual(bodiesOf(entries, "intent", "mcp.call"), []);
    assert.deepEqual(await linesIn(stage.path("ledger")), []);
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
    // Without the mode the same agent does it.
    const free = await stage.run(...firstTurn);
    assert.match(free.out, /✓ mcp\.docs\.search/, free.err);
    assert.deepEqual((await linesIn(stage.path("ledger"))).length, 1);
  });
});

Deno.test("run in auto mode reads unasked what only a default asks about, and asks where the host names the tool (LC-21)", async () => {
  await onStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: {},
      tools: ["read_file"],
      capabilities: ["fs.read"],
      answers: [{ calls: [callOf("read_file", { path: "a.txt" })] }, { text: "done" }],
    });
    const host = (policy: string) => stage.write({ "config/troupe/troupe.yaml": `policy: ${policy}\n` });
    await host("{ default: prompt }");
    // Nobody is there to be asked, so the turn needs somebody.
    assert.match((await stage.run(...firstTurn)).out, /✗ read_file {2}denied[^]*turn 1 needs_user/);
    assert.match(await stage.output(...firstTurn, "--mode", "auto"), /✓ read_file/);
    const [note] = bodiesOf(await entriesOf(stage, "last"), "note", "invocation.judged");
    assert.deepEqual(note?.["checks"], [
      { check: "capability", by: "fs.read" },
      { check: "mode", by: "auto" },
      { check: "approval", by: "mode auto" },
    ]);
    assert.match(
      await stage.output("log", "last"),
      /invocation\.judged {2}call\/0\.0 read_file allow, capability by fs\.read, mode by auto, approval by mode auto$/m,
    );
    await host("{ tools: { read_file: prompt } }");
    assert.match((await stage.run(...firstTurn, "--mode", "auto")).out, /✗ read_file {2}denied/);
    await host("{ tools: { read_file: deny } }");
    assert.match(await stage.output(...firstTurn, "--mode", "auto"), /✗ read_file {2}denied/);
  });
});

Deno.test("run starts no server for an agent that may call it but not connect to it, and says what to add (DM-24, DM-54)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, ["fs.read", "mcp.call:docs"]);
    const without = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(without.code, 0, without.err);
    assert.match(
      without.out,
      /^ {2}✗ docs {2}capability_missing: .*"mcp\.connect:docs"; add it to capabilities in agent\.yaml/m,
    );
    assert.match(without.out, /✗ docs__search {2}not_found/);
    // What counts is what the agent was granted when its session began.
    await writeAgent(stage, all);
    const later = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(later.out, /^ {2}✗ docs {2}capability_missing/m);
    assert.deepEqual([await linesIn(stage.path("started")), findMarked(markOf(stage))], [[], []]);
    const fresh = await stage.run(...firstTurn);
    assert.match(fresh.out, /✓ mcp\.docs\.search/, fresh.err);
    // And to connect lets nobody call.
    await writeAgent(stage, ["fs.read", "mcp.connect:docs"]);
    const silent = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(silent.out, /✗ docs__search {2}denied .*"mcp\.call:docs"/);
    assert.equal((await linesIn(stage.path("ledger"))).length, 1);
  });
});

Deno.test("host takes tools away from every agent: no call of them goes through, and the catalog says why (AR-12, DM-14)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, all);
    await stage.write({ "config/troupe/troupe.yaml": 'policy: { deny: ["mcp.docs.*"] }\n' });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(ended.out, /✗ docs__search {2}denied .*policy\.deny of the host names "mcp\.docs\.\*"/);
    assert.deepEqual(await linesIn(stage.path("ledger")), []);
    await stage.write({ "config/troupe/troupe.yaml": "policy: { allow: [list_files] }\n" });
    const catalog = await stage.run("catalog", "./agent");
    assert.match(catalog.out, /^read_file +read_file \(off\)/m);
    assert.match(catalog.err, /^Switched off read_file: policy\.allow of the host does not name it$/m);
    await stage.write({ "config/troupe/troupe.yaml": 'policy: { deny: ["mcp.d*.x"] }\n' });
    assertRefused(await stage.run("catalog", "./agent"), 2, "config_invalid", "troupe.yaml:1:18", "dots");
  });
});

Deno.test("policy explain tells for people and for programs what decides, and starts nothing (DM-19, DM-31)", async () => {
  await onMcpStage(async (stage) => {
    await writeAgent(stage, all, { approval_policy: "prompt" });
    const explain = (...args: readonly string[]) =>
      stage.run("policy", "explain", "./agent", ...args, "--workspace", "ws");
    const plain = await explain("docs__search", "--mode", "plan");
    assert.equal(plain.code, 0, plain.err);
    assert.match(plain.out, /^mcp\.docs\.search$/m);
    assert.match(plain.out, /^connect +allow +trust /m);
    assert.match(plain.out, /^mode +deny +plan +.*mode "plan"/m);
    assert.match(plain.out, /^deny in the mode plan$/m);
    assert.match(plain.err, /"docs" is not started for this/);
    const [json] = linesOf((await explain("read_file", '{"path":"a.txt"}', "--json")).out);
    assert.deepEqual([json?.["tool"], json?.["verdict"], json?.["mode"]], ["read_file", "allow", "default"]);
    const steps = (json?.["checks"] as readonly Line[]).map(({ check, verdict }) => `${check} ${verdict}`);
    assert.deepEqual(steps, [
      "schema allow",
      "scope allow",
      "enabled allow",
      "capability allow",
      "mode allow",
      "approval allow",
    ]);
    // Another workspace is another trust.
    const elsewhere = await stage.run("policy", "explain", "./agent", "docs__search");
    assert.match(elsewhere.out, /^connect +ask +trust /m);
    assertRefused(await explain("read_file", "{oops"), 2, "argument_invalid", "ARGS");
    assertRefused(await stage.run("policy", "explian", "./agent", "x"), 2, "argument_invalid", "explain");
    assert.deepEqual([await linesIn(stage.path("started")), findMarked(markOf(stage))], [[], []]);
    await assert.rejects(Deno.stat(stage.path("store.db")));
  });
});
