/** Calls that a server carries out as tasks: how they end, what a killed runtime finds again, and what is called once. */
import assert from "node:assert/strict";
import { doneWith, TaskServer, type TaskServerOptions } from "../support/task_server.ts";
import {
  bodiesOf,
  callOf,
  entriesOf,
  firstTurn,
  type Line,
  nextTurn,
  onMcpStage,
  sessionIn,
  trustAgent,
  until,
  writeMcpAgent,
} from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

const everything = "@modelcontextprotocol/server-everything@2026.8.31";

/** Plays a test with a server of tasks, and an agent that calls its tool once. */
async function withTasks(
  options: TaskServerOptions,
  play: (stage: Stage, server: TaskServer) => Promise<void>,
  more: Line = {},
): Promise<void> {
  const server = new TaskServer(options);
  try {
    await onMcpStage(async (stage) => {
      const { effects = {}, ...manifest } = more;
      const config = { network: { allow: [`127.0.0.1:${server.port}`] }, policy: { effects } };
      await stage.write({ "config/troupe/troupe.yaml": JSON.stringify(config) });
      await writeMcpAgent(stage, {
        servers: {
          far: { transport: "streamable_http", url: server.url, approval_policy: "auto", ...manifest },
        },
        answers: [{ calls: [callOf("far__work", { n: 1 })] }, { text: "finished" }, { text: "later" }, {
          text: "last",
        }],
      });
      await stage.output(...trustAgent);
      await play(stage, server);
    });
  } finally {
    await server.close();
  }
}

async function lastRow(stage: Stage): Promise<Line> {
  const { invocations } = JSON.parse(await stage.output("inspect", "last", "--json")) as {
    readonly invocations: readonly Line[];
  };
  const [row] = invocations.slice(-1);
  assert.ok(row);
  return row;
}

async function untilWatched(server: TaskServer): Promise<void> {
  await until("the task is looked after", () => server.count("tasks/get") > 0);
}

for (
  const [as, options] of Object.entries(
    {
      asked: { tasks: "asked" },
      told: { tasks: "told" },
      "told in the modern era": { tasks: "told", isModern: true },
    } as const,
  )
) {
  const { tasks } = options;
  Deno.test(`call that a server carries out as a task is looked after by its handle until it has a result, as ${as} (CM-34)`, async () => {
    await withTasks(options, async (stage, server) => {
      const running = stage.start(...firstTurn, "--answer", "deny");
      await untilWatched(server);
      server.end(doneWith("the work is done"));
      const ended = await running.ended;
      assert.match(ended.out, /✓ mcp\.far\.work .*the work is done[^]*finished\nturn 1 completed/, ended.err);
      assert.match(ended.out, /2 steps, 1 call/);
      const session = sessionIn(ended);
      const log = await entriesOf(stage, session);
      const [paused] = bodiesOf(log, "outcome", "mcp.call").map(({ value }) =>
        (value as Line)["pause"] as Line
      );
      assert.deepEqual([paused?.["type"], paused?.["id"], paused?.["result"]], ["task", "task-1", tasks]);
      assert.equal(bodiesOf(log, "intent", "mcp.task").length, 1);
      assert.equal(server.ledger.length, 1);
      assert.equal(server.ledger[0]?.ttl, tasks === "asked" ? 3_600_000 : undefined);
      assert.equal(server.count("tasks/result"), tasks === "asked" ? 1 : 0);
      const { status, metadata } = await lastRow(stage);
      assert.deepEqual([status, (metadata as Line)["tries"]], ["succeeded", 1]);
      assert.match(await stage.output("replay", session, "--strict"), /no divergence/);
    });
  });

  Deno.test(`runtime that is killed while a task works finds it again at its next start, and calls nothing twice, as ${as} (CM-34)`, async () => {
    await withTasks(options, async (stage, server) => {
      for (const kill of [1, 2]) {
        const running = stage.start(...(kill === 1 ? firstTurn : nextTurn), "--answer", "deny");
        const before = server.count("tasks/get");
        await until("the task is looked after", () => server.count("tasks/get") > before);
        running.signal("SIGKILL");
        await running.ended;
      }
      server.end(doneWith("the work is done"));
      const next = await stage.run(...nextTurn, "--answer", "deny");
      assert.equal(next.code, 0, `${next.out}\n${next.err}`);
      assert.match(next.out, /finished[^]*turn 3 completed/);
      const session = sessionIn(next);
      const log = await entriesOf(stage, session);
      const [outcome] = bodiesOf(log, "outcome", "mcp.task");
      assert.match(JSON.stringify(outcome?.["value"]), /the work is done/);
      // The outside's own account: three sessions looked after one task, and one call began it.
      assert.equal(server.ledger.length, 1);
      assert.ok(server.sessions >= 3);
      assert.equal(bodiesOf(log, "intent", "mcp.call").length, 1);
      assert.match(await stage.output("replay", session, "--strict"), /no divergence/);
    });
  });
}

Deno.test("task that the server does not know after a restart is in doubt if it could hurt, and a person is asked (CM-34)", async () => {
  await withTasks({ tasks: "asked" }, async (stage, server) => {
    const running = stage.start(...firstTurn, "--answer", "wait");
    await untilWatched(server);
    server.forget();
    await running.until("A question waits");
    const shown = await stage.output("questions");
    assert.match(shown, /This call may have happened\. What is true\?\n {2}tool {7}mcp\.far\.work/);
    running.signal("SIGKILL");
    await running.ended;
    const outcomes = bodiesOf(await entriesOf(stage, "last"), "outcome", "mcp.task");
    const codes = outcomes.map(({ status, failure }) => [status, (failure as Line)["code"]]);
    assert.deepEqual(codes, [["unknown", "mcp_task_unknown"]]);
    assert.equal(server.ledger.length, 1);
  });
});

Deno.test("turn that is canceled while a task works tells its server, and the call is what that says (CM-34)", async () => {
  const effects = { "mcp.far.*": "idempotent" };
  const ends: readonly (readonly [TaskServerOptions, Line, RegExp, code: 0 | 1])[] = [
    [
      { tasks: "asked", onCancel: doneWith("done all the same") },
      {},
      /✓ mcp\.far\.work .*done all the same/,
      0,
    ],
    [
      { tasks: "asked", onCancel: { status: "cancelled" } },
      { effects },
      /✗ mcp\.far\.work .* canceled {2}tool_canceled/,
      0,
    ],
    [
      { tasks: "told", onCancel: { status: "cancelled" } },
      {},
      /✗ mcp\.far\.work .* unknown {2}tool_canceled/,
      1,
    ],
  ];
  for (const [options, more, told, code] of ends) {
    await withTasks(options, async (stage, server) => {
      const running = stage.start(...firstTurn, "--answer", "deny");
      await untilWatched(server);
      assert.equal((await stage.run("cancel", "last")).code, code);
      const ended = await running.ended;
      assert.match(ended.out, told, ended.err);
      // A turn that left a call in doubt says so (DM-133).
      assert.match(ended.out, code === 0 ? /turn 1 canceled/ : /turn 1 unknown/);
      assert.equal(server.count("tasks/cancel"), 1);
      assert.equal(server.ledger.length, 1);
    }, more);
  }
});

Deno.test("task of an idempotent tool that the server does not know any more is called again under the same key (CM-34)", async () => {
  const effects = { "mcp.far.*": "idempotent" };
  await withTasks({ tasks: "asked" }, async (stage, server) => {
    const running = stage.start(...firstTurn, "--answer", "deny");
    await untilWatched(server);
    server.forget();
    await until("a second call", () => server.ledger.length === 2);
    server.end(doneWith("at last"));
    const ended = await running.ended;
    assert.match(ended.out, /✓ mcp\.far\.work .*at last/, ended.err);
    assert.equal(server.ledger[0]?.key, server.ledger[1]?.key);
  }, { effects });
});

Deno.test("tool that may be a task is called plainly unless the manifest asks for tasks, and none is asked of a server that has none (CM-34)", async () => {
  const cases: readonly (readonly [TaskServerOptions, Line, isTask: boolean])[] = [
    [{ tasks: "asked", support: "optional" }, {}, false],
    [{ tasks: "asked", support: "optional" }, { run_as_task: ["w*"] }, true],
    [{ tasks: "asked", support: "optional" }, { run_as_task: ["other"] }, false],
    [{ tasks: "asked", support: "forbidden" }, { run_as_task: ["*"] }, false],
    [{ tasks: "asked", support: "required", declares: false }, { run_as_task: ["*"] }, false],
  ];
  for (const [options, manifest, isTask] of cases) {
    await withTasks(options, async (stage, server) => {
      const running = stage.start("mcp", "call", "far", "work", "--agent", "./agent", "--workspace", "ws");
      if (isTask) {
        await untilWatched(server);
        server.end(doneWith("done in a task"));
      }
      const ended = await running.ended;
      assert.match(ended.out, isTask ? /done in a task/ : /done at once/, `${ended.out}\n${ended.err}`);
      assert.equal(server.ledger[0]?.ttl, isTask ? 3_600_000 : undefined);
    }, manifest);
  }
});

Deno.test("reference server's tool that must be a task is called as one, by a turn and by the command (CM-34)", async () => {
  await onMcpStage(async (stage) => {
    await writeMcpAgent(stage, {
      servers: { every: { run: { npm: everything, args: ["stdio"] }, approval_policy: "auto" } },
      answers: [
        { calls: [callOf("every__simulate-research-query", { topic: "tea" })] },
        { expect: "Research Report: tea", text: "read" },
      ],
    });
    const place = ["--agent", "./agent", "--workspace", "ws"];
    await stage.output("mcp", "check", "every", ...place, "--answer", "allow");
    const ended = await stage.run(...firstTurn, "--answer", "allow");
    assert.match(ended.out, /read\nturn 1 completed/, `${ended.out}\n${ended.err}`);
    const log = await entriesOf(stage, sessionIn(ended));
    assert.equal(bodiesOf(log, "outcome", "mcp.task").length, 1);
    const tool = ["mcp", "call", "every", "simulate-research-query", '{"topic": "rain"}'];
    assert.match(await stage.output(...tool, ...place, "--answer", "allow"), /# Research Report: rain/);
  });
});

Deno.test("task of the modern era that wants something of a person is told no, and the model that it was (CM-34)", async () => {
  await withTasks({ tasks: "told", isModern: true }, async (stage, server) => {
    const running = stage.start(...firstTurn, "--answer", "deny");
    await untilWatched(server);
    const form = { message: "Which one?", requestedSchema: { type: "object", properties: {} } };
    server.asked = { which: { method: "elicitation/create", params: form } };
    server.say("needs a word", "input_required");
    await until("it was answered", () => server.updates.length > 0);
    server.end(doneWith("done without"));
    const ended = await running.ended;
    assert.match(ended.out, /✓ mcp\.far\.work .*done without/, ended.err);
    assert.deepEqual(server.updates, [{ which: { action: "decline" } }]);
    const [outcome] = bodiesOf(await entriesOf(stage, sessionIn(ended)), "outcome", "mcp.task");
    assert.match(JSON.stringify(outcome?.["value"]), /done without.*was told no: nobody is asked for a task/);
  });
});
