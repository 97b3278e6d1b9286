/** Background tasks through the real `troupe`: begun, waited for, looked at, ended, and never left behind. */
import assert from "node:assert/strict";
import {
  callOf,
  entriesOf,
  findMarked,
  firstTurn,
  type Line,
  markOf,
  nextTurn,
  testProcesses,
  until,
  untilNone,
} from "./mcp_stage.ts";
import { assertRefused, type Ended, linesOf, type Running, type Stage } from "./troupe.ts";

interface Sketch {
  /** Calls of `terminal`, one a step. */
  readonly commands: readonly Line[];
  readonly answers?: readonly Line[];
}

/** An agent whose model runs these commands, and then answers. */
async function writeAgent(stage: Stage, { commands, answers = [] }: Sketch): Promise<void> {
  const calls = commands.map((command) => ({ calls: [callOf("terminal", command)] }));
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "hand",
      model: "scripted/script.yaml",
      tools: ["terminal", "task_list", "task_status", "task_control", "yield_until"],
      capabilities: ["terminal.exec", "shell", "task.control"],
    }),
    "agent/script.yaml": JSON.stringify({ answers: [...calls, { text: "finished" }, ...answers] }),
    "ws/a.txt": "alpha\n",
  });
}

/** A call of the terminal that goes on in the background. */
function background(script: string, more: Line = {}): Line {
  return { argv: ["sh", "-c", script], background: true, ...more };
}

const allow = ["--answer", "allow"];

/** Waits for the file `go` of the stage. */
const untilGo = "while [ ! -e ../go ]; do sleep 0.05; done";

/** Lets go what waits, once the turn has ended. */
async function letGo(stage: Stage, running: Running): Promise<Ended> {
  await running.until("Waiting for a task");
  await Deno.writeTextFile(stage.path("go"), "");
  return await running.ended;
}

/** What never ends by itself, marked so that it is found: with a grandchild, and one that left its group. */
function endless(stage: Stage, name = ""): string {
  const mark = markOf(stage, name);
  const one = `sh -c 'trap "" TERM; while :; do sleep 0.05; done' ${mark}`;
  return `${one} & setsid ${one} & echo begun; trap "" TERM; while :; do sleep 0.05; done; : ${mark}`;
}

async function tasksOf(stage: Stage, ...args: readonly string[]): Promise<readonly Line[]> {
  return linesOf(await stage.output("tasks", ...args, "--json"));
}

async function theTask(stage: Stage): Promise<Line> {
  const tasks = await tasksOf(stage);
  assert.equal(tasks.length, 1);
  return tasks[0] as Line;
}

/** What the model of the newest session was told of its tasks by notices. */
async function notices(stage: Stage): Promise<readonly string[]> {
  const entries = await entriesOf(stage, "last");
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .flatMap(({ body }) => (body as { readonly args: { readonly append: readonly Line[] } }).args.append)
    .flatMap(({ about }) => about === undefined ? [] : [String(about)]);
}

testProcesses(
  "run begins a command in the background, waits for it, and tells of its end once (DM-110, LC-28)",
  async (stage) => {
    const script = `for n in 1 2 3; do echo line $n; done; ${untilGo}`;
    await writeAgent(stage, {
      commands: [background(script)],
      answers: [{ text: "finished" }, { text: "finished" }],
    });
    const ended = await letGo(stage, stage.start(...firstTurn, ...allow));
    assert.equal(ended.code, 0, ended.out + ended.err);
    assert.match(
      ended.err,
      /Waiting for a task \(Ctrl-C cancels\)\ntask tsk_\w+ succeeded: sh -c .*: exit code 0 after/,
    );
    const { id, kind, status, startedAt, endedAt, title, result, notified, owner, turn, origin } =
      await theTask(stage);
    assert.deepEqual([kind, status, notified, turn, (origin as Line)["tool"]], [
      "terminal.exec",
      "succeeded",
      false,
      1,
      "terminal",
    ]);
    assert.match(String(title), /^sh -c for n in 1 2 3/);
    assert.ok(Number(startedAt) < Number(endedAt));
    const { artifact } = (result as Line)["stdout"] as { readonly artifact: Line };
    const file = `${stage.path("store.db")}.artifacts/${artifact["root"]}/${artifact["path"]}`;
    assert.equal(await Deno.readTextFile(file), "line 1\nline 2\nline 3\n");
    assert.equal(await stage.output("tasks", "logs", String(id)), "line 1\nline 2\nline 3\n");
    assert.match(
      await stage.output("tasks", "last"),
      /^TASK .*\n.* terminal\.exec {2}succeeded .* sh -c for n/,
    );
    // The next turn tells the model, once; what it is told is short, and no log.
    await stage.output(...nextTurn, ...allow);
    await stage.output(...nextTurn, ...allow);
    assert.deepEqual(await notices(stage), [`task ${id}`]);
    assert.equal((await theTask(stage))["notified"], true);
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
    const address = `task/${id}@${String(owner).slice("session/".length)}`;
    // The record first, then the process, then its exit report (CM-119).
    const order = (await entriesOf(stage, address)).map(({ kind, type }) => `${kind} ${type}`);
    const places = [
      "created task",
      "intent task.run",
      "note command.started",
      "note command.ended",
      "outcome task.run",
    ]
      .map((one) => order.indexOf(one));
    assert.deepEqual(places, places.toSorted((left, right) => left - right), order.join(", "));
    assert.ok(!places.includes(-1), order.join(", "));
    assert.match(
      await stage.output("replay", `task/${id}@${String(owner).slice("session/".length)}`),
      /no divergence/,
    );
  },
);

testProcesses(
  "run in the background is refused with secrets, detached, with a secret in its arguments, or without a person (DM-87)",
  async (stage) => {
    await writeAgent(stage, { commands: [] });
    const call = (given: Line, ...more: readonly string[]) =>
      stage.run("call", "agent", "terminal", JSON.stringify(given), "--workspace", "ws", ...more);
    const touch = { argv: ["touch", "marker"], background: true };
    const secrets = [{ variable: "A", source: "env:PATH" }];
    assertRefused(await call(touch), 1, "approval_unavailable");
    assertRefused(await call(touch, "--answer", "deny"), 1, "approval_denied");
    await stage.write({
      "agent/agent.yaml": JSON.stringify({
        name: "hand",
        model: "scripted/script.yaml",
        tools: ["terminal"],
        capabilities: ["terminal.exec", "secret.bind:PATH"],
      }),
    });
    const refusals: readonly (readonly [Line, string])[] = [
      [{ ...touch, secrets }, "secret_binding_refused"],
      [{ ...touch, detached: true }, "no_host"],
      [
        { argv: ["touch", "marker", "--token=ghp_0123456789abcdefghijklmnopqrstuvwxyz"], background: true },
        "arguments_secret",
      ],
      [{ argv: ["touch", "marker"], detached: true }, "arguments_invalid"],
      [{ argv: ["touch", "marker"], idle_timeout_ms: 5 }, "arguments_invalid"],
      [{ argv: ["touch", "marker"], timeout_ms: 120_001 }, "arguments_invalid"],
      [{ argv: ["no-such-program"], background: true }, "spawn_failed"],
      [{ ...touch, cwd: ".." }, "path_outside_root"],
    ];
    for (const [given, code] of refusals) {
      const ended = await call(given, ...allow);
      assertRefused(ended, 1, code);
      assert.doesNotMatch(ended.err, /ghp_/);
    }
    assert.deepEqual(await tasksOf(stage), []);
    assert.deepEqual([...Deno.readDirSync(stage.path("ws"))].map(({ name }) => name), ["a.txt"]);
  },
);

testProcesses(
  "cancel of a task answers when its grandchildren are gone, also those that left the group (DM-110, DM-104; ask 2)",
  async (stage) => {
    await writeAgent(stage, { commands: [background(endless(stage))] });
    const running = stage.start(...firstTurn, ...allow);
    await running.until("Waiting for a task");
    await until("it runs", () => findMarked(markOf(stage)).length >= 3);
    const task = await theTask(stage);
    assert.equal(task["status"], "running");
    const following = stage.start("tasks", "logs", String(task["id"]), "--follow");
    await following.until("begun");
    assert.equal(await stage.output("tasks", "logs", String(task["id"])), "begun\n");
    const canceled = await stage.output("tasks", "cancel", String(task["id"]), "--json");
    // Looked at before anything else can happen.
    assert.deepEqual(findMarked(markOf(stage)), []);
    const [record] = linesOf(canceled);
    const { ended, signal } = record?.["result"] as Line;
    assert.deepEqual([record?.["status"], record?.["had_ended"], ended, signal], [
      "canceled",
      false,
      "canceled",
      "SIGKILL",
    ]);
    const { code, err } = await running.ended;
    assert.equal(code, 0, err);
    assert.match(err, /was canceled: /);
    assert.match((await following.ended).err, /was canceled: /);
    const again = linesOf(await stage.output("tasks", "cancel", String(task["id"]), "--json"));
    assert.deepEqual([again[0]?.["status"], again[0]?.["had_ended"]], ["canceled", true]);
  },
);

testProcesses("Ctrl-C while tasks are waited for ends them, and says so", async (stage) => {
  await writeAgent(stage, { commands: [background(endless(stage))] });
  const running = stage.start(...firstTurn, ...allow);
  await running.until("Waiting for a task");
  await until("it runs", () => findMarked(markOf(stage)).length >= 3);
  running.signal("SIGINT");
  const ended = await running.ended;
  assert.deepEqual(findMarked(markOf(stage)), []);
  assertRefused(ended, 1, "tasks_canceled");
  assert.equal((await theTask(stage))["status"], "canceled");
});

testProcesses(
  "runtime that is killed leaves no process and no task: the next start ends what is left, and says once that it is lost (CM-119, DM-119)",
  async (stage) => {
    const answers = [{ calls: [callOf("terminal", background("echo again"))] }, { text: "finished" }, {
      text: "finished",
    }];
    await writeAgent(stage, { commands: [background(endless(stage))], answers });
    const running = stage.start(...firstTurn, ...allow);
    await running.until("Waiting for a task");
    await until("it runs", () => findMarked(markOf(stage)).length >= 3);
    running.signal("SIGKILL");
    await running.ended;
    assert.match(await stage.output("tasks"), /running \(no runtime\)/);
    assert.ok(findMarked(markOf(stage)).length >= 3, "nobody has ended it yet");
    // The same folder is free again.
    const next = await stage.run(...nextTurn, ...allow);
    assert.equal(next.code, 0, next.out + next.err);
    assert.deepEqual(findMarked(markOf(stage)), []);
    await stage.output(...nextTurn, ...allow);
    const [second, first] = await tasksOf(stage, "last");
    assert.deepEqual([first?.["status"], second?.["status"]], ["lost", "succeeded"]);
    assert.equal((first?.["failure"] as Line)["code"], "task_lost");
    assert.deepEqual(
      (await notices(stage)).toSorted(),
      [first, second].map((task) => `task ${task?.["id"]}`).toSorted(),
    );
    assert.match(await stage.output("replay", "last", "--strict"), /no divergence/);
  },
);

testProcesses(
  "two commands in the background of one folder are one too many, and of two folders are not (DM-119)",
  async (stage) => {
    await writeAgent(stage, {
      commands: [
        background(`${untilGo}; echo one`),
        background("echo two"),
        background("touch ../../go", { cwd: "deep" }),
      ],
    });
    await stage.write({ "ws/deep/b.txt": "" });
    const ended = await stage.run(...firstTurn, ...allow);
    assert.equal(ended.code, 0, ended.out + ended.err);
    assert.match(ended.out, /task_scope_taken/);
    const tasks = await tasksOf(stage);
    assert.deepEqual(tasks.map(({ status, title }) => [status, String(title).split("; ").at(-1)]), [
      ["succeeded", "sh -c touch ../../go"],
      ["succeeded", "echo one"],
    ]);
  },
);

testProcesses(
  "tasks of a session that another process runs are waited for through its door, and it stays as long",
  async (stage) => {
    await writeAgent(stage, {
      commands: [
        background(`${untilGo}; : ${markOf(stage, "one")}`),
      ],
    });
    const owner = stage.start(...firstTurn, ...allow);
    await owner.until("Waiting for a task");
    await Deno.mkdir(stage.path("ws2"));
    const guest = stage.start("run", "agent", "hi", "--workspace", "ws2", ...allow);
    await guest.until("Waiting for a task");
    assert.equal((await tasksOf(stage)).filter(({ status }) => status === "running").length, 2);
    await Deno.writeTextFile(stage.path("go"), "");
    for (const { code, err } of await Promise.all([owner.ended, guest.ended])) {
      assert.equal(code, 0, err);
      assert.match(err, /succeeded: /);
    }
    await untilNone(markOf(stage));
  },
);

testProcesses(
  "tasks whose owner is killed are told as lost by who waited for them, and nothing of them is left",
  async (stage) => {
    await writeAgent(stage, { commands: [background(endless(stage))] });
    const owner = stage.start(...firstTurn, ...allow);
    await owner.until("Waiting for a task");
    await Deno.mkdir(stage.path("ws2"));
    const guest = stage.start("run", "agent", "hi", "--workspace", "ws2", ...allow);
    await guest.until("Waiting for a task");
    await until("both run", () => findMarked(markOf(stage)).length >= 6);
    owner.signal("SIGKILL");
    const { code, err } = await guest.ended;
    assert.equal(code, 0, err);
    assert.match(
      err,
      /The process that held the store has ended: opening it here\n(.*\n)*task tsk_\w+ is lost: /,
    );
    assert.deepEqual(findMarked(markOf(stage)), []);
    assert.deepEqual((await tasksOf(stage)).map(({ status }) => status), ["lost", "lost"]);
  },
);

testProcesses("run with --json tells entries, and then the tasks that ended", async (stage) => {
  await writeAgent(stage, { commands: [background(`${untilGo}; exit 4`)] });
  const ended = await letGo(stage, stage.start(...firstTurn, ...allow, "--json"));
  assert.equal(ended.code, 0, ended.err);
  const lines = linesOf(ended.out);
  const task = lines.at(-1)?.["task"] as Line;
  assert.deepEqual([task["status"], (task["result"] as Line)["exit_code"]], ["failed", 4]);
  assert.ok(lines.slice(0, -1).every((line) => "seq" in line));
});

testProcesses("task that is not there is told apart from none: usage", async (stage) => {
  await writeAgent(stage, { commands: [] });
  await stage.output(...firstTurn);
  assert.match((await stage.run("tasks")).err, /No task yet/);
  for (const what of ["logs", "cancel"]) {
    assertRefused(await stage.run("tasks", what, "tsk_nothing"), 2, "task_not_found");
  }
});
