/** Whether a task begins when it is let, ends once, and tells its end to whom it concerns. */
import assert from "node:assert/strict";
import { taskMachine } from "../../actors/task.ts";
import { limits } from "../../schemas/limits.ts";
import { type TaskInput, TaskRecord, TaskStatus } from "../../schemas/task.ts";
import { taskInput } from "../support/background.ts";
import { type Run, startRun } from "../support/desk.ts";
import { Twins } from "../support/twins.ts";
import { rootNamed } from "../support/units.ts";

const owner = rootNamed(1);

function born(changes: Partial<TaskInput> = {}): Run {
  return startRun(taskMachine, taskInput(1, owner, changes) as never);
}

/** What the store is told, in order. */
function records(run: Run): readonly TaskRecord[] {
  return run.notes().filter(({ type }) => type === "task.changed").map(({ body }) => TaskRecord.parse(body));
}

function statuses(run: Run): readonly TaskStatus[] {
  return records(run).map(({ status }) => status);
}

function admit(run: Run): void {
  run.send({ type: "task.admitted", turn: 3 } as never, { sender: owner });
}

function cancel(run: Run, key?: string): void {
  const command = key === undefined ? {} : { command: { principal: "operator:local", key } };
  run.send({ type: "task.cancel", reason: "enough" } as never, command);
}

function endings(run: Run): readonly unknown[] {
  return run.messages().filter(({ type }) => type === "task.ended").map(({ message }) => message);
}

function answered(run: Run): readonly unknown[] {
  return run.desk.posts.flatMap((post) => post.kind === "reply" ? [[post.command.key, post.value]] : []);
}

Deno.test("task waits until its session lets it begin, runs once, and is told of with kind, owner, turn, source, times and result (DM-109, DM-118)", () => {
  const run = born();
  assert.deepEqual([run.state(), run.kinds(), statuses(run)], ["queued", [], ["queued"]]);
  assert.deepEqual(run.messages().map(({ to, type }) => [to, type]), [[owner, "task.opened"]]);
  admit(run);
  assert.deepEqual([run.state(), run.pending()], ["running", ["task.run"]]);
  assert.equal(run.desk.asks[0]?.request.effect, "non_idempotent");
  admit(run);
  assert.deepEqual(run.kinds(), ["task.run"]);
  run.settle("task.run", { status: "succeeded", summary: "exit code 0", result: { exit_code: 0 } });
  assert.deepEqual(statuses(run), ["queued", "running", "succeeded"]);
  const { kind, turn, origin, summary, result, startedAt, endedAt, scope } = records(run).at(
    -1,
  ) as TaskRecord;
  assert.deepEqual([kind, turn, origin.tool, summary, result, scope], [
    "terminal.exec",
    3,
    "terminal",
    "exit code 0",
    { exit_code: 0 },
    null,
  ]);
  assert.ok(startedAt !== null && endedAt !== null && startedAt < endedAt);
  // The letter stands in the same unit as the ending.
  assert.equal(endings(run).length, 1);
  assert.deepEqual(run.desk.order.slice(-2), ["note task.changed", "message"]);
  assert.deepEqual(TaskStatus.options.slice(0, 3), ["queued", "running", "blocked_needs_user"]);
});

Deno.test("task that is canceled before it began has done nothing, and says so to all who ask", () => {
  const run = born();
  cancel(run, "a");
  assert.deepEqual([run.kinds(), statuses(run)], [[], ["queued", "canceled"]]);
  admit(run);
  assert.deepEqual(run.kinds(), []);
  cancel(run, "b");
  assert.deepEqual(answered(run), [["a", { status: "canceled", canceled: true }], ["b", {
    status: "canceled",
    canceled: false,
  }]]);
  assert.equal(endings(run).length, 1);
});

Deno.test("task that is canceled while it runs answers everybody at its real end, by one cancel (DM-104)", () => {
  const run = born();
  admit(run);
  for (const key of ["a", "b"]) cancel(run, key);
  cancel(run);
  assert.deepEqual([run.state(), answered(run), run.desk.asks[0]?.cancelAsked], ["running", [], true]);
  run.settle("task.run", { status: "canceled", summary: "ended by SIGTERM" });
  const said = { status: "canceled", canceled: true };
  assert.deepEqual(answered(run), [["a", said], ["b", said]]);
  assert.equal(endings(run).length, 1);
});

Deno.test("task whose end nobody knows is lost, never failed; what certainly did not begin is failed or canceled", () => {
  for (
    const [status, end, code] of [
      ["unknown", "lost", "task_lost"],
      ["failed", "failed", "spawn_failed"],
      ["canceled", "canceled", "spawn_failed"],
      ["timed_out", "failed", "spawn_failed"],
    ] as const
  ) {
    const run = born();
    admit(run);
    run.fail("task.run", {
      status,
      code: status === "unknown" ? "tool_outcome_unknown" : "spawn_failed",
      retryable: false,
    });
    const last = records(run).at(-1);
    assert.deepEqual([last?.status, last?.failure?.code], [end, code]);
    assert.equal(endings(run).length, 1);
  }
  const run = born();
  admit(run);
  run.settle("task.run", { status: "well" });
  assert.deepEqual(statuses(run).at(-1), "lost");
});

Deno.test("task's summary has at most 1,200 characters wherever it goes (DM-116)", () => {
  const run = born();
  admit(run);
  run.fail("task.run", { message: "x".repeat(2_000), code: "spawn_failed", retryable: false });
  const [letter] = endings(run) as readonly { readonly summary: string }[];
  assert.deepEqual([records(run).at(-1)?.summary.length, letter?.summary.length], [1_200, 1_200]);
  assert.equal(limits.taskSummaryCharactersMax, 1_200);
});

Deno.test("compiled machines live a task as interpreted ones do", () => {
  const outcomes = [
    { status: "ok", value: { status: "succeeded", summary: "well" } },
    { status: "ok", value: 7 },
    { status: "unknown", failure: { code: "tool_outcome_unknown", message: "x", retryable: false } },
    { status: "canceled", failure: { code: "tool_canceled", message: "x", retryable: false } },
  ];
  const steps = ["admit", "cancel", "settle", "restore"] as const;
  for (let seed = 0; seed < steps.length ** 4; seed++) {
    const input = taskInput(1, "session/ses_1");
    const twins = new Twins(input.address, "task");
    twins.deliver("created", { machine: "task", code: "x", input });
    for (let step = 0, rest = seed; step < 4; step++, rest = Math.floor(rest / steps.length)) {
      const command = { principal: "operator:local", key: `k${step}` };
      switch (steps[rest % steps.length]) {
        case "admit":
          twins.deliver("input", { message: { type: "task.admitted", turn: 1 }, sender: "session/ses_1" });
          break;
        case "cancel":
          twins.deliver("input", { message: { type: "task.cancel", reason: "x" }, command });
          break;
        case "restore":
          twins.restore();
          break;
        default:
          for (const [id] of twins.pending) {
            twins.deliver("outcome", { id, attempt: 1, ...outcomes[(seed + step) % outcomes.length] });
          }
      }
    }
  }
});
