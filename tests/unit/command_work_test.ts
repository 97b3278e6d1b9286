/** Commands in the background, with real processes: how their tasks end, what is told, and that nothing is left before. */
import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../schemas/json.ts";
import { limits } from "../../schemas/limits.ts";
import { TaskOutcome } from "../../schemas/task.ts";
import { type Artifact, ArtifactFolder } from "../../src/commands/artifacts.ts";
import { createDoorRedactor } from "../../src/effects/clean.ts";
import type { PerformerResult } from "../../src/effects/performer.ts";
import { ProcessRegistry, type ProcessRegistryOptions } from "../../src/processes/registry.ts";
import { KnownSecrets } from "../../src/redact/known_secrets.ts";
import { createSystemSeams } from "../../src/system_seams.ts";
import { type CommandWorkOptions, createCommandWork } from "../../src/tasks/command_work.ts";
import { keptTail, tailOf, TaskLog, TaskLogs } from "../../src/tasks/task_log.ts";
import { taskNamed } from "../support/background.ts";
import { childEnv, endProcess, isGone, until, within } from "../support/child_stage.ts";
import { withFolder, workspaceAt } from "../support/tools.ts";

const seams = createSystemSeams({ log: () => {} });
const secret = "needle-3f9c-Qx71-vault";

interface Stage {
  readonly folder: string;
  readonly registry: ProcessRegistry;
  readonly logs: TaskLogs;
  readonly notes: readonly { readonly type: string; readonly body: JsonObject }[];
  /** Does the work of these arguments in the background. */
  work(given: JsonObject, signal?: AbortSignal, cwd?: string): Promise<TaskOutcome | PerformerResult>;
  /** The same, for a shell. */
  ended(script: string, more?: JsonObject, signal?: AbortSignal): Promise<TaskOutcome>;
  /** Numbers that the command wrote into the file `pids`. */
  pids(): readonly number[];
}

let stages = 0;

async function onStage(
  play: (stage: Stage) => Promise<void>,
  changes: Partial<CommandWorkOptions> = {},
  ofRegistry: Partial<ProcessRegistryOptions> = {},
): Promise<void> {
  await withFolder({ "ws/": "", "home/": "", "outside/": "" }, async (folder) => {
    const store = `${folder}/store.db`;
    const registry = new ProcessRegistry({
      store,
      runId: `work-${Deno.pid}-${++stages}`,
      ...seams,
      ...ofRegistry,
    });
    const known = new KnownSecrets();
    known.add({ value: secret, name: "VAULT", source: "env:VAULT" });
    const logs = new TaskLogs();
    const real = await Deno.realPath(`${folder}/ws`);
    const worker = createCommandWork({
      registry,
      logs,
      openArtifacts: new ArtifactFolder(store, seams.digest).open,
      homeOf: () => Promise.resolve(`${folder}/home`),
      environment: [],
      readVariable: (name) => childEnv[name as "PATH"],
      readSecret: () => undefined,
      onBound: () => {},
      redactor: createDoorRedactor(known),
      seams,
      workspaceOf: () => workspaceAt(`${folder}/ws`),
      ...changes,
    });
    const notes: { type: string; body: JsonObject }[] = [];
    let tasks = 0;
    const work: Stage["work"] = (given, signal = new AbortController().signal, cwd = real) => {
      const arguments_ = { background: true, ...given };
      const order = { kind: "terminal.exec" as const, arguments: arguments_, cwd };
      const args = { task: taskNamed(++tasks), owner: "session/ses_1", work: order };
      return within("the work", () =>
        worker(order, {
          root: "task/x@ses_1",
          id: "1.0",
          key: "k",
          attempt: 1,
          request: { port: "task.run", effect: "non_idempotent", args },
          signal,
          report: () => {},
          note: (type: string, body: Json) => void notes.push({ type, body: body as JsonObject }),
        }));
    };
    const ended: Stage["ended"] = async (script, more = {}, signal) =>
      TaskOutcome.parse(await work({ argv: ["sh", "-c", script], ...more }, signal));
    const pids = () => {
      try {
        return Deno.readTextFileSync(`${folder}/ws/pids`).trim().split("\n").map(Number);
      } catch {
        return [];
      }
    };
    try {
      await play({ folder, registry, logs, notes, work, ended, pids });
    } finally {
      await registry.closeAll();
    }
  });
}

Deno.test("command in the background ends with its code, a short end of its output for the model, and where the whole is (DM-100, DM-110, LC-28)", () =>
  onStage(async ({ ended, folder, notes }) => {
    const well = await ended("seq 1000000000001 1000000001000; echo last");
    assert.equal(well.status, "succeeded");
    assert.match(well.summary, /^exit code 0 after \d+\.\d s\. The end of its output:\n/);
    const [, preview = ""] = well.summary.split("output:\n");
    assert.ok(preview.endsWith("1000000001000\nlast"));
    assert.deepEqual([preview.length, limits.taskPreviewCharactersMax], [500, 500]);
    const { exit_code: code, ended: how, log, stdout } = well.result as JsonObject;
    assert.deepEqual([code, how], [0, "exited"]);
    // 40 lines, with the last one.
    assert.equal(String(log).trimEnd().split("\n").length, 40);
    assert.ok(String(log).startsWith("1000000000962\n") && String(log).endsWith("\nlast\n"));
    const { artifact: { root, path } } = stdout as unknown as {
      readonly artifact: { root: string; path: string };
    };
    const whole = `${folder}/store.db.artifacts/${root}/${path}`;
    assert.ok((await Deno.readTextFile(whole)).startsWith("1000000000001\n"));
    assert.equal((await Deno.stat(whole)).mode! & 0o777, 0o600);
    assert.deepEqual(notes.map(({ type, body }) => [type, body["state"]]), [
      ["command.started", undefined],
      ["command.ended", "completed"],
    ]);
    // Numbers of processes, and when they began, stay in this process.
    assert.doesNotMatch(JSON.stringify([notes, well]), /pid|spawn|startMark/i);
    const ill = await ended("exit 3");
    assert.deepEqual([ill.status, ill.result?.["exit_code"], ill.summary.includes("It wrote nothing.")], [
      "failed",
      3,
      true,
    ]);
  }));

Deno.test("command in the background shows its log while it runs, without secrets, in pieces of a bound (DM-110, DM-120, DM-101)", () =>
  onStage(async ({ ended, logs, folder }) => {
    const fifo = `${folder}/ws/go`;
    assert.ok((await new Deno.Command("mkfifo", { args: [fifo] }).output()).success);
    const script = `printf 'a %s' ${secret.slice(0, 9)}; printf '%s b\\n' ${secret.slice(9)}; ` +
      "echo to-stderr >&2; seq 1 4000; read -r line < go; echo end";
    const ending = ended(script);
    const log = () => logs.of(taskNamed(1));
    await until("it has written", () => log()?.tail().includes("\n4000\n") === true);
    const live = log();
    assert.ok(live !== undefined && live.tail().split("\n").length <= 41 && live.tail().length <= 8_000);
    let [from, all] = [0, ""];
    for (let piece = live.read(from); piece.text !== ""; piece = live.read(from)) {
      assert.ok(piece.text.length <= limits.taskChunkCharactersMax);
      assert.equal(piece.missed, 0);
      [from, all] = [piece.next, all + piece.text];
    }
    assert.ok(
      all.includes("[redacted") && !all.includes("needle") && all.includes("to-stderr\n"),
      all.slice(0, 200),
    );
    await Deno.writeTextFile(fifo, "go\n");
    const outcome = await ending;
    assert.ok(live.isOver && log() === undefined);
    assert.ok(String(outcome.result?.["log"]).endsWith("\n4000\nend\n"));
    for await (const path of filesBelow(`${folder}/store.db.artifacts`)) {
      assert.ok(!(await Deno.readTextFile(path)).includes("needle"));
    }
  }));

async function* filesBelow(folder: string): AsyncIterable<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

Deno.test("log's tail has 40 lines or 8,000 characters, whichever is less, and says what it missed (DM-120)", () => {
  assert.deepEqual([limits.taskTailLinesMax, limits.taskTailCharactersMax], [40, 8_000]);
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n}\n`);
  assert.equal(tailOf(lines.join("")), lines.slice(-40).join(""));
  assert.equal(tailOf(lines.join("").trimEnd()), lines.slice(-40).join("").trimEnd());
  assert.equal(tailOf("x".repeat(9_000)).length, 8_000);
  assert.equal(tailOf("😀".repeat(4_001).slice(1)).codePointAt(0), 0x1f600);
  assert.equal(tailOf(""), "");
  // What JSON writes in six bytes each is kept in part.
  const kept = keptTail("\u0001".repeat(8_000));
  assert.ok(JSON.stringify(kept).length <= limits.taskTailBytesMax && kept.length > 2_000);
  const log = new TaskLog();
  log.take("y".repeat(100_000));
  const piece = log.read(10);
  assert.ok(piece.missed > 60_000 && piece.text.length === 8_192);
  assert.equal(log.read(100_000).text, "");
});

Deno.test("canceled command is gone with all that it started before its task has an end: it ignores TERM, forks, left its group, holds the pipes (F29, DM-110)", () =>
  onStage(async ({ ended, pids, logs }) => {
    const stop = new AbortController();
    const script = "trap '' TERM; " +
      "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; exec sleep 1000' & " +
      'sh -c \'trap "" TERM; (trap "" TERM; sh -c "echo \\$\\$ >> pids; exec sleep 1000") & echo $$ >> pids; wait; sleep 1000\' & ' +
      "echo $$ >> pids; while :; do echo flood; done";
    const ending = ended(script, {}, stop.signal);
    await until("it runs", () => pids().length === 4);
    await until("it writes", () => logs.of(taskNamed(1))?.tail() !== "");
    stop.abort();
    const outcome = await ending;
    const left = pids().filter((pid) => !isGone(pid));
    for (const pid of left) endProcess(pid);
    assert.deepEqual(left, []);
    assert.deepEqual([outcome.status, outcome.result?.["ended"], outcome.result?.["signal"]], [
      "canceled",
      "canceled",
      "SIGKILL",
    ]);
  }));

Deno.test("command in the background is ended at its time, 300 s unless it asks for more, or when it stands still, with code 124 (LC-28)", () =>
  onStage(async ({ ended, notes, work }) => {
    const late = await ended("sleep 1000", { timeout_ms: 50 });
    assert.deepEqual([late.status, late.result?.["exit_code"], late.result?.["ended"]], [
      "failed",
      124,
      "timed_out",
    ]);
    assert.match(late.summary, /took longer than 50 ms/);
    const still = await ended("echo once; sleep 1000", { idle_timeout_ms: 100 });
    assert.deepEqual([still.status, still.result?.["exit_code"], still.result?.["ended"]], [
      "failed",
      124,
      "stalled",
    ]);
    assert.match(still.summary, /wrote nothing for 100 ms/);
    // Output is progress.
    const busy = await ended("for n in 1 2 3 4 5 6; do echo $n; sleep 0.1; done", { idle_timeout_ms: 400 });
    assert.equal(busy.status, "succeeded");
    assert.equal((await ended("true")).status, "succeeded");
    const budgets = notes.filter(({ type }) => type === "command.started").map(({ body }) =>
      body["timeoutMs"]
    );
    assert.deepEqual(budgets, [50, 300_000, 300_000, 300_000]);
    const long = await work({ argv: ["true"], timeout_ms: limits.backgroundMsMax + 1 });
    assert.ok("failure" in long && long.failure.code === "arguments_invalid");
    assert.equal(limits.backgroundMsMax, 24 * 3_600_000);
  }));

Deno.test("flood of a command in the background is kept in a file and cut in memory (DM-99, DM-101)", () =>
  onStage(async ({ ended, logs }) => {
    let longest = 0;
    const looking = setInterval(() => {
      longest = Math.max(longest, logs.of(taskNamed(1))?.read(0).text.length ?? 0);
    }, 1);
    const outcome = await ended("yes 0123456789abcdef | head -c 30000000; echo; echo last");
    clearInterval(looking);
    assert.equal(outcome.status, "succeeded");
    const { bytes, truncated } = outcome.result?.["stdout"] as JsonObject;
    assert.deepEqual([bytes, truncated], [30_000_006, true]);
    assert.ok(String(outcome.result?.["log"]).length <= 8_000 && longest <= limits.taskChunkCharactersMax);
  }));

Deno.test("number that is somebody else's by now is never signalled: what became of the command is lost (F30)", async () => {
  const marks = ["the command's"];
  let pid = 0;
  await onStage(
    async ({ ended, pids }) => {
      const stop = new AbortController();
      // Without the mark in its environment: nothing but the number could lead to it.
      const ending = ended("echo $$ > pids; exec env -i sleep 1000", {}, stop.signal);
      await until("it runs", () => pids().length === 1);
      [pid = 0] = pids();
      marks.push("somebody else's");
      stop.abort();
      const outcome = await ending;
      assert.equal(outcome.status, "lost");
      assert.ok(!isGone(pid), "it lives");
      marks.pop();
      endProcess(pid);
      await until("it is gone", () => isGone(pid));
    },
    {},
    { readStartMark: () => marks.at(-1) },
  );
});

Deno.test("command whose output cannot be kept has failed, and is gone (DM-103)", async () => {
  const broken: Artifact = {
    write: () => Promise.reject(new Error("no room")),
    close: () => Promise.resolve(undefined),
  };
  const openArtifacts = () => Promise.resolve({ stdout: broken, stderr: broken });
  await onStage(async ({ ended, pids }) => {
    const outcome = await ended("echo $$ > pids; while :; do echo more; done");
    assert.deepEqual([outcome.status, (outcome.result?.["error"] as JsonObject)["code"]], [
      "failed",
      "artifact_failed",
    ]);
    assert.ok(pids().every(isGone));
  }, { openArtifacts });
});

Deno.test("command that the runtime's end cut off is canceled, and none begins after it (DM-104, DM-105, CM-118)", () =>
  onStage(async ({ ended, pids, registry, work, folder, notes }) => {
    const ending = ended("echo $$ > pids; exec sleep 1000");
    await until("it runs", () => pids().length === 1);
    await registry.endCommands();
    const outcome = await ending;
    assert.deepEqual([outcome.status, outcome.result?.["ended"]], ["canceled", "interrupted"]);
    assert.match(outcome.summary, /the runtime stopped/);
    assert.equal(notes.at(-1)?.body["state"], "interrupted");
    const late = await work({ argv: ["touch", "marker"] });
    assert.ok("failure" in late && late.status === "canceled", JSON.stringify(late));
    assert.ok(![...Deno.readDirSync(`${folder}/ws`)].some(({ name }) => name === "marker"));
  }));

Deno.test("command that was allowed for one folder does not run in another that has got its name meanwhile", () =>
  onStage(async ({ work, folder }) => {
    await Deno.mkdir(`${folder}/ws/deep`);
    const was = await Deno.realPath(`${folder}/ws/deep`);
    await Deno.rename(`${folder}/ws/deep`, `${folder}/ws/gone`);
    await Deno.mkdir(`${folder}/ws/other`);
    await Deno.symlink(`${folder}/ws/other`, `${folder}/ws/deep`);
    const refused = await work({ argv: ["touch", "marker"], cwd: "deep" }, undefined, was);
    assert.ok("failure" in refused && refused.failure.code === "approval_stale", JSON.stringify(refused));
    assert.deepEqual([...Deno.readDirSync(`${folder}/ws/other`)], []);
  }));

Deno.test("commands are started and followed at one place, in the foreground and the background (DM-96)", async () => {
  const src = new URL("../../src", import.meta.url).pathname;
  const [starters, callers]: [string[], string[]] = [[], []];
  for await (const path of filesBelow(src)) {
    const text = await Deno.readTextFile(path);
    if (/registry\.run\(/.test(text)) starters.push(path.slice(src.length));
    if (/await launch\(/.test(text)) callers.push(path.slice(src.length));
  }
  assert.deepEqual(starters, ["/commands/launch.ts"]);
  assert.deepEqual(callers.sort(), ["/effects/terminal_call.ts", "/tasks/command_work.ts"]);
});
