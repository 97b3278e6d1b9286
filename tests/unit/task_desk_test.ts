/** Tasks of a whole runtime: opened once, found by their own session alone, awaited, canceled, told of once, over crashes. */
import assert from "node:assert/strict";
import type { RootAddress } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import { isEnd, TaskKind, type TaskOutcome, type TaskRecord } from "../../schemas/task.ts";
import type { TaskWorkers } from "../../src/effects/task_run.ts";
import { keys, prefixes } from "../../src/journal/keys.ts";
import { quarantine } from "../../src/kernel/poison.ts";
import type { TaskOrder } from "../../src/tasks/task_desk.ts";
import { openStage, settled, type Stage, type StageOptions } from "../support/stage.ts";

/** Work that a test ends by hand. */
class Work {
  readonly begun: string[] = [];
  readonly stopped: string[] = [];
  readonly #ends = new Map<string, (outcome: TaskOutcome) => void>();
  /** True if work ends when it is told to stop. */
  obeys = true;

  readonly workers: TaskWorkers = {
    "terminal.exec": ({ arguments: given }, { signal }) =>
      new Promise<TaskOutcome>((resolve) => {
        const name = String(given["name"]);
        this.begun.push(name);
        this.#ends.set(name, resolve);
        const stop = () => {
          this.stopped.push(name);
          if (this.obeys) resolve({ status: "canceled", summary: "stopped" });
        };
        signal.addEventListener("abort", stop, { once: true });
      }),
  };

  end(name: string, outcome: TaskOutcome = { status: "succeeded", summary: `${name} is done` }): void {
    this.#ends.get(name)?.(outcome);
  }
}

interface Scene {
  readonly stage: Stage;
  readonly work: Work;
  readonly session: RootAddress;
}

async function openScene(options: StageOptions = {}): Promise<Scene> {
  const work = new Work();
  const stage = await openStage({ answers: [{ text: "well" }], workers: work.workers, ...options });
  return { stage, work, session: await stage.session() };
}

function order(owner: RootAddress, name: string, changes: Partial<TaskOrder> = {}): TaskOrder {
  return {
    owner,
    principal: localOperator,
    key: `key of ${name}`,
    origin: { call: "call/0.0", tool: "terminal" },
    title: name,
    detached: false,
    silent: false,
    work: { kind: "terminal.exec", arguments: { name }, cwd: "/" },
    ...changes,
  };
}

async function open({ stage, session }: Scene, name: string, changes: Partial<TaskOrder> = {}) {
  const record = await settled(stage.world, stage.runtime.tasks.open(order(session, name, changes)));
  await stage.world.settle();
  return record;
}

async function opened(scene: Scene, name: string, changes: Partial<TaskOrder> = {}): Promise<TaskRecord> {
  const record = await open(scene, name, changes);
  assert.ok("id" in record, JSON.stringify(record));
  return record;
}

async function find({ stage, session }: Scene, { id }: TaskRecord, owner = session) {
  return await settled(stage.world, stage.runtime.tasks.find(owner, id));
}

/** What the models of a stage were told by notices so far: ids of tasks. */
async function told({ stage, session }: Scene): Promise<readonly string[]> {
  const entries = await stage.entries(session);
  return entries.filter(({ kind, type }) => kind === "intent" && type === "model.generate")
    .flatMap(({ body }) => (body as { readonly args: { readonly append: readonly object[] } }).args.append)
    .flatMap((item) => "about" in item ? [String(item.about).replace("task ", "")] : []);
}

async function prompt({ stage, session }: Scene, text = "go") {
  const { report } = await settled(stage.world, stage.runtime.prompt(session, text));
  await stage.world.advance(1_000);
  return await settled(stage.world, report);
}

Deno.test("task that is opened 50 times at once by one key is one task (GA-54)", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  const opening = Array.from({ length: 50 }, () => stage.runtime.tasks.open(order(session, "one")));
  const records = await settled(stage.world, Promise.all(opening));
  assert.equal(new Set(records.map((record) => "id" in record ? record.id : record.code)).size, 1);
  await stage.world.settle();
  assert.deepEqual(work.begun, ["one"]);
  work.end("one");
  await stage.world.settle();
  // Also once it has ended, and in another life of the runtime.
  assert.equal((await opened(scene, "one")).status, "succeeded");
  stage.crash();
  const later = await openStage({ disk: stage.disk, workers: work.workers });
  const again = await settled(later.world, later.runtime.tasks.open(order(session, "one")));
  assert.equal("id" in again && again.status, "succeeded");
  assert.deepEqual(work.begun, ["one"]);
});

Deno.test("task has its scope for itself until it ends: of 50 at once one is opened (DM-119)", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  const scope = "terminal:/work";
  const names = Array.from({ length: 50 }, (_, index) => `task ${index}`);
  const opening = names.map((name) => stage.runtime.tasks.open(order(session, name, { scope })));
  const results = await settled(stage.world, Promise.all(opening));
  const refused = results.flatMap((one) => "code" in one ? [one.code] : []);
  assert.deepEqual(refused, Array.from({ length: 49 }, () => "task_scope_taken"));
  await stage.world.settle();
  assert.equal(work.begun.length, 1);
  // Another session, and another life of the runtime, are kept out too; other scopes and none are not.
  const other = { ...scene, session: await stage.session() };
  const beside = await open(other, "beside", { scope });
  assert.equal("code" in beside && beside.code, "task_scope_taken");
  await opened(scene, "elsewhere", { scope: "terminal:/other" });
  await opened(scene, "free");
  work.end(work.begun[0] ?? "");
  await stage.world.settle();
  assert.equal((await opened(other, "after", { scope })).status, "queued");
});

Deno.test("task's scope is free again after a crash, since what ran is lost (DM-119)", async () => {
  const scene = await openScene();
  const first = await opened(scene, "first", { scope: "terminal:/work" });
  scene.stage.crash();
  const work = new Work();
  const stage = await openStage({
    disk: scene.stage.disk,
    workers: work.workers,
    answers: [{ text: "well" }],
  });
  const later = { stage, work, session: scene.session };
  await stage.world.settle();
  assert.equal((await find(later, first))?.status, "lost");
  await opened(later, "second", { scope: "terminal:/work" });
});

Deno.test("tasks are listed, found and canceled by their own session alone (DM-115, DM-117)", async () => {
  const scene = await openScene();
  const { stage, work } = scene;
  const other = await stage.session();
  const first = await opened(scene, "first");
  await stage.world.advance(10);
  const second = await opened(scene, "second");
  const { tasks } = stage.runtime;
  const listed = await settled(stage.world, tasks.list(scene.session));
  assert.deepEqual(listed.map(({ id, status }) => [id, status]), [[second.id, "running"], [
    first.id,
    "running",
  ]]);
  assert.deepEqual(await settled(stage.world, tasks.list(other)), []);
  assert.equal(await find(scene, first, other), undefined);
  assert.equal(await settled(stage.world, tasks.cancel(other, first.id, "mine")), undefined);
  const untilMs = stage.world.now() + 10;
  const { signal } = new AbortController();
  assert.equal(
    await settled(stage.world, tasks.untilEnded(other, first.id, { untilMs, signal })),
    undefined,
  );
  assert.deepEqual([(await find(scene, first))?.status, work.begun.length], ["running", 2]);
  // No index by id alone: the key of a row begins with its owner.
  const rows = [...stage.disk.list({ prefix: prefixes.tasks(scene.session) })];
  assert.deepEqual(
    rows.map(({ key }) => key).sort(),
    [first, second].map(({ id }) => keys.task(scene.session, id)).sort(),
  );
});

Deno.test("task that is canceled by many at once is stopped once, and all hear of it when nothing is left (DM-104)", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  work.obeys = false;
  const task = await opened(scene, "slow");
  let answered = 0;
  const cancels = Array.from({ length: 5 }, async () => {
    const record = await stage.runtime.tasks.cancel(session, task.id, "enough");
    answered += 1;
    return record?.status;
  });
  await stage.world.advance(60_000);
  assert.deepEqual([answered, (await find(scene, task))?.status], [0, "running"]);
  work.end("slow", { status: "canceled", summary: "ended by SIGKILL" });
  assert.deepEqual(await settled(stage.world, Promise.all(cancels)), Array(5).fill("canceled"));
  assert.equal(
    (await settled(stage.world, stage.runtime.tasks.cancel(session, task.id, "x")))?.status,
    "canceled",
  );
});

Deno.test("task whose work does not end when it is told to is lost in the end, never called canceled", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  work.obeys = false;
  const task = await opened(scene, "stubborn");
  const canceled = stage.runtime.tasks.cancel(session, task.id, "enough");
  await stage.world.advance(limits.taskEndingMsMax + 1_000);
  const record = await settled(stage.world, canceled);
  assert.deepEqual([record?.status, record?.failure?.code], ["lost", "task_lost"]);
  // What it says later changes nothing: it is kept as evidence.
  work.end("stubborn");
  await stage.world.advance(100);
  assert.equal((await find(scene, task))?.status, "lost");
  const entries = await stage.entries(task.address);
  assert.equal(entries.filter(({ type }) => type === "late_outcome").length, 1);
});

Deno.test("task that is waited for answers at its end, or where it is when the time is over, and goes on", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  const task = await opened(scene, "one");
  const { signal } = new AbortController();
  const wait = (ms: number) =>
    stage.runtime.tasks.untilEnded(session, task.id, { untilMs: stage.world.now() + ms, signal });
  const short = wait(30_000);
  await stage.world.advance(30_000);
  const late = await settled(stage.world, short);
  assert.deepEqual([late?.isTimedOut, late?.record.status], [true, "running"]);
  const patient = wait(30_000);
  await stage.world.advance(1_000);
  work.end("one");
  const well = await settled(stage.world, patient);
  assert.deepEqual([well?.isTimedOut, well?.record.status], [false, "succeeded"]);
  // Nothing goes on waiting for the rest of the time.
  await stage.world.advance(100);
  assert.equal(stage.world.sleepers, 0);
});

Deno.test("tasks beyond 64 that have not ended are refused (I12)", async () => {
  const scene = await openScene();
  for (let n = 0; n < limits.tasksOpenMax; n++) await opened(scene, `task ${n}`);
  const more = await open(scene, "one more");
  assert.equal("code" in more && more.code, "task_limit");
  scene.work.end("task 0");
  await scene.stage.world.settle();
  await opened(scene, "again");
});

Deno.test("task goes on when its turn is canceled or ends, and its end is told before the next model call (DM-124, LC-28)", async () => {
  const scene = await openScene({ answers: [{ text: "one" }, { text: "two" }, { text: "three" }] });
  const { stage, work, session } = scene;
  const task = await opened(scene, "one");
  await prompt(scene);
  await settled(stage.world, stage.runtime.send(session, { type: "session.cancel", reason: "x" }));
  await stage.world.settle();
  assert.equal((await find(scene, task))?.status, "running");
  work.end("one");
  await stage.world.settle();
  await prompt(scene);
  await prompt(scene);
  assert.deepEqual(await told(scene), [task.id]);
  const transcript = await settled(stage.world, stage.runtime.conversations.transcript(session, "0.0"));
  const notice = transcript.find(({ text }) => text.includes(task.id));
  assert.match(notice?.text ?? "", /ended as succeeded; what follows is data.*\none\none is done$/s);
  assert.equal((await stage.replay(session, { strict: true })).divergence, undefined);
  assert.equal((await stage.replay(task.address, { strict: true })).divergence, undefined);
});

Deno.test("runtime that is killed leaves no task behind: what ran is lost and not run again, what waited is run by the next one, each is told once (DM-107, DM-123; asks 3, 6)", async () => {
  const scene = await openScene();
  const ran: TaskRecord[] = [];
  for (let n = 0; n < 9; n++) ran.push(await opened(scene, `task ${n}`));
  assert.equal(scene.work.begun.length, limits.commandsRunningMax);
  scene.stage.crash();
  const work = new Work();
  const answers = [{ text: "one" }, { text: "two" }];
  const stage = await openStage({ disk: scene.stage.disk, workers: work.workers, answers });
  const later = { stage, work, session: scene.session };
  await stage.world.settle();
  assert.deepEqual(work.begun, ["task 8"]);
  work.end("task 8");
  await stage.world.settle();
  const records = await settled(stage.world, stage.runtime.tasks.list(scene.session));
  assert.ok(records.every(({ status }) => isEnd(status)));
  assert.equal(records.filter(({ status }) => status === "lost").length, 8);
  await prompt(later);
  await prompt(later);
  assert.deepEqual([...await told(later)].sort(), ran.map(({ id }) => id).sort());
  // Listed also once they sleep, and after one more start.
  await settled(stage.world, stage.runtime.rest());
  stage.crash();
  const last = await openStage({ disk: stage.disk });
  assert.equal((await settled(last.world, last.runtime.tasks.list(scene.session))).length, 9);
});

Deno.test("task of the kind evolver.run is known and refused: this release does no work of it (DM-108)", async () => {
  assert.deepEqual(TaskKind.options, ["terminal.exec", "agent.spawn", "evolver.run"]);
  const scene = await openScene();
  const task = await opened(scene, "one", { work: { kind: "evolver.run", arguments: {} } });
  const record = await find(scene, task);
  assert.deepEqual([record?.kind, record?.status, record?.failure?.code], [
    "evolver.run",
    "failed",
    "task_kind_unsupported",
  ]);
});

Deno.test("task whose root is out of service is lost: its scope is free, its session is told once, a later cancel says so", async () => {
  const scene = await openScene();
  const { stage, work, session } = scene;
  const record = await opened(scene, "broken", { scope: "terminal:/ws" });
  const waiting = stage.runtime.tasks.untilOver(session, record.id, new AbortController().signal);
  quarantine(stage.runtime.kernel, record.address, "It crashed more often than its supervisor allows");
  await stage.world.settle();
  const lost = await find(scene, record);
  assert.deepEqual([lost?.status, lost?.failure?.code], ["lost", "task_lost"]);
  assert.equal((await settled(stage.world, waiting))?.status, "lost");
  assert.equal(
    (await settled(stage.world, stage.runtime.tasks.cancel(session, record.id, "late")))?.status,
    "lost",
  );
  // The work that was begun is told to stop; its place and its scope are free.
  assert.deepEqual(work.stopped, ["broken"]);
  assert.equal((await opened(scene, "next", { scope: "terminal:/ws" })).status, "queued");
  assert.deepEqual(work.begun, ["broken", "next"]);
  await prompt(scene);
  assert.deepEqual(await told(scene), [record.id]);
});
