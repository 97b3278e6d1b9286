/** What a model may do with the tasks of its session, and what it is told of them. */
import assert from "node:assert/strict";
import { type RootAddress, TaskId } from "../../schemas/ids.ts";
import type { Json } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { TaskOutcome } from "../../schemas/task.ts";
import { derivedId } from "../../src/tasks/derived_id.ts";
import { taskControl } from "../../src/tools/task_control.ts";
import { taskList } from "../../src/tools/task_list.ts";
import { taskStatus } from "../../src/tools/task_status.ts";
import { todo } from "../../src/tools/todo.ts";
import { yieldUntil } from "../../src/tools/yield_until.ts";
import { openStage, settled, type Stage } from "../support/stage.ts";
import { digestNow } from "../support/world.ts";

/** Ids follow from keys, so a script can name a task before it is opened. */
const id = TaskId.parse(await derivedId("tsk", "one", (bytes) => Promise.resolve(digestNow(bytes))));
const missing = `tsk_${"0".repeat(26)}`;

type Given = { readonly [name: string]: Json };

interface Scene {
  readonly stage: Stage;
  readonly session: RootAddress;
  /** Ends the work. */
  readonly end: (outcome: TaskOutcome) => void;
  /** Begins the next turn, in which these calls are made one a step. */
  begin(): Promise<() => Promise<readonly string[]>>;
}

/** A session with the task `one`, whose model makes these calls, one a step, and then a turn without any. */
async function openScene(calls: readonly (readonly [tool: string, given: Given])[]): Promise<Scene> {
  const work = Promise.withResolvers<TaskOutcome>();
  const stage = await openStage({
    answers: [
      ...calls.map(([tool, given]) => ({ calls: [{ tool, arguments: given }] })),
      { text: "done" },
      { text: "done again" },
    ],
    builtins: [taskList, taskStatus, taskControl, yieldUntil, todo],
    agent: { capabilities: ["task.control"] },
    granted: ["task.control"],
    workers: {
      "terminal.exec": (_work, { signal }) => {
        const stop = () => work.resolve({ status: "canceled", summary: "stopped" });
        signal.addEventListener("abort", stop, { once: true });
        return work.promise;
      },
    },
  });
  const session = await stage.session();
  const { tasks } = stage.runtime;
  const order = {
    owner: session,
    principal: localOperator,
    key: "one",
    origin: { call: "call/0.0", tool: "terminal" },
    title: "sleep 1000",
    detached: false,
    silent: false,
    scope: "terminal:/a/folder/of/the/machine",
    work: { kind: "terminal.exec" as const, arguments: { argv: ["needle"] }, cwd: "/" },
  };
  await settled(stage.world, tasks.open(order));
  await stage.world.settle();
  return {
    stage,
    session,
    end: work.resolve,
    begin: async () => {
      const { report } = await settled(stage.world, stage.runtime.prompt(session, "go"));
      await stage.world.settle();
      return async () => {
        await settled(stage.world, report);
        return await resultsIn(stage, session);
      };
    },
  };
}

async function resultsIn(stage: Stage, session: RootAddress): Promise<readonly string[]> {
  const transcript = await settled(stage.world, stage.runtime.conversations.transcript(session, "0.0"));
  // The line above each says that it is data.
  return transcript.filter(({ role }) => role === "tool").map(({ text }) =>
    text.slice(text.indexOf("\n") + 1)
  );
}

async function noticesIn(stage: Stage, session: RootAddress): Promise<number> {
  const transcript = await settled(stage.world, stage.runtime.conversations.transcript(session, "0.0"));
  return transcript.filter(({ role, text }) => role !== "tool" && text.includes(id)).length;
}

const long: TaskOutcome = {
  status: "failed",
  summary: "s".repeat(limits.taskSummaryCharactersMax),
  result: { exit_code: 3, log: "needle of the log", stdout: { artifact: { path: "needle/path" } } },
};

Deno.test("task tools tell id, kind, status, title, bounded summary, exit code and times, and nothing else (DM-114, DM-116)", async () => {
  const { begin, end, stage, session } = await openScene([
    ["task_list", {}],
    ["task_status", { task: id }],
    ["yield_until", { task: id }],
  ]);
  end(long);
  await stage.world.settle();
  const [listed = "", status = "", waited = ""] = await (await begin())();
  const [row] = (JSON.parse(listed) as { readonly tasks: readonly object[] }).tasks;
  const fields = "id kind status title summary exit_code created_at started_at ended_at".split(" ");
  assert.deepEqual(Object.keys(row ?? {}).sort(), fields.filter((one) => one !== "summary").sort());
  assert.deepEqual(Object.keys(JSON.parse(status)).sort(), fields.sort());
  assert.deepEqual(Object.keys(JSON.parse(waited)).sort(), [...fields, "timed_out"].sort());
  assert.equal(JSON.parse(status).summary.length, 1_200);
  assert.equal(JSON.parse(status).exit_code, 3);
  for (const text of [listed, status, waited]) {
    for (const hidden of ["needle", session, "operator", "/a/folder", "sha256", "call/0.0"]) {
      assert.ok(!text.includes(hidden), `${hidden} in ${text}`);
    }
  }
});

Deno.test("task tools answer the same for a task of another session, for none, and for what is no id (DM-117)", async () => {
  const calls = ["task_status", "task_control", "yield_until"].flatMap((tool) =>
    [id, missing, "nonsense"].map((task) =>
      [tool, { task, ...(tool === "task_control" ? { action: "cancel" } : {}) }] as const
    )
  );
  const scene = await openScene([["task_list", {}], ...calls]);
  const other = { ...scene, session: await scene.stage.session() };
  const { report } = await settled(scene.stage.world, scene.stage.runtime.prompt(other.session, "go"));
  await settled(scene.stage.world, report);
  const [listed = "", ...answers] = await resultsIn(scene.stage, other.session);
  assert.deepEqual(JSON.parse(listed), { tasks: [], of: 0 });
  assert.equal(answers.length, 9);
  assert.equal(new Set(answers).size, 1);
  assert.match(answers[0] ?? "", /^task_not_found: This session has no task of this id/);
  const record = await settled(scene.stage.world, scene.stage.runtime.tasks.find(scene.session, id));
  assert.equal(record?.status, "running");
});

Deno.test("task_control takes cancel alone, and answers at the real end, which no notice repeats (DM-114, DM-121)", async () => {
  const scene = await openScene([
    ["task_control", { task: id, action: "pause" }],
    ["task_control", { task: id, action: "cancel", reason: "enough" }],
    ["task_control", { task: id, action: "cancel" }],
  ]);
  const [refused = "", canceled = "", again = ""] = await (await scene.begin())();
  assert.match(refused, /^task_action_unsupported: .*the only action is cancel$/);
  assert.deepEqual([JSON.parse(canceled).status, JSON.parse(again).status], ["canceled", "canceled"]);
  await (await scene.begin())();
  assert.equal(await noticesIn(scene.stage, scene.session), 0);
});

Deno.test("yield_until waits 30 s unless told otherwise, says so when the time is over, and the task goes on (DM-121)", async () => {
  const scene = await openScene([["yield_until", { task: id }], [
    "yield_until",
    { task: id, timeout_ms: 100 },
  ]]);
  const { world } = scene.stage;
  const results = await scene.begin();
  await world.advance(29_000);
  assert.deepEqual(await resultsIn(scene.stage, scene.session), []);
  await world.advance(1_000);
  await world.advance(100);
  for (const text of await results()) {
    assert.deepEqual([JSON.parse(text).status, JSON.parse(text).timed_out], ["running", true]);
  }
  // Its end, which no result told, is told by a notice.
  scene.end(long);
  await world.settle();
  await (await scene.begin())();
  assert.equal(await noticesIn(scene.stage, scene.session), 1);
});

for (const tool of ["yield_until", "task_status"] as const) {
  Deno.test(`${tool} that tells an end is all that the model hears of it (DM-121)`, async () => {
    const scene = await openScene([[tool, { task: id }]]);
    if (tool === "task_status") scene.end(long);
    const results = await scene.begin();
    scene.end(long);
    const [told = ""] = await results();
    assert.equal(JSON.parse(told).status, "failed");
    await (await scene.begin())();
    assert.equal(await noticesIn(scene.stage, scene.session), 0);
    assert.equal((await scene.stage.replay(scene.session, { strict: true })).divergence, undefined);
  });
}

Deno.test("what a session means to do and what runs for it are two things (LC-29, with the kinds of design.md section 8)", async () => {
  const scene = await openScene([
    ["todo", { action: "add", items: ["sleep well"] }],
    ["task_list", {}],
    ["todo", { action: "clear", all: true }],
    ["task_list", {}],
  ]);
  const [added = "", before = "", cleared = "", after = ""] = await (await scene.begin())();
  assert.deepEqual([added, cleared], ["1. [ ] sleep well", "[nothing to do]"]);
  assert.equal(before, after);
  const { tasks } = JSON.parse(after) as {
    readonly tasks: readonly { readonly id: string; readonly kind: string }[];
  };
  assert.deepEqual(tasks.map((task) => [task.id, task.kind]), [[id, "terminal.exec"]]);
});
