/** Schedules by the command: made by an agent, kept while nothing runs, done once at the next start, deleted. */
import assert from "node:assert/strict";
import { askPolicy, assertRefused, linesOf, onStage, type Stage } from "./troupe.ts";
import { bodiesOf, entriesOf, sessionIn } from "./mcp_stage.ts";

/** An agent that makes a schedule with its first call, then reads a file, and then only talks. */
async function writeScheduler(stage: Stage, times: object, capabilities = ["schedule.manage", "fs.read"]) {
  const call = {
    tool: "schedule_manage",
    arguments: { action: "create", prompt: "The time has come", ...times },
  };
  const read = { tool: "read_file", arguments: { path: "a.txt" } };
  const rest = Array.from({ length: 10 }, () => ({ text: "Well." }));
  await stage.write({
    "agent/agent.yaml": JSON.stringify({
      name: "scheduler",
      model: "scripted/script.yaml",
      tools: ["schedule_manage", "read_file"],
      capabilities,
    }),
    "agent/script.yaml": JSON.stringify({
      answers: [{ calls: [call] }, { text: "Made." }, { calls: [read] }, ...rest],
    }),
    "ws/a.txt": "alpha\n",
  });
}

const run = ["run", "agent", "go", "--workspace", "ws"];
const goOn = ["run", "agent", "go on", "--session", "last"];

interface Shown {
  readonly id: string;
  readonly session: string;
  readonly status: string;
  readonly dueAtMs: number | null;
  readonly fired: number;
}

async function schedulesIn(stage: Stage, ...options: readonly string[]): Promise<readonly Shown[]> {
  return linesOf(await stage.output("schedules", ...options, "--json")) as unknown as readonly Shown[];
}

/** Waits until a schedule is overdue: real processes have real clocks. */
async function untilDue({ dueAtMs }: Shown): Promise<void> {
  for (let turn = 0; Date.now() <= (dueAtMs ?? 0); turn++) {
    assert.ok(turn < 1_000, "the schedule is never due");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a session was told, in order. */
async function told(stage: Stage, session: string): Promise<readonly string[]> {
  const entries = await entriesOf(stage, session);
  return bodiesOf(entries, "input", "session.prompt").map((body) =>
    (body as { message: { text: string } }).message.text
  );
}

Deno.test("run ends although a schedule waits, and says that it acts only while a process runs the store", async () => {
  await onStage(async (stage) => {
    await writeScheduler(stage, { cron: "0 9 * * MON-FRI", zone: "Europe/Berlin" });
    const ended = await stage.run(...run, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    assert.match(
      ended.err,
      /1 schedule waits, next due \d.*: nothing of it happens while no process runs the store/,
    );
    const results = JSON.stringify(
      bodiesOf(await entriesOf(stage, sessionIn(ended)), "outcome", "tool.call"),
    );
    assert.match(results, /It acts only while a process runs this store/);
    const [one] = await schedulesIn(stage);
    assert.deepEqual([one?.status, one?.fired, one?.session], ["waiting", 0, `session/${sessionIn(ended)}`]);
    assert.match(
      await stage.output("schedules", "last"),
      /sch_\w+ .* waiting .* at 0 9 \* \* MON-FRI in Europe\/Berlin/,
    );
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("schedules that fell due while nothing ran are done once at the next start", async () => {
  await onStage(async (stage) => {
    await writeScheduler(stage, { in_s: 1 });
    const ended = await stage.run(...run, "--answer", "allow");
    // On a slow machine it is due before the first run ends: then it is done there, and once as well.
    const [one] = await schedulesIn(stage, "--all");
    assert.ok(one, ended.err);
    await untilDue(one);
    for (let start = 0; start < 2; start++) {
      const next = await stage.run(...goOn, "--answer", "allow");
      assert.equal(next.code, 0, next.err);
    }
    assert.deepEqual((await told(stage, sessionIn(ended))).toSorted(), [
      "The time has come",
      "go",
      "go on",
      "go on",
    ]);
    assert.deepEqual(await schedulesIn(stage), []);
    const [over] = await schedulesIn(stage, "--all");
    assert.deepEqual([over?.status, over?.fired], ["done", 1]);
    assert.match(await stage.output("replay", "last"), /no divergence/);
  });
});

Deno.test("schedules delete ends an overdue one that then never acts, also if nothing runs the store", async () => {
  await onStage(async (stage) => {
    await writeScheduler(stage, { in_s: 5 });
    const ended = await stage.run(...run, "--answer", "allow");
    const [one] = await schedulesIn(stage);
    assert.ok(one, ended.err);
    await untilDue(one);
    const id = one.id.replace(/.$/, one.id.endsWith("0") ? "1" : "0");
    assertRefused(await stage.run("schedules", "delete", id), 2, "schedule_not_found", id);
    assertRefused(await stage.run("schedules", "delete"), 2, "argument_missing");
    for (let turn = 0; turn < 2; turn++) {
      assert.equal(await stage.output("schedules", "delete", one.id), `${one.id} is deleted\n`);
    }
    const log = await stage.output("log", `schedule/${one.id}@${sessionIn(ended)}`, "--json");
    assert.match(log, /"schedule\.delete"\},"command":\{"principal":"operator:local"/);
    assert.equal((await stage.run(...goOn, "--answer", "allow")).code, 0);
    assert.deepEqual(await told(stage, sessionIn(ended)), ["go", "go on"]);
    assert.deepEqual(await schedulesIn(stage), []);
  });
});

Deno.test("schedules are listed and deleted at the door of the process that runs the store", async () => {
  await onStage(async (stage) => {
    await writeScheduler(stage, { in_s: 3_600 });
    await stage.write(askPolicy);
    const ended = await stage.run(...run, "--answer", "allow");
    assert.equal(ended.code, 0, ended.err);
    const owner = stage.start(...goOn, "--answer", "wait");
    await owner.until("A question waits");
    const [one] = await schedulesIn(stage);
    assert.deepEqual(linesOf(await stage.output("schedules", "delete", one?.id ?? "", "--json")), [
      { id: one?.id, address: `schedule/${one?.id}@${sessionIn(ended)}`, status: "deleted" },
    ]);
    assert.deepEqual(await schedulesIn(stage), []);
    const [question] = linesOf(await stage.output("questions", "--json"));
    await stage.output("answer", String(question?.["id"]), "allow");
    assert.equal((await owner.ended).code, 0);
  });
});

Deno.test("run makes no schedule without the capability, and none that nobody allowed", async () => {
  for (const [capabilities, answer] of [[["fs.read"], "allow"], [["schedule.manage"], "deny"]] as const) {
    await onStage(async (stage) => {
      await writeScheduler(stage, { in_s: 1 }, [...capabilities]);
      await stage.run(...run, "--answer", answer);
      assert.deepEqual(await schedulesIn(stage, "--all"), []);
    });
  }
});
