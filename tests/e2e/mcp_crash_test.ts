/** MCP servers that die or fail in mid-call: what may be repeated is, and what may not is asked about. */
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
  onMcpStage,
  planned,
  sessionIn,
  testProcesses,
  theMarked,
  trustAgent,
  untilCalled,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { assertRefused, linesOf, type Stage } from "./troupe.ts";

/** One server `pay` that dies in its first calls, and one call of it. */
async function writePayment(stage: Stage, diesInCalls: number): Promise<void> {
  const plan = { name: "pay", ledger: stage.path("ledger"), started: stage.path("started"), diesInCalls };
  await writeMcpAgent(stage, {
    servers: { pay: planned(stage, plan) },
    answers: [{ calls: [callOf("pay__search", { amount: 1 })] }, { text: "finished" }],
  });
}

/** The outcomes of the one call of a session, by its intents. */
async function attemptsOf(stage: Stage): Promise<Line[]> {
  return bodiesOf(await entriesOf(stage, "last"), "outcome", "mcp.call");
}

async function assertReplays(stage: Stage): Promise<void> {
  const replayed = await stage.output("replay", "last", "--strict");
  assert.match(replayed, /^connection\/.*no divergence$/m);
  assert.doesNotMatch(replayed, /DIVERGED|diverges/i);
}

// I1, I3
Deno.test("server that dies in a harmful call leaves an unknown outcome, and a turn that ends so if nobody can say more (CM-134, DM-133)", async () => {
  await onMcpStage(async (stage) => {
    await writePayment(stage, 9);
    // Trusted, so that it is started whatever is answered.
    await stage.output(...trustAgent);
    for (const [index, answer] of [["--answer", "deny"], ["--answer", "allow"], []].entries()) {
      const ended = await stage.run(...firstTurn, ...answer);
      assertRefused(ended, 1, "turn_canceled");
      assert.match(
        ended.out,
        /✗ mcp\.pay\.search \{"amount": 1\} .* unknown {2}.*code 7.*may have been carried out/,
      );
      assert.match(ended.err, /Nobody here can say whether that call happened: the turn is canceled/);
      assert.match(ended.out, /turn 1 unknown/);
      assert.equal((await linesIn(stage.path("ledger"))).length, index + 1);
    }
    const [attempt, ...more] = await attemptsOf(stage);
    assert.deepEqual([attempt?.["status"], more], ["unknown", []]);
    await assertReplays(stage);
  });
});

// I1: the ledger has one application, whoever says what of it.
testProcesses(
  "server that is killed in a harmful call does not disturb another one, and troupe answer settles the doubt",
  async (stage) => {
    const parallel = { supports_parallel_tool_calls: true };
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: {
        doomed: planned(stage, { name: "doomed", ledger }, parallel),
        well: planned(stage, { name: "well", ledger: stage.path("well") }, parallel),
      },
      answers: [
        {
          calls: [
            callOf("doomed__wait", { file: stage.path("never") }),
            callOf("well__wait", { file: stage.path("go") }),
          ],
        },
        { text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    const running = stage.start(...firstTurn, "--answer", "wait");
    await Promise.all([untilCalled(ledger), untilCalled(stage.path("well"))]);
    Deno.kill(theMarked(markOf(stage, "doomed")), "SIGKILL");
    await running.until("A question waits");
    await stage.write({ go: "" });
    await running.until("well found");
    const [question] = linesOf(await stage.output("questions", "--json"));
    assert.deepEqual(question?.["decisions"], ["run_again", "mark_applied", "mark_not_applied", "abandon"]);
    const shown = await stage.output("questions");
    assert.match(shown, /This call may have happened\. What is true\?\n {2}tool {7}mcp\.doomed\.wait/);
    const settling = ["answer", String(question?.["id"]), "mark_applied"];
    assertRefused(await stage.run(...settling), 2, "note_required", "Say how you know");
    await stage.output(...settling, "--note", "it is on the bill");
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✓ mcp\.well\.wait .* well found/);
    assert.match(ended.out, /✗ mcp\.doomed\.wait .* unknown {2}mcp_connection_lost: .*SIGKILL/);
    assert.match(ended.out, /finished\nturn 1 completed: 2 steps/);
    assert.equal((await linesIn(ledger)).length, 1);
    assert.deepEqual((await attemptsOf(stage)).map(({ status }) => status).sort(), ["ok", "unknown"]);
    await assertReplays(stage);
  },
);

Deno.test("server that dies in a call which the operator calls idempotent is opened anew, and called again under the same key", async () => {
  await onMcpStage(async (stage) => {
    await stage.write({
      "config/troupe/troupe.yaml": 'policy: { effects: { "mcp.pay.*": idempotent } }\n',
    });
    await writePayment(stage, 1);
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✗ mcp\.pay\.search .* failed {2}.*code 7/);
    assert.match(ended.out, /✓ mcp\.pay\.search .* pay found \{"amount":1\}/);
    const [first, second, ...more] = await linesIn(stage.path("ledger"));
    assert.ok(first !== undefined && second !== undefined && more.length === 0);
    assert.equal(first["key"], second["key"]);
    assert.equal((await linesIn(stage.path("started"))).length, 2);
    assert.deepEqual((await attemptsOf(stage)).map(({ status }) => status), ["failed", "ok"]);
    const log = await entriesOf(stage, "last");
    const intents = bodiesOf(log, "intent", "mcp.call").map(({ args }) => (args as Line)["attempt"]);
    assert.deepEqual(intents, [1, 2]);
    const connects = bodiesOf(
      await entriesOf(stage, `connection/pay@${sessionIn(ended)}`),
      "intent",
      "mcp.connect",
    );
    assert.deepEqual(connects.map(({ args }) => (args as Line)["launch"]), [1, 2]);
    await assertReplays(stage);
  });
});

Deno.test("server's own no is an error that the model is told, as result and as protocol error; neither is repeated", async () => {
  await onMcpStage(async (stage) => {
    const ledgers = ["result", "protocol"].map((name) => stage.path(name));
    const [result = "", protocol = ""] = ledgers;
    await writeMcpAgent(stage, {
      servers: {
        result: bad(stage, ["tool-error", "--ledger", result]),
        protocol: bad(stage, ["rpc-error", "--ledger", protocol]),
      },
      answers: [
        { calls: [callOf("result__echo")] },
        { expect: "the disk is full", calls: [callOf("protocol__echo")] },
        { expect: "-32602: no such tool", text: "finished" },
      ],
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✗ mcp\.result\.echo .* completed_with_error {2}the disk is full/);
    assert.match(ended.out, /✗ mcp\.protocol\.echo .* completed_with_error {2}mcp_protocol_error: .*-32602/);
    assert.deepEqual(
      await Promise.all(ledgers.map(async (ledger) => (await linesIn(ledger)).length)),
      [1, 1],
    );
    assert.deepEqual(findMarked(markOf(stage)), []);
  });
});
