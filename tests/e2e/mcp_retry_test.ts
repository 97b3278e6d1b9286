/** What is done once more and what is not, with real servers that count what they did; late and double answers. */
import assert from "node:assert/strict";
import {
  bad,
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  type Line,
  linesIn,
  markOf,
  onMcpStage,
  planned,
  testProcesses,
  theMarked,
  trustAgent,
  until,
  untilCalled,
  writeMcpAgent,
} from "./mcp_stage.ts";
import { linesOf, type Running, type Stage } from "./troupe.ts";

async function rowsOf(stage: Stage): Promise<readonly Line[]> {
  return linesOf(await stage.output("invocations", "last", "--json"));
}

async function assertReplays(stage: Stage): Promise<void> {
  assert.doesNotMatch(await stage.output("replay", "last", "--strict"), /DIVERGED|diverges/i);
}

/** Answers the question that waits, in another process, as a person at another terminal would. */
async function answer(stage: Stage, running: Running, decision: string): Promise<void> {
  await running.until("A question waits");
  const [question] = linesOf(await stage.output("questions", "--json"));
  await stage.output("answer", String(question?.["id"]), decision, "--note", "looked it up");
}

Deno.test("server that breaks off has its file read once more, and its letters and charges sent once (AR-27, AR-28)", async () => {
  await onMcpStage(async (stage) => {
    const effects = { "mcp.files.*": "idempotent" };
    await stage.write({ "config/troupe/troupe.yaml": JSON.stringify({ policy: { effects } }) });
    const dies = (name: string) => planned(stage, { name, ledger: stage.path(name), diesInCalls: 1 });
    await writeMcpAgent(stage, {
      servers: { files: dies("files"), mail: dies("mail"), bank: dies("bank") },
      answers: [
        { calls: ["files", "mail", "bank"].map((server) => callOf(`${server}__search`, { server })) },
        { text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    const running = stage.start(...firstTurn, "--answer", "wait");
    await answer(stage, running, "mark_not_applied");
    await until("the second question waits", async () => {
      const open = linesOf(await stage.output("questions", "--json"));
      return open.some((one) => JSON.stringify(one).includes("mcp.bank.search"));
    });
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "abandon", "--note", "nobody knows");
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    const made = await Promise.all(["files", "mail", "bank"].map((name) => linesIn(stage.path(name))));
    assert.deepEqual(made.map((lines) => lines.length), [2, 1, 1]);
    assert.equal(made[0]?.[0]?.["key"], made[0]?.[1]?.["key"]);
    const rows = await rowsOf(stage);
    assert.deepEqual(
      rows.map((row) => ["tool", "effect", "attempts", "outcome"].map((field) => row[field]).join(" ")),
      [
        "mcp.files.search idempotent 2 succeeded",
        "mcp.mail.search non_idempotent 1 failed",
        "mcp.bank.search non_idempotent 1 unknown",
      ],
    );
    const retry = {
      operation: "mcp_tool_call",
      idempotency: "idempotent",
      attempt: 2,
      maxAttempts: 5,
      lastErrorCode: "mcp_connection_lost",
    };
    assert.deepEqual(rows.map(({ retries }) => retries), [[retry], [], []]);
    assert.match(
      await stage.output("log", "last"),
      /invocation\.retried +call\/0\.0 attempt 2 of 5, mcp_tool_call idempotent, after mcp_connection_lost/,
    );
    const intents = bodiesOf(await entriesOf(stage, "last"), "intent", "mcp.call").map((body) =>
      body["effect"]
    );
    assert.deepEqual(intents, ["idempotent", "idempotent", "non_idempotent", "non_idempotent"]);
    await assertReplays(stage);
  });
});

// I1: the server is killed in mid-call; what the operator says of the call is what becomes of it.
for (
  const [decision, outcome, attempts, calls] of [
    ["run_again", "succeeded", 2, 2],
    ["mark_not_applied", "failed", 1, 1],
  ] as const
) {
  testProcesses(
    `server that is killed in a call leaves a question, and troupe answer ${decision} settles it (AR-28)`,
    async (stage) => {
      const ledger = stage.path("ledger");
      const file = stage.path("go");
      await writeMcpAgent(stage, {
        servers: { bank: planned(stage, { name: "bank", ledger }) },
        answers: [{ calls: [callOf("bank__wait", { file })] }, { text: "finished" }],
      });
      await stage.output(...trustAgent);
      const running = stage.start(...firstTurn, "--answer", "wait");
      await untilCalled(ledger);
      Deno.kill(theMarked(markOf(stage, "bank")), "SIGKILL");
      await running.until("A question waits");
      assert.match(await stage.output("questions"), /This call may have happened\. What is true\?/);
      await stage.write({ go: "" });
      await answer(stage, running, decision);
      const ended = await running.ended;
      assert.equal(ended.code, 0, ended.err);
      assert.equal((await linesIn(ledger)).length, calls);
      const [row] = await rowsOf(stage);
      assert.deepEqual([row?.["outcome"], row?.["attempts"]], [outcome, attempts]);
      assert.deepEqual(row?.["decisions"], [`${decision} by operator local`]);
      const retries = bodiesOf(await entriesOf(stage, "last"), "note", "invocation.retried");
      assert.deepEqual(retries.map(({ by, attempt }) => [by, attempt]), calls === 2 ? [["operator", 2]] : []);
      await assertReplays(stage);
    },
  );
}

/** Notes of results that came after the end of their calls. */
async function strays(stage: Stage): Promise<readonly string[]> {
  return bodiesOf(await entriesOf(stage, "last"), "note", "late_outcome")
    .map(({ status, value }) => `${status} ${(value as Line)["model"]}`);
}

Deno.test("server that never answers a call has it in doubt at the deadline, and serves the next one (CM-71, F17)", async () => {
  await onMcpStage(async (stage) => {
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: { bad: bad(stage, ["good", "--ledger", ledger], { timeout_seconds: 1 }) },
      answers: [
        { calls: [callOf("bad__slow"), callOf("bad__echo", { text: "next" })] },
        { text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    const running = stage.start(...firstTurn, "--answer", "wait");
    await answer(stage, running, "mark_not_applied");
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    assert.match(ended.out, /✗ mcp\.bad\.slow .* unknown {2}tool_outcome_unknown: .*ran out of time/);
    assert.match(ended.out, /✓ mcp\.bad\.echo .*next/);
    assert.deepEqual((await linesIn(ledger)).map(({ tool }) => tool), ["slow", "echo"]);
    assert.deepEqual(await strays(stage), []);
    await assertReplays(stage);
  });
});

Deno.test("server that answers after the deadline leaves evidence, and settles nothing (F18)", async () => {
  await onMcpStage(async (stage) => {
    const [ledger, file] = [stage.path("ledger"), stage.path("go")];
    await writeMcpAgent(stage, {
      servers: { bad: bad(stage, ["good", "--ledger", ledger], { timeout_seconds: 1 }) },
      answers: [
        { calls: [callOf("bad__slow", { file }), callOf("bad__echo", { text: "next" })] },
        { text: "finished" },
      ],
    });
    await stage.output(...trustAgent);
    const running = stage.start(...firstTurn, "--answer", "wait");
    await running.until("A question waits");
    await stage.write({ go: "" });
    await until("the late answer is on record", async () => (await strays(stage)).length > 0);
    assert.deepEqual(await strays(stage), ["ok the file is there"]);
    // It is evidence: the person is still asked, and what they say is what counts.
    await answer(stage, running, "mark_not_applied");
    const ended = await running.ended;
    assert.equal(ended.code, 0, ended.err);
    const rows = (await rowsOf(stage)).map(({ outcome, attempts }) => `${outcome} ${attempts}`);
    assert.deepEqual(rows, ["failed 1", "succeeded 1"]);
    assert.deepEqual((await linesIn(ledger)).map(({ tool }) => tool), ["slow", "echo"]);
    assert.match(
      await stage.output("log", "last"),
      /late_outcome .*came late, and changes nothing: slow: the file is there/,
    );
    await assertReplays(stage);
  });
});

Deno.test("server that answers twice is heard once, and the second answer is evidence (F19)", async () => {
  await onMcpStage(async (stage) => {
    const ledger = stage.path("ledger");
    await writeMcpAgent(stage, {
      servers: { bad: bad(stage, ["answers-twice", "--ledger", ledger]) },
      answers: [
        { calls: [callOf("bad__echo", { n: 1 }), callOf("bad__echo", { n: 2 })] },
        { expect: '{"n":2}', text: "finished" },
      ],
    });
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.deepEqual(await strays(stage), ["ok and once more", "ok and once more"]);
    const rows = (await rowsOf(stage)).map(({ outcome, attempts }) => `${outcome} ${attempts}`);
    assert.deepEqual(rows, ["succeeded 1", "succeeded 1"]);
    assert.deepEqual((await linesIn(ledger)).length, 2);
    await assertReplays(stage);
  });
});
