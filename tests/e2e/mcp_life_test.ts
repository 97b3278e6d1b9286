/** The life of a server through the command: how often it is started, what is told of its session, who ends it. */
import assert from "node:assert/strict";
import {
  bad,
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
  sessionIn,
  testProcesses,
  untilCalled,
  untilNone,
  withOwner,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { linesOf, type Stage } from "./troupe.ts";

async function bindingsOf(stage: Stage): Promise<readonly Line[]> {
  const [records] = linesOf(await stage.output("inspect", "last", "--json"));
  return records?.["bindings"] as Line[];
}

function sharedIn(binding: Line): Line | undefined {
  return (binding["payload"] as Line)["session"] as Line | undefined;
}

Deno.test("server that dies in every call is started five times at most, and then answered for without being started (F21)", async () => {
  await onMcpStage(async (stage) => {
    const effects = { "mcp.frail.*": "idempotent" };
    await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ policy: { effects } }) });
    const started = stage.path("started");
    const plan = { name: "frail", started, ledger: stage.path("ledger"), diesInCalls: 1_000 };
    await writeMcpAgent(stage, {
      servers: { frail: planned(stage, plan), sound: planned(stage, { name: "sound" }) },
      answers: [
        { calls: [callOf("frail__search")] },
        { calls: [callOf("frail__search"), callOf("sound__search")] },
        { text: "finished" },
        { text: "no more" },
      ],
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.equal((await linesIn(started)).length, 5);
    const id = sessionIn(ended);
    const rows = linesOf(await stage.output("invocations", "last", "--json"));
    assert.deepEqual(rows.map(({ outcome }) => outcome).at(-1), "succeeded");
    assert.ok(!rows.slice(0, 2).some(({ outcome }) => outcome === "succeeded"));
    const log = await stage.output("log", `connection/frail@${id}`);
    assert.equal(log.match(/the server ended by itself, mcp_connection_lost/g)?.length, 5);
    // It stays so in the next turn, which goes on without its tools.
    const next = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(next.out, /^ {2}✗ frail {2}mcp_quarantined: .*ended by itself 5 times within 5 minutes/m);
    assert.match(next.out, /^ {2}✓ sound /m);
    assert.equal((await linesIn(started)).length, 5);
  });
});

Deno.test("inspect shows the session that the bindings of a server share, by CM's fields (CM-78, CM-79, CM-82, CM-131)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: { docs: planned(stage, { name: "docs" }) },
      answers: [{ calls: [callOf("docs__search"), callOf("docs__variables")] }, { text: "finished" }],
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    const connection = `connection/docs@${sessionIn(ended)}`;
    const told = bodiesOf(await entriesOf(stage, connection), "note", "connection.session");
    assert.deepEqual(told.map(({ state, id }) => [state, id]), [["open", "launch-1"], ["closed", null]]);
    const sessions = (await bindingsOf(stage)).map(sharedIn).filter((one) => one !== undefined);
    assert.deepEqual(sessions.map(({ tool_name: tool }) => tool).sort(), ["search", "variables", "wait"]);
    for (const { tool_name: _, ...shared } of sessions) {
      // The runtime has stopped, and its servers with it: another call begins another session.
      assert.deepEqual(shared, {
        server: "docs",
        transport_kind: "stdio",
        server_url: null,
        session_id: null,
        session_state: "closed",
        last_sse_event: null,
        // What it had said is told still; nobody uses it any more (CM-81).
        initialize_result: {
          protocolVersion: "2025-11-25",
          serverInfo: { name: "docs", version: "1" },
          capabilities: ["tools"],
        },
      });
    }
    assert.match(
      await stage.output("inspect", "last"),
      /connection\/docs@\S+ +pending +stdio +- +closed +1 +- +docs /,
    );
  });
});

testProcesses(
  "session that gives its servers up ends them, and no other session's",
  async (stage) => {
    for (const folder of ["agent", "other"]) {
      await writeMcpAgent(stage, {
        folder,
        servers: { docs: planned(stage, { name: folder, ledger: stage.path(`${folder}.ledger`) }) },
        answers: [{ calls: [callOf("docs__search")] }, { text: "finished" }, { text: "alone" }],
      });
    }
    await withOwner(stage, async ({ prompt, begin, redeclare }) => {
      const other = await begin("other");
      await Promise.all([prompt("go"), other.prompt("go")]);
      await Promise.all(["agent", "other"].map((name) => untilCalled(stage.path(`${name}.ledger`))));
      assert.deepEqual(["agent", "other"].map((name) => findMarked(markOf(stage, name)).length), [1, 1]);
      await Deno.remove(stage.path("agent/mcp/docs.yaml"));
      await redeclare();
      assert.equal((await prompt("again")).outcome, "completed");
      await untilNone(markOf(stage, "agent"));
      assert.equal(findMarked(markOf(stage, "other")).length, 1);
    });
  },
);

testProcesses(
  "runtime that is killed leaves no server behind, and its sessions begin anew",
  async (stage) => {
    const started = stage.path("started");
    await writeMcpAgent(stage, {
      servers: {
        docs: planned(stage, { name: "docs", started, ledger: stage.path("ledger"), isStubborn: true }),
        hung: bad(stage, ["never-answers"], { connect_timeout_seconds: 1 }),
      },
      // A connection may not have noticed yet that its server is gone: whoever calls starts it for certain.
      answers: [
        { calls: [callOf("docs__wait", { file: stage.path("never") })] },
        { calls: [callOf("docs__search")] },
        { text: "finished" },
      ],
    });
    const running = stage.start(...firstTurn, "--answer", "allow");
    await untilCalled(stage.path("ledger"));
    const [first] = await linesIn(started);
    running.signal("SIGKILL");
    await running.ended;
    const next = await stage.run(...nextTurn, "--answer", "allow");
    assert.match(next.err, /process\.swept \{"ended":1,"rest":0\}/);
    assert.deepEqual(findMarked(markOf(stage)), []);
    const [, second] = await linesIn(started);
    assert.ok(second !== undefined && second["pid"] !== first?.["pid"], next.out + next.err);
    const id = sessionIn(next);
    const told = bodiesOf(await entriesOf(stage, `connection/docs@${id}`), "note", "connection.session");
    assert.deepEqual(told.map(({ state, id }) => [state, id]), [
      ["open", "launch-1"],
      ["closed", null],
      ["open", "launch-2"],
      ["closed", null],
    ]);
  },
);
