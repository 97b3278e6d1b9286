/** The registry of processes, with real ones: marked before they run, ended with their run, swept by the next. */
import assert from "node:assert/strict";
import type { LogEvent } from "../../src/seams.ts";
import type { Child } from "../../src/processes/child.ts";
import { ProcessRegistry, type ProcessRegistryOptions } from "../../src/processes/registry.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import {
  childEnv,
  endProcess,
  hasCommand,
  isGone,
  LineReader,
  until,
  untilGone,
  withFolder,
} from "../support/child_stage.ts";
import { createWorld } from "../support/world.ts";

const owner = new URL("../support/child_owner.ts", import.meta.url).pathname;
const logs: LogEvent[] = [];
const seams = createSystemSeams({ log: (event) => void logs.push(event) });

/** Ignores the end of its input and TERM, and says its pid. */
const stubborn = "trap '' TERM; echo $$; while :; do sleep 1000; done";

function open(store: string, runId: string, changes: Partial<ProcessRegistryOptions> = {}): ProcessRegistry {
  return new ProcessRegistry({ store, runId, ...seams, ...changes });
}

function startScript(registry: ProcessRegistry, script: string, cwd = "/"): Promise<Child> {
  return registry.start({ command: "sh", args: ["-c", script], cwd, env: childEnv });
}

/** Lets another process own the store, start a child by a script, and be killed. Gives the pid that the script says. */
async function killedOwner(store: string, runId: string, script: string): Promise<number> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-check", owner, store, runId, script],
    env: childEnv,
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const lines = new LineReader(process.stdout);
  const pid = await lines.pid();
  Deno.kill(process.pid, "SIGKILL");
  assert.equal((await process.status).signal, "SIGKILL");
  assert.equal(await lines.next(), undefined);
  assert.ok(!isGone(pid), "the child has outlived its owner");
  return pid;
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.lstat(path)).isFile;
  } catch {
    return false;
  }
}

/** The environment that a process was started with. */
async function environOf(pid: number): Promise<readonly string[]> {
  return (await Deno.readTextFile(`/proc/${pid}/environ`)).split("\0");
}

Deno.test(
  "registry notes a start on the disk before the child runs, for its user alone, and takes the note away",
  withFolder(async (folder) => {
    const registry = open(`${folder}/store.db`, "run_1");
    const file = `${await Deno.realPath(folder)}/store.db.children`;
    assert.ok(!await exists(file));
    // The child itself looks.
    const child = await startScript(registry, "cat store.db.children; cat", folder);
    const lines = new LineReader(child.stdout);
    const seen = JSON.parse(await lines.next() ?? "");
    assert.equal(seen.command, "sh");
    assert.ok(Date.parse(seen.at) > 0);
    assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
    const other = await startScript(registry, "cat");
    assert.equal(registry.size, 2);
    await other.close();
    assert.equal(registry.size, 1);
    await assert.rejects(registry.start({ command: "no-such-tool", args: [], cwd: "/", env: childEnv }), {
      code: "process_command_missing",
    });
    const rows = (await Deno.readTextFile(file)).trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(rows.map(({ command, pid }) => ({ command, pid })), [
      { command: "sh", pid: child.pid },
      { command: "sh", pid: other.pid },
      { command: "no-such-tool", pid: null },
    ]);
    assert.deepEqual(Object.keys(rows[0]), ["at", "command", "pid"]);
    await registry.closeAll();
    assert.equal(registry.size, 0);
    assert.ok(isGone(child.pid));
    assert.ok(!await exists(file));
  }),
);

Deno.test(
  "registry marks every child and its children with the store and the run, whatever they were given",
  withFolder(async (folder) => {
    const registry = open(`${folder}/store.db`, "run_1");
    const path = `${await Deno.realPath(folder)}/store.db`;
    const hash = (await seams.digest(new TextEncoder().encode(path))).slice("sha256:".length, 23);
    try {
      const child = await registry.start({
        command: "sh",
        args: ["-c", "sh -c 'echo $TROUPE_OWNER'; cat"],
        cwd: "/",
        env: { ...childEnv, TROUPE_OWNER: "forged" },
      });
      assert.equal(await new LineReader(child.stdout).next(), `${hash}.run_1`);
    } finally {
      await registry.closeAll();
    }
  }),
);

Deno.test(
  "registry starts nothing once it is closed, also what was being started",
  withFolder(async (folder) => {
    for (const end of ["closeAll", "killAll"] as const) {
      for (const turns of [0, 1, 2, 5, 20]) {
        const registry = open(`${folder}/store.db`, "run_1");
        const begun = startScript(registry, "echo $$; cat").then(() => "started", ({ code }) => code);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        registry[end]();
        assert.equal(await begun, "process_registry_closed", `${end} after ${turns}`);
        await registry.closeAll();
        await registry.closeAll();
        await assert.rejects(startScript(registry, "echo $$"), { code: "process_registry_closed" });
        assert.ok(!await exists(`${folder}/store.db.children`), `${end} after ${turns}`);
        assert.equal(registry.size, 0);
      }
    }
  }),
);

Deno.test(
  "registry closes all children by ladders that run at once",
  withFolder(async (folder) => {
    const world = createWorld();
    const registry = open(`${folder}/store.db`, "run_1", { clock: world.seams.clock });
    const children = await Promise.all([1, 2, 3].map(() => startScript(registry, stubborn)));
    for (const child of children) await new LineReader(child.stdout).pid();
    const closed = registry.closeAll();
    await world.settle();
    assert.equal(world.sleepers, 3);
    while (registry.size > 0) {
      await world.step();
      await world.settle();
    }
    await closed;
    for (const child of children) assert.deepEqual(await child.ended, { code: null, signal: "SIGKILL" });
  }),
);

Deno.test(
  "registry kills all children at once, and the note stays for the next run",
  withFolder(async (folder) => {
    const registry = open(`${folder}/store.db`, "run_1");
    const children = await Promise.all([1, 2].map(() => startScript(registry, stubborn)));
    registry.killAll();
    for (const child of children) assert.deepEqual(await child.ended, { code: null, signal: "SIGKILL" });
    assert.ok(await exists(`${folder}/store.db.children`));
    for (const child of children) await child.close();
  }),
);

Deno.test(
  "registry of a store in memory starts and ends children, and leaves no file",
  withFolder(async (folder) => {
    const registry = open(":memory:", "run_1");
    assert.equal(await registry.sweep(), 0);
    const child = await startScript(registry, "pwd; cat", folder);
    assert.equal(await new LineReader(child.stdout).next(), await Deno.realPath(folder));
    assert.ok(!await exists(":memory:.children"));
    await registry.closeAll();
    assert.ok(isGone(child.pid));
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder)), []);
  }),
);

Deno.test(
  "registry refuses to start what it cannot note, and says why",
  withFolder(async (folder) => {
    const registry = open(`${folder}/none/store.db`, "run_1");
    await assert.rejects(startScript(registry, "echo"), {
      code: "process_start_failed",
      message:
        'Cannot start "sh": it cannot be noted beside the store (ENOENT); make room, or make the folder writable',
    });
    await registry.closeAll();
    assert.throws(() => open(`${folder}/store.db`, "a.b"), TypeError);
  }),
);

Deno.test(
  "registry ends what a killed run left behind, even if it ignores the end of input and TERM",
  withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    const pid = await killedOwner(store, "run_1", stubborn);
    try {
      assert.ok(await exists(`${store}.children`));
      logs.length = 0;
      const registry = open(store, "run_2");
      const ended = await registry.sweep();
      assert.ok(isGone(pid));
      // The shell and the sleep in it.
      assert.ok(ended >= 2, String(ended));
      assert.deepEqual(logs.map(({ event, detail }) => [event, detail]), [
        ["process.swept", { ended, rest: 0 }],
      ]);
      assert.ok(!await exists(`${store}.children`));
      assert.equal(await open(store, "run_3").sweep(), 0);
    } finally {
      endProcess(-pid);
    }
  }),
);

Deno.test(
  "registry is closed only when its sweep is over, for then the store may have another owner",
  withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    const world = createWorld();
    const pid = await killedOwner(store, "run_1", stubborn);
    try {
      const registry = open(store, "run_2", { clock: world.seams.clock });
      const order: string[] = [];
      const swept = registry.sweep().then(() => order.push("swept"));
      const closed = registry.closeAll().then(() => order.push("closed"));
      await until("the sweep is over", () => (void world.step(), order.length > 0));
      await Promise.all([swept, closed]);
      assert.deepEqual(order, ["swept", "closed"]);
    } finally {
      endProcess(-pid);
    }
    await untilGone(pid);
  }),
);

Deno.test(
  "registry asks what was left behind by TERM before it kills",
  withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    // A shell says that its sleep was terminated; with nobody to hear it, that alone would end the shell.
    const quiet = "echo $$; exec > /dev/null 2>&1";
    const trap = `trap 'echo asked > ${folder}/asked; exit 0' TERM`;
    const script = `${trap}; ${quiet}; while :; do sleep 1000 & wait $!; done`;
    const pid = await killedOwner(store, "run_1", script);
    try {
      assert.ok(await open(store, "run_2").sweep() >= 1);
      assert.ok(isGone(pid));
      assert.equal(await Deno.readTextFile(`${folder}/asked`), "asked\n");
    } finally {
      endProcess(-pid);
    }
  }),
);

Deno.test({
  name: "registry also finds what left its group by setsid",
  ignore: !hasCommand("setsid"),
  fn: withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    // The child itself honours the end of its input, so only the one that escaped is left.
    const pid = await killedOwner(store, "run_1", "setsid sleep 1000 & echo $!; cat");
    try {
      assert.ok(await open(store, "run_2").sweep() >= 1);
      await untilGone(pid);
    } finally {
      endProcess(-pid);
    }
  }),
});

Deno.test({
  name: "registry ends at its own end what left its child's group by setsid, and nothing of another run",
  ignore: !hasCommand("setsid"),
  fn: withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    const [ending, other] = [open(store, "run_1"), open(store, "run_2")];
    const child = await startScript(ending, "setsid sleep 1000 & echo $!; cat");
    const bystander = await startScript(other, "echo $$; cat");
    const escaped = await new LineReader(child.stdout).pid();
    try {
      await ending.closeAll();
      await untilGone(escaped);
      assert.ok(!isGone(bystander.pid));
    } finally {
      endProcess(-escaped);
      await other.closeAll();
    }
  }),
});

Deno.test(
  "registry leaves alone what carries another store's mark, its own run's, or none",
  withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    const [mine, foreign] = [open(store, "run_2"), open(`${folder}/other.db`, "run_1")];
    const bare = new Deno.Command("sleep", { args: ["1000"], stdin: "null" }).spawn();
    const left = await killedOwner(store, "run_1", stubborn);
    try {
      const children = [await startScript(mine, stubborn), await startScript(foreign, stubborn)];
      for (const child of children) await new LineReader(child.stdout).pid();
      assert.ok((await environOf(children[0]!.pid)).some((entry) => entry.endsWith(".run_2")));
      assert.ok(await mine.sweep() >= 2);
      assert.ok(isGone(left));
      for (const child of children) assert.ok(!isGone(child.pid));
      assert.ok(!isGone(bare.pid));
      // The file speaks for a child that lives: it stays, whoever made it.
      assert.ok(await exists(`${store}.children`));
    } finally {
      endProcess(-left);
      endProcess(bare.pid);
      await bare.status;
      mine.killAll();
      foreign.killAll();
      await Promise.all([mine.closeAll(), foreign.closeAll()]);
    }
  }),
);

Deno.test(
  "registry does not look at any process where no run left a note",
  withFolder(async (folder) => {
    const store = `${folder}/store.db`;
    const pid = await killedOwner(store, "run_1", stubborn);
    try {
      await Deno.remove(`${store}.children`);
      assert.equal(await open(store, "run_2").sweep(), 0);
      assert.ok(!isGone(pid));
    } finally {
      endProcess(-pid);
    }
    await untilGone(pid);
  }),
);

Deno.test(
  "registry knows a store by any of its names",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/store.db`, "");
    await Deno.symlink(`${folder}/store.db`, `${folder}/link.db`);
    const pid = await killedOwner(`${folder}/store.db`, "run_1", "echo $$; exec sleep 1000");
    try {
      assert.equal(await open(`${folder}/link.db`, "run_2").sweep(), 1);
      await untilGone(pid);
    } finally {
      endProcess(-pid);
    }
  }),
);
