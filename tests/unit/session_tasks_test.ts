/** Whether a session lets its tasks begin in their turn, and tells its model of each end exactly once. */
import assert from "node:assert/strict";
import type { OwnTask } from "../../actors/session_tasks.ts";
import { sessionMachine } from "../../actors/session.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import type { PortArgs } from "../../schemas/effect.ts";
import { taskAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { TaskKind } from "../../schemas/task.ts";
import { taskNamed } from "../support/background.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { rootNamed } from "../support/units.ts";

const self = rootNamed(1);
const agent = AgentDefinition.parse({ name: "test", model: "scripted/test" });
const catalog = sealCatalog([toolOf("look")]);

function openSession(): Run {
  const run = startRun(sessionMachine, {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
  });
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  return run;
}

function openTask(run: Run, n: number, kind: TaskKind = "terminal.exec", owner = self): void {
  const sender = taskAddress(taskNamed(n), owner);
  run.send({ type: "task.opened", task: taskNamed(n), kind } as never, { sender });
}

interface EndSketch {
  readonly sender?: string | undefined;
  readonly silent?: boolean;
}

function endTask(run: Run, n: number, sketch: EndSketch = {}): void {
  const { silent = false } = sketch;
  const sender = "sender" in sketch ? sketch.sender : taskAddress(taskNamed(n), self);
  const letter = { task: taskNamed(n), kind: "terminal.exec", title: "t", status: "succeeded", summary: "s" };
  run.send({ type: "task.ended", ...letter, silent } as never, sender === undefined ? {} : { sender });
}

/** Numbers of the tasks that were let begin, in order. */
function admitted(run: Run): readonly number[] {
  return run.messages().filter(({ type }) => type === "task.admitted").map(({ to }) =>
    Number(/tsk_0*(\d+)@/.exec(to)?.[1])
  );
}

function prompt(run: Run): void {
  run.send({ type: "session.prompt", text: "Hello" } as never);
}

/** What the model was told last: kinds, and what notices are about. */
function asked(run: Run): readonly string[] {
  const { append } = run.argsOf("model.generate") as PortArgs<"model.generate">;
  return append.map((item) => item.type === "notice" ? `notice ${item.about}` : item.type);
}

function aboutTask(n: number): string {
  return `notice task ${taskNamed(n)}`;
}

function callTool(run: Run): void {
  run.settle("model.generate", modelAnswer("", [{ name: "look" }]));
}

Deno.test("session lets 8 commands and 2 agents run at once, and the others in the order in which they came", () => {
  const run = openSession();
  for (let n = 1; n <= 10; n++) openTask(run, n);
  for (let n = 11; n <= 14; n++) openTask(run, n, "agent.spawn");
  assert.deepEqual(admitted(run), [1, 2, 3, 4, 5, 6, 7, 8, 11, 12]);
  endTask(run, 3);
  endTask(run, 12);
  assert.deepEqual(admitted(run).slice(10), [9, 13]);
  // One that was canceled while it waited makes no room.
  endTask(run, 10);
  assert.equal(admitted(run).length, 12);
  const open = run.context()["tasks"] as readonly OwnTask[];
  assert.deepEqual([open.length, open.filter(({ isRunning }) => isRunning).length], [11, 10]);
});

Deno.test("session that rests tells its model of ends before the next prompt, in their order (LC-28)", () => {
  const run = openSession();
  for (const n of [1, 2]) openTask(run, n);
  for (const n of [2, 1]) endTask(run, n);
  assert.equal(run.state(), "idle");
  prompt(run);
  assert.deepEqual(asked(run), [aboutTask(2), aboutTask(1), "prompt"]);
  run.settle("model.generate", modelAnswer("done"));
  prompt(run);
  assert.deepEqual(asked(run), ["prompt"]);
});

Deno.test("turn that runs tells its model of an end before it is asked again (LC-28)", () => {
  const run = openSession();
  openTask(run, 1);
  prompt(run);
  callTool(run);
  endTask(run, 1);
  run.settle("tool.call", toolReturn("seen"));
  assert.deepEqual(asked(run).filter((item) => item.startsWith("notice")), [aboutTask(1)]);
  run.settle("model.generate", modelAnswer("done"));
  prompt(run);
  assert.deepEqual(asked(run), ["prompt"]);
});

for (const when of ["before the letter comes", "after the letter came"]) {
  Deno.test(`session sends no notice of an end that a result told, ${when} (DM-121)`, () => {
    const run = openSession();
    for (const n of [1, 2]) openTask(run, n);
    prompt(run);
    callTool(run);
    if (when.startsWith("after")) { for (const n of [1, 2]) endTask(run, n); }
    run.settle("tool.call", { ...toolReturn("it has ended") as object, told: [taskNamed(1)] } as never);
    assert.equal(asked(run).includes(aboutTask(1)), false);
    if (when.startsWith("before")) { for (const n of [1, 2]) endTask(run, n); }
    run.settle("model.generate", modelAnswer("done"));
    prompt(run);
    assert.equal(asked(run).includes(aboutTask(1)), false);
    // The other one is told of once, in the turn or after it.
    const all = run.desk.asks.filter(({ request }) => request.port === "model.generate")
      .flatMap(({ request }) => (request.args as PortArgs<"model.generate">).append);
    const told = all.filter((item) => item.type === "notice").map(({ about }) => about);
    assert.deepEqual(told, [`task ${taskNamed(2)}`]);
  });
}

Deno.test("session keeps what a turn that is canceled did not tell, and cancels no task with it (DM-124)", () => {
  const run = openSession();
  for (const n of [1, 2]) openTask(run, n);
  prompt(run);
  callTool(run);
  endTask(run, 1);
  run.send({ type: "session.cancel", reason: "enough" } as never);
  if (run.pending().includes("tool.call")) run.settle("tool.call", toolReturn("seen"));
  assert.equal(run.state(), "idle");
  assert.deepEqual(run.messages().filter(({ type }) => type === "task.cancel"), []);
  assert.equal((run.context()["tasks"] as readonly OwnTask[]).length, 1);
  prompt(run);
  assert.ok(asked(run).includes(aboutTask(1)));
});

Deno.test("session refuses ends and births that no task of its own tells it, and says so (DM-122)", () => {
  const run = openSession();
  openTask(run, 1);
  openTask(run, 2, "terminal.exec", rootNamed(2));
  for (const sender of [undefined, taskAddress(taskNamed(1), rootNamed(2)), rootNamed(2)]) {
    endTask(run, 1, { sender });
  }
  assert.deepEqual(admitted(run), [1]);
  assert.equal(run.notes().filter(({ type }) => type === "task.letter_refused").length, 4);
  prompt(run);
  assert.deepEqual(asked(run), ["prompt"]);
});

Deno.test("session says nothing of tasks that end silently, and lets the next one begin all the same", () => {
  const run = openSession();
  for (let n = 1; n <= 9; n++) openTask(run, n);
  endTask(run, 1, { silent: true });
  assert.deepEqual(admitted(run).at(-1), 9);
  prompt(run);
  assert.deepEqual(asked(run), ["prompt"]);
});

Deno.test("session keeps 256 ends to tell, and notes those that it tells no more (I12)", () => {
  const run = openSession();
  const count = limits.taskNoticesMax + 2;
  for (let n = 1; n <= count; n++) {
    openTask(run, n);
    endTask(run, n);
  }
  assert.equal((run.context()["notices"] as readonly unknown[]).length, limits.taskNoticesMax);
  assert.equal(run.notes().filter(({ type }) => type === "task.notices_dropped").length, 2);
});
