/** Questions of child agents: who sees them, what their tasks show meanwhile, and what becomes of them unanswered. */
import assert from "node:assert/strict";
import { sessionMachine } from "../../actors/session.ts";
import { taskMachine } from "../../actors/task.ts";
import { AgentDefinition } from "../../schemas/agent.ts";
import { HostPolicy } from "../../schemas/config.ts";
import { type RootAddress, taskAddress, TaskId } from "../../schemas/ids.ts";
import { limits } from "../../schemas/limits.ts";
import { localOperator } from "../../schemas/principal.ts";
import type { Json } from "../../schemas/json.ts";
import type { TaskRecord } from "../../schemas/task.ts";
import { deliver } from "../../src/kernel/route.ts";
import { answerQuestion } from "../../src/host/answering.ts";
import { modelAnswer, sealCatalog, toolReturn } from "../support/calls.ts";
import { type Run, startRun, toolOf } from "../support/desk.ts";
import { openStage, settled, sourceOf, type Stage, toolFrom } from "../support/stage.ts";
import { rootNamed } from "../support/units.ts";

const [above, self] = [rootNamed(1), rootNamed(2)];
const task = TaskId.parse(`tsk_${"1".padStart(26, "0")}`);
const ownTask = taskAddress(task, above);
const agent = AgentDefinition.parse({ name: "child", model: "scripted/test" });
const catalog = sealCatalog([
  toolOf("ask", { approvalPolicy: "prompt", parallelSafe: true }),
  toolOf("look", { parallelSafe: true }),
]);

/** A child's session in a turn whose model has called these tools. */
function childCalling(...names: readonly string[]): Run {
  const run = startRun(sessionMachine, {
    address: self,
    agent,
    home: "embedded:test",
    catalog: "catalog/x",
    principal: localOperator,
    servers: [],
    mode: "default" as const,
    parent: { task: ownTask, session: above, path: ["main", "child"] },
  });
  run.send({ type: "catalog.issued", catalog, renewal: 0, servers: [] } as never);
  run.send({ type: "session.prompt", text: "Hello" } as never, { sender: ownTask });
  run.settle("model.generate", modelAnswer("", names.map((name, n) => ({ name, arguments: { n } }))));
  return run;
}

/** What the session, or the task, told others, in order. */
function told(run: Run): readonly string[] {
  return run.messages().filter(({ type }) => !type.startsWith("session.")).map(({ to, type }) =>
    `${type} ${to.split("/")[0]}`
  );
}

function answer(run: Run, decision: string, by: Json = { ...localOperator }): void {
  run.settle("question.ask", { decision, by, shown: `sha256:${"0".repeat(64)}` });
}

Deno.test("session of a child tells its task that it waits for a person, once, and when it does no more (ask 15)", () => {
  const run = childCalling("ask", "ask");
  assert.deepEqual(told(run), ["child.blocked task"]);
  assert.equal(run.messages()[0]?.to, ownTask);
  answer(run, "allow");
  assert.deepEqual(told(run).length, 1);
  answer(run, "deny");
  assert.deepEqual(told(run), ["child.blocked task", "child.unblocked task"]);
  const canceled = childCalling("ask");
  canceled.send({ type: "session.cancel", reason: "enough" } as never);
  assert.deepEqual(told(canceled), ["child.blocked task", "child.unblocked task"]);
});

Deno.test("session of a child tells its task what nobody could be asked about, and nothing of a person's no (ask 15)", () => {
  const person = childCalling("ask");
  answer(person, "deny");
  assert.deepEqual(told(person), ["child.blocked task", "child.unblocked task"]);
  const ways: readonly ((run: Run) => void)[] = [
    (run) => answer(run, "deny", { kind: "program", id: "no-answerer" }),
    (run) => run.fail("question.ask", { status: "timed_out", code: "approval_expired" }),
    (run) => run.fail("question.ask", { code: "approval_unavailable", retryable: false }),
  ];
  for (const end of ways) {
    const run = childCalling("ask");
    end(run);
    assert.deepEqual(told(run), ["child.blocked task", "child.unasked task", "child.unblocked task"]);
    assert.deepEqual(run.messages()[1]?.message, { type: "child.unasked", tool: "ask" });
  }
});

Deno.test("session of a child passes on that a child of its own waits, and no letter of anybody else (ask 15)", () => {
  const run = childCalling("look");
  const below = TaskId.parse(`tsk_${"2".padStart(26, "0")}`);
  run.send({ type: "task.blocked", task: below } as never, { sender: taskAddress(below, above) });
  assert.deepEqual(told(run), []);
  const sender = taskAddress(below, self);
  run.send({ type: "task.blocked", task: below } as never, { sender });
  assert.deepEqual(told(run), ["child.blocked task"]);
  run.send(
    {
      type: "task.ended",
      task: below,
      kind: "terminal.exec",
      title: "t",
      status: "canceled",
      summary: "",
      silent: true,
    } as never,
    { sender },
  );
  assert.deepEqual(told(run), ["child.blocked task", "child.unblocked task"]);
  run.settle("tool.call", toolReturn("seen"));
});

function runningTask(): Run {
  const run = startRun(taskMachine, {
    address: ownTask,
    id: task,
    owner: above,
    principal: localOperator,
    origin: { call: "call/0.0", tool: "delegate_task" },
    title: "research",
    createdAt: 500,
    detached: false,
    silent: false,
    work: { kind: "terminal.exec", arguments: {}, cwd: "/" },
  } as never);
  run.send({ type: "task.admitted", turn: 1 } as never, { sender: above });
  return run;
}

function records(run: Run): readonly TaskRecord[] {
  return run.notes().filter(({ type }) => type === "task.changed").map(({ body }) =>
    body as unknown as TaskRecord
  );
}

Deno.test("task shows that its child waits for a person, and tells its own session (ask 15)", () => {
  const run = runningTask();
  for (const type of ["child.blocked", "child.blocked", "child.unblocked"]) {
    run.send({ type } as never, { sender: self });
  }
  assert.deepEqual(records(run).map(({ status }) => status), [
    "queued",
    "running",
    "blocked_needs_user",
    "running",
  ]);
  assert.deepEqual(told(run), ["task.opened session", "task.blocked session", "task.unblocked session"]);
  run.send({ type: "child.blocked" } as never, { command: { principal: "operator:local", key: "k" } });
  assert.equal(records(run).at(-1)?.status, "running", "a client is no child");
  run.send({ type: "child.blocked" } as never, { sender: self });
  run.settle("task.run", { status: "succeeded", summary: "Found it" });
  assert.equal(records(run).at(-1)?.status, "succeeded");
  run.send({ type: "child.unblocked" } as never, { sender: self });
  assert.equal(records(run).length, 6);
});

Deno.test("task tells with its end what nobody could be asked about, whatever else it has to say (ask 15)", () => {
  const run = runningTask();
  for (const tool of ["write_file", "terminal", "write_file"]) {
    run.send({ type: "child.unasked", tool } as never, { sender: self });
  }
  run.settle("task.run", { status: "succeeded", summary: "x".repeat(limits.taskSummaryCharactersMax) });
  const { message } = run.messages().at(-1) as { message: { summary: string } };
  assert.match(
    message.summary,
    /^3 calls of it were refused because nobody could be asked \(write_file, terminal\)\. x/,
  );
  assert.equal(message.summary.length, limits.taskSummaryCharactersMax);
  assert.equal(records(run).at(-1)?.summary, message.summary);
});

interface Family {
  readonly stage: Stage;
  readonly main: RootAddress;
  readonly child: RootAddress;
  readonly record: () => Promise<TaskRecord>;
  readonly work: PromiseWithResolvers<string>;
}

/** A session, a task of it, and the session of a child that the task runs: the child has asked a person. */
async function family(): Promise<Family> {
  const work = Promise.withResolvers<string>();
  const worker = async () => ({ status: "succeeded" as const, summary: await work.promise });
  const stage = await openStage({
    answers: [{ calls: [{ tool: "ask" }] }, { text: "Done." }],
    tools: [{ name: "ask", approval: "prompt" }],
    workers: { "terminal.exec": worker },
  });
  const { runtime, world } = stage;
  const main = await stage.session();
  const opened = await settled(
    world,
    runtime.tasks.open({
      owner: main,
      principal: localOperator,
      origin: { call: "call/0.0", tool: "delegate_task" },
      title: "research",
      detached: false,
      silent: false,
      work: { kind: "terminal.exec", arguments: {}, cwd: "/" },
      key: "k",
    } as never),
  ) as TaskRecord;
  await world.advance(20);
  const child = await settled(
    world,
    runtime.createSession({
      agent: AgentDefinition.parse({ name: "researcher", model: "scripted/test", tools: ["ask"] }),
      coreRevision: "core-1",
      home: "embedded:test",
      sources: [sourceOf([toolFrom({ name: "ask", approval: "prompt" }, [])])],
      policy: HostPolicy.parse({}),
      parent: { task: opened.address, session: main, path: ["test", "research"] },
    }),
  );
  await world.settle();
  // Only its task may prompt it (CM-107).
  const message = { type: "session.prompt", text: "Go" };
  deliver(runtime.kernel, child, { kind: "input", body: { message, sender: opened.address } });
  await world.advance(20);
  const record = async () => await settled(world, runtime.tasks.find(main, opened.id)) as TaskRecord;
  return { stage, main, child, record, work };
}

Deno.test("question of a child is open under its path, its task is blocked, and who waits for that is told (ask 15)", async () => {
  const { stage, main, child, record } = await family();
  const { runtime, world } = stage;
  const [question] = runtime.questions.list();
  assert.deepEqual([question?.root, question?.path], [child, ["test", "research"]]);
  const { id, status } = await record();
  assert.equal(status, "blocked_needs_user");
  const signal = new AbortController().signal;
  const awaited = await settled(
    world,
    runtime.tasks.untilEnded(main, id, { untilMs: world.now() + 60_000, signal }),
  );
  assert.deepEqual([awaited?.record.status, awaited?.isTimedOut], ["blocked_needs_user", false]);
  const given = { decision: "allow", by: localOperator, shown: question?.shown } as const;
  await settled(world, answerQuestion(runtime, question?.id ?? "", given));
  await world.advance(20);
  assert.equal((await record()).status, "running");
  assert.equal((await stage.replay(child, { strict: true })).divergence, undefined);
});

Deno.test("question of a child that nobody answers is a denial at its deadline, and its parent is told why (ask 15)", async () => {
  const { stage, main, record, work } = await family();
  await stage.world.advance(limits.questionOpenMs);
  await stage.world.advance(1_000);
  assert.equal((await record()).status, "running");
  work.resolve("I could not do all of it");
  await stage.world.advance(100);
  const { summary } = await record();
  assert.equal(
    summary,
    "1 call of it was refused because nobody could be asked (ask). I could not do all of it",
  );
  const letter = (await stage.entries(main)).find(({ type }) => type === "task.ended");
  assert.equal((letter?.body as { message: { summary: string } }).message.summary, summary);
});
