/** Child processes, real ones: how they start, talk and really end. */
import assert from "node:assert/strict";
import { limits } from "../../schemas/limits.ts";
import { type Child, type ChildOptions, ProcessError, startChild } from "../../src/processes/child.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import {
  childEnv,
  endProcess,
  hasCommand,
  isGone,
  LineReader,
  untilGone,
  withFolder,
  within,
} from "../support/child_stage.ts";
import { createWorld, type World } from "../support/world.ts";

const { clock } = createSystemSeams({ log: () => {} });
const encoder = new TextEncoder();

function start(command: string, args: readonly string[], changes: Partial<ChildOptions> = {}): Child {
  return startChild({ command, args, cwd: "/", env: childEnv, clock, ...changes });
}

/** Starts a shell script. */
function startScript(script: string, changes: Partial<ChildOptions> = {}): Child {
  return start("sh", ["-c", script], changes);
}

/** Proves something about one child, which is ended whatever happens. */
async function withChild(child: Child, prove: (child: Child) => Promise<void>): Promise<void> {
  try {
    await within("the test", () => prove(child));
  } finally {
    // Not by its own methods: they are what is tested.
    if (!isGone(child.pid)) endProcess(-child.pid);
    await within("the end of the child", () => child.close());
  }
  assert.ok(isGone(child.pid));
}

/** The error by which a child is not started. */
function refusalOf(begin: () => Child): ProcessError {
  try {
    endProcess(-begin().pid);
  } catch (error) {
    assert.ok(error instanceof ProcessError, String(error));
    return error;
  }
  assert.fail("was started");
}

/** Lets the time of one wait on the ladder pass. */
async function passGrace(world: World, graceMs: number): Promise<void> {
  await world.settle();
  assert.equal(world.sleepers, 1);
  const before = world.now();
  await world.step();
  assert.equal(world.now() - before, graceMs);
}

/** What a child wrote, to the end. */
function textOf(child: Child): Promise<string> {
  return new Response(child.stdout).text();
}

Deno.test("child reads what is written in order, and ends cleanly at the end of its input", async () => {
  await withChild(start("cat", []), async (child) => {
    const chunks = Array.from({ length: 300 }, (_, index) => `${index} `.repeat(index));
    const written = chunks.map((chunk) => child.write(encoder.encode(chunk)));
    const text = textOf(child);
    assert.deepEqual(await child.close(), { code: 0, signal: null });
    assert.ok(await text === chunks.join(""));
    await Promise.all(written);
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.equal(child.stderr(), "");
  });
});

Deno.test("child that ignores the end of its input is ended by TERM once the grace is over", async () => {
  const world = createWorld();
  const { clock } = world.seams;
  await withChild(startScript("echo ready; exec sleep 1000", { clock }), async (child) => {
    assert.equal(await new LineReader(child.stdout).next(), "ready");
    const end = child.close();
    await passGrace(world, limits.processEofGraceMs);
    assert.deepEqual(await end, { code: null, signal: "SIGTERM" });
  });
});

Deno.test("child that ignores TERM is asked by it, and ended by KILL once the second grace is over", async () => {
  const world = createWorld();
  const { clock } = world.seams;
  // What the loop starts says itself who it is: then it is ready to be ended by TERM.
  const script = `trap 'echo asked' TERM; echo $$;
    while :; do sh -c 'echo $$; exec sleep 1000' & wait $!; done`;
  await withChild(startScript(script, { clock }), async (child) => {
    const lines = new LineReader(child.stdout);
    assert.equal(await lines.pid(), child.pid);
    const first = await lines.pid();
    const end = child.close();
    await passGrace(world, limits.processEofGraceMs);
    assert.equal(await lines.next(), "asked");
    // TERM went to the whole group.
    await untilGone(first);
    const second = await lines.pid();
    assert.ok(!isGone(child.pid));
    await passGrace(world, limits.processTermGraceMs);
    await world.settle();
    assert.deepEqual(await child.ended, { code: null, signal: "SIGKILL" });
    assert.deepEqual(await end, { code: null, signal: "SIGKILL" });
    await untilGone(second);
  });
});

Deno.test("child is closed by one ladder for all who ask", async () => {
  const world = createWorld();
  const { clock } = world.seams;
  await withChild(startScript("echo ready; exec sleep 1000", { clock }), async (child) => {
    assert.equal(await new LineReader(child.stdout).next(), "ready");
    const ends = [child.close(), child.close(), child.close()];
    await passGrace(world, limits.processEofGraceMs);
    const end = { code: null, signal: "SIGTERM" };
    assert.deepEqual(await Promise.all(ends), [end, end, end]);
    assert.deepEqual(await child.close(), end);
    child.kill();
  });
});

Deno.test("child takes its grandchildren with it when it is closed", async () => {
  await withChild(startScript("sleep 1000 & echo $!; sleep 1000 & echo $!; cat"), async (child) => {
    const lines = new LineReader(child.stdout);
    const pids = [await lines.pid(), await lines.pid()];
    assert.deepEqual(pids.map(isGone), [false, false]);
    // It ends cleanly by itself: it is the sweep of the group that ends the others.
    assert.deepEqual(await child.close(), { code: 0, signal: null });
    for (const pid of pids) await untilGone(pid);
  });
});

Deno.test("child takes its grandchildren with it when it ends by itself, also those that ignore TERM", async () => {
  const script = "(trap '' TERM; exec sleep 1000) & echo $!; exit 3";
  await withChild(startScript(script), async (child) => {
    const lines = new LineReader(child.stdout);
    const pid = await lines.pid();
    assert.deepEqual(await child.ended, { code: 3, signal: null });
    await untilGone(pid);
    assert.equal(await lines.next(), undefined);
  });
});

Deno.test("child is killed with its group at once", async () => {
  const script = `trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done`;
  await withChild(startScript(script, createWorld().seams), async (child) => {
    const pid = await new LineReader(child.stdout).pid();
    child.kill();
    assert.deepEqual(await child.ended, { code: null, signal: "SIGKILL" });
    await untilGone(pid);
  });
});

Deno.test("child's end tells its exit code, or the signal that ended it", async () => {
  for (
    const [script, end] of [
      ["exit 0", { code: 0, signal: null }],
      ["exit 7", { code: 7, signal: null }],
      // A code that looks like a signal's.
      ["exit 137", { code: 137, signal: null }],
      ["kill -9 $$", { code: null, signal: "SIGKILL" }],
      ["kill -HUP $$", { code: null, signal: "SIGHUP" }],
    ] as const
  ) {
    await withChild(startScript(script), async (child) => assert.deepEqual(await child.ended, end, script));
  }
});

Deno.test("child has exactly the environment that it was given", async () => {
  Deno.env.set("TROUPE_CHILD_TEST", "secret");
  try {
    const env = { B: "with = and\nline end", A: "", LANG: "C" };
    const path = childEnv.PATH.split(":").map((folder) => `${folder}/env`).find((name) => {
      try {
        return Deno.statSync(name).isFile;
      } catch {
        return false;
      }
    }) ?? "env";
    await withChild(start(path, ["-0"], { env }), async (child) => {
      const entries = (await textOf(child)).split("\0").filter((entry) => entry !== "");
      assert.deepEqual(entries.toSorted(), ["A=", "B=with = and\nline end", "LANG=C"]);
    });
  } finally {
    Deno.env.delete("TROUPE_CHILD_TEST");
  }
});

Deno.test("child that floods standard error before anything else is not blocked, and its last words are kept", async () => {
  const script = `
    const line = new TextEncoder().encode("x".repeat(99) + "\\n");
    for (let count = 0; count < 50_000; count++) Deno.stderr.writeSync(line);
    Deno.stdout.writeSync(new TextEncoder().encode("done\\n"));
    Deno.stderr.writeSync(new TextEncoder().encode("boom: missing API key é\\n"));
    Deno.exit(3);
  `;
  const child = start(Deno.execPath(), ["eval", "--no-config", script], {
    env: { ...childEnv, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
  });
  await withChild(child, async (child) => {
    assert.equal(await new LineReader(child.stdout).next(), "done");
    assert.deepEqual(await child.ended, { code: 3, signal: null });
    // Nothing is waited for: at the end everything is there.
    const text = child.stderr();
    assert.ok(text.endsWith("x\nboom: missing API key é\n"), text.slice(-100));
    assert.equal(encoder.encode(text).length, limits.processStderrTailBytesMax);
  });
});

Deno.test("child refuses what is written after its end, and what is written behind the end of its input", async () => {
  const refusal = (command: string) => ({
    name: "ProcessError",
    code: "process_input_closed",
    message: `Cannot write to "${command}": it does not read its input any more; start it again`,
  });
  await withChild(startScript("exit 0"), async (child) => {
    await child.ended;
    await assert.rejects(child.write(encoder.encode("x")), refusal("sh"));
    await assert.rejects(child.write(encoder.encode("x")), refusal("sh"));
  });
  await withChild(start("cat", []), async (child) => {
    const end = child.close();
    await assert.rejects(child.write(encoder.encode("x")), refusal("cat"));
    assert.deepEqual(await end, { code: 0, signal: null });
  });
});

Deno.test("child that closed its input but lives refuses what is written", async () => {
  await withChild(startScript("exec 0<&-; echo ready; exec sleep 1000"), async (child) => {
    assert.equal(await new LineReader(child.stdout).next(), "ready");
    await assert.rejects(child.write(encoder.encode("x")), { code: "process_input_closed" });
    await assert.rejects(child.write(encoder.encode("x")), { code: "process_input_closed" });
    assert.ok(!isGone(child.pid));
  });
});

Deno.test("child that does not read lets nobody wait for ever who writes", async () => {
  await withChild(start("sleep", ["1000"]), async (child) => {
    const writes = [child.write(new Uint8Array(4_000_000)), child.write(new Uint8Array(1))];
    const refused = writes.map((write) => assert.rejects(write, { code: "process_input_closed" }));
    child.kill();
    await Promise.all(refused);
  });
});

Deno.test("child whose output nobody reads is closed in order, since the output is thrown away", async () => {
  const { clock } = createWorld().seams;
  const script = "head -c 3000000 /dev/zero; cat > /dev/null; exit 5";
  await withChild(startScript(script, { clock }), async (child) => {
    // No time passes in this world: only the end of input ends it.
    assert.deepEqual(await child.close(), { code: 5, signal: null });
    assert.equal(await textOf(child), "");
  });
});

Deno.test("child's last output reaches whoever reads while it is closed", async () => {
  const script = "cat > /dev/null; head -c 3000000 /dev/zero; echo last";
  await withChild(startScript(script), async (child) => {
    const text = textOf(child);
    assert.deepEqual(await child.close(), { code: 0, signal: null });
    assert.ok((await text).endsWith("\0last\n"));
    assert.equal((await text).length, 3_000_005);
  });
});

Deno.test("child's last output is kept for a reader that comes to it only after the close", async () => {
  const { clock } = createWorld().seams;
  await withChild(
    startScript("cat > /dev/null; head -c 50000 /dev/zero; echo last", { clock }),
    async (child) => {
      const lines = new LineReader(child.stdout);
      assert.deepEqual(await child.close(), { code: 0, signal: null });
      assert.equal(await lines.next(), `${"\0".repeat(50_000)}last`);
      assert.equal(await lines.next(), undefined);
    },
  );
});

Deno.test("child's output can be read after its end, as long as it is not closed", async () => {
  await withChild(startScript("echo words"), async (child) => {
    await child.ended;
    assert.equal(await textOf(child), "words\n");
  });
});

Deno.test("child whose output is canceled is closed like any other", async () => {
  await withChild(start("cat", []), async (child) => {
    await child.stdout.cancel();
    assert.deepEqual(await child.close(), { code: 0, signal: null });
  });
});

Deno.test({
  name: "child is over although a process that left its group holds all its pipes",
  ignore: !hasCommand("setsid"),
  fn: async () => {
    const script = "exec 3<&0; setsid sh -c 'echo $$; exec sleep 1000' <&3 & read go; echo words >&2; exit 4";
    let escaped = 0;
    try {
      await withChild(startScript(script), async (child) => {
        const lines = new LineReader(child.stdout);
        escaped = await lines.pid();
        await child.write(encoder.encode("go\n"));
        // More than a pipe holds, and nobody reads it.
        const stuck = assert.rejects(child.write(new Uint8Array(1_000_000)), {
          code: "process_input_closed",
        });
        assert.deepEqual(await child.ended, { code: 4, signal: null });
        assert.equal(child.stderr(), "words\n");
        assert.ok(!isGone(escaped));
        await stuck;
        await child.close();
        assert.equal(await lines.next(), undefined);
      });
    } finally {
      if (escaped > 0) endProcess(-escaped);
    }
    await untilGone(escaped);
  },
});

Deno.test({
  name: "child's last words are there when it has ended, even if a process that left its group says them",
  ignore: !hasCommand("setsid"),
  fn: async () => {
    const { clock } = createWorld().seams;
    const late = "echo $$; while kill -0 $1 2> /dev/null; do :; done; echo late >&2";
    const script = `setsid sh -c '${late}' sh $$ & read go; echo words >&2; exit 1`;
    await withChild(startScript(script, { clock }), async (child) => {
      const escaped = await new LineReader(child.stdout).pid();
      await child.write(encoder.encode("go\n"));
      // No time passes in this world: it is the end of the pipe that is waited for.
      assert.deepEqual(await child.ended, { code: 1, signal: null });
      assert.equal(child.stderr(), "words\nlate\n");
      await untilGone(escaped);
    });
  },
});

Deno.test(
  "child is found by its name in the PATH that it gets, or by its path from its folder",
  withFolder(async (folder) => {
    for (const place of ["bin", "work", "work/sub"]) await Deno.mkdir(`${folder}/${place}`);
    for (const [place, word] of [["bin", "looked up"], ["work", "here"], ["work/sub", "below"]]) {
      await Deno.writeTextFile(`${folder}/${place}/tool`, `#!/bin/sh\necho ${word}; pwd\n`, { mode: 0o755 });
    }
    // A file that may not be executed and a folder do not hide the command behind them.
    await Deno.mkdir(`${folder}/hidden/tool`, { recursive: true });
    await Deno.mkdir(`${folder}/locked`);
    await Deno.writeTextFile(`${folder}/locked/tool`, "", { mode: 0o644 });
    // Neither an empty nor a relative part of PATH means the working folder.
    const env = { PATH: `:.:sub:${folder}/none:${folder}/hidden:${folder}/locked:${folder}/bin` };
    const cwd = `${await Deno.realPath(folder)}/work`;
    for (
      const [command, word] of [["tool", "looked up"], ["./tool", "here"], ["sub/tool", "below"]] as const
    ) {
      await withChild(start(command, [], { env, cwd }), async (child) => {
        assert.equal(await textOf(child), `${word}\n${cwd}\n`);
      });
    }
  }),
);

Deno.test(
  "child that cannot be started says why and what to do, without paths that nobody gave",
  withFolder(async (folder) => {
    const files = { locked: ["#!/bin/sh\n", 0o644], orphan: ["#!/no/such/program\n", 0o755] } as const;
    for (const [name, [text, mode]] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, text, { mode });
    }
    const env = { PATH: folder };
    const cases: readonly (readonly [ProcessError["code"], Partial<ChildOptions>, RegExp])[] = [
      ["process_command_missing", { command: "no-such-tool" }, /no folder of the PATH .* install it/],
      ["process_command_missing", { command: "" }, /^Cannot start "":/],
      ["process_command_missing", { command: "sh", env: {} }, /has no PATH .* set PATH/],
      ["process_command_missing", { command: "sh", env: { PATH: "" } }, /has no PATH/],
      ["process_command_missing", { command: "./no-such-tool", cwd: folder }, /no such file; correct/],
      ["process_folder_missing", { command: "locked", cwd: "/no/such/folder" }, /"\/no\/such\/folder"/],
      // Both are missing: the folder is told, since without it the command cannot be judged.
      ["process_folder_missing", { command: "no-such-tool", cwd: "no-such-folder" }, /"no-such-folder"/],
      ["process_folder_missing", { command: "locked", cwd: `${folder}/locked` }, /does not exist, or cannot/],
      ["process_not_executable", { command: "locked" }, /make it executable/],
      ["process_not_executable", { command: "./locked", cwd: folder }, /make it executable/],
      ["process_not_executable", { command: "/" }, /^Cannot start "\/":/],
      ["process_start_failed", { command: "orphan" }, /its first line names/],
      ["process_start_failed", { command: "orphan", args: ["x".repeat(4_000_000)] }, /E2BIG/],
      ["process_start_failed", { command: "orphan", args: ["a\0b"] }, /check its arguments/],
      ["process_start_failed", { command: "orphan", env: { PATH: folder, "A=B": "" } }, /equals sign/],
    ];
    for (const [code, changes, text] of cases) {
      const options = { command: "", args: [], cwd: "/", env, clock, ...changes };
      const error = refusalOf(() => startChild(options));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, text);
      assert.ok(error.message.startsWith(`Cannot start "${options.command}": `), error.message);
      if (!options.cwd.includes(folder)) assert.ok(!error.message.includes(folder), error.message);
      assert.ok(!/[\n.]$/.test(error.message), error.message);
    }
  }),
);
