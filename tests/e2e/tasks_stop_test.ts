/** Background tasks and the runtime that holds them: stopped in order, going on, and started again. */
import assert from "node:assert/strict";
import { isEnd, type TaskRecord } from "../../schemas/task.ts";
import { callOf, findMarked, type Line, markOf, testProcesses, until, withOwner } from "./mcp_stage.ts";
import type { Stage } from "./troupe.ts";

/** An agent whose model begins these commands in the background, all in one step. */
async function writeAgent(stage: Stage, commands: readonly Line[]): Promise<void> {
  const calls = commands.map((command) => callOf("terminal", { background: true, ...command }));
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "hand",
      model: "scripted/script.yaml",
      tools: ["terminal"],
      capabilities: ["terminal.exec", "shell"],
    }),
    "agent/script.yaml": JSON.stringify({
      answers: [{ calls }, { text: "one" }, { text: "two" }, { text: "three" }],
    }),
    "ws/a.txt": "alpha\n",
  });
}

function endless(stage: Stage, n: number): Line {
  const script = `trap "" TERM; while :; do sleep 0.05; done; : ${markOf(stage, `${n}.`)}`;
  return { argv: ["sh", "-c", script], cwd: `d${n}` };
}

async function folders(stage: Stage, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await stage.write({ [`ws/d${n}/x`]: "" });
}

testProcesses(
  "runtime that stops in order ends its commands first, and each task says why before the store closes (DM-104, DM-105)",
  async (stage) => {
    const count = 9;
    await folders(stage, count);
    await writeAgent(stage, Array.from({ length: count }, (_, n) => endless(stage, n)));
    let session = "";
    await withOwner(stage, async (held) => {
      session = held.session;
      assert.equal((await held.prompt("go")).outcome, "completed");
      await until("8 run", () => findMarked(markOf(stage)).length === 8);
      const tasks = await held.host.listTasks(held.session);
      assert.equal(tasks.filter(({ status }) => status === "queued").length, 1);
    });
    assert.deepEqual(findMarked(markOf(stage)), []);
    await withOwner(stage, async ({ host }) => {
      const tasks = (await host.listTasks(session)).toSorted((left, right) =>
        left.createdAt - right.createdAt
      );
      const stopped = tasks.filter(({ startedAt }) => startedAt !== null);
      for (const { status, summary } of stopped.slice(0, 8)) {
        assert.equal(status, "canceled");
        assert.match(summary, /the runtime stopped|The runtime stopped/);
      }
      // What had not begun was not begun by a runtime that stops, and is never called lost.
      assert.deepEqual(tasks.filter(({ status }) => status === "lost"), []);
      for (const { owner, id } of tasks) await host.cancelTask(owner, id, "the test ends");
    });
    assert.deepEqual(findMarked(markOf(stage)), []);
  },
);

testProcesses(
  "detached task needs a runtime that goes on, and is not waited for there; else it is refused with no_host",
  async (stage) => {
    await folders(stage, 1);
    await writeAgent(stage, [{ ...endless(stage, 0), detached: true }]);
    const refused = await stage.run("run", "agent", "go", "--workspace", "ws", "--answer", "allow");
    assert.equal(refused.code, 0, refused.err);
    assert.match(refused.out, /no_host/);
    await withOwner(
      stage,
      async ({ host, session, prompt }) => {
        assert.equal((await prompt("go")).outcome, "completed");
        const [task] = await host.listTasks(session);
        assert.ok(task?.detached && !isEnd(task.status), JSON.stringify(task));
        await until("it runs", () => findMarked(markOf(stage)).length === 1);
        // A command that comes by the door does not wait for it either, and sees it.
        const listed = await stage.output("tasks", "--json");
        assert.equal((JSON.parse(listed.trim()) as TaskRecord).id, task.id);
        const ended = await host.cancelTask(session, task.id, "enough");
        assert.equal(ended?.status, "canceled");
        assert.deepEqual(findMarked(markOf(stage)), []);
      },
      {},
      true,
    );
  },
);

testProcesses("cancel of a turn leaves its tasks alone (DM-124)", async (stage) => {
  await folders(stage, 1);
  await writeAgent(stage, [endless(stage, 0)]);
  await withOwner(stage, async ({ host, session, prompt }) => {
    await prompt("go");
    await until("it runs", () => findMarked(markOf(stage)).length === 1);
    const turn = prompt("again");
    await host.cancel(session, { reason: "enough" });
    await turn;
    const [task] = await host.listTasks(session);
    assert.equal(task?.status, "running");
    assert.equal(findMarked(markOf(stage)).length, 1);
  });
});
