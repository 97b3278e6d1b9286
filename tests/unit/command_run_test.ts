/** Commands, real ones: how their time is kept, how they really end, and what of them is never touched. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import type { CommandEnd, CommandOrder, CommandRun } from "../../src/processes/command_run.ts";
import type { OutputSink } from "../../src/processes/drain.ts";
import { ProcessError } from "../../src/processes/process_error.ts";
import { ProcessRegistry, type ProcessRegistryOptions } from "../../src/processes/registry.ts";
import { readStartMark } from "../../src/processes/start_mark.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import {
  childEnv,
  endProcess,
  hasCommand,
  isGone,
  until,
  untilGone,
  within,
} from "../support/child_stage.ts";
import { createWorld, type World } from "../support/world.ts";

const seams = createSystemSeams({ log: () => {} });

/** Takes an output as text. */
class Text implements OutputSink {
  text = "";
  chunksMax = 0;
  isEnded = false;
  async push(chunk: Uint8Array): Promise<void> {
    this.chunksMax = Math.max(this.chunksMax, chunk.length);
    this.text += new TextDecoder().decode(chunk);
    await Promise.resolve();
  }
  async end(): Promise<void> {
    this.isEnded = true;
    await Promise.resolve();
  }
}

interface Started {
  readonly run: CommandRun;
  readonly registry: ProcessRegistry;
  readonly out: Text;
  readonly err: Text;
  /** Numbers of processes that the script says, one a line. */
  pids(count: number): Promise<readonly number[]>;
}

let runs = 0;

function registryFor(changes: Partial<ProcessRegistryOptions> = {}): ProcessRegistry {
  return new ProcessRegistry({
    store: ":memory:",
    runId: `test-${Deno.pid}-${++runs}`,
    ...seams,
    ...changes,
  });
}

const never = Number.MAX_SAFE_INTEGER;

async function start(
  script: string,
  order: Partial<CommandOrder> = {},
  changes: Partial<ProcessRegistryOptions> = {},
): Promise<Started> {
  const registry = registryFor(changes);
  const [out, err] = [new Text(), new Text()];
  const run = await registry.run({
    command: "sh",
    args: ["-c", script],
    cwd: "/",
    env: childEnv,
    deadlineAtMs: seams.clock.now() + 60_000,
    stdout: out,
    stderr: err,
    ...order,
  });
  const pids = async (count: number) => {
    const found = () => out.text.split("\n").filter((line) => /^\d+$/.test(line)).map(Number);
    await until(`${count} processes are told of`, () => found().length >= count);
    return found();
  };
  return { run, registry, out, err, pids };
}

/** The end of a run, within a bound; whatever a broken build leaves is ended. */
async function endOf({ run }: Started): Promise<CommandEnd> {
  try {
    return await within("the end of the command", () => run.ended);
  } finally {
    endProcess(-run.pid);
  }
}

/**
 * Starts two grandchildren that ignore TERM and hold no pipe, and goes on; each says its number. One of them has wiped
 * its environment, so that only its group leads to it.
 */
const grandchild = "sh -c 'trap \"\" TERM; echo $$; exec sleep 1000 >/dev/null 2>&1'";
const withGrandchild = `${grandchild} & env -i ${grandchild} & echo $$; wait`;

Deno.test("command that ends by itself tells its code, and both of its outputs to the end", async () => {
  const started = await start("echo one; echo two >&2; exit 7");
  const { code, signal, reason, isGone: gone } = await endOf(started);
  assert.deepEqual([code, signal, reason, gone], [7, null, "exited", true]);
  assert.deepEqual([started.out.text, started.err.text], ["one\n", "two\n"]);
  assert.ok(started.out.isEnded && started.err.isEnded);
  assert.equal(started.registry.size, 0);
  assert.equal((await endOf(await start("kill -9 $$"))).signal, "SIGKILL");
});

const enders: readonly (readonly [string, (started: Started) => Promise<unknown>, string])[] = [
  ["a cancel", ({ run }) => run.stop("canceled"), "canceled"],
  ["the runtime's end", ({ registry }) => registry.closeAll(), "interrupted"],
  ["the end of all commands", ({ registry }) => registry.endCommands(), "interrupted"],
];

for (const [what, end, reason] of enders) {
  Deno.test(`command is ended by ${what} together with its grandchild, which ignores TERM (DM-98, DM-104, DM-138, B51)`, async () => {
    const started = await start(withGrandchild);
    const pids = await started.pids(3);
    assert.ok(pids.every((pid) => !isGone(pid)));
    await within("the end", () => end(started));
    // Its end is told when nothing is left, not before.
    assert.deepEqual(pids.filter((pid) => !isGone(pid)), []);
    const ended = await endOf(started);
    assert.deepEqual([ended.reason, ended.isGone], [reason, true]);
  });
}

Deno.test("command is ended by its time together with its grandchild, and its code is 124 (DM-90, DM-98, DM-138)", async () => {
  const world = createWorld();
  const started = await start(withGrandchild, { deadlineAtMs: world.now() + 30_000 }, world.seams);
  const pids = await started.pids(3);
  await world.advance(29_999);
  assert.ok(pids.every((pid) => !isGone(pid)));
  const ended = endOf(started);
  await untilOver(world, started.run.ended);
  const { code, reason, signal } = await ended;
  assert.deepEqual([code, reason, signal], [124, "timed_out", "SIGTERM"]);
  for (const pid of pids) await untilGone(pid);
});

/** Lets virtual time pass, and real processes act, until `over` resolves. */
async function untilOver(world: World, over: Promise<unknown>): Promise<void> {
  let isOver = false;
  over.then(() => isOver = true);
  await within("what must come", async () => {
    while (!isOver) {
      if (world.sleepers > 0) await world.step();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
}

Deno.test("command that has ended is timed out while what it started still holds its output (DM-106)", async () => {
  const world = createWorld();
  const started = await start("sleep 1000 & echo $!", { deadlineAtMs: world.now() + 30_000 }, world.seams);
  const [left = 0] = await started.pids(1);
  await untilGone(started.run.pid);
  await world.settle();
  assert.ok(!isGone(left) && started.registry.size === 1, "it goes on as long as its output may");
  const ended = endOf(started);
  await untilOver(world, started.run.ended);
  assert.deepEqual([(await ended).code, (await ended).reason], [124, "timed_out"]);
  await untilGone(left);
});

Deno.test("command is asked by TERM first, and killed only once its grace is over (DM-98)", async () => {
  const polite = await start("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  await until("it is ready", () => polite.out.text.includes("ready"));
  assert.equal((await polite.run.stop("canceled")).code, 5);
  assert.match(polite.out.text, /asked\n$/);
  assert.equal(limits.commandTermGraceMs, 250);
  const world = createWorld();
  const stubborn = await start("trap '' TERM; echo $$; while :; do sleep 0.01; done", {
    deadlineAtMs: never,
  }, world.seams);
  const [pid = 0] = await stubborn.pids(1);
  const stopping = stubborn.run.stop("canceled");
  await world.advance(249);
  assert.ok(!isGone(pid), "its grace is not over");
  await untilOver(world, stubborn.run.ended);
  assert.equal((await stopping).signal, "SIGKILL");
  await endOf(stubborn);
});

Deno.test("command that is stopped twice climbs one ladder, and the first reason is told (DM-104)", async () => {
  const started = await start("sleep 1000");
  const ends = [started.run.stop("canceled"), started.run.stop("timed_out"), started.run.close()];
  assert.deepEqual(new Set(await Promise.all(ends)).size, 1);
  assert.deepEqual([(await ends[0])?.reason, (await ends[0])?.signal], ["canceled", "SIGTERM"]);
});

Deno.test({
  name: "command's children that left its group by setsid are ended with it (DM-98)",
  ignore: !hasCommand("setsid"),
  fn: async () => {
    const quiet = "exec sleep 1000 >/dev/null 2>&1";
    const byItself = await start(`setsid sh -c 'echo $$; ${quiet}' & exit 0`);
    const [left = 0] = await byItself.pids(1);
    const end = await endOf(byItself);
    assert.deepEqual([end.code, end.leftBehind, end.isGone], [0, 1, true]);
    assert.ok(isGone(left));
    const stopped = await start(`setsid sh -c 'trap "" TERM; echo $$; ${quiet}' & wait`);
    const [escaped = 0] = await stopped.pids(1);
    await stopped.run.stop("canceled");
    assert.ok(isGone(escaped));
    await endOf(stopped);
  },
});

Deno.test("command's own end leaves nothing behind in its group either", async () => {
  const started = await start("sleep 1000 >/dev/null 2>&1 & echo $!");
  const [left = 0] = await started.pids(1);
  assert.deepEqual([(await endOf(started)).code, isGone(left)], [0, true]);
});

Deno.test("process that has got a command's number is never signalled (DM-97, DM-138)", async () => {
  const marks = ["the command's"];
  // Without the mark in its environment: nothing but the number could lead to it.
  const script = "echo $$; exec env -i sleep 1000";
  const started = await start(script, {}, { readStartMark: () => marks.at(-1) });
  const [pid = 0] = await started.pids(1);
  // From now on the number is somebody else's, as far as anybody can tell.
  marks.push("somebody else's");
  const { reason, isGone: gone } = await started.run.stop("canceled");
  assert.deepEqual([reason, gone], ["canceled", false]);
  started.run.kill();
  assert.ok(!isGone(pid), "it lives");
  endProcess(pid);
  await until("it is reaped", () => readStartMark(pid) === undefined);
});

Deno.test("process whose beginning the system does not tell is ended, and the start has failed (DM-97)", async () => {
  let reads = 0;
  const pids: number[] = [];
  const world = createWorld();
  const began = world.now();
  const silent = (pid: number) => {
    reads += 1;
    pids.push(pid);
    return undefined;
  };
  const changes = { ...world.seams, readStartMark: silent };
  const starting = start("exec sleep 1000", { deadlineAtMs: never }, changes);
  const refused = assert.rejects(
    starting,
    (error) => error instanceof ProcessError && error.code === "process_unidentified",
  );
  for (let waits = 1; waits < limits.processMarkTriesMax; waits++) {
    await until("it waits", () => world.sleepers > 1);
    await world.step();
  }
  assert.deepEqual([world.now() - began, limits.processMarkTriesMax], [40, 5]);
  const asked = reads;
  assert.ok(asked >= 5);
  await untilOver(world, refused);
  await refused;
  await untilGone(pids[0] ?? 0);
});

Deno.test("command and server carry the boot and the ticks of their start as their mark, read again before each signal (DM-97)", async () => {
  const reads: (string | undefined)[] = [];
  const registry = registryFor({
    readStartMark: (pid) => {
      reads.push(readStartMark(pid));
      return reads.at(-1);
    },
  });
  const child = await registry.start({ command: "sleep", args: ["1000"], cwd: "/", env: childEnv });
  assert.equal(reads.length, 1);
  if (Deno.build.os === "linux") assert.match(reads[0] ?? "", /^[0-9a-f-]{36}\.\d+$/);
  child.kill();
  await child.ended;
  assert.ok(reads.length >= 2);
  assert.equal(reads[1], reads[0]);
  await child.close();
  assert.equal(readStartMark(child.pid), undefined);
});

Deno.test("command is not started once the runtime has stopped, nor while it stops (DM-105)", async () => {
  const started = await start("sleep 1000");
  const closing = started.registry.closeAll();
  const order = { command: "true", args: [], cwd: "/", env: childEnv, deadlineAtMs: never };
  const sinks = { stdout: new Text(), stderr: new Text() };
  const refused = (error: unknown) =>
    error instanceof ProcessError && error.code === "process_registry_closed";
  await assert.rejects(started.registry.run({ ...order, ...sinks }), refused);
  await closing;
  await assert.rejects(started.registry.run({ ...order, ...sinks }), refused);
  await endOf(started);
  const other = registryFor();
  const ending = other.endCommands();
  await assert.rejects(other.run({ ...order, ...sinks }), refused);
  await ending;
  await assert.rejects(other.run({ ...order, ...sinks }), refused);
  // Servers are ended after their connections: until then they may be needed.
  const server = await other.start(order);
  await server.close();
});

Deno.test("command's output comes in pieces of at most 8 KiB, and waits for whoever takes it (DM-99, B50)", async () => {
  const started = await start("head -c 1000000 /dev/zero");
  await endOf(started);
  assert.deepEqual([started.out.text.length, started.out.chunksMax], [1_000_000, 8_192]);
});

Deno.test("command that writes a byte now and then for ever is ended by its time (B50)", async () => {
  const deadlineAtMs = seams.clock.now() + 150;
  const started = await start("while :; do printf x; sleep 0.01; done", { deadlineAtMs });
  const { code, reason } = await endOf(started);
  assert.deepEqual([code, reason], [124, "timed_out"]);
  assert.match(started.out.text, /^x*$/);
});

Deno.test("command has nothing to read, and cannot wait for it", async () => {
  const started = await start("cat; echo end");
  assert.deepEqual([(await endOf(started)).code, started.out.text], [0, "end\n"]);
});
